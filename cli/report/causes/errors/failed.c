/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about RPCs that RPC or RDMA answered with an error, or NFS where its
 * server could not, and what is said beside the verdict of fewer of these, and of errors of the
 * protocol. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "common/times.h"
#include "out/address.h"
#include "report/collect/later.h"

enum { SHARE = 10, LEAST = 2 }; /* a tenth; one may be how a client asks what there is */

static const struct {
    enum report_cause_id cause;
    const char *failed, *meaning;
} levels[REPORT_LEVELS] = {
    [REPORT_BELOW_NFS] = {CAUSE_RPCS_FAILED, "failed at RPC or RDMA level",
                          ": what they asked for was not carried out."},
    [REPORT_NFS_FAILED] = {CAUSE_NFS_FAILED, "failed in NFS",
                           ": the server got them and could not carry them out. Neither the "
                           "network nor RPC-over-RDMA is at fault."},
};

/* What the error that is most frequent says of the server, beside that; "". */
static const char *hint(const struct report_error *most)
{
    return most && strcmp(most->name, "AUTH_BADCRED") == 0
               ? " A server with Linux answers so to a client that its exports do not name: "
                 "exportfs -v there shows whom they do."
               : "";
}

/* Of those of that level, the most frequent; NULL: none is known. */
static const struct report_error *failed_most(const struct report *r, enum report_level level)
{
    GList *all = report_errors(r), *one = all;
    const struct report_error *most = NULL;

    while (one && ((const struct report_error *)one->data)->level != level)
        one = one->next;
    if (one)
        most = one->data;
    g_list_free(all);
    return most;
}

/* "33 of 36 RPCs failed at RPC or RDMA level, most often with PROG_UNAVAIL, first in frame 12" */
static int tell_failures(const struct report *r, enum report_level level, char *text, size_t size)
{
    const struct report_error *most = failed_most(r, level);
    uint64_t failed = r->failed[level];
    int at = snprintf(text, size, "%" PRIu64 " of %" PRIu64 " RPC%s %s", failed, r->rpcs,
                      plural(r->rpcs), levels[level].failed);

    if (most)
        at += snprintf(text + at, size - (size_t)at, ", %s %.60s, first in frame %" PRIu64,
                       most->count == failed ? "with" : "most often with", most->name, most->frame);
    return at;
}

static bool many(uint64_t failed, uint64_t rpcs)
{
    return failed > 0 && failed * SHARE >= rpcs && (failed >= LEAST || failed * 2 >= rpcs);
}

/* Of all, or of a server's, which others' must not hide. */
static bool many_failed(const struct report *r, enum report_level level)
{
    bool found = many(r->failed[level], r->rpcs);

    for (unsigned i = 0; i < r->n_servers && r->n_servers > 1; i++)
        found = found || many(r->servers[i].failed[level].rpcs, r->servers[i].rpcs);
    return found;
}

/* In which clients of the server waited for what failed. */
static struct report_periods waited(const struct report *r, const struct report_server *one,
                                    enum report_level level)
{
    const struct report_client_later *client;
    struct report_periods sum = {.n = 0};

    for (guint i = 0; (client = report_clients_later(r->waits, i)); i++)
        if (memcmp(&client->server, &one->address, sizeof(one->address)) == 0)
            report_periods_add(&sum, &client->failed[level]);
    return sum;
}

static int64_t cost(const struct report *r, const struct report_server *one,
                    enum report_level level)
{
    const struct report_periods periods = waited(r, one, level);

    return report_periods_ns(&periods);
}

/* Only what was waited for meanwhile. */
static int64_t cost_of_burst(const struct report *r, const struct report_server *one,
                             enum report_level level)
{
    const struct report_burst *burst = &one->burst[level];
    const struct report_periods periods = waited(r, one, level),
                                when = {.n = 1,
                                        .at = {{burst->asked_ns, burst->last_ns,
                                                time_less(burst->last_ns, burst->asked_ns)}}};

    return report_periods_shared(&periods, &when);
}

enum { LASTED_SIZE = 40 };

/* ", all within 12.3 s"; "": they took less than a second */
static void tell_lasted(const struct report_failed *failed, char text[LASTED_SIZE])
{
    int64_t ns = time_less(failed->last_ns, failed->since_ns);

    text[0] = '\0';
    if (ns >= SECOND)
        snprintf(text, LASTED_SIZE, ", all within %.1f s", report_seconds(ns));
}

