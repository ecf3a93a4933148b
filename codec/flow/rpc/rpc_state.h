/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_RPC_STATE_H
#define RPCRDMA_FLOW_RPC_RPC_STATE_H

/*
 * From messages, Writes and Reads to whole RPCs and transactions: what the files share, and who
 * does what.
 *
 *   rpc_stage.c             the observer: who gets a message
 *   data_stage.c            where data goes
 *   transaction.c           a transaction from its beginning to its end
 *   rpc_call.c              Calls
 *   rpc_reply.c             Replies and errors; Replies that wait for data
 *   reconstruct.c           what Calls and Replies share: given to the sink
 *   reconstruct_call.c, reconstruct_reply.c   what they are made of
 *   reconstruct_chunks.c    base and chunks put together
 *   parts.c, iovec.c        what Sends carried of it, and the runs of bytes that it is
 *   partial.c               a Send's RPC message before the bytes of its chunks are known
 *   chunk_map.c             chunk lists as regions of memory
 *   region.c, region_index.c   the bytes of one; which one is open where
 *   read_map.c              which Read request goes to which
 *   data_transfer.c         which chunk a packet's bytes belong to
 *   cut_segment.c           and where a Call was cut within the segment that they go to
 *   call_sendings.c         how often a Call was sent, on all connections
 *   outstanding.c           Calls that wait for a Reply now
 *   timing.c, phases.c      when its messages were sent and delivered; where its time went
 *   transmissions.c         which transmission a finding is about; what was never delivered
 *   data_timing.c, doubt.c  what its RDMA waited for, and whether that was lost
 *   session.c, slot.c, slot_use.c   NFSv4.1: what a session allows, its slots, how many are in use
 *   rpc_names.c             what a transaction is called
 *   plain.c                 Calls and Replies that are all in one Send
 *   parked.c                transactions that wait for word of their Reply
 *   check_call.c, check_reply.c, retired.c    what they break
 */

#include <string.h>
#include <sys/queue.h>

#include "base/ring_table.h"
#include "base/siphash.h"
#include "base/table.h"
#include "flow/rpc/chunk_map.h"
#include "flow/rpc/iovec.h"
#include "flow/rpc/parts.h"
#include "flow/rpc/read_map.h"
#include "flow/rpc/rpc_stage.h"
#include "flow/rpc/session.h"
#include "flow/rpc/timing.h"
#include "upper/binding.h"
#include "upper/ddp.h"
#include "wire/hot.h"

enum {
    RPC_HELD = RPCRDMA_BOUND(1024, 2), /* Replies that wait for data */
    RPC_RETIRED = 32,                  /* regions whose Call was answered; a power of two */
    RPC_TWICE = 32,                    /* likewise, of struct rpc_twice */
};
/* A Reply that came before its data waits this long: the data travelled before it (a Write) or was
 * answered before it (a Read), so only the capture can have changed their order. */
#define RPC_HOLD_NS FLOW_REORDER_NS

/* The first byte of a Reply's returned chunks that has not passed: what is before is not looked at
 * again. */
struct rpc_awaited {
    bool begun, reply; /* reply: it is in the Reply chunk */
    struct rpcrdma_write_iter it;
    struct rpcrdma_chunk wire;
    uint32_t chunk, segment, at;
};

/* The last Send of a Reply that cannot be given yet. Most Replies can: it is a piece of its own. */
struct rpc_kept_reply {
    struct rpc_awaited awaited;     /* valid where it is begun */
    struct rpcrdma_message message; /* on `data` */
    uint64_t frame;
    int64_t time_ns;
    TAILQ_ENTRY(rpc_transaction) held; /* where it waits */
    uint32_t caplen;
    uint8_t data[];
};

