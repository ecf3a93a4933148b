/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about requests that an end refuses for good: the adapters end a
 * connection with that, whatever the path and the server do. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "common/times.h"

enum { UNKNOWN = REPORT_REQUEST_UNKNOWN };

/* A Nak behind the connection's end, or one that ended nothing: a late one, damaged or forged. */
static bool stray(const struct report_connection *c)
{
    const struct report_refusal *refusal = &c->trouble->refusal;
    const struct rpcrdma_life *life = &c->pub.life;

    return !refusal->terminate && report_unanswered(c) == 0 &&
           (life->ended == RPCRDMA_ENDED_NOT
                ? life->next == 0
                : life->ended_frame != 0 && life->ended_frame < refusal->frame);
}

bool report_remote_error(const struct report_connection *c)
{
    enum { CLOSED = 0x2001 }; /* Terminate of MPA: TCP was closed. So may an orderly end be. */
    const struct report_refusal *refusal = &c->trouble->refusal;

    return refusal->frame != 0 && !stray(c) &&
           !(refusal->terminate && refusal->code == CLOSED && report_unanswered(c) == 0);
}

static int request_of(const struct report_connection *c)
{
    const struct report_refusal *refusal = &c->trouble->refusal;

    if (refusal->terminate || !c->has_path[refusal->by])
        return refusal->request;
    return (int)c->path[refusal->by].refused_request - 1;
}

static bool same_address(const struct report_connection *a, const struct report_connection *b,
                         int end_a, int end_b)
{
    return memcmp(&a->pub.end[end_a].address, &b->pub.end[end_b].address,
                  sizeof(a->pub.end[end_a].address)) == 0;
}

/* One cause ended both. */
static bool alike(const struct report_connection *a, const struct report_connection *b)
{
    const struct report_refusal *x = &a->trouble->refusal, *y = &b->trouble->refusal;

    return report_remote_error(a) && report_remote_error(b) && x->terminate == y->terminate &&
           (x->terminate ? x->code == y->code : x->nak == y->nak) &&
           request_of(a) == request_of(b) && a->pub.role[x->by] == b->pub.role[y->by] &&
           same_address(a, b, x->by, y->by) && same_address(a, b, 1 - x->by, 1 - y->by);
}

struct ended {
    unsigned connections;
    uint64_t calls; /* without Reply */
    int64_t ns;     /* until there was another one */
};

static void add(struct ended *ended, GList *all, const struct report_connection *c)
{
    int64_t away_ns = 0;

    for (GList *one = all; one; one = one->next) {
        const struct report_connection *next = one->data;

        if (next->pub.life.previous == c->pub.number && next->pub.life.has_down)
            away_ns = MAX(away_ns, next->pub.life.down_ns);
        if (next->trouble->resent > 0 && next->trouble->resent_from == c->pub.number)
            away_ns = MAX(away_ns, next->trouble->resent_after_ns);
    }
    ended->connections++;
    ended->calls += report_unanswered(c);
    ended->ns = time_plus(ended->ns, away_ns);
}

static const char *request_name(int request)
{
    switch (request) {
    case RPCRDMA_OP_SEND:
        return "a Send";
    case RPCRDMA_OP_WRITE:
        return "an RDMA Write";
    case RPCRDMA_OP_READ_REQUEST:
        return "an RDMA Read";
    case RPCRDMA_OP_READ_RESPONSE:
        return "the answer to an RDMA Read";
    default:
        return "a request";
    }
}

static const char *role_name(const struct report_connection *c, int end)
{
    return c->pub.role[end] == RPCRDMA_ROLE_CLIENT   ? "client"
           : c->pub.role[end] == RPCRDMA_ROLE_SERVER ? "server"
           : end == c->trouble->refusal.by           ? "one end"
                                                     : "other end";
}

static const char *error_name(const struct report *r, const struct report_refusal *refusal)
{
    static const char *const naks[RPCRDMA_NAKS] = {
        [RPCRDMA_NAK_INVALID_REQUEST] = "invalid request",
        [RPCRDMA_NAK_REMOTE_ACCESS] = "remote access error",
        [RPCRDMA_NAK_REMOTE_OPERATIONAL] = "remote operational error",
        [RPCRDMA_NAK_INVALID_RD] = "invalid RD request",
    };
    const char *name = refusal->terminate            ? g_hash_table_lookup(r->terminate_codes,
                                                                           GUINT_TO_POINTER(refusal->code))
                       : refusal->nak < RPCRDMA_NAKS ? naks[refusal->nak]
                                                     : NULL;

    return name ? name : "of a code that is not known";
}

