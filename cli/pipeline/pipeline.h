/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_PIPELINE_PIPELINE_H
#define RPCRDMA_CLI_PIPELINE_PIPELINE_H

/*
 * Source -> analyzer, once for all commands. A command gives a sink and gets parsed things:
 *
 *     struct pipeline pipeline = {.options = &options, .out = &out};
 *     struct rpcrdma_flow_sink sink = {.message = on_message, .context = &mine};
 *
 *     status = pipeline_run(&pipeline, &sink);     // 0, or EXIT_UNUSABLE and it was said
 *
 * A new callback of rpcrdma_flow_sink needs a line in sink.c: all of them pass through it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/analyzer.h"
#include "flow/flow.h"
#include "options/options.h"
#include "out/out.h"
#include "out/view.h"
#include "pipeline/others.h"
#include "source/source.h"

enum { PIPELINE_PROBLEMS = 1000 }; /* a file may have one for each of its packets */

/* What was read of one of several files. */
struct pipeline_file {
    struct source_part source;
    uint64_t messages; /* that end in its packets */
    bool left_out;     /* packets of an unknown link type */
};

/* An idle time: no packet of any kind passed. From one packet of the capture to the next. (An end
 * that is not heard while others are is silent.) */
#define PIPELINE_IDLE_NS UINT64_C(1000000000)
enum { PIPELINE_IDLE_KEPT = 16 };
struct pipeline_idle {
    int64_t since_ns, until_ns;
};

#define PIPELINE_STEP_NS INT64_C(100000) /* of times that are coarse */

#define PIPELINE_APART_NS INT64_C(100000) /* the queues of one port are less apart */

struct pipeline {
    /* the command's */
    const struct options *options;
    bool credits;        /* keep account of credits: sink->credits, sink->credit_point */
    bool delivery;       /* follow what arrives: transactions' times and paths, path counts */
    struct out *out;     /* flushed when packets are awaited; reading ends when it fails */
    bool stop;           /* set by a sink that has seen enough */
    GPtrArray *problems; /* gets a copy of what is said of input that cannot be used, or not to its
                          * end, PIPELINE_PROBLEMS at most; NULL: nobody asks */
    GPtrArray *doubts;   /* the same of what was read and may be wrong: a clock that was set back.
                          * Who asks has packets that are not decoded among its problems, too */
    GPtrArray *missing;  /* the same of packets that were lost, and --max-memory */
    /* each operation, before flow/ sees it; NULL: none */
    void (*op)(void *context, const struct rpcrdma_op *op);
    /* and after it did */
    /* path: what was sent in its direction so far, NULL where that is not known (delivery) */
    void (*op_done)(void *context, const struct rpcrdma_op *op, const struct rpcrdma_path *path);
    bool op_done_unusual; /* not each time: see rpcrdma_analyzer_sink */
    /* a message that sets up or ends a connection that carries RPC-over-RDMA; NULL: none */
    void (*setup)(void *context, const struct rpcrdma_op *op,
                  const struct rpcrdma_connection *connection);
    void *op_context;
    /* each packet, before anything is made of it; NULL: none */
    void (*passes)(void *context, const struct source_packet *packet);
    void *passes_context;
    bool passes_unlike;           /* but not those of Ethernet that follow one of their interface */
    void (*first)(void *context); /* the first packet that is not replayed is in hand; NULL */
    void *first_context;
    /* of devices: called every interval_ns, packets or none, with the time since the epoch */
    void (*tick)(void *context, int64_t now_ns, struct rpcrdma_flow *flow);
    void *tick_context;
    int64_t interval_ns, next_tick_ns; /* the latter is pipeline.c's */
    /* no packet comes any more, and nothing was given out for that yet; NULL: none */
    void (*last)(void *context, struct rpcrdma_flow *flow);
    void *last_context;
    /* of each of several files, in their order, as pipeline_by_file last had it; NULL: nobody asks
     */
    struct pipeline_file *by_file;

    bool unlisted; /* a sink without `message` needs no count of them: less is made of each */

