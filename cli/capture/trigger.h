/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_TRIGGER_H
#define RPCRDMA_CLI_CAPTURE_TRIGGER_H

/*
 * --trigger: whether what happens is what is waited for. The expression is asked of each RPC, when
 * its Reply passes; of each finding and each Nak; of each connection that is set up or ends,
 * and of each path on which a packet is sent again; and of each
 * direction of RPC that is at its credit limit, or waits for a Reply, again and again while it is.
 */

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "filter/filter.h"
#include "flow/credit.h"
#include "flow/rpc.h"

enum { TRIGGER_TEXT = 400 };

struct capture_trigger {
    struct filter *filter; /* the caller's */

    /* for the caller to read, and to set to false again */
    bool met;
    char what[TRIGGER_TEXT]; /* met it, in words */

    struct details *details;
    GHashTable *at_limit;      /* directions of RPC: struct at_limit */
    struct rpcrdma_flow *flow; /* the caller's, set before the first packet */
    GHashTable *waiting;       /* directions whose oldest Call met it: that one's frame */
    GHashTable *still;         /* in a look: those that are so still */
    int64_t looked_ns;         /* at those, by the capture's clock */
    uint64_t packets;          /* since then */
    int64_t awaited_ns; /* the latest look at Calls that wait; packets since, and Calls then */
    uint64_t wait_packets, outstanding;
    uint64_t answered[64]; /* tags of RPCs that met it when their Reply passed */
    unsigned next_answered;
};

/* The name of a field that the expression has and that is not known when something happens, or
 * NULL.
 */
const char *capture_trigger_unknown(const struct filter *filter);

void capture_trigger_begin(struct capture_trigger *trigger, size_t memory);
void capture_trigger_end(struct capture_trigger *trigger);

/* rpcrdma_flow_sink's calls */
void capture_trigger_stream(struct capture_trigger *trigger,
                            const struct rpcrdma_payload_stream *stream);
void capture_trigger_answered(struct capture_trigger *trigger,
                              const struct rpcrdma_transaction *transaction);
void capture_trigger_transaction(struct capture_trigger *trigger,
                                 const struct rpcrdma_transaction *transaction);
void capture_trigger_message(struct capture_trigger *trigger,
                             const struct rpcrdma_flow_message *message);
void capture_trigger_finding(struct capture_trigger *trigger,
                             const struct rpcrdma_connection *connection,
                             const struct rpcrdma_finding *finding);
void capture_trigger_credits(struct capture_trigger *trigger,
                             const struct rpcrdma_connection *connection, int end,
                             const struct rpcrdma_credit_point *point);

/* A Nak was given; or a packet that was sent before, or is late. */
void capture_trigger_nak(struct capture_trigger *trigger,
                         const struct rpcrdma_connection *connection, enum rpcrdma_nak nak);
void capture_trigger_path(struct capture_trigger *trigger,
                          const struct rpcrdma_connection *connection,
                          const struct rpcrdma_path *path);

/* A message that sets up or ends the connection was given. */
void capture_trigger_setup(struct capture_trigger *trigger,
                           const struct rpcrdma_connection *connection);

/* The capture's clock is there, and what has come until now is known: is a Call without Reply for
 * that long? With a packet, before that is looked at: it may be the Reply. */
void capture_trigger_wait(struct capture_trigger *trigger, int64_t now_ns, bool packet);
/* The capture's clock is there: without a packet, or with this one. */
void capture_trigger_time(struct capture_trigger *trigger, int64_t now_ns);
void capture_trigger_packet(struct capture_trigger *trigger, int64_t now_ns);

#endif
