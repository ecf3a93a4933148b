/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_FILTER_MESSAGE_VALUES_H
#define RPCRDMA_CLI_FILTER_MESSAGE_VALUES_H

#include "filter/filter.h"
#include "flow/rpc.h"
#include "out/view.h"

/* Whether a message matches; fills the filter's values. NULL matches. */
bool filter_message(struct filter *filter, const struct rpcrdma_flow_message *message);

/* Values of these findings, beside those that the filter has of their object. */
void filter_findings(struct filter *filter, const struct rpcrdma_finding *findings, size_t n);

/* Likewise a finding that belongs to no message, found by this clock. */
bool filter_finding(struct filter *filter, const struct rpcrdma_connection *connection,
                    const struct rpcrdma_finding *finding, const struct view_clock *clock);

/* A finding of an RPC: with the fields of its Call's message that the RPC knows. */
bool filter_transaction(struct filter *filter, const struct rpcrdma_transaction *transaction,
                        const struct rpcrdma_finding *finding);

/* A whole RPC message. */
bool filter_extract(struct filter *filter, const struct rpcrdma_rpc_message *message);

#endif
