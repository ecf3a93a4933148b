/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_SOURCE_H
#define RPCRDMA_CLI_SOURCE_SOURCE_H

/*
 * Where packets come from: a capture file, several of them, a network interface, an ibverbs
 * sniffer. A source gives batches of packets that point into its own memory; nothing is copied.
 *
 *     for (;;) {
 *         status = source_next(source, packets, SOURCE_BATCH, &n);
 *         if (status == SOURCE_END)
 *             break;
 *         if (status == SOURCE_ERROR)
 *             say source->error, remember that input was unreadable, and go on;
 *         else
 *             use packets[0..n), before the next call
 *     }
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net.h"

enum {
    SOURCE_BATCH = 64,               /* packets per call that are worth asking for */
    SOURCE_MAX_PACKET = 1024 * 1024, /* no link sends more; a longer length in a file is wrong */
    SOURCE_MAX_INTERFACES = 65536,   /* per file */
    SOURCE_INTERFACES_LEAST = SOURCE_MAX_INTERFACES / 2 * 3, /* in open files together: 6 MiB */
    SOURCE_INTERFACE = 64,                                   /* bytes that one takes */
    SOURCE_TEXTS_LEAST = 1024 * 1024,
};

/* In all open files together: how many, and bytes of their names and comments. What writes files
 * keeps as many of these once more. */
extern size_t source_interfaces_most, source_texts_most;
enum { SOURCE_TEXT_ADDED = 16 }; /* to the length of each */

/* Times given out are no further from the epoch; a file that says otherwise gets the nearest. */
#define SOURCE_TIME_MAX RPCRDMA_TIME_MOST

static inline int64_t source_time(int64_t ns)
{
    return ns > SOURCE_TIME_MAX ? SOURCE_TIME_MAX : ns < -SOURCE_TIME_MAX ? -SOURCE_TIME_MAX : ns;
}

/* Of what files count: they may say any 64 bits. */
static inline uint64_t source_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

enum source_status {
    SOURCE_OK,    /* n packets, n > 0; of devices also 0, when their counts are all that came */
    SOURCE_END,   /* no more */
    SOURCE_ERROR, /* one line in source->error, n is 0; further calls give what is left, then END */
};

/* The comment of packets with which files of a ring buffer begin: each set up a connection before
 * it (capture/setups.h). Of several files that are read together each is given once. */
#define SOURCE_REPLAYED "rpcrdma: this connection was set up before this file"

struct source_packet {
    struct rpcrdma_packet packet; /* data borrowed until the next call; frame counts from 1 */
    uint32_t interface;           /* a number for source_interface() */
    bool replayed;                /* from before the file: its comment is SOURCE_REPLAYED */
    bool cut;                     /* the file ends within it: SOURCE_ERROR comes next */
    uint16_t direction;           /* pcapng, at its interface: 0 unknown, 1 inbound, 2 outbound */
    uint32_t comment_len;         /* pcapng: of its first comment; 0: none */
    const char *comment;          /* UTF-8, not terminated; borrowed as data */
};

/* Not replayed, whole, and nothing is said of it. */
static inline bool source_is_plain(const struct source_packet *one)
{
    uint64_t all; /* asked in one word */

    _Static_assert(offsetof(struct source_packet, comment_len) + sizeof(one->comment_len) -
                           offsetof(struct source_packet, replayed) ==
                       sizeof(all),
                   "what is asked lies together, without padding");
    __builtin_memcpy(&all, &one->replayed, sizeof(all));
    return all == 0;
}

struct source_interface {
    const char *name;  /* NULL: unknown. Owned by the source */
    const char *input; /* the file or device it was read from */
    uint32_t section;  /* pcapng: the number, in its file, of the first interface of its section */
    uint32_t linktype; /* LINKTYPE_ value */
    uint32_t snaplen;  /* bytes kept of each packet; 0: all */
    uint64_t ticks;    /* time stamps count 1/ticks seconds */
    const char *comment, *description, *filter; /* NULL: not said */
    const char *counts_comment;                 /* what is said besides the counts; NULL: nothing */
    bool received_known, dropped_known;         /* so far: see source_stats */
    uint64_t received, dropped;
    bool since_known;
    int64_t since_ns; /* that they are counted from, as the file says */
    uint64_t counted; /* which number and name it has, and since when: those with the same, of one
                         file or of several, count the same packets. 0: not known */
};

