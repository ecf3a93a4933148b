/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_PIPELINE_PRIVATE_H
#define RPCRDMA_CLI_PIPELINE_PRIVATE_H

/*
 * A run of the pipeline, for the files between which it is divided:
 *
 *   pipeline.c    from the source to the analyzer, packet by packet
 *   sink.c        what the analyzer gives, to the command's sink
 *   packet.c      a packet unlike the one before: another interface, link type, clock
 *   by_file.c     what was read of each of several files
 *   clocks.c      connections whose packets are from files with clocks of their own
 *   apart.c       what is wrong where the clocks of the two directions are far apart
 *   complaints.c  what is said of the input
 *
 * Beside it, each with a header of its own: points.c (many captures in one call), copies.c (one
 * that has every packet twice), others.c (packets that are no RDMA), reading.c (the line of
 * progress).
 */

#include "pipeline/pipeline.h"

enum {
    N_LINKS = 16, /* unknown link types that are reported */
    N_CLOCKS = 8, /* interfaces whose times are compared; of more, those that take turns are not */
    N_SEEN = 256, /* connections at once whose files are known */
};

/* Packets of one interface are in order of time. Those of several are not always: each has a queue.
 */
struct interface_clock {
    int64_t latest_ns;
    uint32_t interface;
    bool started;
    bool fine; /* its times are not in steps of PIPELINE_STEP_NS and more, as far as is known */
    uint64_t set_back;
    uint64_t looked, same; /* until it is: packets; of these, with the time of the one before */
    int64_t step_ns;       /* by which other times differ, at least; 0: there are none */
    const char *input;     /* the source's: to know it by, not to be looked at */
    uint32_t section;
};

/* Files that somebody put one behind the other are sections of one pcapng file, or interfaces of
 * one section: each in order by itself. */
struct pipeline_parts {
    uint64_t back;   /* how many begin before another one's end */
    int64_t back_ns; /* and by how much, at most */
    bool sections;
    const char *newest; /* the input of the one that was counted last: to know it by; its section */
    uint32_t section;
    char *input; /* of the first */
};

/* Connections with packets from files whose clocks are not known to agree. */
struct pipeline_clocks {
    struct {
        uint32_t connection, interface; /* of its packet before */
    } seen[N_SEEN];
    uint32_t interface; /* of the packet before; UINT32_MAX: there is none */
    char *inputs[2];    /* of the first; NULL: there is none */
};

struct pipeline_private {
    const struct rpcrdma_flow_sink *sink;
    struct source *source;
    struct rpcrdma_analyzer *analyzer;
    struct rpcrdma_flow *flow; /* the analyzer's */
    int status;
    bool no_memory;
    uint64_t connections;
    bool any_time;       /* the clock has one; it is not started: of what was before the file */
    int64_t taken_ns;    /* of devices: when packets came last, by our clock */
    bool behind;         /* and more are there to be taken, at a tick */
    bool muted;          /* results of credits are none of the sink's: they come again */
    uint64_t set_back;   /* how often the capture's clock was */
    int64_t set_back_ns; /* and by how much, at most */
    bool any_newest;     /* the latest time of all packets, but for those since the last one that */
    int64_t newest_ns;   /* was looked at; but from the moment on at which the clock was set back */
    /* packets that stand behind a later one, by less than a clock is set; how far, at most */
    uint64_t disorder;
    int64_t disorder_ns;
    struct interface_clock clocks[N_CLOCKS];
    struct pipeline_parts parts;
    struct pipeline_clocks *files; /* NULL: there are no several */
    /* That of the packet before, which was an ordinary one: the next like it passes at once. NULL:
     * it was not */
    struct interface_clock *usual;
    uint32_t interface; /* of the packet before; and the place of capture that it is */
    bool placed;
    uint32_t link_known; /* the link type of the packet before */
    bool link_checked;
    uint32_t links_refused[N_LINKS];
    size_t n_links_refused;
};

/* sink.c. Without what the command does not ask for, which the analyzer then need not
 * make. */
struct rpcrdma_flow_sink pipeline_flow_sink(struct pipeline *pipeline);
struct rpcrdma_analyzer_sink pipeline_analyzer_sink(struct pipeline *pipeline,
                                                    const struct rpcrdma_flow_sink *flow);

/* packet.c. False: its link type is not known. */
bool pipeline_look_at(struct pipeline *pipeline, const struct source_packet *one);

static inline bool pipeline_has_notes(const struct source_packet *one)
{
    return one->comment_len > 0 || one->direction != 0;
}

/* clocks.c. Where there are several files. */
void pipeline_clocks_begin(struct pipeline *pipeline);
void pipeline_clocks_op(struct pipeline *pipeline, const struct rpcrdma_op *op);
void pipeline_clocks_end(struct pipeline *pipeline);

/* apart.c. All packets were read. */
void pipeline_clocks_apart(struct pipeline *pipeline);

/* by_file.c. The packet in hand is left out; a message ends in that one. */
void pipeline_by_file_left_out(struct pipeline *pipeline, uint64_t frame);
void pipeline_by_file_message(struct pipeline *pipeline, uint64_t frame);

/* complaints.c. The input cannot be used, or not to its end: says why. */
__attribute__((format(printf, 2, 3))) void pipeline_unusable(struct pipeline *pipeline,
                                                             const char *format, ...);
/* At the end. */
void pipeline_say_nothing_found(const struct pipeline *pipeline);
/* What a reader of results would not expect of them; also for the command that asks. */
void pipeline_tell_doubts(struct pipeline *pipeline);
void pipeline_tell_missing(const struct pipeline *pipeline);

#endif
