/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_TRACK_H
#define RPCRDMA_CLI_SANITIZE_TRACK_H

/*
 * Packets in, sanitized packets out. The analyzer says what each packet carries: a message, whose
 * bytes sanitize_message.h knows; file data, which becomes zeros; part of a long message, which is
 * walked as a whole and laid upon the packets that carried it. What has no such place becomes
 * zeros, and what cannot be read at all is not passed. Of iWARP units stand for packets there, and
 * packets are composed of them: iwarp.h.
 */

#include "analyzer/analyzer.h"
#include "options/options.h"
#include "sanitize/fpdu.h"
#include "sanitize/queue.h"
#include "sanitize/sanitize_message.h"

enum { SANITIZE_LONG_CALLS = 1024 };

/* The header of a Call that a chunk carried: its Reply is read by it. */
struct sanitize_long_call {
    uint64_t name;
    struct rpcrdma_rpc rpc;
};

struct sanitize_track {
    /* the caller's */
    const struct options *options;
    struct sanitize_key key;
    int64_t shift_s;
    void (*emit)(void *context, uint32_t interface, const struct rpcrdma_packet *packet,
                 bool replayed);
    void *context;

    /* for the caller to read */
    bool found;    /* messages, or connections at least */
    bool messages; /* the former */
    uint64_t ours; /* packets of such connections that were emitted */
    uint64_t dropped[DROP_KINDS];
    uint64_t unplaced;     /* packets whose bytes are zeros, because nothing says what they are */
    uint64_t memory_limit; /* how often --max-memory was reached */
    struct sanitize_message message;

    /* its own */
    struct sanitize_queue queue;
    struct sanitize_headers headers;
    struct rpcrdma_analyzer *analyzer;
    struct rpcrdma_flow *flow; /* the analyzer's */
    struct sanitize_fpdus fpdus;
    GHashTable *directions;
    uint64_t now;    /* given to the analyzer: its number in the queue; 0: none */
    int64_t time_ns; /* of that */
    uint64_t unit;   /* whose operation comes next, likewise */
    GByteArray *stream;
    struct sanitize_long_call long_calls[SANITIZE_LONG_CALLS]; /* the latest, by name */
    bool any_op, no_memory;
};

/* False: it was said. */
bool sanitize_track_begin(struct sanitize_track *track);
/* False: memory is short, which was said. */
bool sanitize_track_packet(struct sanitize_track *track, uint32_t interface,
                           const struct rpcrdma_packet *packet, bool replayed);
void sanitize_track_end(struct sanitize_track *track);
void sanitize_track_free(struct sanitize_track *track);

/* track_emit.c, for the queue: whether what becomes of a packet is known; it leaves the queue; it
 * is forgotten. `track` is a sanitize_track. */
bool sanitize_track_ready(void *track, struct sanitize_packet *p);
void sanitize_track_emit(void *track, struct sanitize_packet *p);
void sanitize_track_forget(void *track, const struct sanitize_packet *p);
/* If this packet was retransmitted, what stands for its bytes is what stood for them before. */
void sanitize_track_look_back(struct sanitize_track *track, struct sanitize_packet *p);

/* For iwarp.c. */
bool sanitize_track_is_ours(struct sanitize_track *track, struct sanitize_direction *direction);
/* Whether it is ours may still show. */
bool sanitize_track_is_undecided(struct sanitize_track *track,
                                 const struct sanitize_direction *direction);
/* Names the place of what begins there; `offset`: in the message, of iWARP. */
uint64_t sanitize_track_place(const struct sanitize_track *track,
                              const struct sanitize_direction *direction, uint8_t kind,
                              uint32_t seq, uint32_t offset);
static inline uint8_t *sanitize_track_payload(const struct sanitize_packet *p)
{
    return (uint8_t *)(uintptr_t)p->packet.data + p->payload;
}

#endif
