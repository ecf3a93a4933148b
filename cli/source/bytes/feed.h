/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_BYTES_FEED_H
#define RPCRDMA_CLI_SOURCE_BYTES_FEED_H

/*
 * Where an input's bytes come from: a descriptor, or what unpacks another input. One thread at a
 * time reads it, not always the same; what has offsets, several threads at once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { FEED_ERROR_SIZE = 400 };

struct feed {
    /* Up to n bytes, n > 0. Returns how many, 0 at the end, -1 with feed->error set. */
    ssize_t (*read)(struct feed *feed, uint8_t *to, size_t n);
    /* The same from anywhere, by any number of threads, without moving the feed: -1 says nothing
     * but that read() there will say why. NULL: it has no offsets. */
    ssize_t (*read_at)(const struct feed *feed, uint8_t *to, size_t n, uint64_t offset);
    uint64_t offset; /* of the next byte that read() gives, where there is read_at */
    /* How far the file is read, as it is stored, where bytes up to `offset` were taken; by any
     * thread. NULL: its length is unknown. */
    void (*progress)(const struct feed *feed, uint64_t offset, uint64_t *read, uint64_t *size);
    /* Bytes that it takes besides its own struct. NULL: none to speak of. */
    size_t (*memory)(const struct feed *feed);
    /* From now on payload of RDMA Writes and Read responses may be left out of what read() gives
     * (skim.h): the file is a pcap of Ethernet whose first record begins there, or a pcapng
     * (`blocks`) whose first section does. NULL: never. */
    void (*skim)(struct feed *feed, uint64_t record, bool blocks, bool swapped);
    const char *soon; /* where what read() gives next is mapped, for prefetches; NULL: nowhere */
    size_t slot;      /* bytes that are best read at once, then; 0: the reader's choice */
    bool skims;       /* it does, and is read by one thread until it does not any more */
    /* A descriptor of its own that can be had again; `rest`: it is given back until then. NULL:
     * never any. */
    bool (*has_descriptor)(const struct feed *feed);
    void (*rest)(struct feed *feed);
    void (*free)(struct feed *feed);
    char *name; /* its own, for messages */
    bool failed;
    char *error; /* its own, one line; NULL: it has not failed, or there was no memory for it */
};

static inline const char *feed_error(const struct feed *feed)
{
    return feed->error ? feed->error : "out of memory";
}

/* Sets a feed's or an input's line. */
void feed_set_error(char **error, const char *line);

/* Writes feed->name, ": " and the formatted text into feed->error, and marks the feed failed. */
__attribute__((format(printf, 2, 3))) void feed_fail(struct feed *feed, const char *format, ...);

/*
 * A feed that a thread of its own reads ahead. What has offsets is read by both: who would wait for
 * the thread reads what comes after instead. It comes in slots, in order; before each there is room
 * for what is left over of the bytes before, so that a packet that lies in two of them is in one
 * piece without copying more than that.
 */
enum { AHEAD_ROOM = 64 * 1024 };

struct ahead;

/* NULL where there is no second processor, no thread or no memory: then the caller reads for
 * itself. `feed` is the thread's until ahead_end; `size`: of a slot. */
struct ahead *ahead_begin(struct feed *feed, size_t size);

/* Waits for the next slot, or reads it; *n bytes, with AHEAD_ROOM bytes before them that may be
 * written. The one given last stays as it is until ahead_done. NULL: the feed is at its end, or
 * failed: after ahead_end its read() says which. */
uint8_t *ahead_next(struct ahead *ahead, size_t *n);

/* Slots given before the last one are no longer looked at; `all`: nor is the last one. */
void ahead_done(struct ahead *ahead, bool all);

/* The feed is the caller's again; slots are gone. NULL is fine. */
void ahead_end(struct ahead *ahead);

#endif
