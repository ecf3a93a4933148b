/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_RPC_STAGE_H
#define RPCRDMA_FLOW_RPC_RPC_STAGE_H

/*
 * From messages, Writes and Reads to whole RPCs and transactions: the parts and who does what.
 *
 *   rpc_stage.c    the observer: who gets a message, where data goes
 *   transaction.c  a transaction from its beginning to its end
 *   parts.c    what Sends carried
 *   rpc_call.c     Calls
 *   rpc_reply.c    Replies and errors; Replies that wait for data
 *   chunk_map.c    the chunk lists of a message as regions
 *   read_map.c    which Read request goes to which region
 *   iovec.c   runs of bytes, cut and joined
 *   reconstruct.c    a Call or a Reply: what it is made of; given to the sink
 *   reconstruct_chunks.c   base and chunks put together
 *   data_transfer.c    which chunk a packet's bytes belong to
 *   retransmit.c    Calls that were sent before, on another connection
 *   rpc_names.c      names
 */

#include "flow/internal.h"
#include "flow/rpc.h"
#include "flow/rpc/region.h"
#include "upper/binding.h"

enum {
    TRACK_SEGMENTS = 4096,               /* of one message; Linux offers at most a few dozen */
    TRACK_HELD = RPCRDMA_BOUND(1024, 2), /* Replies that wait for data */
    TRACK_RETRANSMIT = 4096,             /* Calls remembered to be known again; a power of two */
};
/* A Reply that came before its data waits this long: the data travelled before it (a Write) or was
 * answered before it (a Read), so only the capture can have changed their order. */
#define TRACK_HOLD_NS INT64_C(20000000)

/* A run of segments with one meaning. */
struct track_chunk {
    uint32_t position;     /* read chunks */
    uint32_t first, count; /* in the offer's regions */
    uint64_t length;       /* offered */
};

enum track_use {
    TRACK_CALL_READ,  /* read chunks of a Call: the Responder pulls them */
    TRACK_REPLY_READ, /* of a Reply: the Requester does (RFC 5666's Read-Read model) */
    TRACK_WRITE,      /* write chunks and reply chunk */
};

/* The chunk lists of one message. */
struct track_chunk_map {
    size_t size; /* of the allocation */
    bool has_base, has_reply;
    struct track_chunk base; /* Position-Zero Read chunk, or version 2's Call chunk */
    struct track_chunk reply;
    struct track_chunk *reads, *writes; /* reads by position */
    uint32_t n_reads, n_writes, n_regions;
    struct flow_region *regions;
};

/* What a Send carried of an RPC message. */
struct track_part {
    struct track_part *next;
    size_t size; /* of the allocation */
    uint64_t at; /* in the stream that the Sends carry */
    uint32_t caplen, len;
    const uint8_t *data; /* NULL: not kept */
    uint8_t bytes[];
};

struct track_parts {
    struct track_part *first, *last;
    uint64_t length; /* on the wire, gaps counted */
    uint64_t base;   /* from where flow/ counts the parts: not 0 after a loss */
    uint64_t total;  /* as the first part says; 0: not known */
    bool lost;       /* a part is missing, of a length that is not known */
};

/* A Reply that cannot be given yet. */
struct track_reply {
    struct track_parts parts;
    bool open;                      /* parts came, more are to come */
    bool ready;                     /* its last Send has come; what follows is of that */
    bool read_read;                 /* its read list waits to be pulled */
    struct rpcrdma_message message; /* on `header` */
    uint8_t *header;
    uint32_t header_caplen;
    struct track_chunk_map *chunk_map; /* its read list */
    uint64_t frame;
    int64_t time_ns;
    struct track_rpc *newer, *older; /* the tracker's list of those that wait */
    bool waits;
};

/* A transaction. */
struct track_rpc {
    struct rpcrdma_transaction pub;
    struct flow_conn *conn;
    struct track_rpc *chain;         /* same key of the table */
    struct track_rpc *newer, *older; /* same connection and caller */
    bool listed, has_call;

    struct rpcrdma_rpc rpc; /* header of the Call, valid where pub.has_program */
    struct track_parts parts;
    bool open;      /* more parts of the Call are to come */
    bool malformed; /* the Call's transport header could not be read to its end */
    bool no_length; /* or was not captured to its end */
    bool msgp;
    uint32_t align, header_length;
    bool call_given, call_complete;
    bool stream_told; /* the Call's Payload stream was given to the sink */
    uint64_t pending; /* bytes of its read chunks that have not passed */
    struct track_chunk_map *chunk_map;

