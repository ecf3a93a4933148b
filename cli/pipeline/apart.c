/* SPDX-License-Identifier: BSD-2-Clause */
/* Each of two ports or hosts captured one direction, with its own clock: what is wrong where these
 * are so far apart that answers are not put behind what they answer. */
#include "pipeline/private.h"

#include "rules/order.h"

void pipeline_clocks_apart(struct pipeline *pipeline)
{
    pipeline->apart = *rpcrdma_analyzer_apart(pipeline->own->analyzer);
    if (pipeline->apart.ns > pipeline->early_ns)
        pipeline->early_ns = pipeline->apart.ns;
}

bool pipeline_doubts_rule(const struct pipeline *pipeline, enum rpcrdma_rule_id rule)
{
    return (pipeline->own ? rpcrdma_analyzer_apart(pipeline->own->analyzer)->too_far
                          : pipeline->apart.too_far) &&
           rule_by_order(rule);
}
