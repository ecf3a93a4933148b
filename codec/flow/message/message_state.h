/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_MESSAGE_MESSAGE_STATE_H
#define RPCRDMA_FLOW_MESSAGE_MESSAGE_STATE_H

/*
 * What the stage of messages keeps; for the files of this folder only.
 *
 *   stage.c              the stage from its beginning to its end
 *   emit.c               one Send -> one message: decode, direction, roles
 *   plain.c              the same of most, where nobody sees messages
 *   paired.c             the direction, where the RPC header does not tell it
 *   header_check.c       what is wrong with a decoded header
 *   check_message.c, check_chunks.c
 *                        what a message breaks of version 1, and its chunk lists of either
 *   check_version2.c     what it breaks of version 2
 *   output_order.c       messages of all connections -> the sink, in the order of the capture
 *   dialect_detection.c  which dialect of version 2
 *   version.c, continuation.c, properties.c
 *                        what a message says about those that follow
 *   after_error.c        what an error forbids from then on
 *   call_table.c         Calls, each with the slots of the stages above
 *   unmatched.c          Replies that were captured before their Calls
 *   retransmit.c         Calls that were sent before, on another connection
 *   awaited.c            those that wait for a Reply, where another took their place
 *   previewed.c          Calls that are held back
 *   reverse.c            Calls of the server
 */

#include <string.h>
#include <sys/queue.h>

#include "base/heap.h"
#include "base/table.h"
#include "flow/message/message.h"
#include "wire/hot.h"

enum {
    /* Calls per connection and caller. Clients have a few hundred at most (Linux: 128 slots); what
     * is more comes of captures without Replies. Each takes its transaction and chunks: the memory
     * limit of 64 MiB would not hold many connections with more. */
    MESSAGE_CALLS = RPCRDMA_BOUND(4096, 4),
    MESSAGE_RING = RPCRDMA_BOUND(1024, 4), /* a power of two */
    MESSAGE_WANTED = 8,
    MESSAGE_ANSWERED = 8, /* XIDs that errors answered, remembered per connection */
    MESSAGE_PREVIEWED = RPCRDMA_BOUND(1024, 4), /* Calls that are held back; a power of two */
    MESSAGE_UNMATCHED = RPCRDMA_BOUND(256, 2),  /* Replies that wait for a Call; a power of two */
    MESSAGE_SENT = RPCRDMA_BOUND(4096, 4), /* Calls, remembered in a place each; a power of two */
};

/* Who needs an entry: stages above, by 1 << enum flow_call_stage; and: */
enum {
    CALL_OUTSTANDING = 1 << FLOW_CALL_STAGES,
    CALL_IN_HAND = CALL_OUTSTANDING << 1, /* of the message that is on its way up */
    CALL_UNMATCHED = CALL_IN_HAND << 1,   /* there is a Reply only */
};

struct flow_call {
    union {
        TAILQ_ENTRY(flow_call) by_age;
        SLIST_ENTRY(flow_call) spare;
    };
    struct flow_conn *conn;
    uint32_t xid;
    uint8_t caller; /* end */
    uint8_t holders;
    bool sure;    /* it is a Call, not a message of unknown direction that may be one */
    bool replied; /* a part of its Reply has come, and not the last */
    bool has_rpc;
    bool refusable : 1;        /* of a version or type that has to be answered by an error */
    bool plain : 1;            /* all of its sendings: see flow_message_plain */
    bool has_inv_handle : 1;   /* inv_handle is known */
    uint16_t unmatched;        /* index + 1 in flow_messages.unmatched; 0: none */
    uint32_t protocol, writes; /* RPC-over-RDMA's version; Write chunks */
    uint32_t program, version, procedure, flavor, gss_procedure, gss_service;
    uint32_t mark;       /* message_mark of its latest sending */
    uint32_t inv_handle; /* version 2's rdma_inv_handle */
    uint64_t frame;      /* of its latest sending */
    uint64_t slots[];    /* of the stages above */
};

