/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_QUEUE_H
#define RPCRDMA_CLI_SANITIZE_QUEUE_H

/*
 * Packets that wait until all is known that decides what becomes of their bytes, in the order of
 * the capture; behind them those that went out last, because what is retransmitted must look the
 * same again. Both are in two rings whose size never changes. Among them are units, each behind the
 * packet with which it was complete.
 */

#include <glib.h>

#include "net/net.h"
#include "sanitize/headers.h"
#include "sanitize/stream.h"
#include "sanitize/tcp.h"

enum { SANITIZE_UNIT_MOST = 66 << 10 }; /* bytes of the greatest FPDU, with markers, and more */

enum sanitize_payload {
    PAYLOAD_NONE,    /* there is none, or it was taken care of */
    PAYLOAD_UNKNOWN, /* waits */
    PAYLOAD_ZERO,    /* file data: zeros */
    PAYLOAD_DONE,    /* replaced */
};

/* One direction of a connection, as packets name it. */
struct sanitize_direction {
    struct rpcrdma_address src, dst;
    uint8_t carrier; /* enum rpcrdma_carrier */
    bool ours;       /* RPC-over-RDMA */
    uint16_t src_port, dst_port;
    uint32_t dst_qpn;
    uint32_t number;
    int64_t good_icrcs;              /* more ICRCs that are right than that are wrong, so far */
    struct sanitize_direction *back; /* iWARP: the other direction */
    struct sanitize_stream stream;   /* likewise */
};

/* What TCP carries, where it is no packet that has an operation: a start-up frame, an FPDU. */
struct sanitize_unit {
    bool is_one, finished, markers;
    bool unknown; /* what it has was not known when it was finished */
    uint32_t marker_phase, seq, size, caplen;
};

struct sanitize_packet {
    struct rpcrdma_packet packet; /* data: in the ring; frame: its number there */
    uint64_t frame;               /* in the capture */
    struct sanitize_unit unit;    /* is_one: it is no packet, but one of these */
    uint64_t at;                  /* of TCP: where in its stream the payload begins, */
    uint32_t settled;             /* and how much of it was decided */
    enum sanitize_sum sum;
    uint32_t interface;
    struct sanitize_layout layout;
    enum sanitize_drop drop;
    enum sanitize_payload state;
    bool bad_icrc, is_cm, replayed;
    struct sanitize_direction *direction; /* NULL: of no connection */
    uint32_t payload, n, len;             /* offset; captured bytes; bytes on the wire */
    uint32_t psn;
    uint8_t kind; /* enum rpcrdma_op_kind */
    uint16_t flags;
    uint64_t original; /* of PAYLOAD_DONE: hash of what was there */
    /* where it is, of which chunk, and where in that; 0: not known. The same of earlier packets:
     * their frames, 0 none */
    uint64_t place, chunk, piece;
    uint64_t older_place, older_chunk, older_piece;
    uint64_t chunk_offset;
    uint64_t start; /* in the ring of bytes, counted through */
};

struct sanitize_queue {
    /* the caller's */
    bool (*ready)(void *context, struct sanitize_packet *packet);
    void (*emit)(void *context, struct sanitize_packet *packet);
    /* its place is needed; or NULL */
    void (*forget)(void *context, const struct sanitize_packet *packet);
    void *context;

    /* its own */
    struct sanitize_packet *packets;
    uint8_t *bytes;
    size_t n_packets, n_bytes;
    uint64_t oldest, first, next;         /* frames: kept; not emitted yet; of the next packet */
    uint64_t end;                         /* of what is used of the ring of bytes */
    GHashTable *places, *chunks, *pieces; /* the latest packet of each */
};

/* False: not so much memory. Frames count from 1. */
bool sanitize_queue_begin(struct sanitize_queue *queue, size_t memory);
void sanitize_queue_free(struct sanitize_queue *queue);

/* A copy at the end; where there is no room the first ones go out, ready or not. */
struct sanitize_packet *sanitize_queue_add(struct sanitize_queue *queue,
                                           const struct rpcrdma_packet *packet);
/* Likewise, of n bytes that become a unit, with as much room behind them. NULL: they are too many.
 */
struct sanitize_packet *sanitize_queue_add_unit(struct sanitize_queue *queue, const uint8_t *bytes,
                                                uint32_t n);

/* A packet that is still there, emitted or not; else NULL. */
struct sanitize_packet *sanitize_queue_at(const struct sanitize_queue *queue, uint64_t frame);

/* Says where it is, or of which chunk and where in that. */
void sanitize_queue_place(struct sanitize_queue *queue, struct sanitize_packet *packet,
                          uint64_t place);
void sanitize_queue_chunk(struct sanitize_queue *queue, struct sanitize_packet *packet,
                          uint64_t chunk, uint64_t piece);

/* What comes later of this chunk is of another one of the same name. */
void sanitize_queue_chunk_done(struct sanitize_queue *queue, uint64_t chunk);

/* The latest packet there; then the one before it. NULL: none. */
struct sanitize_packet *sanitize_queue_find_place(const struct sanitize_queue *queue,
                                                  uint64_t place);
struct sanitize_packet *sanitize_queue_find_chunk(const struct sanitize_queue *queue,
                                                  uint64_t chunk);

/* DAMAGED: it is wrong, and its sender's are right otherwise. And it, or what it repeats, was: that
 * its bytes are others was not the sender's doing. */
enum sanitize_icrc sanitize_icrc_of(const struct sanitize_packet *packet);
bool sanitize_queue_damaged(const struct sanitize_queue *queue,
                            const struct sanitize_packet *packet);

/* Emits what is ready, up to the first that is not; `all`: everything. */
void sanitize_queue_go_on(struct sanitize_queue *queue, bool all);

#endif
