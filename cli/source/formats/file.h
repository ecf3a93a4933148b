/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_FORMATS_FILE_H
#define RPCRDMA_CLI_SOURCE_FORMATS_FILE_H

/* What file.c and the readers of the capture formats share. */

#include "source/bytes/input.h"
#include "source/bytes/pace.h"
#include "source/source.h"

enum file_text {
    FILE_NAME,
    FILE_COMMENT,
    FILE_DESCRIPTION,
    FILE_FILTER,
    FILE_COUNTS_COMMENT, /* of the last statistics block */
    FILE_TEXTS
};

struct file_texts {
    char *of[FILE_TEXTS]; /* NULL: not said */
};

/* Small: there may be many. */
struct file_interface {
    struct file_texts *texts; /* NULL: none */
    uint32_t linktype, snaplen;
    int64_t offset_s;           /* seconds to add to every time stamp */
    uint64_t received, dropped; /* of the last statistics block */
    uint64_t dropped_inline;    /* as its packets say of what was lost before them */
    int64_t since_ns;           /* received and dropped are counted from then on */
    bool received_known, dropped_known, inline_known, since_known;
    bool binary;
    uint8_t exponent; /* time stamps count 10^-exponent seconds, or 2^-exponent where binary */
    uint16_t number;  /* in its section; UINT16_MAX: that, or a later one */
};

_Static_assert(sizeof(struct file_interface) <= SOURCE_INTERFACE, "what is counted");

enum record {
    RECORD_PACKET,
    RECORD_AGAIN, /* not without moving the window */
    RECORD_END,   /* of the input, at a place where it may end */
    RECORD_ERROR, /* in->error says why */
};

struct file {
    struct source source;
    struct input *in;
    bool eager; /* after blocks without packets, what is not there yet is not waited for */
    const struct feed *followed; /* what in reads, if it waits for more (follow_feed.h) */
    enum record (*next)(struct file *file, struct source_packet *out);
    /* As many packets, at most max, as `next` would give without moving the window, or fewer. NULL:
     * none */
    size_t (*at_hand)(struct file *file, struct source_packet *packets, size_t max);
    bool in_order; /* those that it gave last are: by time */
    enum { FILE_READING, FILE_CUT, FILE_ENDED } state;

    bool swapped; /* the current section's byte order is not ours */
    uint64_t frame;
    int64_t last_time_ns; /* for packets without a time of their own */

    struct file_interface *interfaces;
    size_t n_interfaces, n_room;
    size_t section_first; /* pcapng: where this section's interfaces begin */

    uint64_t wrong_times, first_wrong; /* packets with times that cannot be; which was the first */
    bool said_micro; /* pcap: its times are in nanoseconds, though it says microseconds */
    uint64_t other_blocks, comments, untimed;
    uint64_t texts_left_out; /* pcapng: names and comments */
    bool end_known;          /* pcapng: as the statistics of an interface say; the latest: */
    int64_t end_ns;

    struct pace pace;       /* of a pipe */
    bool headers_only;      /* as source_config has it */
    bool lengths_swapped;   /* pcap before 2.3 wrote them the other way round */
    uint32_t packet_header; /* pcap: bytes */
};

static inline uint16_t file_half(const uint8_t *p, bool swapped)
{
    uint16_t v;

    __builtin_memcpy(&v, p, sizeof(v));
    return swapped ? __builtin_bswap16(v) : v;
}

static inline uint16_t file_u16(const struct file *file, const uint8_t *p)
{
    return file_half(p, file->swapped);
}

static inline uint32_t file_word(const uint8_t *p, bool swapped)
{
    uint32_t v;

    __builtin_memcpy(&v, p, sizeof(v));
    return swapped ? __builtin_bswap32(v) : v;
}

static inline uint32_t file_u32(const struct file *file, const uint8_t *p)
{
    return file_word(p, file->swapped);
}

static inline uint64_t file_u64(const struct file *file, const uint8_t *p)
{
    uint64_t v;

    __builtin_memcpy(&v, p, sizeof(v));
    return file->swapped ? __builtin_bswap64(v) : v;
}

