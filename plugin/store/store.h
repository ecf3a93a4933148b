/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_STORE_H
#define RPCRDMA_PLUGIN_STORE_H

/*
 * What is known of each frame, by the number that it was fed as (numbers.h). All of it lives as
 * long as the file that is open. Message headers are kept always; the bytes of RPC messages that
 * had to be put together only up to the memory limit.
 */

#include "flow/flow.h"
#include "flow/rpc.h"
#include "wireshark/compat.h"

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

/* An RPC message whose chunks are not known yet: what its RPC-over-RDMA message has of it. What is
 * between the parts is to come. */
struct partial_part {
    uint32_t at, length;
    uint32_t off; /* in the RPC-over-RDMA message; 0: zeros, padding */
};
struct partial {
    uint32_t length, n_parts;
    bool unplaced; /* where its chunks belong is not known */
    struct partial_part parts[];
};

/* Bytes of a message: in the frame, or of a copy where it was sent in several packets. */
struct place {
    uint32_t off, caplen, len; /* off: in the frame */
};

/* A chunk that a message names. */
enum chunk_place { CHUNK_CALL, CHUNK_READ_ALL, CHUNK_READ, CHUNK_WRITE, CHUNK_REPLY };
struct chunk_note {
    uint64_t length;
    uint32_t segments;
    uint8_t place; /* enum chunk_place; READ_ALL: at position 0, the whole RPC message */
    bool cut;      /* more segments were to follow: its length is not known */
};

/* What many messages share is kept once (store_share): whose they are, */
struct path {
    const struct rpcrdma_endpoint *src, *dst;
    uint64_t stream;         /* in which the Calls go that it is one of, or answers; 0: not known */
    uint32_t connection;     /* 0: not known */
    uint8_t carrier, sender; /* enums */
};

/* and what kind of message they are. */
struct kind {
    const struct rpcrdma_dialect *dialect;
    const char *type, *error;             /* by the dialect's names; NULL: it has none */
    uint32_t program, version, procedure; /* of the Call; has_call */
    uint32_t gss_service;                 /* likewise */
    uint8_t direction;                    /* enum */
    bool reverse, has_call;
};

/* What few messages have. */
struct extra {
    uint8_t *copy;        /* of its bytes; NULL: they are in the frame */
    uint32_t first_frame; /* of several; 0: its own */
    uint32_t invalidate, part;
    uint32_t other_xid; /* its RPC message's, by what that differs (XOR); 0: it is the header's */
    uint32_t n_findings, n_chunks;
    struct rpcrdma_finding *findings;
    struct chunk_note *chunks;
    struct whole *whole;           /* NULL: not put together (yet, or no need) */
    struct partial *partial;       /* until it is; NULL: not known */
    struct message_note *previous; /* the part before this one, of a continued message */
    struct frames *data;           /* of a Call: which frames move bytes of its chunks */
};

struct message_note {
    struct message_note *next; /* in the same frame */
    const struct path *path;
    const struct kind *kind;
    struct extra *extra; /* NULL: nothing of it; see note_extra() */
    uint32_t frame, xid;
    struct place place;
    uint32_t rpc_frame; /* the frame that completes its RPC message and shows it; 0: not known */
    bool held_back : 1; /* as much as was known when its frame was first seen */
    bool has_invalidate : 1;
    bool has_rpc : 1;    /* its payload has the RPC message's header, */
    bool has_type : 1;   /* of which it was captured whether it is a Call */
    bool reduced : 1;    /* its inline part is not the whole of the RPC message */
    bool begins_rpc : 1; /* and is its beginning: what is in chunks are data items of it */
    bool unseen : 1;     /* a Call whose RPC message was not shown when its frame was first seen */
    bool later_visits : 1; /* its RPC message is not shown at the frame's first visit */
    bool taken : 1;        /* by Wireshark's dissector of RPC */
};

/* A list of frames, in order. */
enum { FRAMES_MAX = 4096 };
struct frames {
    uint32_t n, size, left_out;
    uint64_t bytes;
    uint32_t *at;
};

/* What an RPC moved; one for many transactions. */
struct amounts {
    bool has_rdma;
    int64_t rdma_ns;
    uint64_t call_length, reply_length, read_chunk_length, write_chunk_length, reply_chunk_length;
};

