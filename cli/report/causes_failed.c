/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about RPCs that RPC or RDMA answered with an error, and what is said
 * beside the verdict of fewer of these, and of errors of the protocol. */
#include "report/causes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "out/address.h"
#include "plural.h"

enum { SHARE = 10, LEAST = 2 }; /* a tenth; one may be how a client asks what there is */

const struct report_error *report_failed_below(const struct report *r)
{
    GList *all = report_errors(r), *one = all;
    const struct report_error *most = NULL;

    while (one && !((const struct report_error *)one->data)->below)
        one = one->next;
    if (one)
        most = one->data;
    g_list_free(all);
    return most;
}

/* "33 of 36 RPCs failed at RPC or RDMA level, most often with PROG_UNAVAIL, first in frame 12" */
static int tell_failures(const struct report *r, char *text, size_t size)
{
    const struct report_error *most = report_failed_below(r);
    int at = snprintf(text, size, "%" PRIu64 " of %" PRIu64 " RPC%s failed at RPC or RDMA level",
                      r->failed_below, r->rpcs, plural(r->rpcs));

    if (most)
        at += snprintf(text + at, size - (size_t)at, ", %s %.60s, first in frame %" PRIu64,
                       most->count == r->failed_below ? "with" : "most often with", most->name,
                       most->frame);
    return at;
}

static bool many(uint64_t failed, uint64_t rpcs)
{
    return failed > 0 && failed * SHARE >= rpcs && (failed >= LEAST || failed * 2 >= rpcs);
}

/* Of all, or of a server's, which others' must not hide. */
static bool many_failed(const struct report *r)
{
    bool found = many(r->failed_below, r->rpcs);

    for (unsigned i = 0; i < r->n_servers && r->n_servers > 1; i++)
        found = found || many(r->servers[i].failed, r->servers[i].rpcs);
    return found;
}

void report_served(struct report *r, const struct rpcrdma_connection *c,
                   const struct report_tally *t)
{
    const struct rpcrdma_address *address = &c->end[report_server_end(c)].address;
    uint64_t failed = t->trouble ? t->trouble->failed_below : 0;
    struct report_server *one = r->servers;
    unsigned i = 0;

    while (i < r->n_servers && memcmp(&one->address, address, sizeof(*address)) != 0)
        i++, one++;
    if (i == REPORT_SERVERS || t->rpcs == 0)
        return;
    if (i == r->n_servers)
        r->servers[r->n_servers++].address = *address;
    if (failed > 0 && (one->failed == 0 || t->trouble->failed_frame < one->frame))
        one->frame = t->trouble->failed_frame;
    if (failed > 0)
        one->connection = one->failed == 0 ? c->number : 0;
    one->rpcs += t->rpcs;
    one->failed += failed;
}

static const char not_done[] = ": what they asked for was not carried out.";

/* Where there are several servers. False: it is not so of one of them. */
static bool tell_servers(struct report *r)
{
    bool told = false;

    for (unsigned i = 0; i < r->n_servers && r->n_servers > 1; i++) {
        const struct report_server *one = &r->servers[i];
        const struct report_error *most =
            one->failed == r->failed_below ? report_failed_below(r) : NULL;
        struct report_cause *cause;
        char who[ADDRESS_SIZE];

        if (!many(one->failed, one->rpcs))
            continue;
        told = true;
        who[address_or_name(&one->address, who)] = '\0';
        cause = report_cause_add(r, CAUSE_RPCS_FAILED, CONFIDENCE_HIGH);
        cause->of = one->connection ? report_numbered(r, one->connection) : NULL;
        cause->rpcs = one->failed;
        cause->frame = one->frame;
        snprintf(cause->text, sizeof(cause->text),
                 "%" PRIu64 " of %" PRIu64 " RPC%s of the server %s failed at RPC or RDMA "
                 "level%s%.60s, first in frame %" PRIu64 "%s",
                 one->failed, one->rpcs, plural(one->rpcs), who,
                 !most                            ? ""
                 : most->count == r->failed_below ? ", with "
                                                  : ", most often with ",
                 most ? most->name : "", one->frame, not_done);
    }
    return told;
}

void causes_of_failures(struct report *r)
{
    const struct report_error *most = report_failed_below(r);
    struct report_cause *cause;
    int at;

    if (tell_servers(r) || !many_failed(r))
        return;
    cause = report_cause_add(r, CAUSE_RPCS_FAILED, CONFIDENCE_HIGH);
    cause->rpcs = r->failed_below;
    cause->frame = most ? most->frame : 0;
    at = tell_failures(r, cause->text, sizeof(cause->text));
    snprintf(cause->text + at, sizeof(cause->text) - (size_t)at, "%s", not_done);
}

void report_beside(const struct report *r, char text[REPORT_BESIDE])
{
    uint64_t errors = 0;
    int at = 0;

    text[0] = '\0';
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++)
        if (rpcrdma_rule((enum rpcrdma_rule_id)id)->severity == RPCRDMA_ERROR)
            errors += r->rules[id];
    if (r->failed_below > 0 && !many_failed(r)) {
        at = tell_failures(r, text, REPORT_BESIDE);
        at += snprintf(text + at, REPORT_BESIDE - (size_t)at, ".%s", errors > 0 ? " " : "");
    }
    if (errors > 0)
        snprintf(text + at, REPORT_BESIDE - (size_t)at,
                 "%" PRIu64 " error%s of the protocol %s found: see rpcrdma check.", errors,
                 plural(errors), errors == 1 ? "was" : "were");
}
