/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_MESSAGE_MESSAGE_H
#define RPCRDMA_FLOW_MESSAGE_MESSAGE_H

/*
 * The stage of messages: one Send of a connection is one message, decoded once; its direction and
 * its sender's role known, or said to be unknown. What version 2's messages say about those that
 * follow: dialect, version, properties, continuation. The Calls that wait for a Reply, in a table
 * that the stages above share.
 *
 * flow_message_evidence is given each Send before it may have to wait, flow_message_make when it is
 * its turn; what that makes goes to the stages above and then to the sink, by flow_message_emit.
 */

#include "flow/conn/conn.h"
#include "wire/message.h"
#include "wire/rpc.h"

struct flow_messages;

/* Bytes of each connection that the stage needs: flow_conns_config.above. */
size_t flow_messages_above(void);

/* NULL when memory is short. context and conns are borrowed. `dialect` of version 2 messages; NULL:
 * find out. `unordered`: messages need not wait for other connections'. */
struct flow_messages *flow_messages_new(struct flow_context *context, struct flow_conns *conns,
                                        const struct rpcrdma_dialect *dialect, bool unordered);
void flow_messages_free(struct flow_messages *messages); /* NULL is fine */
/* Nobody sees the messages: src, dst and call are not set in them. */
void flow_messages_unseen(struct flow_messages *messages);

/* What a Send shows of its connection's dialect. It may make the connection wait, or end that. */
void flow_message_evidence(struct flow_messages *messages, struct flow_conn *conn,
                           const struct flow_direction *dir, const struct flow_send *send);
/* Of a connection that waits for nothing: whether flow_message_evidence would do nothing. */
bool flow_message_decided(const struct flow_messages *messages, struct flow_conn *conn,
                          const struct rpcrdma_op *op);
/* There will be no more evidence before the messages are given out. */
void flow_message_settle(struct flow_messages *messages, struct flow_conn *conn);

/* A sender could not send: it had no credit. */
struct flow_held {
    int64_t from_ns, to_ns;
    uint64_t from_frame, to_frame; /* what took the last one, and what brought more */
};

/*
 * The Calls of a connection, by caller and XID: one table, in which each stage above has a slot of
 * its own per Call. A Call is outstanding from its first sending until its Reply or its error has
 * come whole. Its entry stays as long as that, and as long as a stage holds it.
 *
 * One rule for an XID that is used again, for all stages: while its Call is outstanding and no part
 * of the Reply has come, the same Call (program, version and procedure, as far as they are known of
 * both) is retransmitted, and another one takes its place; after that the Call is a new one.
 *
 * A Reply whose Call was not captured before it has an entry, too, for as long as that may follow
 * (FLOW_REORDER_NS): then its Call is not outstanding. And where a stage has slots, a Call is
 * known again that was sent before on a connection that was opened earlier.
 */
struct flow_call;

enum flow_call_stage { FLOW_CALL_RPC, FLOW_CALL_CREDIT, FLOW_CALL_STAGES };

enum flow_call_use {
    FLOW_CALL_NEW,
    FLOW_CALL_RETRANSMITTED,
    FLOW_CALL_XID_REUSED, /* the Call that was outstanding under this XID was another one */
    FLOW_CALL_ANSWERED,   /* its Reply was captured first: its entry is that of the Reply */
};

/* A Call that is remembered, to be known again: a line of the processor's cache. */
struct flow_sent {
    uint64_t key; /* its XID; a hash of its hosts, and of what is the same of each sending */
    uint64_t frame, first_frame; /* of the latest, and of the first sending */
    int64_t first_time_ns;
    uint32_t connection, first_connection; /* likewise; 0: free, or answered */
    uint64_t calls;                        /* message_calls_of the latest */
    /* of the stage of RPCs: */
    const void *latest; /* the latest sending's transaction; flow_sent_left, NULL: it is over, */
    uint32_t own;       /* and was sent so often; */
    uint32_t before;    /* before it, on other connections */
};

/* No Reply was delivered, as far as was seen, until its connection ended. */
extern const char flow_sent_left;

/* A Call was sent before, on another connection: there latest, and first. */
struct flow_sent_before {
    uint64_t frame, first_frame;
    int64_t first_time_ns;
    uint32_t connection, first_connection; /* numbers */
    struct flow_call *call;                /* its entry there; NULL: it is not outstanding */
};

/* Each entry has `size` bytes for the stage; before the first message. */
void flow_calls_reserve(struct flow_messages *messages, enum flow_call_stage stage, size_t size);
/* NULL: there is none. */
struct flow_call *flow_call_find(const struct flow_messages *messages, const struct flow_conn *conn,
                                 int caller, uint32_t xid);
/* The stage's bytes, zero in a new entry; and the entry they are in. */
void *flow_call_slot(const struct flow_messages *messages, struct flow_call *call,
                     enum flow_call_stage stage);
struct flow_call *flow_call_of_slot(const struct flow_messages *messages, void *slot,
                                    enum flow_call_stage stage);
int flow_call_caller(const struct flow_call *call); /* end */
struct flow_conn *flow_call_conn(const struct flow_call *call);
/* From the one to the other the entry stays. Nothing where it is so already. */
void flow_call_hold(struct flow_call *call, enum flow_call_stage stage);
void flow_call_leave(struct flow_messages *messages, struct flow_call *call,
                     enum flow_call_stage stage);
/* Whether there is memory for one more. */
bool flow_calls_ready(struct flow_messages *messages);
/* The oldest Call of a caller that has more than are kept, or NULL: every stage is to leave it, and
 * then it is to be dropped. */