/* What came of a Reply. */
struct rpc_reply {
    struct rpc_parts parts;
    bool open;                       /* parts came, more are to come */
    bool read_read;                  /* its read list waits to be pulled */
    bool waits;                      /* in a list of those held */
    struct rpc_kept_reply *kept;     /* NULL: its last Send has not come. Owned */
    struct rpc_chunk_map *chunk_map; /* its read list */
    uint64_t pending;                /* bytes of that which have not passed */
};

/* A Call that was sent more than once on its connection, and answered: each Send may be. */
struct rpc_twice {
    uint32_t xid, left; /* Replies that may still come */
    uint8_t caller;
};

/* A region whose Call was answered. */
struct rpc_retired {
    uint64_t offset, frame; /* frame: of the Reply */
    uint32_t handle, length, xid;
    uint8_t end;
    bool write;
};

/* RDMA to memory that is not open, or not for that. */
struct rpc_astray {
    uint64_t address, frame;
    int64_t time_ns;
    uint32_t handle, length; /* bytes moved, or asked for */
    uint8_t end;             /* whose memory it is */
    bool write;
};

/* A transaction. */
struct rpc_transaction {
    struct rpcrdma_transaction pub;
    struct flow_conn *conn;
    struct flow_call *call; /* whose slot it has; NULL: it is over */
    SLIST_ENTRY(rpc_transaction) next_spare;
    TAILQ_ENTRY(rpc_transaction) by_age; /* same connection and caller */
    bool has_call;

    struct rpcrdma_rpc rpc; /* header of the Call, valid where pub.has_program */
    struct rpc_parts parts;
    bool open;           /* more parts of the Call are to come */
    bool malformed;      /* the Call's transport header could not be read to its end */
    bool no_length;      /* or was not captured to its end */
    bool has_cut_handle; /* of the segment that it was cut in */
    uint32_t cut_handle;
    bool no_reads;  /* its Read list was captured, and is empty: version 1 */
    bool no_writes; /* of such a Call: its Reply says that nothing was written for it */
    bool stray;     /* RDMA passed that may be of it; then all that are older have that, too */
    bool too_short; /* its receiver has to drop it, without an answer */
    bool msgp;
    bool early;       /* data that was captured just before the Call may be of its chunks */
    bool pads_inline; /* of its Read chunks, as its bytes tell, which are not kept for long */
    uint32_t align, header_length;
    bool call_emitted, call_complete;
    bool stream_emitted; /* the Call's Payload stream was given to the sink */
    uint64_t pending;    /* bytes of its read chunks that have not passed; */
    uint64_t asked;      /* of these, at most: a Read request asked for them */
    struct rpc_chunk_map *chunk_map;

    struct rpcrdma_ddp ddp; /* what its arguments say of chunks */
    uint64_t session;       /* rpc_session_key of its name, where there is one */
    struct rpc_slot *slot;  /* NULL: none */
    bool slot_read;         /* it is known which, or that there is none */
    int64_t slot_place;     /* of its number in the Call's Send; -1: none */
    uint8_t slot_doubt;     /* of enum rpc_slot_doubt */
    uint32_t slot_before;   /* the number before, where that is in doubt */
    bool slot_answered;     /* SEQUENCE's status was read, */
    uint32_t slot_status;   /* which is asked for only in doubt */
    bool reply_complete;
    bool reply_cut; /* its transport header was not captured to its end */
    bool settled;   /* pub.reply says what became of it: it was looked for a moment ago */
    int64_t rdma_first_ns, rdma_last_ns;
    struct rpc_place call_place, reply_place;
    uint32_t remembered;   /* flow_message.remembered of its Call, */
    uint64_t sent_key;     /* and its key there */
    uint32_t sent_before;  /* its Call: on other connections, */
    uint32_t sent_earlier; /* and on this one, as another Send than the latest, */
    uint64_t sent_frame;   /* which is in this frame; 0: there is one Send */
    bool call_kept;        /* pub.call is an earlier Send's, which had arrived when this one came */
    struct rpc_data_timing data;
    struct rpc_wait
        held[2];        /* RPC_CALL, RPC_REPLY: the longest wait for a credit between its parts */
    int64_t held_ns[2]; /* all of them */
    uint64_t rdma_last_frame;                /* the packet of rdma_last_ns; 0: there was none */
    TAILQ_ENTRY(rpc_transaction) parked;     /* of its connection */
    TAILQ_ENTRY(rpc_transaction) all_parked; /* of all that are, but for: */
    bool kept;                               /* parked until the connection ends */
    uint64_t last_frame; /* of the last RDMA packet, for the frame that completes the Call */
    int64_t last_ns;
    struct flow_findings *findings; /* NULL: none */
    bool dropped;
    struct {
        uint32_t first, last; /* 0: none */
    } reads[2];               /* ids of the Read requests to its regions, by the end that asks */

