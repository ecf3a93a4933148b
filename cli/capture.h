/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_H
#define RPCRDMA_CLI_CAPTURE_H

/*
 * The parts of `rpcrdma capture`:
 *
 *   capture.c               options, and what one run of it does (capture_run.h)
 *   capture_from_source.c   from a file, or from devices where packets are looked at, to files
 *   capture_from_devices.c  from devices, where they are not
 *   capture_summary.c       what is said at the end
 *   capture_files.c         the files written: one, or a ring of them; when to stop
 *   capture_select.c        --slice, --rpcrdma-only: what to keep of a packet
 *   capture_setups.c        what set up connections, for files that begin later
 *   capture_trigger.c       --trigger: whether what is waited for happened
 *   capture_event.c         and the file that is written then
 *   capture_before.c        the latest packets, in memory until then
 *   capture_progress.c      what a terminal shows meanwhile
 *   capture_list.c          -D
 *   extcap.c                the same for Wireshark's capture dialog
 */

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "analyzer/analyzer.h"
#include "options.h"
#include "progress_line.h"
#include "source/creator.h"
#include "source/pcapng_writer.h"

/* When to begin another file, and when to end. 0: never. */
struct capture_limits {
    uint64_t bytes;
    uint64_t files;
    int64_t duration_ns;
};

struct capture_files {
    /* the caller's */
    const char *path;               /* "-" is standard output */
    struct capture_limits next;     /* another file; files: how many to keep of them */
    /* has capture_files_statistics called for that interface; before a file ends */
    void (*refresh)(void *context, uint32_t number);
    /* of several: another file begins, with this packet */
    void (*began)(void *context, uint64_t frame);
    void *context;
    bool on_demand;             /* no file but from capture_files_begin to capture_files_close */
    bool by_packet;             /* an interface is written once a packet of it is, in each file */
    struct capture_limits stop; /* the end; duration is not for here */

    /* for the caller to read */
    uint64_t packets, bytes; /* written, to all files */
    uint64_t count;          /* files */
    bool enough;             /* a limit was reached */
    bool failed;             /* and it was said */

    struct pcapng_writer writer;
    struct creator creator; /* of the files: nobody else may, once packets are looked at */
    size_t texts;            /* bytes of the interfaces' strings */
    uint64_t texts_left_out; /* there was no room for them */
    GArray *interfaces;     /* struct capture_interface */
    GArray *present;        /* uint32_t: the numbers of those in the current file, in its order */
    uint32_t current;       /* the current file: one more for each */
    GQueue *names;          /* of the files to be removed one day, oldest first */
    char *name;             /* of the current one */
    uint64_t number;        /* in the latest name */
    uint64_t before;        /* packets in other files */
    int64_t opened_ns, flushed_ns;
    bool awaited; /* somebody reads at the other end */
};

/* Whether there are several: a ring of them. */
bool capture_files_several(const struct capture_files *files);

/* Before privileges are dropped and devices opened. False: it was said. */
bool capture_files_prepare(struct capture_files *files, bool no_sandbox);

/* Creates the first file. False when that was not possible: it was said. */
bool capture_files_open(struct capture_files *files);

/* on_demand: a file with this comment, and its end. The first is false when it could not be created
 * (it was said), or there are enough. */
bool capture_files_begin(struct capture_files *files, const char *comment);
void capture_files_close(struct capture_files *files);

/* Interfaces are numbered from 0. Its strings are copied. */
void capture_files_interface(struct capture_files *files, const struct pcapng_interface *one);
/* The latest counts, for the end of the file. */
void capture_files_statistics(struct capture_files *files, uint32_t number,
                              const struct pcapng_statistics *counts);
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
/* Writes the end. False when not everything could be written: it was said. */
bool capture_files_end(struct capture_files *files);
void capture_files_free(struct capture_files *files);

struct capture_credits {
    uint64_t in_flight;
    uint32_t granted; /* 0: not known */
};

/* What to keep of packets. */
struct capture_select {
    bool slice, only;
    bool watch; /* count messages and credits, too */
    const struct options *options;
    struct capture_trigger *trigger; /* the caller's; NULL: none */
    struct capture_setups *setups;   /* likewise */

    /* for the caller to read */
    uint64_t messages, left_out, cut, too_deep;
    uint64_t memory_limit; /* how often --max-memory was reached */
    uint64_t bytes_in, bytes_kept;
    struct capture_credits most, now; /* closest to the limit since it was shown; the latest */

    struct rpcrdma_analyzer *analyzer;
    struct rpcrdma_net *net; /* the analyzer's */
    struct rpcrdma_flow *flow;
    const struct rpcrdma_packet *packet; /* in hand */
    bool ours, any_op, data_item, no_memory, repeated;
    uint32_t keep;
};

bool capture_select_start(struct capture_select *select);
/* How many of the captured bytes to keep; 0: leave it out. */
uint32_t capture_select_packet(struct capture_select *select, const struct rpcrdma_packet *packet);
/* No packet came until now_ns, by the capture's clock. */
void capture_select_time(struct capture_select *select, int64_t now_ns);
void capture_select_end(struct capture_select *select);

struct source;
struct capture_progress {
    bool on; /* standard error is a terminal */
    int64_t start_ns, next_ns;
    uint64_t packets_before;
    struct progress_line line;
};
/* Between the two, the line makes way for what is complained about. */
void capture_progress_begin(struct capture_progress *progress);
void capture_progress_end(struct capture_progress *progress);
/* Once a second, however often it is called. */
void capture_progress_show(struct capture_progress *progress, const struct source *source,
                           struct capture_select *select, uint64_t packets);

/* -D. Returns the exit status. */
int capture_list(const struct options *options);

/* "duration:60", "filesize:1000" (kilobytes of 1000), "files:10", as tshark has them. False with
 * *error set. */
gboolean capture_limit_parse(const char *name, const char *text, struct capture_limits *limits,
                             GError **error);

#endif
