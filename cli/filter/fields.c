/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of fields, as an expression may write them. */
#include "filter/internal.h"

#include <stdio.h>
#include <string.h>

filter_records filter_of_messages = {
    RPCRDMA_RECORD_MESSAGE,       RPCRDMA_RECORD_CALL_SEGMENT,  RPCRDMA_RECORD_READ_SEGMENT,
    RPCRDMA_RECORD_WRITE_SEGMENT, RPCRDMA_RECORD_REPLY_SEGMENT, RPCRDMA_RECORD_ERROR,
    RPCRDMA_RECORD_RPC,           RPCRDMA_RECORD_FINDING,       RPCRDMA_RECORD_COUNT};

filter_records filter_of_rpcs = {RPCRDMA_RECORD_RPCS, RPCRDMA_RECORD_RPCS_OPERATIONS,
                                 RPCRDMA_RECORD_FINDING, RPCRDMA_RECORD_COUNT};

filter_records filter_of_extracts = {RPCRDMA_RECORD_EXTRACT, RPCRDMA_RECORD_RPC,
                                     RPCRDMA_RECORD_FINDING, RPCRDMA_RECORD_COUNT};

/* What an event of a capture may be: an RPC, a finding, a connection's beginning or end, a
 * direction of RPC at its credit limit. */
filter_records filter_of_triggers = {
    RPCRDMA_RECORD_RPCS,        RPCRDMA_RECORD_RPCS_OPERATIONS, RPCRDMA_RECORD_FINDING,
    RPCRDMA_RECORD_CONNECTIONS, RPCRDMA_RECORD_CONNECTIONS_END, RPCRDMA_RECORD_CONNECTIONS_PATH,
    RPCRDMA_RECORD_CREDIT,      RPCRDMA_RECORD_CREDITS_ENTRY,   RPCRDMA_RECORD_COUNT};

static bool wanted(const enum rpcrdma_record_id *records, enum rpcrdma_record_id id)
{
    for (; *records != RPCRDMA_RECORD_COUNT; records++)
        if (*records == id)
            return true;
    return false;
}

/* "rpcs.latency_ns" of "rpcrdma.rpcs.latency_ns" */
static const char *short_name(const struct rpcrdma_field *field)
{
    return strchr(field->abbrev, '.') + 1;
}

/* Whether the name ends with these parts. */
static bool is_end(const char *name, const char *parts)
{
    size_t n = strlen(name), m = strlen(parts);

    return n >= m && strcmp(name + n - m, parts) == 0 && (n == m || name[n - m - 1] == '.');
}

const struct rpcrdma_field *filter_field(filter_records records, const char *name, char *problem,
                                         size_t size)
{
    const struct rpcrdma_field *found = NULL, *elsewhere = NULL;
    unsigned n = 0;

    if (g_str_has_prefix(name, "rpcrdma."))
        name += strlen("rpcrdma.");
    for (int pass = 0; pass < 3 && !found; pass++) { /* whole name; of the main record; any part */
        for (int id = 0; id < RPCRDMA_FIELD_COUNT; id++) {
            const struct rpcrdma_field *field = rpcrdma_field((enum rpcrdma_field_id)id);
            bool equal = pass == 0   ? strcmp(short_name(field), name) == 0
                         : pass == 1 ? field->record == records[0] && strcmp(field->key, name) == 0
                                     : is_end(short_name(field), name);

            if (!equal)
                continue;
            if (!wanted(records, field->record)) {
                elsewhere = field;
                continue;
            }
            found = field;
            n++;
        }
        if (n > 1) {
            size_t at = (size_t)g_snprintf(problem, size, "there are several:");

            for (int id = 0; id < RPCRDMA_FIELD_COUNT && at < size; id++) {
                const struct rpcrdma_field *field = rpcrdma_field((enum rpcrdma_field_id)id);

                if (wanted(records, field->record) && is_end(short_name(field), name))
                    at += (size_t)g_snprintf(problem + at, size - at, " %s", short_name(field));
            }
            return NULL;
        }
    }
    if (!found && elsewhere)
        g_snprintf(problem, size, "%s is no field of what this command shows", elsewhere->abbrev);
    else if (!found)
        g_snprintf(problem, size, "there is no field \"%s\"; rpcrdma fields lists them", name);
    return found;
}