/* Pairs of files that have packets alike, though by their clocks one ends before the other begins:
 * what is in both may count twice, or was sent again. */
struct source_alike {
    uint64_t pairs;
    const char *first, *second; /* files of one of the pairs, valid as long as the source is */
    uint64_t packets;           /* that were seen to be alike in them */
    int64_t apart_ns;           /* the second's time of one less the first's */
};

/* What was lost before it came here. A source that cannot count says so: unknown is not 0. */
struct source_stats {
    uint64_t packets; /* given out so far */
    bool received_known, dropped_known;
    uint64_t received;     /* by the interfaces */
    uint64_t dropped;      /* by interface, kernel or capturing program */
    uint64_t other_blocks; /* pcapng: blocks that hold no packet, interface or statistics */
    uint64_t comments;     /* pcapng: packets with comments */
    uint64_t untimed;      /* pcapng: packets without a time: they have that of the one before */
    bool said_micro;       /* pcap: times in nanoseconds, though the file says microseconds */
    /* times of hardware against the capture's, by more than clocks drift */
    int64_t stamps_moved_ns;
    uint64_t texts_left_out; /* names and comments of interfaces: too many and too long */
    bool end_known;          /* pcapng: the file says until when packets were awaited, or the
                              * latest packet, which a filter left out: */
    int64_t end_ns;          /* whatever it says; of several files the latest */
    uint64_t read, size;     /* bytes of the files, as they are stored: of `size` so many were read.
                              * 0: not known */
    struct source_alike alike;
};

struct source;

/* Of one of several files that are read as one, so far. */
struct source_part {
    bool read;                 /* a packet of it, or all of it, which may be empty */
    bool complete;             /* to its end, and nothing was wrong with it */
    bool has_times;            /* there is a packet that is not replayed: */
    int64_t first_ns, last_ns; /* the first's and the last's, by the common clock */
    uint64_t packets;          /* also those that another file had before */
    bool dropped_known;
    uint64_t dropped;
};

typedef void source_ended(void *context, uint32_t number, const struct source_interface *last);

struct source_ops {
    enum source_status (*next)(struct source *source, struct source_packet *packets, size_t max,
                               size_t *n);
    /* The interface of a packet given out last. False where there is no such interface. */
    bool (*interface)(const struct source *source, uint32_t number, struct source_interface *out);
    void (*stats)(const struct source *source, struct source_stats *out);
    /* Lines that are worth knowing once all was read. NULL: never any. */
    void (*report)(const struct source *source, void (*line)(void *context, const char *text),
                   void *context);
    void (*close)(struct source *source);
    /* See source_watch_ends. NULL: interfaces stay as long as the source. */
    void (*watch_ends)(struct source *source, source_ended *ended, void *context);
    /* See source_unrelated. NULL: it is one file, or devices of one host. */
    bool (*unrelated)(const struct source *source, uint32_t a, uint32_t b);
    /* See source_part and source_part_of. NULL: it is one file, or devices. */
    bool (*part)(const struct source *source, size_t i, struct source_part *out);
    bool (*part_of)(const struct source *source, uint64_t frame, size_t *i);
};

/* The beginning of every source's own struct. */
struct source {
    const struct source_ops *ops;
    bool live;         /* packets arrive as they happen: next waits for them, output should not */
    const char *error; /* of the last SOURCE_ERROR; the source's, until the next call */
    /* Of a file that is mapped: memory that the next call will read, to be fetched by prefetches
     * alone while the packets given last are worked on. NULL: none. */
    const char *soon;
    size_t soon_bytes;
    /* So many of the packets given last, from the first on, are known to be alike: plain, of one
     * interface and link type, and in the order of time. */
    size_t alike;
};