/* Where there are several servers. False: it is not so of one of them. */
static bool tell_servers(struct report *r, enum report_level level)
{
    bool told = false;

    for (unsigned i = 0; i < r->n_servers && r->n_servers > 1; i++) {
        const struct report_server *one = &r->servers[i];
        const struct report_failed *failed = &one->failed[level];
        const struct report_error *most =
            failed->rpcs == r->failed[level] ? failed_most(r, level) : NULL;
        struct report_cause *cause;
        char who[ADDRESS_SIZE], lasted[LASTED_SIZE];

        if (!many(failed->rpcs, one->rpcs))
            continue;
        told = true;
        who[address_or_name(&one->address, who)] = '\0';
        cause = report_cause_add(r, levels[level].cause, CONFIDENCE_HIGH);
        cause->of = one->connection[level] ? report_numbered(r, one->connection[level]) : NULL;
        cause->rpcs = failed->rpcs;
        cause->time_ns = cost(r, one, level);
        cause->frame = failed->frame;
        tell_lasted(failed, lasted);
        snprintf(cause->text, sizeof(cause->text),
                 "%" PRIu64 " of %" PRIu64 " RPC%s of the server %s %s%s%.60s, first in frame "
                 "%" PRIu64 "%s%s%s",
                 failed->rpcs, one->rpcs, plural(one->rpcs), who, levels[level].failed,
                 !most                             ? ""
                 : most->count == r->failed[level] ? ", with "
                                                   : ", most often with ",
                 most ? most->name : "", failed->frame, lasted, levels[level].meaning, hint(most));
    }
    return told;
}

/* Few of all, but many of what was asked for at one time. */
static bool is_burst(const struct report_server *one, enum report_level level)
{
    return !many(one->failed[level].rpcs, one->rpcs) && report_burst_is_many(&one->burst[level]);
}

static bool any_burst(const struct report *r, enum report_level level)
{
    bool found = false;

    for (unsigned i = 0; i < r->n_servers; i++)
        found = found || is_burst(&r->servers[i], level);
    return found;
}

static void tell_burst(struct report *r, enum report_level level, const struct report_server *one)
{
    const struct report_burst *burst = &one->burst[level];
    const struct report_error *most =
        one->failed[level].rpcs == r->failed[level] ? failed_most(r, level) : NULL;
    struct report_cause *cause = report_cause_add(r, levels[level].cause, CONFIDENCE_HIGH);
    char who[ADDRESS_SIZE];

    who[address_or_name(&one->address, who)] = '\0';
    cause->of = one->connection[level] ? report_numbered(r, one->connection[level]) : NULL;
    cause->rpcs = burst->rpcs;
    cause->time_ns = cost_of_burst(r, one, level);
    cause->frame = burst->frame;
    snprintf(cause->text, sizeof(cause->text),
             "From %.1f s into the capture on, for %.1f s, %" PRIu64 " of %" PRIu64
             " RPCs of the server %s %s%s%.60s, first in frame %" PRIu64 "%s%s",
             report_seconds(time_less(burst->since_ns, r->pipeline->clock.start_ns)),
             report_seconds(time_less(burst->last_ns, burst->since_ns)), burst->rpcs, burst->of,
             who, levels[level].failed, most ? ", most often with " : "", most ? most->name : "",
             burst->frame, levels[level].meaning, hint(most));
}

static void failures(struct report *r, enum report_level level)
{
    const struct report_error *most = failed_most(r, level);
    bool of_servers = tell_servers(r, level);
    struct report_cause *cause;
    char lasted[LASTED_SIZE] = "";
    int at;

    for (unsigned i = 0; i < r->n_servers && (of_servers || !many_failed(r, level)); i++)
        if (is_burst(&r->servers[i], level))
            tell_burst(r, level, &r->servers[i]);
    if (of_servers || !many_failed(r, level))
        return;
    cause = report_cause_add(r, levels[level].cause, CONFIDENCE_HIGH);
    cause->rpcs = r->failed[level];
    for (unsigned i = 0; i < r->n_servers; i++)
        cause->time_ns = MAX(cause->time_ns, cost(r, &r->servers[i], level));
    cause->frame = most ? most->frame : 0;
    if (r->n_servers == 1)
        tell_lasted(&r->servers[0].failed[level], lasted);
    at = tell_failures(r, level, cause->text, sizeof(cause->text));
    snprintf(cause->text + at, sizeof(cause->text) - (size_t)at, "%s%s%s", lasted,
             levels[level].meaning, hint(most));
}

void causes_of_failures(struct report *r)
{
    for (enum report_level level = 0; level < REPORT_LEVELS; level++)
        failures(r, level);
}

void report_failed_too(const struct report *r, char text[REPORT_BESIDE])
{
    int at = 0;

    text[0] = '\0';
    for (enum report_level level = 0; level < REPORT_LEVELS; level++)
        if (r->failed[level] > 0 && !many_failed(r, level) && !any_burst(r, level)) {
            at += snprintf(text + at, REPORT_BESIDE - (size_t)at, "%s", at > 0 ? " " : "");
            at += tell_failures(r, level, text + at, REPORT_BESIDE - (size_t)at);
            at += snprintf(text + at, REPORT_BESIDE - (size_t)at, ".");
        }
}

void report_beside(const struct report *r, char text[REPORT_BESIDE])
{
    uint64_t errors = 0;
    size_t at;

    report_failed_too(r, text);
    at = strlen(text);
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++)
        if (rpcrdma_rule((enum rpcrdma_rule_id)id)->severity == RPCRDMA_ERROR)
            errors += r->rules[id];
    if (errors > 0)
        snprintf(text + at, REPORT_BESIDE - at,
                 "%s%" PRIu64 " error%s of the protocol %s found: see rpcrdma check.",
                 at > 0 ? " " : "", errors, plural(errors), errors == 1 ? "was" : "were");
}
