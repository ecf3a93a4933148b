/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_H
#define RPCRDMA_FLOW_RPC_H

/*
 * Whole RPC messages and transactions: what the RPC layers at both ends saw, put back together from
 * Sends, RDMA Reads and RDMA Writes. Further callbacks of struct rpcrdma_flow_sink give them; bytes
 * that RDMA moved are kept only where the sink has `rpc`.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../export.h"
#include "flow.h"

RPCRDMA_BEGIN_DECLS

/* A run of bytes of a whole RPC message. */
enum rpcrdma_iovec_kind {
    RPCRDMA_IOVEC_INLINE,  /* from a Send */
    RPCRDMA_IOVEC_CHUNK,   /* moved by RDMA */
    RPCRDMA_IOVEC_PAD,     /* XDR padding that did not travel: zeros (RFC 8166 section 3.4.5) */
    RPCRDMA_IOVEC_CUT,     /* passed on the wire, not captured (snap length) */
    RPCRDMA_IOVEC_LOST,    /* lost, as far as the capture shows */
    RPCRDMA_IOVEC_DROPPED, /* captured, not kept: memory limit */
};

struct rpcrdma_iovec {
    enum rpcrdma_iovec_kind kind;
    uint32_t length;
    const uint8_t *data; /* INLINE, CHUNK; else NULL */
};

/* A write chunk whose place in the Reply no upper-layer binding gives. */
struct rpcrdma_unplaced_chunk {
    uint32_t index; /* in the write list */
    uint32_t length;
    size_t first_iovec, n_iovec; /* in the message's iovec, behind its own */
};

/* One whole RPC message, or what there is of it. Valid during the call. */
struct rpcrdma_rpc_message {
    const struct rpcrdma_connection *connection;
    enum rpcrdma_rpc_direction direction; /* CALL or REPLY */
    int sender_end;
    struct rpcrdma_endpoint src, dst;
    bool direction_known; /* `reverse` is valid */
    bool reverse;         /* of an RPC from server to client */
    uint32_t xid;
    uint64_t frame;                 /* the packet that completes it */
    int64_t complete_ns;            /* its time */
    uint64_t send_frame;            /* last packet of its (last) Send */
    int64_t time_ns;                /* its time */
    const struct rpcrdma_rpc *rpc;  /* its header; NULL: not captured. Its spans are NULL */
    const struct rpcrdma_rpc *call; /* of a Reply: its Call's header, where seen */
    uint64_t length;                /* unreduced; what is missing counted */
    bool complete;                  /* all of it passed on the wire */
    bool whole; /* all of it is in the iovec, in order, and begins with its Send's XID */
    const struct rpcrdma_iovec *iovec; /* in order */
    size_t n_iovec;
    const struct rpcrdma_unplaced_chunk
        *unplaced_chunks; /* then the message is the reduced one, not whole */
    size_t n_unplaced_chunks;
    const struct rpcrdma_finding *findings;
    size_t n_findings;
};

/* The Payload stream of an RPC message (RFC 8166 section 3.1): the message as it was sent, less the
 * items that chunks carry. One per Call and per Reply that has an RPC message. Valid during the
 * call. */
struct rpcrdma_payload_stream {
    const struct rpcrdma_connection *connection;
    enum rpcrdma_rpc_direction direction; /* CALL or REPLY */
    bool reverse;                         /* of an RPC from server to client */
    uint32_t xid;
    int64_t time_ns;                /* when it was sent */
    const struct rpcrdma_rpc *rpc;  /* its header */
    const struct rpcrdma_rpc *call; /* the Call's header (of a Call: its own); NULL: not seen */
    const uint8_t *data;            /* caplen bytes of len */
    size_t caplen, len;
    const struct rpcrdma_reduction *reduction; /* what was taken out of it: upper/xdr_grammar.h */
    uint64_t *tag; /* the sink's to set: the same one for Call and Reply, 0 before; the
                    * transaction's `tag` */
};

enum { RPCRDMA_OPERATIONS = 64 }; /* of a COMPOUND, listed by name */

/* An RPC: a Call and what answers it. Valid during the call. */
struct rpcrdma_transaction {
    const struct rpcrdma_connection *connection;
    int caller_end;
    bool direction_known;
    bool reverse; /* from server to client */
    uint32_t xid;
    bool has_program;
    uint32_t program, version, procedure;
    /* NFSv4 COMPOUND and CB_COMPOUND: the Call's operations, as far as they could be read */
    bool compound, callback;
    bool operations_cut; /* there are more than operations has */
    uint32_t n_operations;
    uint32_t operations[RPCRDMA_OPERATIONS];

