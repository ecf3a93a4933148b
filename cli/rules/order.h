/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_RULES_ORDER_H
#define RPCRDMA_CLI_RULES_ORDER_H

#include <stdbool.h>

#include "finding.h"

/* Whether a rule's findings depend on what was first: a message and its answer, or what was sent
 * and that it arrived. Where each direction has a clock of its own, far apart, they are wrong
 * (rpcrdma_apart). */
bool rule_by_order(enum rpcrdma_rule_id rule);

#endif
