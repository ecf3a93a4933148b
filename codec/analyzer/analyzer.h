/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_ANALYZER_ANALYZER_H
#define RPCRDMA_ANALYZER_ANALYZER_H

/*
 * Packets in; connections, messages, whole RPCs, credits and findings out: net/ and flow/ joined.
 *
 *     struct rpcrdma_flow_sink flow = {.size = sizeof(flow), .message = on_message};
 *     struct rpcrdma_analyzer_sink sink = {.size = sizeof(sink), .flow = &flow};
 *     struct rpcrdma_analyzer *analyzer = rpcrdma_analyzer_new(NULL, &sink);
 *
 *     while (...)
 *         rpcrdma_analyzer_packet(analyzer, &packet);
 *     rpcrdma_analyzer_end(analyzer);
 *     rpcrdma_analyzer_free(analyzer);
 */

#include <stdbool.h>
#include <stddef.h>

#include "../export.h"
#include "../flow/flow.h"
#include "../net/net.h"

RPCRDMA_BEGIN_DECLS

enum rpcrdma_analyzer_status {
    RPCRDMA_ANALYZER_OK,
    RPCRDMA_ANALYZER_STOPPED,   /* by rpcrdma_analyzer_stop */
    RPCRDMA_ANALYZER_NO_MEMORY, /* nothing more will come; what came is right */
};

struct rpcrdma_analyzer_config {
    size_t size; /* sizeof(struct rpcrdma_analyzer_config); 0: that of version 1.0 */
    const struct rpcrdma_net_config *net;   /* copied; NULL: defaults */
    const struct rpcrdma_flow_config *flow; /* likewise */
};

/* Calls come during rpcrdma_analyzer_packet and rpcrdma_analyzer_end, on the caller's thread. */
struct rpcrdma_analyzer_sink {
    size_t size; /* sizeof(struct rpcrdma_analyzer_sink); 0: that of version 1.0 */
    /* what comes out, with the findings about packets among `finding`, of connection NULL. Copied;
     * with a context of its own */
    const struct rpcrdma_flow_sink *flow;
    /* each RDMA operation, before it is analysed; false: it is left out. NULL: none is */
    bool (*op)(void *context, const struct rpcrdma_op *op);
    /* and once it was: rpcrdma_flow_connection and its like can be asked about it. NULL is fine */
    void (*op_done)(void *context, const struct rpcrdma_op *op);
    void *context;
    /* op_done may be left out after one that is not `unusual`, as rpcrdma_flow_batch says it; of
     * use where `op` is NULL */
    bool op_done_unusual;
    /* as that of rpcrdma_net_sink. NULL is fine */
    void (*bytes)(void *context, const struct rpcrdma_tcp_bytes *bytes);
};

struct rpcrdma_analyzer;

/* The caller's, until it calls rpcrdma_analyzer_free; NULL when memory is short. config may be
 * NULL: defaults. Both are copied. */
RPCRDMA_API struct rpcrdma_analyzer *
rpcrdma_analyzer_new(const struct rpcrdma_analyzer_config *config,
                     const struct rpcrdma_analyzer_sink *sink);
RPCRDMA_API void rpcrdma_analyzer_free(struct rpcrdma_analyzer *analyzer); /* NULL is fine */

/* One packet, in the order of the capture. After another answer than OK it does nothing. */
RPCRDMA_API enum rpcrdma_analyzer_status
rpcrdma_analyzer_packet(struct rpcrdma_analyzer *analyzer, const struct rpcrdma_packet *packet);

/*
 * Many at once, in less time: those at the beginning of *n, each `size` bytes after the one before,
 * that rpcrdma_net_plain takes. After, *n is how many it took. Where those are not all, the one
 * after them is to be given to rpcrdma_analyzer_packet, but for another answer than OK and where
 * `batch` says to stop. During a call of the sink `batch` tells which packet it is about, as in
 * rpcrdma_flow_ops.
 */
RPCRDMA_API enum rpcrdma_analyzer_status
rpcrdma_analyzer_packets(struct rpcrdma_analyzer *analyzer, const struct rpcrdma_packet *first,
                         size_t size, size_t *n, const struct rpcrdma_flow_batch *batch);

/*
 * Packets that will be given soon, n of them, each `size` bytes after the one before: where there
 * are many connections, what is known of theirs is brought into the processor's cache, as in
 * rpcrdma_flow_ahead. Nothing else changes: they may be given or not.
 */
RPCRDMA_API void rpcrdma_analyzer_ahead(struct rpcrdma_analyzer *analyzer,
                                        const struct rpcrdma_packet *first, size_t size, size_t n);

/* As rpcrdma_analyzer_packet, of one that set up a connection before the capture: see
 * rpcrdma_net_replay. */
RPCRDMA_API enum rpcrdma_analyzer_status
rpcrdma_analyzer_replay(struct rpcrdma_analyzer *analyzer, const struct rpcrdma_packet *packet);

/* From within the sink, or between packets: it gets nothing more than each connection's end,
 * which rpcrdma_analyzer_end still does. */
RPCRDMA_API void rpcrdma_analyzer_stop(struct rpcrdma_analyzer *analyzer);

/* No more packets: what is held back is given out, every connection reported. NO_MEMORY: something
 * may not have been given; STOPPED: by the sink, before or now. */
RPCRDMA_API enum rpcrdma_analyzer_status rpcrdma_analyzer_end(struct rpcrdma_analyzer *analyzer);

/* How far the clocks of two directions are apart, where two ports or hosts captured them, each with
 * its own: packets were answered before they passed. */
struct rpcrdma_apart {
    int64_t ns;       /* by that much, or little more; 0: nothing shows it so far */
    uint64_t packets; /* that showed it, of those that were looked at: of a large capture few are */
    struct rpcrdma_address late, early; /* what `late` sent to `early` has the later times */
    /* further than analysis puts packets and their answers in order: what depends on which of them
     * was first is wrong */
    bool too_far;
};

/* What was seen so far; valid until the next call. Where rpcrdma_flow_config.delivery is not set,
 * nothing. */
RPCRDMA_API const struct rpcrdma_apart *rpcrdma_analyzer_apart(struct rpcrdma_analyzer *analyzer);

/* Its two parts, for what only they know: rpcrdma_net_stats, rpcrdma_flow_tap, rpcrdma_flow_time,
 * rpcrdma_flow_credits, rpcrdma_flow_connection and its like. The analyzer's; give them no packets,
 * segments and operations; but from within `op` flow/ may be given another one, in place of one
 * that is left out. */
RPCRDMA_API struct rpcrdma_net *rpcrdma_analyzer_net(struct rpcrdma_analyzer *analyzer);
RPCRDMA_API struct rpcrdma_flow *rpcrdma_analyzer_flow(struct rpcrdma_analyzer *analyzer);

RPCRDMA_END_DECLS

#endif
