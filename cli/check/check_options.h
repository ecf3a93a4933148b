/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CHECK_CHECK_OPTIONS_H
#define RPCRDMA_CLI_CHECK_CHECK_OPTIONS_H

/* check's options: which findings count, which are shown, and how. */

#include "filter/filter.h"
#include "options/options.h"
#include "rules/set.h"

enum check_format { CHECK_TEXT, CHECK_JSON, CHECK_JUNIT, CHECK_SARIF, CHECK_TAP };

struct check_options {
    enum check_format format;
    bool summary;
    enum rpcrdma_severity least, fail_on; /* RPCRDMA_ERROR + 1: never */
    uint64_t limit;                       /* findings of a rule that are reported one by one */
    bool wanted[RPCRDMA_RULE_COUNT];      /* by --rule, --ignore and --class */
    struct filter *filter;                /* by --where; the caller frees it. NULL: everything */
};

/* Parses argv as options_parse does. */
int check_options_parse(struct check_options *check, struct options *options,
                        const struct command *command, int argc, char **argv);

#endif
