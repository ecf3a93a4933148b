/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_DECODE_CM_EVENTS_H
#define RPCRDMA_CLI_DECODE_CM_EVENTS_H

/*
 * decode --cm: the messages that set up and end connections, among the others in order: the CM's
 * (IBTA volume 1 chapter 12), MPA's frames (RFC 5044 section 7), Terminate, TCP's FIN and RST.
 * Messages are reported when their connection is understood, which may be later, so events wait for
 * them.
 */

#include "filter/filter.h"
#include "out/view.h"

struct cm_events;

/* NULL: no memory. `view` must stay where it is; filter: NULL, or --where of messages. live:
 * nothing waits. */
struct cm_events *cm_events_new(struct view *view, struct filter *filter, bool json, bool live);
void cm_events_free(struct cm_events *events); /* NULL is fine */

/* As pipeline.setup gives them. */
void cm_events_op(struct cm_events *events, const struct rpcrdma_op *op,
                  const struct rpcrdma_connection *connection);

/* A message of this frame comes next: writes the events before it. */
void cm_events_until(struct cm_events *events, uint64_t frame);

#endif
