/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_MERGE_PART_H
#define RPCRDMA_CLI_SOURCE_MERGE_PART_H

/*
 * One of several files that are read together. Thousands may be open at once, and the next packets
 * of each are known: of most only where they are, where there is no memory for all that is at hand.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/formats/counts.h"

struct part {
    const char *path; /* borrowed */
    struct source *source;
    struct source_packet *packets;
    uint32_t at, n; /* next packet, and how many there are */
    bool ended;
    bool parked;       /* the packets' bytes are in the file: data is how far from `base` */
    bool shares;       /* packets with other parts */
    bool descriptor;   /* it has one of its own */
    uint64_t base;     /* in the file */
    size_t held;       /* bytes that its window and what unpacks it take */
    bool held_window;  /* it is a window alone */
    int64_t offset_ns; /* of its clock */
    int64_t next_ns;   /* time of its next packet, by the common clock */
    int64_t wait_ns;   /* it is due so much later */
    uint32_t rank;     /* of parts that are due at one time, the least goes first */
    uint64_t packets_read, copies, replayed;
    bool failed;               /* something was wrong with it */
    int64_t first_ns, last_ns; /* of packets_read, by the common clock */
    struct source_stats stats; /* of its file's size; all, once closed */
    /* once closed, what its interfaces count: the only one's; `counts` where they are several, or
     * NULL for want of memory, when this is all of them */
    struct source_count count, *counts;
    size_t n_counts;
};

/* What the parts share. */
struct parts {
    struct source_config config;
    size_t batch;                     /* packets of each that are known */
    size_t windows, windows_most;     /* bytes of files as they are */
    size_t unpacking, unpacking_most; /* of compressed ones, and pipes */
    size_t descriptors;
    /* of a part whose source is about to be closed; NULL: nobody wants to know */
    void (*ending)(void *context, const struct part *part);
    void *context;
    uint8_t *bytes; /* of packets of parked parts, given out since part_given */
    size_t n_bytes, room;
};

/* Makes the part's next packets known, or ends it. False with a line in `error`; it may go on. */
bool part_refill(struct parts *parts, struct part *part, char *error, size_t size);

void part_close(struct parts *parts, struct part *part);
/* What is left of one that is closed. */
void part_forget(struct part *part);

/* Of all together, but for the packets given out. */
void parts_stats(const struct part *parts, size_t n, struct source_stats *out);

enum part_fetch { PART_FETCHED, PART_NO_ROOM, PART_FAILED };

/* Makes the bytes of the next packet of a parked part available, in *out. No room: those given out
 * before must be done with. Failed: the part has ended, with a line in `error`. */
enum part_fetch part_fetch(struct parts *parts, struct part *part, struct source_packet *out,
                           char *error, size_t size);

/* That packet is given out: its bytes stay until parts_reuse. */
void part_given(struct parts *parts, const struct part *part, const struct source_packet *packet);
void parts_reuse(struct parts *parts);

#endif
