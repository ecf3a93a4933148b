/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_CREDITS_H
#define RPCRDMA_CLI_OUT_CREDITS_H

/* What `rpcrdma credits` shows of a connection. */

#include "flow/credit.h"
#include "flow/flow.h"
#include "out/json_writer.h"
#include "out/series.h"

enum { CREDITS_FINDINGS = 32 };

struct credits_connection {
    struct rpcrdma_connection is;
    struct rpcrdma_credit_result results[2];
    size_t n_results;
    struct series *series[2];         /* by end; NULL where there is none */
    struct rpcrdma_finding *findings; /* the first CREDITS_FINDINGS */
    uint64_t n_findings;              /* all */
};

/* How many of its findings it has. */
static inline uint64_t credits_findings_kept(const struct credits_connection *c)
{
    if (!c->findings)
        return 0;
    return c->n_findings < CREDITS_FINDINGS ? c->n_findings : CREDITS_FINDINGS;
}

struct credits_style {
    bool verdict_only;
    unsigned sparkline; /* characters; 0: none */
    int64_t start_ns, end_ns;
};

/* "forward", "reverse"; counting: "client", "server"; "unknown". */
const char *credits_direction(const struct rpcrdma_connection *connection, int end, bool counting);

/* The verdict, NUL-terminated. */
void credits_verdict(const struct credits_connection *c, const struct rpcrdma_credit_result *result,
                     char *buf, size_t size);

void credits_text(struct out *out, const struct credits_connection *c,
                  const struct credits_style *style);

/* One object of the list "connections". */
void credits_json(struct json *json, const struct credits_connection *c);

#endif
