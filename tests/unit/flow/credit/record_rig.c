/* SPDX-License-Identifier: BSD-2-Clause */
#include "record_rig.h"

#include "test.h"

static void finding(void *context, const struct rpcrdma_finding *finding)
{
    struct record *record = context;

    if (record->n_findings < sizeof(record->findings) / sizeof(record->findings[0]))
        record->findings[record->n_findings] = *finding;
    record->n_findings++;
}

static void point(void *context, const struct rpcrdma_credit_point *point)
{
    struct record *record = context;

    record->last = *point;
    record->n_points++;
}

struct rpcrdma_credit_sink record_sink(struct record *record)
{
    return (struct rpcrdma_credit_sink){.finding = finding, .point = point, .context = record};
}

static const struct rpcrdma_finding *find(const struct record *record, enum rpcrdma_rule_id rule)
{
    for (size_t i = 0; i < record->n_findings; i++)
        if (record->findings[i].rule == rule)
            return &record->findings[i];
    return NULL;
}

size_t record_count(const struct record *record, enum rpcrdma_rule_id rule)
{
    size_t n = 0;

    for (size_t i = 0; i < record->n_findings; i++)
        if (record->findings[i].rule == rule)
            n++;
    return n;
}

const char *record_text(const struct record *record, enum rpcrdma_rule_id rule)
{
    static char text[200];
    const struct rpcrdma_finding *it = find(record, rule);

    assert_non_null(it);
    rpcrdma_finding_text(it, text, sizeof(text));
    return text;
}

uint64_t record_frame(const struct record *record, enum rpcrdma_rule_id rule)
{
    const struct rpcrdma_finding *it = find(record, rule);

    assert_non_null(it);
    return it->frame;
}