struct flow_call *flow_call_excess(struct flow_conn *conn);
/* The oldest one, or NULL: likewise. Not while a message is in hand. */
struct flow_call *flow_call_oldest(struct flow_conn *conn);
void flow_call_drop(struct flow_messages *messages, struct flow_conn *conn, struct flow_call *call);

/* An RPC-over-RDMA message: what the sink gets, and the Send it came in. */
struct flow_message {
    const struct rpcrdma_flow_message *message;
    const struct flow_send *send;
    int sender;      /* end; never -1: an unpaired sender is end 1 - receiver all the same */
    bool continues;  /* version 2: more parts follow this one */
    bool malformed;  /* its transport header, or its RPC header */
    bool call_known; /* it answers an outstanding Call that has a header: flow_call_rpc */
    bool was_held;   /* a later part: */
    struct flow_held held;
    uint64_t part_bytes;    /* payload bytes of the earlier parts: where this part's payload goes */
    struct flow_call *call; /* that it is, or answers; NULL: none, or not known */
    enum flow_call_use call_use; /* of a Call's first part */
    uint32_t remembered; /* likewise, but of one that is retransmitted here: its place among the
                          * Calls that are, from 1; 0: none */
    const struct flow_sent_before *sent_before; /* NULL: it was not, on another connection */
};

/* A message that comes soon, of this sender: where it is remembered, if it is a Call, is brought
 * into the processor's cache. */
void flow_message_fetch(const struct flow_messages *messages, const struct flow_conn *conn,
                        int sender, const struct rpcrdma_op *op);
/* What is in this place now; the Call with this key, that was there. NULL: it is forgotten. */
struct flow_sent *flow_call_sent_at(const struct flow_messages *messages, uint32_t remembered);
struct flow_sent *flow_call_sent(const struct flow_messages *messages, uint32_t remembered,
                                 uint64_t key);

/* A message and what it points to. Zero at first; what one message left is of use for the next. */
struct flow_making {
    struct flow_message event;
    struct rpcrdma_message message;
    struct rpcrdma_rpc rpc, call;
    struct rpcrdma_flow_message out;
    bool plain_message, plain_rpc; /* `message`, `rpc` are as wire/plain.h makes them */
    struct flow_findings findings;
};

/* A message of version 1 with nothing but a plain RPC header and what follows that, all of it
 * captured: the client's Call, which is new, or the server's Reply to one that was captured. */
struct flow_plain {
    const struct flow_send *send;
    struct flow_call *call;                     /* that it is, or answers */
    const struct flow_sent_before *sent_before; /* as in flow_message; */
    uint32_t remembered;                        /* likewise; a Call's */
    uint32_t xid, credits;
    int sender; /* end */
    bool is_call;
};

/* The next message of the connection. `making` is the caller's and is filled; flow_message_done
 * when all stages above have had it: its entry in the table of Calls may go then. */
void flow_message_make(struct flow_messages *messages, struct flow_conn *conn,
                       const struct flow_direction *dir, const struct flow_send *send,
                       struct flow_making *making);
void flow_message_done(struct flow_messages *messages, struct flow_call *call);
/* The same, where nobody sees messages that break nothing: less is made of one that is plain, and
 * does nothing to its connection that others did not do. Where RPCs are followed a Reply is plain
 * only if its Call was, and is outstanding. False: it is another one; nothing was done.
 * flow_calls_ready has said true. */
bool flow_message_plain(struct flow_messages *messages, struct flow_conn *conn,
                        const struct flow_direction *dir, const struct flow_send *send,
                        struct flow_plain *out);
/* The header of its RPC, as far as the Call in this entry had one. */
void flow_call_rpc(const struct flow_call *call, struct rpcrdma_rpc *out);
/* As rpcrdma_message_decode; version 1's dialect also for a message that bears version 2's number
 * on a connection of version 1: it has that layout all the same. What a message was decoded by once
 * gives the same message again. */
void flow_message_decode(const struct rpcrdma_dialect *dialect, const void *data, size_t caplen,
                         size_t len, struct rpcrdma_message *out);
/* To the sink: now, or when no older message of another connection is held back any more. */
void flow_message_emit(struct flow_messages *messages, struct flow_conn *conn,
                       const struct rpcrdma_flow_message *out);
bool flow_messages_any_queued(const struct flow_messages *messages);
/* What may be emitted by now; `all`: everything. */
void flow_message_flush(struct flow_messages *messages, bool all);
/* Of a Send whose message will wait: what is known of it by now. False: nothing. Only what a Call
 * asks for is remembered, for its Reply that may have to wait, too. */
bool flow_message_preview(struct flow_messages *messages, struct flow_conn *conn,
                          const struct flow_direction *dir, const struct flow_send *send,
                          struct flow_making *making);

/* Packets that `sender` sent were not captured. */
void flow_message_gap(struct flow_messages *messages, struct flow_conn *conn, int sender,
                      const struct flow_gap *gap);
/* What `from` knew goes to `into`; `swapped`: their ends are counted the other way round. */
void flow_message_merge(struct flow_messages *messages, struct flow_conn *into,
                        struct flow_conn *from, bool swapped);
/* Nothing more will come: says what is unfinished. */
void flow_message_end(struct flow_messages *messages, struct flow_conn *conn);
/* Forgets what the stage keeps of the connection. */
void flow_message_close(struct flow_messages *messages, struct flow_conn *conn);
/* Frees what is kept to be used again. */
void flow_message_trim(struct flow_messages *messages);

#endif