    struct track_reply reply;
    bool reply_complete;
    int64_t rdma_first_ns, rdma_last_ns;
    uint64_t last_frame; /* of the last RDMA packet, for the frame that completes the Call */
    int64_t last_ns;
    struct flow_findings *findings; /* NULL: none */
    bool dropped;
    struct {
        uint32_t first, last; /* 0: none */
    } reads[2];               /* ids of the Read requests to its regions, by the end that asks */
};

struct track_read {
    uint32_t id; /* of the request; 0: none */
    struct flow_region *region;
};
struct track_read_map {
    struct track_read *at;
    uint32_t size;
};

/* Per connection. */
struct track_conn {
    struct track_rpc *newest[2], *oldest[2]; /* by caller */
    uint32_t count[2];
    struct track_read_map reads[2];          /* by the end that asks */
    uint64_t unknown_bytes, unknown_packets; /* to handles that nothing seen offers */
    uint64_t unplaced[2]; /* by sender: the last packet with data whose place was not captured */
};

struct track_retransmit {
    uint64_t key;
    uint64_t frame;
    uint32_t connection; /* 0: free, or answered */
};

/* Runs of bytes. */
struct track_iovec {
    struct rpcrdma_iovec *at;
    size_t count, size;
    size_t apart; /* pieces before this one are not added to */
    uint64_t length;
    bool failed; /* no memory: some are missing */
};

struct track {
    struct flow *flow;
    struct flow_observer observer;
    struct flow_regions regions;
    struct flow_table table; /* (connection, caller, XID) -> transaction */
    struct track_rpc *held_newest, *held_oldest;
    uint32_t n_held;
    struct track_retransmit *again;
    bool keep_data, keep_base, keep_reply; /* of all chunks; of those that carry a whole Call; of
                                            * those that carry a whole Reply */

    struct track_iovec base, whole, spare; /* scratch */
    uint8_t *flat;
    size_t flat_size;
    uint32_t *lengths;
    struct rpcrdma_gap *gaps;
    struct rpcrdma_insertion *places;
    struct rpcrdma_unplaced_chunk *unplaced_chunks;
    size_t lists_size;
};

/* A Reply, ready to be put together: from the Send in hand, or from one that waited. */
struct track_answer {
    const struct rpcrdma_message *message;
    const struct track_parts *parts;
    const struct track_chunk_map *chunk_map; /* its own read list; may be NULL */
    uint64_t frame;
    int64_t time_ns;
};

