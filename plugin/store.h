/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_STORE_H
#define RPCRDMA_PLUGIN_STORE_H

/*
 * What is known of each frame. All of it lives as long as the file that is open. Message headers
 * are kept always; the bytes of RPC messages that had to be put together only up to the memory
 * limit.
 */

#include "plugin.h"

/* A run of bytes that are known. */
struct run {
    uint32_t at, length;
    const uint8_t *data; /* NULL: zeros, padding that did not travel */
};

/* An RPC message put together: what is known of it, in order. What is between the runs is missing.
 */
struct whole {
    uint32_t length; /* the RPC message's, unreduced */
    uint32_t n_runs, n_kept;
    struct run *runs;
    struct run *kept; /* beyond the memory limit: what there is once the frame in hand is done */
    uint8_t *bytes;   /* beyond it: of the runs, as long as that is in hand */
    bool complete;    /* all of it passed on the wire */
};

/* Bytes of a message: in the frame, or a copy where it was sent in several packets. */
struct place {
    uint8_t *copy; /* NULL: in the frame, at off */
    uint32_t off, caplen, len;
};

/* A chunk that a message names. */
enum chunk_place { CHUNK_CALL, CHUNK_READ_ALL, CHUNK_READ, CHUNK_WRITE, CHUNK_REPLY };
struct chunk_note {
    uint64_t length;
    uint32_t segments;
    uint8_t place; /* enum chunk_place; READ_ALL: at position 0, the whole RPC message */
};

struct told {
    struct told *next; /* in the same frame */
    bool early;        /* as much as was known when its frame was first seen */
    struct place place;
    const struct rpcrdma_dialect *dialect;
    uint32_t frame, first_frame;
    uint32_t connection; /* 0: not known */
    uint32_t xid;
    uint8_t carrier, sender, direction; /* enums */
    bool reverse, has_invalidate, has_call;
    bool has_rpc;      /* its payload has the RPC message's header */
    bool unseen;       /* a Call whose RPC message was not shown when its frame was first seen */
    bool later_visits; /* its RPC message is not shown at the frame's first visit */
    bool begins_rpc;   /* and is its beginning: what is in chunks are data items of it */
    uint32_t invalidate, part;
    uint32_t program, version, procedure;     /* of the Call; has_call */
    uint32_t gss_service;                     /* likewise */
    const struct rpcrdma_endpoint *src, *dst; /* one for many messages */
    uint64_t stream; /* in which the Calls go that it is one of, or answers; 0: not known */
    struct rpcrdma_finding *findings;
    uint32_t n_findings, n_chunks;
    struct chunk_note *chunks;
    const char *type, *error; /* by the dialect's names; NULL: it has none */

    /* the RPC message: shown where */
    bool reduced;        /* its inline part is not the whole of it */
    uint32_t rpc_frame;  /* the frame that completes it and shows it; 0: not known; else its own */
    struct whole *whole; /* NULL: not put together (yet, or no need) */
    struct told *previous; /* the part before this one, of a continued message */
    struct frames *data;   /* of a Call: which frames move bytes of its chunks */
};

/* A list of frames, in order. */
enum { FRAMES_MAX = 4096 };
struct frames {
    uint32_t n, size, left_out;
    uint64_t bytes;
    uint32_t *at;
};

/* A Call and what answers it: known of both frames. */
struct transacted {
    struct transacted *next;
    uint32_t connection, xid, call_frame, reply_frame;
    const char *title; /* "NFS V3 READ" */
    bool has_latency, has_rdma, complete, retransmitted, error;
    bool left_alone; /* to Wireshark's own dissector */
    int64_t latency_ns, rdma_ns;
    uint64_t call_length, reply_length, read_chunk_length, write_chunk_length, reply_chunk_length;
};

/* A message that is completed, and shown, by a later frame than its own. */
struct completed {
    struct completed *next;
    struct told *told;
};

struct found {
    struct found *next;
    uint32_t connection; /* 0: none */
    struct rpcrdma_finding finding;
};

/* RFC 8797 private data in a CM or MPA message. */
struct set_up {
    struct place place;
    struct rpcrdma_private_data private_data;
    struct rpcrdma_address src, dst;
};

/* How one direction of RPC (counting: one sender) stands with its credits after the frame. */
struct credit_state {
    struct credit_state *next;
    uint32_t connection;
    bool counting, closed, at_limit;
    bool has_requested, has_granted, has_limit, has_advertised;
    uint8_t role;    /* of the Requester; counting: of the sender: enum rpcrdma_role */
    uint8_t reading; /* of `advertised`: enum rpcrdma_credit_reading */
    uint32_t requested, granted, limit, in_flight, advertised;
    int64_t stall_ns; /* a time at the limit ended here, after so long; -1: none did */
};

/* An RDMA packet that moves bytes of a chunk. */
struct carried {
    struct carried *next; /* several in one packet: iWARP */
    uint32_t xid, call_frame, index, position, length;
    uint64_t offset, chunk_length;
    uint8_t kind, chunk; /* enum rpcrdma_op_kind, rpcrdma_chunk_kind */
};

struct frame_note {
    uint8_t kind; /* of the first operation in it: enum rpcrdma_op_kind */
    uint32_t dst_qpn;
    bool ours; /* of a connection taken as RPC-over-RDMA, or about to become one */
    struct told *messages;
    struct completed *completed;
    struct transacted *transacted;
    struct carried *carried;
    struct found *findings;
    struct credit_state *credits;
    struct set_up *set_up;
};

void store_begin(void); /* a file is opened */
void store_end(void);   /* and closed */

/* NULL: nothing is known of it. */
struct frame_note *store_find(uint32_t frame);
struct frame_note *store_get(uint32_t frame);
void store_forget(uint32_t frame);

/* A message of the frame, one that was told early only or one that was told in full. len 0: of any
 * length. NULL: there is none. */
struct told *store_told(const struct frame_note *note, bool early, uint32_t xid, uint32_t len);

/* Zeros in file scope, aligned for all but long double; and an end like this one there. */
void *store_new(size_t n);
const struct rpcrdma_endpoint *store_end_point(const struct rpcrdma_endpoint *end);

/* File scope memory within the limit; NULL beyond it. */
void *store_bytes(size_t n);

#endif