    uint64_t call_frame, reply_frame; /* last packet of the Send, when first seen; 0: not seen */
    /* config.delivery: when the Call was sent first, and when the Reply was delivered, as far as
     * that is known (reply.state). Else: of call_frame and reply_frame */
    int64_t call_time_ns, reply_time_ns;
    bool has_latency, has_rdma; /* no latency: a Reply that was not delivered has none */
    int64_t latency_ns;         /* from call_time_ns to reply_time_ns */
    /* config.delivery */
    struct rpcrdma_delivery call, reply;
    uint32_t transmissions; /* of the Call, on all connections seen; 0: not known */
    bool has_phases;        /* and a latency */
    bool rdma_in_doubt;     /* and no phases: headers were cut that show which RDMA is its own */
    struct rpcrdma_phases phases;
    int64_t stalled_ns; /* of its latency: waiting for what was retransmitted, or could not be */
    enum rpcrdma_stall stalled_by; /* of the longest such wait, between these: */
    uint64_t stalled_from_frame, stalled_to_frame;
    bool has_response;
    int64_t response_ns; /* between the Sends, when first seen; where both were */
    int64_t rdma_ns;     /* from the first to the last RDMA Read or Write packet: */
    uint64_t rdma_first_frame, rdma_last_frame; /* has_rdma; 0: there was none */
    int64_t rdma_last_ns;                       /* when the last passed */
    /* TCP, config.delivery: until the last Read response was acknowledged, by what did not wait;
     * 0: not known */
    int64_t data_acked_ns;
    uint64_t call_length, reply_length; /* of the unreduced RPC messages; 0: not known */
    uint64_t read_chunk_length;         /* bytes that RDMA moved, each counted once */
    uint64_t read_uncaptured;    /* that it moved besides, as requests and a Reply show; and the
                                  * responses are not in the capture. Without a Reply: that were
                                  * asked for, and did not pass */
    uint64_t write_chunk_length; /* as the Reply says, without one what was seen */
    uint64_t reply_chunk_length;
    uint64_t write_chunk_room; /* bytes that the Call's Write chunks offer; with a Reply 0 */
    uint32_t segments;         /* that the Call offers, in all chunks */
    bool offers_known;         /* the Call's chunk lists were captured: segments */
    bool reads_known;          /* and so was all that was read of them: read_chunk_length */
    bool returns_known; /* the Reply's lists were captured, or without one the Call's, and all that
                         * was written: the other two lengths */
    bool complete;      /* the whole Call and the whole Reply passed on the wire */
    bool retransmitted; /* the Call was sent before */
    /* where it was sent first, of all connections seen: the same for all sendings of a Call. 0: not
     * on another connection */
    uint32_t original_connection;
    uint64_t original_frame;
    int64_t original_time_ns;
    uint32_t previous_connection; /* where it was sent last before this one; 0 likewise */
    bool error;                   /* answered by an RDMA error, not by a Reply */
    bool has_credits;
    uint32_t credits_granted;
    const struct rpcrdma_finding *findings;
    size_t n_findings;
    uint64_t tag; /* what the sink's `payload_stream` set it to; else 0 */
    /* A Call of NFSv4.1 and later with SEQUENCE (RFC 8881 section 2.10.6.1), not a callback: */
    bool has_slot;
    uint32_t slot;         /* its number; of the session's: */
    uint32_t slots_in_use; /* by Calls seen, this one included; 0: of too many sessions or slots */
    uint32_t slots;        /* that the server granted when the Call passed; 0: not known */
    uint32_t slots_asked;  /* by the client, in CREATE_SESSION; 0: not captured */
    int64_t slots_full_ns; /* it took the last: until one was free again; 0: it did not */
};

/* Which chunk of a Call. */
enum rpcrdma_chunk_kind {
    RPCRDMA_CHUNK_CALL,  /* the whole Call: Position-Zero Read chunk, or version 2's Call chunk */
    RPCRDMA_CHUNK_READ,  /* a data item of the Call (or of a Reply: RFC 5666's Read-Read model) */
    RPCRDMA_CHUNK_WRITE, /* a data item of the Reply */
    RPCRDMA_CHUNK_REPLY, /* the whole Reply */
    RPCRDMA_CHUNK_COUNT  /* how many there are */
};

/* One packet of RDMA that moves bytes of a chunk, or asks for them; reported each time it is seen,
 * also when it moves them again. Valid during the call. */
struct rpcrdma_data_transfer {
    const struct rpcrdma_connection *connection;
    enum rpcrdma_op_kind kind; /* WRITE, READ_REQUEST, READ_RESPONSE */
    uint64_t frame;
    uint32_t xid;
    uint64_t call_frame; /* last packet of the Call's Send; 0: not seen */
    enum rpcrdma_chunk_kind chunk;
    uint32_t index;        /* of the chunk in its list, from 0 */
    uint32_t position;     /* RPCRDMA_CHUNK_READ: as the read list says */
    uint64_t offset;       /* in the chunk */
    uint32_t length;       /* bytes on the wire, or asked for */
    uint64_t chunk_length; /* bytes there is room for, or to be read */
};

/* Calls of one end of a connection that have no Reply yet. */
struct rpcrdma_waiting {
    const struct rpcrdma_connection *connection;
    int caller_end;
    uint64_t calls;
    const struct rpcrdma_transaction *oldest; /* as far as it is known now */
    int64_t since_ns; /* when that was sent first, be it on an earlier connection */
};

/* Each end that waits, at this time: of connections that are open and whose place no other has
 * taken. A Call does not count where packets were not captured since, among which its Reply may
 * have been. Of use in a live capture, where the sink has `transaction`; `each` calls nothing of
 * this flow's. It takes time for each connection and each outstanding Call. */
RPCRDMA_API void rpcrdma_flow_waiting(struct rpcrdma_flow *flow,
                                      void (*each)(void *context,
                                                   const struct rpcrdma_waiting *waiting),
                                      void *context);

/* Writes "READ" or "SEQUENCE+PUTFH+READ", NUL-terminated and cut to size; "+..." where operations
 * are not known; "" where nothing is. Returns the length it would have. */
RPCRDMA_API size_t rpcrdma_transaction_name(const struct rpcrdma_transaction *transaction,
                                            char *buf, size_t size);

/* The same with its program before it: "NFS V3 READ", "program 536870913 V1 PROC_3"; with
 * " (reverse)" behind a named program whose Call the server sent; "?" where none is known. */
RPCRDMA_API size_t rpcrdma_transaction_title(const struct rpcrdma_transaction *transaction,
                                             char *buf, size_t size);

/* Operation i < n_operations by name, NULL: it has none. */
RPCRDMA_API const char *rpcrdma_transaction_operation(const struct rpcrdma_transaction *transaction,
                                                      uint32_t i);

RPCRDMA_END_DECLS

#endif