struct source_config {
    size_t window;     /* bytes of a file read at once; 0: the default, which is the most */
    bool no_readahead; /* no second thread reads ahead: one of many files */
    bool headers_only; /* payload of RDMA Writes and Read responses need not be there */
    bool follow;       /* another program still writes it: wait at its end for more (interrupt.h) */
};

/*
 * Opens the capture file `path` (pcap or pcapng, plain, gzip or zstd; "-" is standard input).
 * config may be NULL. Returns NULL with one line in `error` that says what and where.
 */
struct source *source_file_open(const char *path, const struct source_config *config, char *error,
                                size_t size);

/*
 * Several capture files, as one: packets in the order of time, frames counted through. Files that
 * saw the same packets (both ends of one conversation) give each packet once, by the clock of the
 * first of them. What cannot be read is a SOURCE_ERROR each; the rest is given. Files are read
 * twice, unless one of them is a pipe: then packets are only put in order. `memory`: bytes it may
 * take besides the 24 MiB that it may in any case.
 */
struct source *source_merge_open(char *const *paths, size_t n, size_t memory, char *error,
                                 size_t size);

/*
 * The packets of `from` that match `text`, see pcap-filter(7); their frames keep their numbers. It
 * owns `from`, in every case. NULL with one line in `error`; what is wrong with the filter may also
 * come as a SOURCE_ERROR, and then nothing more does.
 */
struct source *source_filtered_open(struct source *from, const char *text, char *error,
                                    size_t size);

/*
 * The packets of `from`, which it owns in every case, with the times that switches or cards wrote
 * into them (stamp.h), if the first packets show that they are there and consistent. Else with
 * their own; that is a SOURCE_ERROR where they are `wanted`. What they say of the capture's clock
 * is reported. NULL with one line in `error`.
 */
struct source *source_timed_open(struct source *from, bool wanted, char *error, size_t size);

static inline enum source_status source_next(struct source *source, struct source_packet *packets,
                                             size_t max, size_t *n)
{
    return source->ops->next(source, packets, max, n);
}

static inline bool source_interface(const struct source *source, uint32_t number,
                                    struct source_interface *out)
{
    return source->ops->interface(source, number, out);
}

static inline void source_stats(const struct source *source, struct source_stats *out)
{
    source->ops->stats(source, out);
}

/* Whether packets were awaited until `end_ns`, as the files say, when the last was of `last_ns`. A
 * file may say anything, and a time that is months away is none. */
static inline bool source_end_believed(const struct source_stats *stats, int64_t last_ns)
{
    const int64_t most_ns = INT64_C(31) * 24 * 3600 * 1000000000;

    return stats->end_known && stats->end_ns >= last_ns &&
           (uint64_t)stats->end_ns - (uint64_t)last_ns <= (uint64_t)most_ns;
}

static inline void source_report(const struct source *source,
                                 void (*line)(void *context, const char *text), void *context)
{
    if (source->ops->report)
        source->ops->report(source, line, context);
}

/* Has `ended` called for each interface of which source_interface will know nothing from then on.
 */
static inline void source_watch_ends(struct source *source, source_ended *ended, void *context)
{
    if (source->ops->watch_ends)
        source->ops->watch_ends(source, ended, context);
}

/* Whether the interfaces `a` and `b` are of different files that captured at the same time and have
 * no packet in common, so that how far their clocks are apart is not known. */
static inline bool source_unrelated(const struct source *source, uint32_t a, uint32_t b)
{
    return source->ops->unrelated && source->ops->unrelated(source, a, b);
}

/* The i-th of several files. False: it is one file, or devices. */
static inline bool source_part(const struct source *source, size_t i, struct source_part *out)
{
    return source->ops->part && source->ops->part(source, i, out);
}

/* Which of several files gave that packet. False: it is not known, or no longer: of packets that
 * were given out long ago. */
static inline bool source_part_of(const struct source *source, uint64_t frame, size_t *i)
{
    return source->ops->part_of && source->ops->part_of(source, frame, i);
}

/* NULL is fine. */
static inline void source_close(struct source *source)
{
    if (source)
        source->ops->close(source);
}

#endif