static inline uint32_t track_clipped(uint64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* chunk_map.c. Opens what `end` offers in `message`: a Call everything, a Reply (reads:
 * TRACK_REPLY_READ) its read list. NULL when that is nothing, or memory is short (t->dropped). */
struct track_chunk_map *track_chunk_map_open(struct track *track, struct track_rpc *t, int end,
                                             enum track_use reads,
                                             const struct rpcrdma_message *message);
void track_chunk_map_free(struct track *track, struct track_chunk_map *chunk_map);
/* Bytes of its read chunks that have not passed. */
uint64_t track_chunk_map_pending(const struct track_chunk_map *chunk_map);
/* Bytes of them that have. */
uint64_t track_chunk_map_read(const struct track_chunk_map *chunk_map);

/* iovec.c */
void track_iovec_reset(struct track_iovec *iovec);
void track_iovec_add(struct track *track, struct track_iovec *iovec, struct rpcrdma_iovec part_iov);
void track_iovec_parts(struct track *track, struct track_iovec *iovec,
                       const struct track_parts *parts);
/* [0, length) of a region; LOST where there is none (region NULL). */
void track_iovec_region(struct track *track, struct track_iovec *iovec,
                        const struct flow_region *region, uint32_t length);
void track_iovec_chunk(struct track *track, struct track_iovec *iovec,
                       const struct track_chunk_map *chunk_map, const struct track_chunk *chunk);
void track_iovec_fill(struct track *track, struct track_iovec *iovec, enum rpcrdma_iovec_kind kind,
                      uint64_t length);

/* Reads a list of pieces from its beginning. */
struct track_reader {
    const struct track_iovec *from;
    size_t index;
    uint32_t used; /* of pieces[index] */
    uint64_t left;
};
struct track_reader track_reader_begin(const struct track_iovec *from);
void track_reader_move(struct track *track, struct track_reader *reader, struct track_iovec *to,
                       uint64_t length);
/* The longest captured beginning as one run. *caplen says how long. NULL where there is none. */
const uint8_t *track_flatten(struct track *track, const struct track_iovec *iovec, size_t *caplen);
void track_iovec_free(struct track *track, struct track_iovec *iovec);

/* data_transfer.c. Tells the sink which chunk `length` bytes from `start` of the region belong to. */
void track_data_transfer_emit(const struct track *track, const struct flow_region *region,
                              enum rpcrdma_op_kind kind, uint64_t frame, uint64_t start,
                              uint32_t length);

/* reconstruct.c */
void track_call_names(struct track *track, struct track_rpc *t, const uint8_t *data, size_t caplen,
                      size_t len);
void track_call_give(struct track *track, struct track_rpc *t);
void track_reply_give(struct track *track, struct track_rpc *t, const struct track_answer *answer);
/* Returned chunks' bytes that have not passed. */
uint64_t track_reply_pending(const struct track_rpc *t, const struct rpcrdma_message *message);

/* retransmit.c */
bool track_retransmit_seen(struct track *track, const struct track_rpc *t, uint64_t *frame,
                           uint32_t *connection);
void track_retransmit_note(struct track *track, const struct track_rpc *t);
void track_retransmit_answered(struct track *track, const struct track_rpc *t);

/* read_map.c. `ring`: how many requests flow/ keeps. */
void track_read_map_add(struct track *track, struct track_read_map *read_map, uint32_t ring,
                        uint32_t id, struct flow_region *region);
/* NULL: none, or it is forgotten. */
struct flow_region *track_read_map_find(const struct track_read_map *read_map, uint32_t id);
/* The regions of `owner` go; its requests are first to last. */
void track_read_map_forget(struct track_read_map *read_map, uint32_t first, uint32_t last,
                           const struct track_rpc *owner);
void track_read_map_free(struct track *track, struct track_read_map *read_map);

/* parts.c. track_part_of: what the message carries, and where it goes; track_parts_add copies the
 * bytes where `keep`. */
bool track_part_starts(const struct flow_message *m); /* with an RPC header, as far as is seen */
struct track_part track_part_of(struct track_parts *parts, const struct flow_message *m);
void track_parts_free(struct track *track, struct track_parts *parts);
void track_parts_add(struct track *track, struct track_rpc *t, struct track_parts *parts,
                     const struct track_part *part, bool keep);

/* transaction.c. track_find: NULL where there is none; track_begin: NULL without memory.
 * A transaction is gone after track_finish and track_cut_short. */
struct track_rpc *track_find(const struct track *track, const struct flow_conn *conn, int caller,
                             uint32_t xid);
struct track_conn *track_of(const struct track *track, const struct flow_conn *conn);
void track_add_finding(struct track *track, struct track_rpc *t, enum rpcrdma_rule_id rule,
                       uint64_t frame, const char *what, uint64_t a, uint64_t b, uint64_t c);
void track_hold(struct track *track, struct track_rpc *t);
void track_unhold(struct track *track, struct track_rpc *t);
void track_forget_reads(struct track *track, struct track_rpc *t);
void track_finish(struct track *track, struct track_rpc *t);
void track_cut_short(struct track *track, struct track_rpc *t);
struct track_rpc *track_begin(struct track *track, struct flow_conn *conn, int caller,
                              uint32_t xid);

/* rpc_call.c */
void track_take_rpc(struct track_rpc *t, const struct rpcrdma_rpc *rpc);
void track_call(struct track *track, struct flow_conn *conn, const struct flow_message *m);

/* rpc_reply.c. track_answer_held gives the Reply that waits, with what there is, and ends the
 * transaction. */
void track_answer_held(struct track *track, struct track_rpc *t);
void track_answer_if_ready(struct track *track, struct track_rpc *t);
void track_reply(struct track *track, struct flow_conn *conn, const struct flow_message *m);
void track_error(struct track *track, struct flow_conn *conn, const struct flow_message *m);
void track_done(struct track *track, struct flow_conn *conn, const struct flow_message *m);
void track_check_held(struct track *track, int64_t now);

/* rpc_stage.c */
struct track *track_new(struct flow *flow);
void track_free(struct track *track);

#endif