/* A new interface, zeroed. NULL with in->error set. */
struct file_interface *file_interface_add(struct file *file);

/* Nanoseconds since the epoch of a time stamp of `interface`, at most SOURCE_TIME_MAX from it. */
int64_t file_time(const struct file_interface *interface, uint64_t ticks);

/* The next packet's time cannot be what the file says: at the end that is an error. */
__attribute__((cold)) void file_wrong_time(struct file *file);

/* The next packet's time, of that time stamp. */
static inline int64_t file_packet_time(struct file *file, const struct file_interface *interface,
                                       uint64_t ticks)
{
    int64_t ns = file_time(interface, ticks);

    if (ns == SOURCE_TIME_MAX || ns == -SOURCE_TIME_MAX)
        file_wrong_time(file);
    return ns;
}

/* Fails with "byte N: packet M cut short ..." (or another thing than a packet); the input's own
 * failure, if that is why it ended, comes first. */
enum record file_cut(struct file *file, uint64_t at, const char *what, uint64_t there,
                     uint64_t needed);

/* A packet of that interface says that so many were lost before it. */
void file_dropped(struct file *file, size_t interface, uint64_t packets);

/* Fills *out; data and the lengths are the caller's to have checked. */
static inline void file_packet_as(struct source_packet *out, uint64_t frame, size_t interface,
                                  uint32_t linktype, int64_t time_ns, const uint8_t *data,
                                  uint32_t caplen, uint32_t len)
{
    out->interface = (uint32_t)interface;
    out->replayed = false;
    out->cut = false;
    out->direction = 0;
    out->comment_len = 0;
    out->packet.frame = frame;
    out->packet.time_ns = time_ns;
    out->packet.linktype = linktype;
    out->packet.caplen = caplen;
    /* some programs write a length below what they captured: what is there was there */
    out->packet.len = len < caplen ? caplen : len;
    out->packet.data = data;
}

/* The same, of the next packet. */
static inline void file_packet(struct file *file, struct source_packet *out, size_t interface,
                               int64_t time_ns, const uint8_t *data, uint32_t caplen, uint32_t len)
{
    file->last_time_ns = time_ns;
    file_packet_as(out, ++file->frame, interface, file->interfaces[interface].linktype, time_ns,
                   data, caplen, len);
}

/*
 * Asks for the beginning of a packet soon to come, which is in memory and not in the cache: large
 * packets follow each other in the same size, so where it will be is a good guess. Without this a
 * bulk transfer waits for memory twice per packet. `size`: of the record before `pos`, in data that
 * is at hand up to `end`.
 */
static inline void file_ahead(const uint8_t *data, size_t pos, size_t end, size_t size)
{
    enum { AHEAD = 4, LINE = 64, NEAR = 2048 };
    size_t at = pos + (AHEAD * size > NEAR ? AHEAD * size : NEAR);

    if (at + LINE >= end)
        return;
    __builtin_prefetch(data + at);
    __builtin_prefetch(data + at + LINE);
}

/* Read the file header, at the start of the input. False with in->error set. */
bool pcap_begin(struct file *file);
bool pcapng_begin(struct file *file);
bool snoop_begin(struct file *file);
/* ERF has no header: *is says whether the first records look like it. */
bool erf_begin(struct file *file, bool *is);

/* Keeps the first text of that kind, and counts what is cut or left out: all open files together
 * keep source_texts_most bytes. */
void file_text_keep(struct file *file, struct file_interface *interface, enum file_text which,
                    const uint8_t *value, size_t n);
void file_text_forget(struct file_interface *interface, enum file_text which);
/* NULL is fine. */
void file_texts_free(struct file_texts *all);

/* What a source that is a file reads. */
struct input *source_file_input(struct source *source);

/* Opens what a feed gives, which it owns in every case, as it comes. feed NULL: no memory. NULL
 * with one line in `error`. */
struct source *source_file_open_feed(struct feed *feed, char *error, size_t size);

#endif