/* A version 2 message in several parts. */
struct message_continuation {
    bool active;
    bool refused;     /* an error answered it: parts may still be on their way */
    bool cut;         /* the last part's header: `remaining` and `last` are not known */
    uint8_t stream;   /* what is continued: see continuation.c */
    uint8_t readings; /* of rdma_remaining that fit so far */
    uint32_t xid, parts;
    uint32_t remaining, last; /* as the last part said; its payload */
    uint64_t bytes;           /* payload so far */
    uint64_t frame;           /* of the first part */
    int64_t time_ns;          /* of the latest */
};

struct message_property {
    enum rpcrdma_property_kind kind;
    uint32_t value;
};

/* What one end asked the other to change. */
struct message_wanted {
    bool set;
    uint32_t xid, count;
    bool known[MESSAGE_WANTED];
    struct message_property property[MESSAGE_WANTED];
};

/* A header type that its receiver does not support. */
struct message_refused {
    uint32_t type, xid;
    uint64_t frame; /* of the error; 0: none */
    int64_t time_ns;
};

/* An XID that an error answered. */
struct message_answered {
    uint64_t frame; /* of the error; 0: free */
    uint32_t xid;
    uint8_t caller;
};

/* Per connection that has version 2's messages, or errors. */
struct message_extra {
    uint32_t last_credits[2]; /* while it is open whether they are counters, */
    uint8_t credits_kept[2];  /* how often an end said the same though both had sent meanwhile, */
    uint8_t credits_grown;    /* and more, by either */
    bool sent_since[2];       /* the other end, since this one's last */
    struct message_continuation continuation[2]; /* by sending end */
    bool final_properties[2];                    /* it sent CONNPROP_FINAL */
    struct message_wanted wanted[2];
    struct {
        uint32_t xid, type;
    } latest[2]; /* message of version 2 that is no error, by sending end */
    struct message_refused refused_type[2]; /* by the end that may not send it again */
    struct message_answered answered[MESSAGE_ANSWERED];
    uint32_t n_answered;
};

/* Per connection. */
struct message_conn {
    TAILQ_HEAD(message_calls, flow_call)
    calls[2];                    /* by caller; the oldest first. Where there are */
    uint32_t n_calls[2];         /* none it may be zero */
    struct message_extra *extra; /* NULL: all of it is 0. Owned */
    uint32_t last_xid[2];
    uint32_t asks[2], grants[2]; /* credits in the latest Call and Reply of an end; 0: none */
    uint64_t reverse_frame;      /* of a Call of the server before any of the client's; 0: none */
    uint32_t chosen_after;       /* messages looked at after the dialect was settled */
    uint32_t other_xid,
        other_version;   /* of the last message of another version than the connection's */
    uint32_t offered[2]; /* the range in an ERR_VERS that no message since follows */
    bool refused;        /* there is one: */
    uint8_t refused_end; /* this end was */
    bool has_last_xid[2];
    bool given_up_reported;        /* a Call that was outstanding: it was reported */
    bool client_called, called[2]; /* an end sent a Call */
    bool reverse_reported;
    bool speaks[2];        /* the connection's version: an end sent a message of it, no error */
    uint64_t last_emitted; /* frame of the latest message given to the sink */
};

/* A Call that is held back, as far as its Reply is read by it. */
struct message_previewed {
    uint64_t stream; /* the connection's name of the Calls' direction; 0: free */
    uint32_t xid;
    uint32_t program, version, procedure, gss_service;
};

/* A Reply whose Call was not captured before it. */
struct message_unmatched {
    struct flow_call *call; /* its entry; NULL: gone */
    uint64_t frame;
    int64_t time_ns;
};

/* A Call that waits for its Reply, and has its place no more. */
struct message_awaited {
    struct flow_sent sent;
    TAILQ_ENTRY(message_awaited) by_age;
};