    struct rpc_reply reply;
};

/* What the Call offers to RDMA was not captured to its end. */
static inline bool rpc_offers_cut(const struct rpc_transaction *t)
{
    return t->has_call && t->no_length && !t->malformed;
}

/* Once it has its Reply, which its Responder sends when it has all that it asked for: bytes whose
 * responses are not in the capture. Before: that it waits for. */
static inline uint64_t rpc_read_uncaptured(const struct rpc_transaction *t)
{
    return t->asked < t->pending ? t->asked : t->pending;
}

TAILQ_HEAD(rpc_list, rpc_transaction); /* the oldest first */

/* Handles of segments that Calls of one caller were cut in. */
enum rpc_cut_handles {
    RPC_HANDLES_UNKNOWN,
    RPC_HANDLES_ONE,
    RPC_HANDLES_APART, /* each Call has another one than the Call before */
    RPC_HANDLES_SHARED,
};

/* Per connection. */
struct rpc_conn {
    /* what each message looks at */
    struct rpc_list transactions[2];       /* by caller */
    struct rpc_transaction *on_the_way[2]; /* by caller: the oldest whose Call may still arrive */
    struct rpc_list parked;
    uint32_t count[2]; /* by caller */
    uint32_t n_parked;
    uint32_t unread;                         /* Calls whose slot is not known, or not yet */
    uint64_t unknown_bytes, unknown_packets; /* to handles that nothing seen offers; */
    uint64_t unknown_frame;                  /* the latest, */
    int64_t unknown_ns;                      /* then */
    int64_t replied_ns[2];                   /* by caller: the last Reply to it */
    uint32_t malformed[2];                   /* messages, by receiver */
    bool malformed_reported, astray_reported;
    bool slot_reported;           /* a doubt that stays one */
    bool carries;                 /* a session that is known */
    uint8_t cut_handles[2];       /* by caller: enum rpc_cut_handles, */
    uint16_t n_twice;             /* places of `twice` that were taken, one after the other */
    uint32_t cut_handle[2];       /* and the latest of them */
    struct rpc_read_map reads[2]; /* by the end that asks */
    uint64_t gap_frame[2]; /* by sender: of the last packets that were not captured; 0: none */
    uint64_t unplaced[2];  /* by sender: the last packet with data whose place was not captured */
    struct rpc_retired *retired; /* RPC_RETIRED of them; NULL: none yet. Owned */
    struct rpc_astray astray;    /* the latest handle, length 0: none; whether it was reported */
    uint32_t n_retired, n_astray;
    struct rpc_twice *twice; /* RPC_TWICE of them; NULL: none yet. Owned */
};

struct flow_rpcs {
    struct flow_context *context;
    struct flow_messages *messages;
    uint32_t n_kept;                            /* transactions: see parked.c */
    const struct rpcrdma_flow_message *in_hand; /* NULL: none */
    bool in_hand_emitted;                       /* its RPC message, to the sink */
    struct flow_regions regions;
    struct rpc_list held[2]; /* [1]: until RDMA_DONE, however long that takes */
    SLIST_HEAD(, rpc_transaction) spare_transactions;
    uint32_t n_held, n_parked, n_spare_transactions;
    struct rpc_list parked;                /* of all connections */
    bool closing;                          /* the connection in hand ends */
    struct siphash_key key;                /* of the hashes of sessions and slots */
    struct ring_table slots;               /* struct rpc_slot */
    struct ring_table sessions;            /* struct rpc_session */
    struct ring_table slot_uses;           /* struct rpc_slot_use */
    bool keep_data, keep_base, keep_reply; /* of all chunks; of those that carry a whole Call; of
                                            * those that carry a whole Reply */

