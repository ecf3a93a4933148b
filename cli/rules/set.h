/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_RULES_SET_H
#define RPCRDMA_CLI_RULES_SET_H

/* Rules by the names that a user gives. */

#include <stdbool.h>

#include "finding.h"

/* The first of the rules that have this one's name. */
enum rpcrdma_rule_id rule_set_first(enum rpcrdma_rule_id id);

/* Likewise, and its severity: rules of one name may have several. */
enum rpcrdma_rule_id rule_set_alike(enum rpcrdma_rule_id id);

/* Whether `name` is the rule's name, a pattern that it matches, or one of its classes. */
bool rule_set_names(const char *name, enum rpcrdma_rule_id id);

/* Whether it names any rule. */
bool rule_set_known(const char *name);

/* "note", "warning", "error". False for anything else. */
bool rule_set_severity(const char *name, enum rpcrdma_severity *out);

/* The bit of a class. False: there is no such class. */
bool rule_set_class(const char *name, unsigned *bit);

#endif
