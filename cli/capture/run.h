/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_RUN_H
#define RPCRDMA_CLI_CAPTURE_RUN_H

/*
 * One run of `rpcrdma capture`, for the files between which it is divided:
 *
 *   capture.c            options, and what one run does
 *   from_source.c        from a file, or from devices where packets are looked at, to files
 *   from_devices.c       from devices, where they are not
 *   summary.c            what is said at the end
 *   files.c              the files written; limits.c: when to begin another one, and to end
 *   ring.c               their names, and who creates and removes them
 *   interfaces.c         the interfaces written down; interface_numbers.c: their numbers
 *   select.c             --slice, --rpcrdma-only: what to keep of a packet
 *   setups.c             what set up connections, for files that begin later
 *   trigger.c            --trigger: whether what is waited for happened
 *   event.c              and the file that is written then
 *   before.c             the latest packets, in memory until then
 *   progress.c           what a terminal shows meanwhile
 *   list.c               -D
 *   program.c            the copy of the command that may capture
 *
 * extcap.c is the same for Wireshark's capture dialog.
 */

#include "capture/event.h"
#include "capture/files.h"
#include "capture/interface_numbers.h"
#include "capture/progress.h"
#include "capture/select.h"
#include "capture/setups.h"

struct capture {
    const struct options *options;
    struct capture_files files;
    struct capture_select select;
    struct capture_progress progress;
    struct capture_event event;   /* --trigger */
    struct capture_setups setups; /* where there are several files */
    uint64_t count;               /* of packets written; 0: no limit */
    uint64_t packets;
    uint64_t read, repeated; /* bytes of packets; of set-ups with which files begin */
    struct source *source;
    struct interface_numbers numbers;
    uint32_t listed;            /* interfaces of the source with smaller numbers were looked at */
    uint64_t dropped_elsewhere; /* by interfaces that are not written down */
    int64_t first_ns;           /* of packets of files, for -a duration */
    bool started;               /* there was one */
    bool crowded;
    int status;
};

/* Where packets come from. Both return the exit status, and every problem was said. */
int capture_from_source(struct capture *capture);  /* a file, or the devices' other process */
int capture_from_devices(struct capture *capture); /* in this process, without a look at packets */

/* What everybody reads at the end, but with -q. */
void capture_summary(const struct capture *capture);

/* A limit was reached, or there is no use in more. */
static inline bool capture_enough(const struct capture *capture)
{
    return capture->files.enough || capture->files.failed ||
           (capture->count > 0 && capture->files.packets >= capture->count);
}

#endif