    struct rpc_iovec base, whole, spare; /* scratch */
    uint8_t *flat;
    size_t flat_size;
    uint32_t *lengths;
    struct rpcrdma_gap *gaps;
    struct rpcrdma_insertion *places;
    struct rpcrdma_unplaced_chunk *unplaced_chunks;
    size_t lists_size;
};

/* A Reply, ready to be put together: from the Send in hand, or from one that waited. */
struct rpc_response {
    const struct rpcrdma_message *message;
    const struct rpc_parts *parts;
    const struct rpc_chunk_map *chunk_map; /* its own read list; may be NULL */
    uint64_t frame;
    int64_t time_ns;
};

/* As struct rpcrdma_finding has it. By value, and without an array: a function that has one on its
 * stack, or takes the address of what is there, is guarded, and most have nothing to tell mostly.
 */
struct rpc_finding {
    enum rpcrdma_rule_id rule;
    uint64_t frame;
    const char *what;
    uint64_t a, b, c; /* arg */
};

static inline uint32_t rpc_clipped(uint64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* data_transfer.c. Tells the sink which chunk `length` bytes from `start` of the region belong to.
 */
void rpc_data_transfer_emit(const struct flow_rpcs *rpcs, const struct flow_region *region,
                            enum rpcrdma_op_kind kind, uint64_t frame, uint64_t start,
                            uint32_t length);

/* reconstruct_call.c, reconstruct_reply.c */
void rpc_call_names(struct flow_rpcs *rpcs, struct rpc_transaction *t, const uint8_t *data,
                    size_t caplen, size_t len);
/* cut_segment.c. Its Call was cut in a chunk list. */
void rpc_cut_note(struct rpc_transaction *t, int caller, const struct flow_message *m);
/* The one Call under way that was cut in a segment with that handle, if each has another one; NULL:
 * none, or it is not known. */
struct rpc_transaction *rpc_cut_owner(struct rpc_conn *c, int caller, uint32_t handle);
void rpc_call_deliver(struct flow_rpcs *rpcs, struct rpc_transaction *t);
/* The same of one without chunks that is whole in `part`, its header decoded. */
void rpc_call_plain(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                    const struct rpcrdma_rpc *rpc, const struct rpc_part *part);
void rpc_reply_deliver(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                       const struct rpc_response *answer);
/* Likewise; `send`: a plain message. */
void rpc_reply_plain(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                     const struct flow_send *send, const struct rpc_part *part);
/* partial.c. The message in hand was not given as a whole RPC message: what there is of it. */
void rpc_partial_waits(struct flow_rpcs *rpcs, struct flow_conn *conn,
                       const struct flow_message *m);
/* reconstruct_chunks.c. Returned chunks' bytes that have not passed. */
uint64_t rpc_reply_pending(const struct rpc_transaction *t, const struct rpcrdma_message *message);
/* Whether those of the Reply that waits have. Work that grows with what came since it was asked
 * last. */
bool rpc_reply_passed(struct rpc_transaction *t);

/* call_sendings.c. The Call of a transaction that begins: whether it was sent before on another
 * connection. */
void rpc_sendings_note(struct flow_rpcs *rpcs, struct rpc_transaction *t, uint32_t remembered,
                       const struct flow_sent_before *before);
/* How often its Call was sent on all connections so far; on this one `own` times, 0: not known. */
uint32_t rpc_sendings_total(const struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                            uint32_t own);
/* The Call is retransmitted as another Send on its connection, in this frame. */
void rpc_sendings_here(struct rpc_transaction *t, uint64_t frame);
/* It was answered. */
void rpc_sendings_answered(struct flow_rpcs *rpcs, const struct rpc_transaction *t);
/* A Reply to no Call that is outstanding: whether it answers another Send of one that had another
 * Reply. */
bool rpc_sendings_answers(const struct flow_conn *conn, int caller, uint32_t xid);
/* The transaction goes. */
void rpc_sendings_over(struct flow_rpcs *rpcs, const struct rpc_transaction *t);

/* transaction.c. Of a Call, or by its XID: NULL where there is none; rpc_begin: NULL without
 * memory; `call` NULL: to be made. A transaction is gone after rpc_finish and rpc_cut_short. */
struct rpc_transaction *rpc_transaction_of(const struct flow_rpcs *rpcs, struct flow_call *call);
struct rpc_transaction *rpc_transaction_find(const struct flow_rpcs *rpcs,
                                             const struct flow_conn *conn, int caller,
                                             uint32_t xid);
struct rpc_conn *rpc_of(const struct flow_conn *conn);
/* The same, made where there is none. */
struct rpc_conn *rpc_conn_get(struct flow_rpcs *rpcs, struct flow_conn *conn);
/* As the sink gets it: its connection, direction and findings are set. */
struct rpcrdma_transaction *rpc_public_of(struct rpc_transaction *t);
/* Without a place in a message. */
RPCRDMA_RARE void rpc_add_finding(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                                  struct rpc_finding finding);
/* With its place, in bytes, in the message of its frame; -1: none. */
RPCRDMA_RARE void rpc_add_finding_at(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                                     int64_t offset, struct rpc_finding finding);
/* The same of the Call's message: its frame is not looked at. */
RPCRDMA_RARE void rpc_add_call_finding(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                                       int64_t offset, struct rpc_finding finding);
void rpc_hold_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t);
void rpc_unhold_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t);
void rpc_forget_reads(struct rpc_transaction *t);
void rpc_finish(struct flow_rpcs *rpcs, struct rpc_transaction *t);
/* The same of a plain Call whose plain Reply has come: neither chunks nor parts are to be freed. */
void rpc_finish_plain(struct flow_rpcs *rpcs, struct rpc_transaction *t);
void rpc_cut_short(struct flow_rpcs *rpcs, struct rpc_transaction *t);
struct rpc_transaction *rpc_begin(struct flow_rpcs *rpcs, struct flow_conn *conn, int caller,
                                  uint32_t xid, struct flow_call *call);

