/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_INTERFACES_H
#define RPCRDMA_CLI_CAPTURE_INTERFACES_H

/* The interfaces of a capture, numbered from 0, for all files that it is written to. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

#include "source/formats/pcapng_writer.h"

struct interface_texts;

/* Small: there may be as many as a file may have. */
struct capture_interface {
    uint32_t linktype, snaplen;
    uint32_t file;                 /* it was written to that one last, */
    uint32_t index : 31;           /* and is there so, */
    uint32_t early : 1;            /* for packets from before 1970, too */
    struct interface_texts *texts; /* NULL: none */
    struct capture_counts *counts; /* NULL: nothing is known */
};

struct capture_counts {
    struct pcapng_statistics latest;                          /* its comment is owned */
    uint64_t received, interface_dropped, dropped, delivered; /* of these, in files that ended */
    bool ended;
    int64_t ended_ns; /* the latest of these files with something to count */
};

struct capture_interfaces {
    GArray *all;             /* struct capture_interface; NULL: not begun */
    size_t texts;            /* bytes of their strings */
    uint64_t texts_left_out; /* there was no room for them */
};

void capture_interfaces_begin(struct capture_interfaces *interfaces);
void capture_interfaces_free(struct capture_interfaces *interfaces);

/* Its strings are copied. */
void capture_interfaces_add(struct capture_interfaces *interfaces,
                            const struct pcapng_interface *one);
/* The latest counts, of which the comment is copied. Those that tell nothing change nothing. */
void capture_interfaces_count(struct capture_interfaces *interfaces, uint32_t number,
                              const struct pcapng_statistics *counts);

/* What was counted since the file before, as each file is read alone, or the sum of all; the
 * comment stays the interface's. There are counts. */
struct pcapng_statistics capture_interface_counted(const struct capture_interface *one);
/* The same; from now on it is of the next file. */
struct pcapng_statistics capture_interface_ended(struct capture_interface *one, int64_t now_ns);

struct capture_interface *capture_interfaces_at(const struct capture_interfaces *interfaces,
                                                uint32_t number);
/* As it is written down. The strings stay what they are until the interfaces are freed. */
struct pcapng_interface capture_interface_block(const struct capture_interface *one);

#endif