struct flow_messages {
    struct flow_context *context;
    struct flow_conns *conns;
    const struct rpcrdma_dialect *dialect;
    bool unordered;
    bool unseen;             /* see flow_messages_unseen */
    bool rpcs_followed;      /* their stage has slots */
    struct flow_table calls; /* (connection, caller, XID) -> Call, of those that are not in: */
    void *ring[MESSAGE_RING];
    SLIST_HEAD(, flow_call) spare_calls;
    uint32_t n_spare_calls;
    size_t slot_at[FLOW_CALL_STAGES], call_size; /* bytes; of the slot in an entry, and of that */
    struct heap_node *queue;                     /* on their way to the sink, by frame */
    uint64_t queued;
    size_t queue_count, queue_bytes;
    struct message_unmatched *unmatched; /* MESSAGE_UNMATCHED of them; NULL: none yet. Owned */
    uint32_t unmatched_begin, n_unmatched;
    struct { /* the hash of two hosts, last made of these: retransmit.c */
        struct rpcrdma_address address[2];
        uint64_t hash;
        bool made;
    } hosts;
    struct flow_sent *sent; /* MESSAGE_SENT of them; NULL: none yet */
    void *sent_memory;      /* in which they are. Owned */
    struct {
        struct flow_table table; /* by key, whose XIDs are counted: mixed */
        TAILQ_HEAD(message_awaited_list, message_awaited) list, spare;
        SLIST_HEAD(, message_awaited_block) blocks; /* in which they are. Owned */
        size_t look; /* how many there may be before they are looked through */
    } awaited;
    struct flow_sent_before sent_before; /* of the message in hand */
    struct message_previewed *previewed; /* MESSAGE_PREVIEWED of them; NULL: none yet. Owned */
};

static inline struct message_conn *message_conn_of(struct flow_conn *conn)
{
    return flow_conn_above(conn);
}

/* stage.c: of the connection's; NULL: no memory, which ends the run. */
struct message_extra *message_extra(struct flow_messages *messages, struct flow_conn *conn);

/* What tells a Call that is sent again from another one that is as long: its last bytes, where its
 * arguments are, all n of it captured. 0: nothing. Each Call has one made: so they are few. */
static inline uint32_t message_mark(const uint8_t *p, uint32_t n)
{
    enum { HEADER = 40 };
    uint64_t last[2];

    if (n < HEADER + sizeof(last))
        return 0;
    memcpy(last, p + n - sizeof(last), sizeof(last));
    return (uint32_t)(((last[0] + n) * UINT64_C(0xbf58476d1ce4e5b9) ^ last[1]) *
                          UINT64_C(0x9e3779b97f4a7c15) >>
                      32) |
           1;
}

/* call_table.c. The Call that `m`, of a known direction (`sure`) or not, is or may be; it is in
 * hand from then on. NULL: no memory. */
struct flow_call *message_call_note(struct flow_messages *messages, struct flow_conn *conn,
                                    int caller, const struct rpcrdma_message *m,
                                    const struct rpcrdma_rpc *rpc, const struct flow_send *send,
                                    bool sure, enum flow_call_use *use);
/* The same of what is known to be a Call of n bytes, with a plain header at `p`, whose XID has no
 * entry. NULL: it has; nothing was done. flow_calls_ready has said true. */
struct flow_call *message_call_note_plain(struct flow_messages *messages, struct flow_conn *conn,
                                          int caller, const uint8_t *p, uint32_t n);
/* An entry, where there is none: to be held at once. NULL: no memory. */
struct flow_call *message_call_add(struct flow_messages *messages, struct flow_conn *conn,
                                   int caller, uint32_t xid);
void message_call_let_go(struct flow_messages *messages, struct flow_call *call, unsigned holder);
/* A name for the Calls of this end of the connection that is never used again; of those: the one of
 * this XID, NULL where it is not outstanding. */
uint64_t message_calls_of(const struct flow_conn *conn, int caller);
/* Which place of the ring: one behind the other for XIDs that are counted, in either order of their
 * bytes. */
static inline size_t message_ring_index(uint64_t calls, uint32_t xid)
{
    return (calls * 61 + xid + __builtin_bswap32(xid)) & (MESSAGE_RING - 1);
}
struct flow_call *message_call_outstanding_of(const struct flow_messages *messages, uint64_t calls,
                                              uint32_t xid);
