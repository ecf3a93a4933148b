/* SPDX-License-Identifier: BSD-2-Clause */
#include "rules/set.h"

#include <fnmatch.h>
#include <string.h>

enum rpcrdma_rule_id rule_set_first(enum rpcrdma_rule_id id)
{
    static enum rpcrdma_rule_id firsts[RPCRDMA_RULE_COUNT];
    static bool ready;

    if (!ready) {
        for (int i = 0; i < RPCRDMA_RULE_COUNT; i++) {
            int first = 0;

            while (strcmp(rpcrdma_rule((enum rpcrdma_rule_id)first)->name,
                          rpcrdma_rule((enum rpcrdma_rule_id)i)->name) != 0)
                first++;
            firsts[i] = (enum rpcrdma_rule_id)first;
        }
        ready = true;
    }
    return firsts[id];
}

enum rpcrdma_rule_id rule_set_alike(enum rpcrdma_rule_id id)
{
    enum rpcrdma_rule_id first = rule_set_first(id), at = first;

    while (rule_set_first(at) != first || rpcrdma_rule(at)->severity != rpcrdma_rule(id)->severity)
        at++;
    return at;
}

bool rule_set_class(const char *name, unsigned *bit)
{
    for (*bit = 0; *bit < RPCRDMA_CLASSES; ++*bit)
        if (strcmp(rpcrdma_class_name(*bit), name) == 0)
            return true;
    return false;
}

bool rule_set_names(const char *name, enum rpcrdma_rule_id id)
{
    unsigned bit;

    if (fnmatch(name, rpcrdma_rule(id)->name, 0) == 0)
        return true;
    return rule_set_class(name, &bit) && rpcrdma_rule_help(id)->classes >> bit & 1;
}

bool rule_set_known(const char *name)
{
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++)
        if (rule_set_names(name, (enum rpcrdma_rule_id)id))
            return true;
    return false;
}

bool rule_set_severity(const char *name, enum rpcrdma_severity *out)
{
    for (int severity = RPCRDMA_NOTE; severity <= RPCRDMA_ERROR; severity++) {
        if (strcmp(rpcrdma_severity_name((enum rpcrdma_severity)severity), name) != 0)
            continue;
        *out = (enum rpcrdma_severity)severity;
        return true;
    }
    return false;
}
