/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_EVENT_H
#define RPCRDMA_CLI_CAPTURE_EVENT_H

/* --trigger: nothing is written until it is met; then a file with what was before and after. */

#include "capture/before.h"
#include "capture/files.h"
#include "capture/select.h"
#include "capture/trigger.h"
#include "options/options.h"

struct capture_event {
    /* the caller's */
    char *expression; /* NULL: there is none */
    struct capture_files *files;
    struct capture_select *select;
    bool live; /* packets come as they happen: the clock goes on without them */

    struct capture_trigger trigger;
    struct capture_before before;
    int64_t pre_ns, post_ns, hold_off_ns;
    bool any, writing;
    int64_t at_ns;      /* the latest that was met, by the capture's clock */
    int64_t at_own_ns;  /* and by ours */
    int64_t latest_ns;  /* the latest packet, by the capture's */
    int64_t arrived_ns; /* and by ours */
    char *comment;      /* of the packet, while what was before is written */
    uint64_t met, within, held_off, too_early;
};

/* OPTIONS_GO_ON, or an exit status: it was said why. NULL: the defaults. */
int capture_event_options(struct capture_event *event, const struct command *command,
                          const char *pre, const char *post, const char *hold_off);

/* Before capture_select_start. False when memory is short: it was said. */
bool capture_event_begin(struct capture_event *event);
void capture_event_end(struct capture_event *event);

/* A packet that capture_select_packet was given, as far as it is kept. */
void capture_event_packet(struct capture_event *event, uint32_t interface,
                          const struct rpcrdma_packet *packet);
/* One of which nothing is kept. */
void capture_event_left_out(struct capture_event *event, int64_t time_ns);
/* No packet comes. Returns after how many milliseconds it wants to hear that again: 1000 at most.
 */
int capture_event_no_packet(struct capture_event *event);

/* None will come. */
void capture_event_last(struct capture_event *event);

/* What everybody is told at the end. */
void capture_event_summary(const struct capture_event *event);

#endif