/* As flow_call_find, in less time where Replies come in the order of Calls. */
static inline struct flow_call *message_call_find(const struct flow_messages *messages,
                                                  const struct flow_conn *conn, int caller,
                                                  uint32_t xid)
{
    const struct message_conn *mc = flow_conn_above((struct flow_conn *)conn);
    struct flow_call *oldest = mc->n_calls[caller] > 0 ? TAILQ_FIRST(&mc->calls[caller]) : NULL;

    return oldest && oldest->xid == xid ? oldest : flow_call_find(messages, conn, caller, xid);
}
/* Stages above keep something of each Call. */
static inline bool message_calls_followed(const struct flow_messages *messages)
{
    return messages->call_size > sizeof(struct flow_call);
}
/* That is outstanding. */
static inline const struct flow_call *message_call_outstanding(const struct flow_messages *messages,
                                                               const struct flow_conn *conn,
                                                               int caller, uint32_t xid)
{
    const struct flow_call *call = flow_call_find(messages, conn, caller, xid);

    return call && call->holders & CALL_OUTSTANDING ? call : NULL;
}
/* A part of it: the handle that the Responder may invalidate, where the header has that. */
void message_call_handle(struct flow_call *call, const struct rpcrdma_message *m);
/* Its Reply, or a part of that (`continues`), is the message in hand. */
void message_call_reply(struct flow_call *call, bool continues);

/* paired.c. As long as no Call shows its program: who writes to the other end's memory, or reads
 * it, answers Calls (RFC 8166 sections 3.4.5 and 3.4.6). */
enum rpcrdma_role message_role_of(struct flow_conn *conn, int end);
/* As far as it follows from the Calls that are outstanding, and from what is offered. */
enum rpcrdma_rpc_direction message_direction_paired(const struct flow_messages *messages,
                                                    struct flow_conn *conn, int sender,
                                                    const struct rpcrdma_message *msg);
/* Version 1's types, and their heirs, that travel with an RPC message: inline or in chunks. */
static inline bool message_moves_rpc(const struct rpcrdma_message *msg)
{
    return msg->kind == RPCRDMA_KIND_MSG || msg->kind == RPCRDMA_KIND_MSGP ||
           msg->kind == RPCRDMA_KIND_NOMSG;
}

/* unmatched.c. A Reply without Call: its entry, NULL without memory; those that have waited long
 * enough go; a Call with the XID of one came: whether that answers it; an entry goes. */
struct flow_call *message_unmatched_add(struct flow_messages *messages, struct flow_conn *conn,
                                        int caller, uint32_t xid, const struct flow_send *send);
void message_unmatched_time(struct flow_messages *messages, int64_t now_ns);
bool message_unmatched_answers(struct flow_messages *messages, struct flow_call *call,
                               const struct flow_send *send);
void message_unmatched_forget(struct flow_messages *messages, const struct flow_call *call);
void message_unmatched_free(struct flow_messages *messages);

/* retransmit.c. A Call is remembered, and known again: fills event->remembered and ->sent_before.
 * The same of a plain one, which has so many bytes inline. */
void message_sent_note(struct flow_messages *messages, struct flow_conn *conn,
                       const struct flow_send *send, struct flow_message *event);
void message_sent_note_plain(struct flow_messages *messages, struct flow_conn *conn,
                             struct flow_plain *message, uint32_t bytes);
void message_sent_free(struct flow_messages *messages);
/* Whether it waits for its Reply, or did when its connection ended: it is to be known again. */
bool message_sent_waits(const struct flow_messages *messages, const struct flow_sent *sent);

/* awaited.c. A Call loses its place. The one with this key gets the place, if it lost its own;
 * else the place is free. */
