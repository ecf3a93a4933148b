/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule_version.h"

#include <assert.h>
#include <stddef.h>

/* By number, plus 1: 0 is no other rule. */
static const struct {
    uint16_t in_1, in_2;
} others[RPCRDMA_RULE_COUNT] = {
#define RULE(id, name, severity, section, text)
#define RULE_2(id, name, severity, section, text)                                                  \
    [RPCRDMA_RULE_##id].in_2 = RPCRDMA_RULE_##id##_2 + 1,                                          \
    [RPCRDMA_RULE_##id##_2].in_1 = RPCRDMA_RULE_##id + 1,
#include "rule.def"
#undef RULE
#undef RULE_2
};

enum rpcrdma_rule_id rule_of_version(enum rpcrdma_rule_id id, uint32_t version)
{
    uint16_t other;

    assert((size_t)id < RPCRDMA_RULE_COUNT);
    other = version == 1 ? others[id].in_1 : version == 2 ? others[id].in_2 : 0;
    return other > 0 ? (enum rpcrdma_rule_id)(other - 1) : id;
}
