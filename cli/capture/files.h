/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_FILES_H
#define RPCRDMA_CLI_CAPTURE_FILES_H

/* The files that a capture is written to: one, or a ring of them, and when to begin the next. */

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "capture/interfaces.h"
#include "capture/limits.h"
#include "capture/ring.h"
#include "source/formats/pcapng_writer.h"
#include "source/source.h"

struct capture_files {
    /* the caller's */
    const char *path;           /* "-" is standard output */
    struct capture_limits next; /* another file; files: how many to keep of them */
    /* has capture_files_statistics called for that interface; before a file ends */
    void (*refresh)(void *context, uint32_t number);
    /* of several: another file begins, with this packet */
    void (*began)(void *context, uint64_t frame);
    void *context;
    bool on_demand;             /* no file but from capture_files_begin to capture_files_close */
    bool by_times;              /* durations are of packets' times: they are read from files */
    bool by_packet;             /* an interface is written once a packet of it is, in each file */
    bool early;                 /* packets from before 1970 have come */
    struct capture_limits stop; /* the end; duration is not for here */

    /* for the caller to read */
    uint64_t packets, bytes; /* written, to all files */
    uint64_t count;          /* files */
    bool enough;             /* a limit was reached */
    bool failed;             /* and it was said */

    struct pcapng_writer writer;
    struct ring ring;
    struct capture_interfaces interfaces;
    GArray *present;  /* uint32_t: the numbers of those in the current file, in its order */
    uint32_t current; /* the current file: one more for each */
    uint64_t before;  /* packets in other files */
    int64_t opened_ns, flushed_ns; /* by our clock; opened_ns: by_times by the packets' */
    int64_t began_ns;              /* the first of them */
    int64_t latest_ns;             /* of the latest packet */
    int64_t came_ns;  /* the packets' clock: of the one that came last, written or not */
    int64_t quiet_ns; /* by our clock: when it was seen that none followed it */
    int64_t end_ns;
    bool came;      /* one did */
    bool quiet;     /* that was seen */
    bool end_known; /* by_times: the files that are read say until when packets were awaited, or the
                     * last packet, which was left out, does */
    bool timed;     /* by_times: the current file has its first packet */
    bool awaited;   /* somebody reads at the other end */
};

/* Whether there are several: a ring of them. */
bool capture_files_several(const struct capture_files *files);

/* Before privileges are dropped and devices opened. False: it was said. */
bool capture_files_prepare(struct capture_files *files, bool no_sandbox);

/* Creates the first file. False when that was not possible: it was said. */
bool capture_files_open(struct capture_files *files);

/* Whether that was called, and what is written has an end. */
static inline bool capture_files_opened(const struct capture_files *files)
{
    return files->interfaces.all != NULL;
}

/* on_demand: a file with this comment, and its end. The first is false when it could not be created
 * (it was said), or there are enough. */
bool capture_files_begin(struct capture_files *files, const char *comment);
void capture_files_close(struct capture_files *files);

/* Interfaces are numbered from 0. Its strings are copied. */
void capture_files_interface(struct capture_files *files, const struct pcapng_interface *one);
/* The latest counts, for the end of the file. */
void capture_files_statistics(struct capture_files *files, uint32_t number,
                              const struct pcapng_statistics *counts);
/* Each packet, before what it makes of files: a file may end at it, or get it later, or never. */
static inline void capture_files_came(struct capture_files *files, int64_t time_ns)
{
    files->came_ns = time_ns;
    files->came = true;
    files->quiet = false;
}
void capture_files_packet(struct capture_files *files, uint32_t number,
                          const struct rpcrdma_packet *packet, const char *comment);
/* One from before the file. It is marked, and not counted. */
void capture_files_replay(struct capture_files *files, uint32_t number,
                          const struct rpcrdma_packet *packet);
/* What waits goes out: at once where somebody reads it, else twice a second at most. */
void capture_files_flush(struct capture_files *files);
/* What is known of an interface's counts: false where that is nothing. */
bool capture_files_counts(const struct capture_files *files, uint32_t number, const char **name,
                          const struct pcapng_statistics **counts);
/* by_times: all that is read has come; the file that is open reaches to its end. Times of what is
 * written are shift_ns later. */
void capture_files_read(struct capture_files *files, const struct source_stats *stats,
                        int64_t shift_ns);
/* Writes the end. False when not everything could be written: it was said. */
bool capture_files_end(struct capture_files *files);
void capture_files_free(struct capture_files *files);

#endif