/* A Call and what answers it: one for both frames. */
struct transacted {
    struct transacted *next[2]; /* in the Call's frame, in the Reply's: see transacted_next() */
    const struct title *title;
    const struct amounts *amounts;
    const uint8_t *timing; /* timing.h; NULL: nothing of it, or not yet */
    int64_t response_ns;   /* from the Call to the Reply, as they passed */
    uint32_t connection, xid, call_frame, reply_frame;
    uint16_t n_findings; /* that were reported when it was answered */
    bool has_response : 1, complete : 1, retransmitted : 1, error : 1;
    bool left_alone : 1; /* to Wireshark's own dissector */
    bool waits : 1;      /* for its Reply to be delivered */
};

/* A message that is completed, and shown, by a later frame than its own. */
struct completed {
    struct completed *next;
    struct message_note *message_note;
};

struct found {
    struct found *next;
    uint32_t connection; /* 0: none */
    uint32_t xid;        /* of the RPC that it is about; has_xid */
    bool has_xid;
    struct rpcrdma_finding finding;
};

/* RFC 8797 private data in a CM or MPA message. */
struct set_up {
    struct place place;
    uint8_t *copy; /* of its bytes; NULL: they are in the frame */
    struct rpcrdma_private_data private_data;
    struct rpcrdma_address src, dst;
};

/* How one direction of RPC (counting: one sender) stands with its credits after the frame. */
struct credit_state {
    const struct credit_state *next; /* in the same frame */
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
    bool left_alone;     /* to Wireshark's own dissector */
};

/* A packet that was sent before, or late; or the one that was first. */
struct repeats {
    bool set;                       /* this one is no first one: */
    uint8_t repeat;                 /* enum rpcrdma_repeat */
    uint32_t original, again, last; /* the first one; the next; of a first one, the last. 0: none */
};

/* A Call that was sent before on another connection, or the one that was first. */
struct resent {
    struct resent *next; /* in the same frame */
    uint32_t xid;
    uint32_t original, again, last; /* as above */
};

/* What few frames have. */
struct frame_more {
    struct completed *completed;
    struct carried *carried;
    struct found *findings;
    struct set_up *set_up;
    struct repeats *repeats;
    struct resent *resent;
};

struct frame_note {
    uint8_t kind; /* of the first operation in it: enum rpcrdma_op_kind */
    bool ours;    /* of a connection taken as RPC-over-RDMA, or about to become one */
    uint32_t dst_qpn;
    struct message_note *messages;
    struct transacted *transacted;
    const struct credit_state *credits;
    struct frame_more *more; /* NULL: nothing of it; see note_more() */
};

void store_begin(void); /* a file is opened */
void store_end(void);   /* and closed */

/* NULL: nothing is known of it. */
struct frame_note *store_find(uint32_t frame);
struct frame_note *store_get(uint32_t frame);
/* Of which stream a frame is: connections.c's numbers; 0: of none. */
uint32_t store_stream(uint32_t frame);
void store_stream_set(uint32_t frame, uint32_t stream);

struct frame_more *store_more(uint32_t frame);
/* Its note is used for another frame; what it points to is the caller's. */
void store_note_free(uint32_t frame);
/* Frames before this one are not visited again. */
void store_passed(uint32_t frame);

/* A message of the frame, one that is held back still or one that was reported in full. len 0: of
 * any length. NULL: there is none. */
struct message_note *store_message_note(const struct frame_note *note, bool held_back, uint32_t xid,
                                        uint32_t len);

/* To Wireshark's own dissector. */
bool store_left_alone(const struct message_note *message_note);

/* What few have, read or made. */
const struct frame_more *note_more(const struct frame_note *note);
const struct extra *note_extra(const struct message_note *message_note);
struct extra *store_extra(struct message_note *message_note);

/* The next one in the same frame. */
struct transacted *transacted_next(const struct transacted *t, uint32_t frame);

/* Zeros in file scope, aligned for all but long double; and an end like this one there. */
void *store_new(size_t n);
void store_free(void *thing, size_t n); /* of store_new(), and of that size */
/* Likewise a thing like this one. Its padding is part of it: it begins as zeros. */
const void *store_share(const void *thing, size_t n);
const struct rpcrdma_endpoint *store_end_point(const struct rpcrdma_endpoint *end);

/* File scope memory within the limit; NULL beyond it. */
void *store_bytes(size_t n);

#endif
