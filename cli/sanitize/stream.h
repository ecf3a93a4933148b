/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_STREAM_H
#define RPCRDMA_CLI_SANITIZE_STREAM_H

/*
 * One direction of a TCP connection: which units are where in it. Places are sequence numbers that
 * do not wrap, and that go on in an empty part where another connection has the same ports.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct sanitize_stream_unit {
    uint64_t at;
    uint32_t size;
    uint64_t number; /* in the queue */
};

struct sanitize_stream {
    GArray *units; /* of struct sanitize_stream_unit, in order; NULL: none yet */
    guint first;   /* those before were forgotten */
    uint64_t last; /* a place that is known, */
    uint64_t told; /* and before which nothing more will be told of */
    bool known;    /* where it is */
    bool waits;    /* no operation shows yet whose it is */
    bool over;     /* nothing more will be told, for all that is known */
};

void sanitize_stream_free(struct sanitize_stream *stream);

/* The next bytes need not continue those before. */
void sanitize_stream_begins(struct sanitize_stream *stream);

/* Of n bytes of a segment, n > 0. */
uint64_t sanitize_stream_place(struct sanitize_stream *stream, uint32_t seq);

/* Bytes that come next among those that are told of: a unit, of that number; or none (0). */
void sanitize_stream_tell(struct sanitize_stream *stream, uint32_t seq, uint32_t len,
                          uint64_t number);

/* The first of the units is forgotten, which has this number. */
void sanitize_stream_forget(struct sanitize_stream *stream, uint64_t number);

/* The unit that this place is in; else NULL, and *next is where the next one begins (UINT64_MAX:
 * none does). */
const struct sanitize_stream_unit *sanitize_stream_at(const struct sanitize_stream *stream,
                                                      uint64_t at, uint64_t *next);

#endif
