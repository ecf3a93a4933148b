/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_CREDIT_RECORD_H
#define RPCRDMA_TESTS_UNIT_FLOW_CREDIT_RECORD_H

#include "finding.h"
#include "flow/credit/gauge.h"

/* A sink that keeps what it hears. */
struct record {
    struct rpcrdma_finding findings[64];
    size_t n_findings;
    struct rpcrdma_credit_point last;
    size_t n_points;
};

struct rpcrdma_credit_sink record_sink(struct record *record);
/* How many findings there are of this rule. */
size_t record_count(const struct record *record, enum rpcrdma_rule_id rule);
/* The text of the first finding of this rule, which there must be. */
const char *record_text(const struct record *record, enum rpcrdma_rule_id rule);
/* Its frame. */
uint64_t record_frame(const struct record *record, enum rpcrdma_rule_id rule);

#endif