/* Gives it, and forgets it. */
void rpc_emit(struct flow_rpcs *rpcs, struct rpc_transaction *t);

/* parked.c. True: it waits for word of its Reply, and is given when that comes. */
bool rpc_park(struct flow_rpcs *rpcs, struct rpc_transaction *t);
/* Gives all that wait; for how the connection ended, what is not delivered never will be. */
void rpc_unpark(struct flow_rpcs *rpcs, struct flow_conn *conn);

/* rpc_call.c. A transaction that begins with this Call. NULL: no memory. */
struct rpc_transaction *rpc_call_begin(struct flow_rpcs *rpcs, struct flow_conn *conn, int caller,
                                       uint32_t xid, struct flow_call *call,
                                       const struct flow_send *send);
void rpc_note_header(struct rpc_transaction *t, const struct rpcrdma_rpc *rpc);
void rpc_call(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m);

/* rpc_reply.c. rpc_reply_release gives the Reply that waits, with what there is, and ends the
 * transaction. */
void rpc_reply_release(struct flow_rpcs *rpcs, struct rpc_transaction *t);
void rpc_reply_release_if_ready(struct flow_rpcs *rpcs, struct rpc_transaction *t);
void rpc_reply(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m);
void rpc_error(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m);
void rpc_done(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct flow_message *m);
void rpc_check_held(struct flow_rpcs *rpcs, int64_t now);

#endif
