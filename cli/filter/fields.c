/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of fields, as an expression may write them. */
#include "filter/internal.h"

#include <string.h>

#include "fields/results.h"

#define RECORDS_OF_MESSAGE                                                                         \
    RPCRDMA_RECORD_MESSAGE, RPCRDMA_RECORD_CALL_SEGMENT, RPCRDMA_RECORD_READ_SEGMENT,              \
        RPCRDMA_RECORD_WRITE_SEGMENT, RPCRDMA_RECORD_REPLY_SEGMENT, RPCRDMA_RECORD_ERROR,          \
        RPCRDMA_RECORD_RPC, RPCRDMA_RECORD_FINDING

filter_records filter_of_messages = {RECORDS_OF_MESSAGE, RPCRDMA_RECORD_COUNT};

/* Beside them fields of an RPC that no field of a message has the name of. */
filter_records filter_of_findings = {RECORDS_OF_MESSAGE, RPCRDMA_RECORD_COUNT};

static const enum rpcrdma_field_id of_findings[] = {
    RPCRDMA_FIELD_RPCS_CLIENT,       RPCRDMA_FIELD_RPCS_SERVER,  RPCRDMA_FIELD_RPCS_CALL_FRAME,
    RPCRDMA_FIELD_RPCS_REPLY_FRAME,  RPCRDMA_FIELD_RPCS_LATENCY, RPCRDMA_FIELD_RPCS_TRANSMISSIONS,
    RPCRDMA_FIELD_RPCS_RETRANSMITTED};

#define RECORDS_OF_RPC                                                                             \
    RPCRDMA_RECORD_RPCS, RPCRDMA_RECORD_RPCS_OPERATIONS, RPCRDMA_RECORD_RPCS_CALL_DELIVERY,        \
        RPCRDMA_RECORD_RPCS_REPLY_DELIVERY, RPCRDMA_RECORD_RPCS_PHASES, RPCRDMA_RECORD_FINDING

filter_records filter_of_rpcs = {RECORDS_OF_RPC, RPCRDMA_RECORD_COUNT};

filter_records filter_of_extracts = {RPCRDMA_RECORD_EXTRACT, RPCRDMA_RECORD_RPC,
                                     RPCRDMA_RECORD_FINDING, RPCRDMA_RECORD_COUNT};

/* What an event of a capture may be: an RPC, a finding, a connection's beginning or end, a
 * direction of RPC at its credit limit. */
filter_records filter_of_triggers = {RECORDS_OF_RPC,
                                     RPCRDMA_RECORD_CONNECTIONS,
                                     RPCRDMA_RECORD_CONNECTIONS_END,
                                     RPCRDMA_RECORD_CONNECTIONS_PATH,
                                     RPCRDMA_RECORD_CREDIT,
                                     RPCRDMA_RECORD_CREDITS_ENTRY,
                                     RPCRDMA_RECORD_COUNT};

/* As results.def has them. */
static const struct rpcrdma_field worked_out[] = {
    {.id = FILTER_RDMA_FIRST_FRAME,
     .record = RPCRDMA_RECORD_RPCS,
     .key = "rdma_first_frame",
     .abbrev = "rpcrdma.rpcs.rdma_first_frame",
     .offset = -1,
     .width = 64},
    {.id = FILTER_RDMA_LAST_FRAME,
     .record = RPCRDMA_RECORD_RPCS,
     .key = "rdma_last_frame",
     .abbrev = "rpcrdma.rpcs.rdma_last_frame",
     .offset = -1,
     .width = 64},
    /* of no command's output: it is known only meanwhile */
    {.id = FILTER_WAITING,
     .record = RPCRDMA_RECORD_CREDITS_ENTRY,
     .key = "waiting_ns",
     .abbrev = "rpcrdma.credits.connections.directions.waiting_ns",
     .offset = -1,
     .width = 64},
};

const struct rpcrdma_field *filter_field_of(int id)
{
    return id < RPCRDMA_FIELD_COUNT ? rpcrdma_field((enum rpcrdma_field_id)id)
                                    : &worked_out[id - RPCRDMA_FIELD_COUNT];
}