void message_awaited_add(struct flow_messages *messages, const struct flow_sent *sent);
void message_awaited_return(struct flow_messages *messages, uint64_t key, struct flow_sent *place);
static inline struct message_awaited *message_awaited_entry(const struct flow_messages *messages,
                                                            uint64_t key)
{
    return messages->awaited.table.count > 0
               ? flow_table_get(&messages->awaited.table, flow_mix(key))
               : NULL;
}
static inline struct flow_sent *message_awaited_find(const struct flow_messages *messages,
                                                     uint64_t key)
{
    struct message_awaited *a = message_awaited_entry(messages, key);

    return a ? &a->sent : NULL;
}
void message_awaited_free(struct flow_messages *messages);

/* reverse.c. A Call of the server before any of the client's: reported once. That there was none
 * shows with what the client sends next: nothing is missing before it. */
void message_check_reverse(struct flow_messages *messages, struct flow_conn *conn,
                           const struct rpcrdma_flow_message *out);

/* previewed.c. A Call is held back; it is no more; the Call of a Reply is one of them, and what is
 * known of it goes to *out. */
void message_previewed_add(struct flow_messages *messages, const struct rpcrdma_flow_message *call);
void message_previewed_remove(struct flow_messages *messages,
                              const struct rpcrdma_flow_message *call);
bool message_previewed_find(const struct flow_messages *messages,
                            const struct rpcrdma_flow_message *reply, struct rpcrdma_rpc *out);
void message_previewed_free(struct flow_messages *messages);

/* header_check.c. Adds what is wrong with a decoded header beyond its own status: bytes that should
 * not follow it, properties and characteristics with bad data, a malformed xchar message. */
void message_check_header(const struct rpcrdma_message *message, uint64_t frame,
                          struct flow_findings *findings);

/* properties.c. What the message of `end` says of properties takes effect. */
void message_properties(struct flow_messages *messages, struct flow_conn *conn, int end,
                        const struct rpcrdma_message *m);
/* header_check.c says what is wrong with it. */
bool message_bad_property(const struct rpcrdma_propset *props,
                          const struct rpcrdma_dialect *dialect);

/* dialect_detection.c. By which to decode now: the one that is chosen; else the latest that all
 * messages so far fit. */
const struct rpcrdma_dialect *message_dialect_likely(const struct flow_messages *messages,
                                                     const struct flow_conn *conn);

/* version.c */
/* Version 1 was spoken here, and nobody asked for another since: it stays (RFC 8166 section 4.2.2).
 */
static inline bool message_version_settled(struct flow_conn *conn)
{
    return flow_conn_public(conn)->version == 1 && !message_conn_of(conn)->refused;
}
void message_version(struct flow_conn *conn, int sender, const struct rpcrdma_message *m,
                     struct flow_findings *findings, uint64_t frame);

/* after_error.c. An error, before its Call is forgotten; any other message, once its direction is
 * known. */
void message_error(struct flow_messages *messages, struct flow_conn *conn, int sender,
                   const struct rpcrdma_message *m, struct flow_findings *findings, uint64_t frame,
                   int64_t time_ns);
void message_after_error(struct flow_messages *messages, struct flow_conn *conn,
                         const struct rpcrdma_flow_message *out, struct flow_findings *findings);

/* continuation.c. Whether another part of the same message follows, as *m itself says. */
bool message_more_follows(const struct rpcrdma_message *m);
/* The RPC header of a message, or of its first part: what another part has is TRUNCATED here. */
void message_rpc_decode(const struct rpcrdma_message *m, struct rpcrdma_rpc *rpc);
struct message_part {
    uint32_t number;       /* from 1; 0: the message is not continued */
    uint64_t bytes_before; /* payload of the earlier parts */
    bool more;             /* parts follow */
};
struct message_part message_continue(struct flow_messages *messages, struct flow_conn *conn,
                                     int sender, const struct rpcrdma_message *m,
                                     const struct flow_send *send, struct flow_findings *findings);
/* An error answers the Call with this XID, of which parts were sent. */
void message_continue_refused(struct flow_conn *conn, int caller, uint32_t xid);
/* Whether a part (not the first) of a Call comes after the error that answered this. */
bool message_continue_is_refused(struct flow_conn *conn, int caller, uint32_t part);

#endif