    /* Acks of connections that ended, and a sink's, of transactions: Replies that passed before
     * what they answer, where that is PIPELINE_APART_NS and more; and how long at most. They are
     * told among the doubts: the two directions' clocks are so far apart, at least */
    uint64_t early_acks, early_replies;
    int64_t early_ns;
    uint64_t disordered;        /* packets that stand behind a later one, where that is told; once
                                 * pipeline_run has ended */
    struct rpcrdma_apart apart; /* likewise, of packets alone; once pipeline_run has ended */

    /* for sinks to read */
    struct view_clock clock;
    /* the latest times in which no packet of any kind passed, by number % PIPELINE_IDLE_KEPT */
    struct pipeline_idle idle[PIPELINE_IDLE_KEPT];
    uint64_t n_idle;     /* so far */
    uint64_t back_frame; /* so far: the first packet at which time goes back, by more than queues
                          * of an adapter change places; 0: none. And by how much, at most */
    int64_t back_ns;
    uint64_t n_back; /* how often, at one interface */
    /* so far: many packets have the time of the one before, and other times are that far apart, at
     * least; INT64_MAX: all have one time; 0: times are finer than PIPELINE_STEP_NS */
    int64_t step_ns;
    uint64_t messages;     /* so far; not where they are unlisted */
    uint64_t memory_limit; /* so far: how often something was left out because of --max-memory */
    uint64_t unread;       /* so far: how often input could not be used, or not to its end */
    bool messages_unknown; /* of `by_file`: which file a message was in could not be told */
    bool in_cut;           /* the packet in hand was cut by the end of its file */
    bool at_end;           /* no packet comes any more: sinks get what is still open */
    /* at_end: when the capture ended, which may be long after its last packet; else now */
    int64_t end_ns;
    bool end_known; /* as the file says, or devices' clock; else it is the last packet's time */
    /* once pipeline_run has ended */
    bool found;       /* messages, or connections at least */
    bool was_read;    /* something of the input, or all of it, which may be empty */
    bool counted_out; /* of files: as many packets as options->count were read, and no more */
    struct others others;
    bool capture_lost_known;
    uint64_t
        capture_lost; /* packets that the files, or the devices, count as lost to the capture */

    struct pipeline_private *own;
};

/* A tick of who analyses what arrives: somebody may wait for a packet that will not come.
 * `pipeline` is one. What ticks for another reason, too, calls it. */
void pipeline_pass_time(void *pipeline, int64_t now_ns, struct rpcrdma_flow *flow);
/* The capture's clock, when ours is now_ns: at such a tick. */
int64_t pipeline_time(const struct pipeline *pipeline, int64_t now_ns);

/* Whether the clocks of the two directions are too far apart, as is known so far, to say that this
 * rule was broken. */
bool pipeline_doubts_rule(const struct pipeline *pipeline, enum rpcrdma_rule_id rule);

/* What was read so far: for a tick, or an end of a connection. */
struct pipeline_counts {
    struct rpcrdma_net_stats net;
    struct source_stats source;
};
void pipeline_counts(const struct pipeline *pipeline, struct pipeline_counts *counts);

/* Brings pipeline->by_file up to date, between packets; pipeline_run does it at the end. */
void pipeline_by_file(struct pipeline *pipeline);

/* Reads all of options->files, or options->devices until a signal. Every problem was said on
 * stderr, one line each. */
int pipeline_run(struct pipeline *pipeline, const struct rpcrdma_flow_sink *sink);

/* What pipeline_run says of input without RPC-over-RDMA. */
void say_nothing_found(const struct options *options, const struct others *others);
/* And of what the files themselves say is missing; devices count while they are read. */
void say_lost(const struct options *options, const struct source_stats *stats);
void say_texts_left_out(const struct options *options, uint64_t texts);

/* Of the operation that op_done is called with; NULL: none that carries RPC-over-RDMA, or not known
 * yet. */
const struct rpcrdma_connection *pipeline_connection(const struct pipeline *pipeline,
                                                     const struct rpcrdma_op *op);

/* Of a connection that may not have ended: its network. False: nothing that was read so far tells
 * it from another one. */
bool pipeline_network(const struct pipeline *pipeline, const struct rpcrdma_connection *connection,
                      struct rpcrdma_network *network);

#endif