static bool wanted(const enum rpcrdma_record_id *records, const struct rpcrdma_field *field)
{
    if (records == filter_of_findings)
        for (size_t i = 0; i < sizeof(of_findings) / sizeof(of_findings[0]); i++)
            if (of_findings[i] == field->id)
                return true;
    for (; *records != RPCRDMA_RECORD_COUNT; records++)
        if (*records == field->record)
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

/* An object that no other one holds: an RPC, or of a trigger a connection. */
static bool is_whole(const struct rpcrdma_field *field)
{
    return rpcrdma_record(field->record)->key[0] == '\0';
}

enum { PASSES = 4 };

/* Whether a name means the field: the whole name; in the main record; in another whole object; at
 * the end of any name. */
static bool is_meant(int pass, filter_records records, const struct rpcrdma_field *field,
                     const char *name)
{
    switch (pass) {
    case 0:
        return strcmp(short_name(field), name) == 0;
    case 1:
        return field->record == records[0] && strcmp(field->key, name) == 0;
    case 2:
        return is_whole(field) && strcmp(field->key, name) == 0;
    default:
        return is_end(short_name(field), name);
    }
}

/* The fields that a name means in this pass. */
struct found {
    const struct rpcrdma_field *wanted, *elsewhere;
    unsigned n; /* wanted ones */
};

static void look(int pass, filter_records records, const char *name, struct found *found)
{
    for (int id = 0; id < FILTER_FIELD_COUNT; id++) {
        const struct rpcrdma_field *field = filter_field_of(id);

        if (!is_meant(pass, records, field, name))
            continue;
        if (!wanted(records, field)) {
            found->elsewhere = field;
            continue;
        }
        found->wanted = field;
        found->n++;
    }
}

static void tell_several(filter_records records, const char *name, char *problem, size_t size)
{
    size_t at = (size_t)g_snprintf(problem, size, "there are several:");

    for (int id = 0; id < FILTER_FIELD_COUNT && at < size; id++) {
        const struct rpcrdma_field *field = filter_field_of(id);

        if (wanted(records, field) && is_end(short_name(field), name))
            at += (size_t)g_snprintf(problem + at, size - at, " %s", short_name(field));
    }
}

/* The record that an object of this name is made of: "phases", "rpcs.phases"; "rpcs.findings" is of
 * a record that stands by itself. NULL: there is none. */
static const struct rpcrdma_record *object(filter_records records, const char *name)
{
    bool findings = is_end(name, "findings");

    for (; *records != RPCRDMA_RECORD_COUNT; records++) {
        const struct rpcrdma_record *record = rpcrdma_record(*records);

        if (findings ? record->id == RPCRDMA_RECORD_FINDING
                     : record->key[0] && is_end(strchr(record->abbrev, '.') + 1, name))
            return record;
    }
    return NULL;
}

static void tell_object(const struct rpcrdma_record *record, const char *name, char *problem,
                        size_t size)
{
    size_t at = (size_t)g_snprintf(problem, size, "%s has no value, only fields have:", name);
    unsigned n = 0;

    for (int id = 0; id < FILTER_FIELD_COUNT && at < size; id++) {
        const struct rpcrdma_field *field = filter_field_of(id);

        if (field->record == record->id && n++ < 3)
            at += (size_t)g_snprintf(problem + at, size - at, " %s", short_name(field));
    }
    if (n > 3 && at < size)
        g_snprintf(problem + at, size - at, " ...");
}

/* What the command works out and prints, and no expression takes. */
static bool is_result(const char *name)
{
    char of[RESULT_NAME];

    for (size_t i = 0; i < n_results; i++) {
        result_name(&results[i], of);
        if (is_end(strchr(of, '.') + 1, name))
            return true;
    }
    return false;
}

/* Wireshark's name of a duration, which is in seconds there, and without the "_ns". */
static bool is_duration(filter_records records, const char *name)
{
    char own[RESULT_NAME];
    struct found found = {0};

    g_snprintf(own, sizeof(own), "%s_ns", name);
    for (int pass = 0; pass < PASSES && found.n == 0; pass++)
        look(pass, records, own, &found);
    return found.n > 0;
}

const struct rpcrdma_field *filter_field(filter_records records, const char *name, char *problem,
                                         size_t size)
{
    const struct rpcrdma_record *record;
    struct found found = {0};

    if (g_str_has_prefix(name, "rpcrdma."))
        name += strlen("rpcrdma.");
    for (int pass = 0; pass < PASSES && found.n == 0; pass++)
        look(pass, records, name, &found);
    if (found.n == 1)
        return found.wanted;
    if (found.n > 1)
        tell_several(records, name, problem, size);
    else if ((record = object(records, name)))
        tell_object(record, name, problem, size);
    else if (found.elsewhere)
        g_snprintf(problem, size, "%s is no field that this command takes",
                   found.elsewhere->abbrev);
    else if (is_result(name))
        g_snprintf(problem, size, "no expression takes %s", name);
    else if (is_duration(records, name))
        g_snprintf(problem, size,
                   "there is no field \"%s\"; durations are in nanoseconds here: %s_ns > 2s", name,
                   name);
    else
        g_snprintf(problem, size, "there is no field \"%s\"; rpcrdma fields lists them", name);
    return NULL;
}