/* What an engineer looks at next. */
static void tell_meaning(const struct report_connection *c, char *text, size_t size, char *against,
                         size_t against_size)
{
    const struct report_refusal *refusal = &c->trouble->refusal;
    const char *by = role_name(c, refusal->by), *of = role_name(c, 1 - refusal->by);
    enum { PROTECTION = 0x01, TAGGED = 0x11, CRC = 0x2002 }; /* layer and type of Terminate; code */

    text[0] = against[0] = '\0';
    if (refusal->terminate ? refusal->code >> 8 == PROTECTION || refusal->code >> 8 == TAGGED
                           : refusal->nak == RPCRDMA_NAK_REMOTE_ACCESS) {
        snprintf(text, size,
                 " Its %s or address was not valid there, or no longer: the path was not down.",
                 refusal->terminate ? "STag" : "R_key");
        snprintf(against, against_size,
                 "whether the %s withdrew it too early or the %s used a wrong one does not show",
                 by, of);
    } else if (!refusal->terminate && refusal->nak == RPCRDMA_NAK_INVALID_REQUEST) {
        snprintf(text, size,
                 request_of(c) == RPCRDMA_OP_SEND
                     ? " It was longer than the buffer there, or is of a kind that the %s does not "
                       "take: the path was not down."
                     : " It is of a kind or a length that the %s does not take: the path was not "
                       "down.",
                 by);
    } else if (!refusal->terminate && refusal->nak == RPCRDMA_NAK_REMOTE_OPERATIONAL) {
        snprintf(text, size, " An error in the %s's adapter or host kept it from carrying it out.",
                 by);
    } else if (refusal->terminate && refusal->code == CRC) {
        snprintf(
            text, size,
            " What the %s sent was damaged, and TCP's checksum did not show it: by an adapter, "
            "a host's memory or a middlebox.",
            of);
    }
}

static void remote_error(struct report *r, const struct report_connection *first,
                         const struct ended *ended)
{
    const struct report_refusal *refusal = &first->trouble->refusal;
    struct report_cause *cause;
    char calls[80] = "", meaning[176], what[80], which[88];
    /* of those that were not looked at some may have ended so */
    bool more = ended->connections > 1 && report_not_looked_at(r) > 0;

    if (ended->calls > 0)
        snprintf(calls, sizeof(calls), " %s%" PRIu64 " Call%s on %s had no Reply for it.",
                 more ? "At least " : "", ended->calls, plural(ended->calls),
                 ended->connections == 1 ? "it" : "them");
    r->about = first;
    cause = report_cause_add(r, CAUSE_REMOTE_ERROR, CONFIDENCE_HIGH);
    r->about = NULL;
    cause->rpcs = ended->calls;
    cause->count = ended->connections;
    cause->time_ns = ended->ns;
    cause->frame = refusal->frame;
    tell_meaning(first, meaning, sizeof(meaning), cause->against, sizeof(cause->against));
    if (refusal->terminate && refusal->request == UNKNOWN)
        snprintf(what, sizeof(what), "sent a Terminate");
    else
        snprintf(what, sizeof(what), "refused %s of the %s's with a %s",
                 request_name(request_of(first)), role_name(first, 1 - refusal->by),
                 refusal->terminate ? "Terminate" : "Nak");
    if (ended->connections == 1)
        snprintf(which, sizeof(which), "connection %u", (unsigned)first->pub.number);
    else
        snprintf(which, sizeof(which), "%s%u connections, the first of them connection %u",
                 more ? "at least " : "", ended->connections, (unsigned)first->pub.number);
    snprintf(cause->text, sizeof(cause->text), "The %s %s, \"%s\": that ended %s.%s%s",
             role_name(first, refusal->by), what, error_name(r, refusal), which, calls, meaning);
}

void causes_of_remote_errors(struct report *r)
{
    GList *all = report_connections(r);

    for (GList *one = all; one; one = one->next) {
        struct ended ended = {0};
        GList *before = all;

        if (!report_remote_error(one->data))
            continue;
        while (before != one && !alike(before->data, one->data))
            before = before->next;
        if (before != one)
            continue; /* that one told of it */
        for (GList *other = one; other; other = other->next)
            if (alike(one->data, other->data))
                add(&ended, all, other->data);
        remote_error(r, one->data, &ended);
    }
    g_list_free(all);
}
