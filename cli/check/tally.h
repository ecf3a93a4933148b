/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CHECK_TALLY_H
#define RPCRDMA_CLI_CHECK_TALLY_H

/* What check found, by rule and connection; and what of the capture a rule would have needed. */

#include <glib.h>

#include "flow/flow.h"

/* A rule on a connection. */
enum { TALLY_OTHERS = UINT32_MAX };
struct tally_row {
    enum rpcrdma_rule_id rule;       /* the first of its name and severity */
    uint32_t connection;             /* 0: none; TALLY_OTHERS: those beyond what memory holds */
    struct rpcrdma_address src, dst; /* its ends: the client first, where it is known */
    uint64_t count;
    uint64_t first_frame, last_frame; /* 0: of none */
};

/* A finding, for reports that come at the end. */
struct tally_finding {
    enum rpcrdma_rule_id rule; /* itself */
    uint32_t connection;
    uint64_t frame;
    int64_t offset;
    bool has_value;
    uint64_t value;
    uint32_t transmission, transmissions; /* 0: not known */
    char *text;
};

struct tally {
    GArray *rows;                       /* of struct tally_row, by first finding */
    GArray *findings;                   /* of struct tally_finding */
    GHashTable *index;                  /* (rule, connection) -> row + 1 */
    uint64_t count[RPCRDMA_RULE_COUNT]; /* by the first of a name */
    uint64_t last_frame[RPCRDMA_RULE_COUNT];
    enum rpcrdma_rule_id
        worst[RPCRDMA_RULE_COUNT]; /* the most severe of that name that was found */
    uint64_t connections;
    uint64_t lacking[RPCRDMA_NEEDS]; /* connections (Calls, messages) without what rules need */
    size_t bytes, max_bytes;         /* of findings and rows */
    uint64_t others;                 /* findings that others' rows count */
};

void tally_init(struct tally *tally, size_t max_bytes);
void tally_free(struct tally *tally);

/* keep: its text, too, while memory holds it. frame: of the finding, or of what it belongs to.
 * Returns how many of the rule there are by now. */
uint64_t tally_add(struct tally *tally, const struct rpcrdma_finding *finding,
                   const struct rpcrdma_connection *connection, uint64_t frame, bool keep);

/* The next of the findings that were kept of the rules with this one's name; *at begins with 0.
 * NULL: no more. */
const struct tally_finding *tally_next(const struct tally *tally, enum rpcrdma_rule_id id,
                                       guint *at);

/* Counts what was not captured; of any finding, wanted or not, and of each connection. */
void tally_lacks(struct tally *tally, const struct rpcrdma_finding *finding);
void tally_connection(struct tally *tally, const struct rpcrdma_connection *connection);

/* The needs of the rule that were lacking somewhere: a set. */
unsigned tally_unmet(const struct tally *tally, enum rpcrdma_rule_id rule);

/* "no set-up in the capture of 2 of 3 connections", by bit of needs. Freed by the caller. */
char *tally_reason(const struct tally *tally, unsigned bit);

#endif
