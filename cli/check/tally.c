/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/tally.h"

#include <string.h>

#include "common/plural.h"
#include "out/view.h"
#include "rules/set.h"

static void free_finding(gpointer data)
{
    g_free(((struct tally_finding *)data)->text);
}

void tally_init(struct tally *tally, size_t max_bytes)
{
    *tally = (struct tally){.max_bytes = max_bytes};
    tally->rows = g_array_new(FALSE, FALSE, sizeof(struct tally_row));
    tally->findings = g_array_new(FALSE, FALSE, sizeof(struct tally_finding));
    g_array_set_clear_func(tally->findings, free_finding);
    tally->index = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

void tally_free(struct tally *tally)
{
    g_array_free(tally->rows, TRUE);
    g_array_free(tally->findings, TRUE);
    g_hash_table_destroy(tally->index);
}

static struct tally_row *row_of(struct tally *tally, enum rpcrdma_rule_id rule, uint32_t connection)
{
    enum { ROW = 200 }; /* bytes, with its place in the table */
    gint64 key = (gint64)rule << 32 | connection;
    guint at = GPOINTER_TO_UINT(g_hash_table_lookup(tally->index, &key));

    if (at == 0 && tally->bytes + ROW > tally->max_bytes && connection != TALLY_OTHERS) {
        tally->others++;
        return row_of(tally, rule, TALLY_OTHERS);
    }
    if (at == 0) {
        struct tally_row row = {.rule = rule, .connection = connection};
        gint64 *own = g_new(gint64, 1);

        *own = key;
        g_array_append_val(tally->rows, row);
        at = tally->rows->len;
        tally->bytes += ROW;
        g_hash_table_insert(tally->index, own, GUINT_TO_POINTER(at));
    }
    return &g_array_index(tally->rows, struct tally_row, at - 1);
}

uint64_t tally_add(struct tally *tally, const struct rpcrdma_finding *finding,
                   const struct rpcrdma_connection *connection, uint64_t frame, bool keep)
{
    enum rpcrdma_rule_id rule = rule_set_first(finding->rule);
    struct tally_row *row =
        row_of(tally, rule_set_alike(finding->rule), connection ? connection->number : 0);

    if (connection && row->connection == connection->number) {
        int client = view_client_end(connection) > 0; /* as view_json_ends */

        row->src = connection->end[client].address;
        row->dst = connection->end[1 - client].address;
    }
    if (row->count++ == 0)
        row->first_frame = frame;
    row->last_frame = frame;
    tally->last_frame[rule] = frame;
    if (tally->count[rule] == 0 ||
        rpcrdma_rule(finding->rule)->severity > rpcrdma_rule(tally->worst[rule])->severity)
        tally->worst[rule] = finding->rule;
    if (keep && tally->bytes < tally->max_bytes) {
        struct tally_finding one = {.rule = finding->rule,
                                    .connection = connection ? connection->number : 0,
                                    .frame = frame,
                                    .offset = finding->offset,
                                    .transmission = finding->transmission,
                                    .transmissions = finding->transmissions};
        char text[256];

        one.has_value = rpcrdma_finding_value(finding, &one.value);
        rpcrdma_finding_text(finding, text, sizeof(text));
        one.text = g_strdup(text);
        tally->bytes += 3 * sizeof(one) + strlen(text) + 1; /* the list grows by doubling */
        g_array_append_val(tally->findings, one);
    }
    return ++tally->count[rule];
}

const struct tally_finding *tally_next(const struct tally *tally, enum rpcrdma_rule_id id,
                                       guint *at)
{
    while (*at < tally->findings->len) {
        const struct tally_finding *one =
            &g_array_index(tally->findings, struct tally_finding, (*at)++);

        if (rule_set_first(one->rule) == id)
            return one;
    }
    return NULL;
}

enum { NEED_SET_UP, NEED_CALL, NEED_BOTH, NEED_WHOLE, NEED_EVERY }; /* bits of RPCRDMA_NEEDS_ */

void tally_lacks(struct tally *tally, const struct rpcrdma_finding *finding)
{
    switch (finding->rule) {
    case RPCRDMA_RULE_RPC_NO_CALL:
        tally->lacking[NEED_CALL]++;
        break;
    case RPCRDMA_RULE_TRUNCATED:
        tally->lacking[NEED_WHOLE]++;
        /* of a stream: which message it is of was not captured, so that is missing, too */
        tally->lacking[NEED_EVERY] += finding->arg[0] > 0;
        break;
    case RPCRDMA_RULE_PACKETS_LOST:
    case RPCRDMA_RULE_BYTES_LOST:
    case RPCRDMA_RULE_TCP_LOST:
        tally->lacking[NEED_EVERY]++;
        break;
    default:
        break;
    }
}

/* Of the set-up both ends may be there, and then only what one of them sends. */
static bool one_way(const struct rpcrdma_connection *connection)
{
    const struct rpcrdma_path *a = connection->path[0], *b = connection->path[1];
    bool any_a = a && a->packets > 0, any_b = b && b->packets > 0;

    return connection->paired_by == RPCRDMA_PAIRED_NOT || any_a != any_b;
}

void tally_connection(struct tally *tally, const struct rpcrdma_connection *connection)
{
    tally->connections++;
    if (connection->life.ended == RPCRDMA_ENDED_REJECTED)
        return; /* its set-up was seen, and there is no more of it */
    if (!connection->set_up_seen[0] || !connection->set_up_seen[1])
        tally->lacking[NEED_SET_UP]++;
    if (one_way(connection))
        tally->lacking[NEED_BOTH]++;
}

unsigned tally_unmet(const struct tally *tally, enum rpcrdma_rule_id rule)
{
    unsigned needs = rpcrdma_rule_help(rule)->needs, unmet = 0;

    for (unsigned bit = 0; bit < RPCRDMA_NEEDS; bit++)
        if (needs >> bit & 1 && tally->lacking[bit] > 0)
            unmet |= 1u << bit;
    return unmet;
}

char *tally_reason(const struct tally *tally, unsigned bit)
{
    guint64 n = tally->lacking[bit], of = tally->connections;

    switch (bit) {
    case NEED_SET_UP:
        return g_strdup_printf("no set-up in the capture of %" G_GUINT64_FORMAT
                               " of %" G_GUINT64_FORMAT " connection%s",
                               n, of, plural(of));
    case NEED_BOTH:
        return g_strdup_printf("one direction only of %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                               " connection%s",
                               n, of, plural(of));
    case NEED_CALL:
        return g_strdup_printf("no Call in the capture of %" G_GUINT64_FORMAT " Repl%s", n,
                               plural_y(n));
    case NEED_EVERY:
        return g_strdup_printf("%" G_GUINT64_FORMAT " gap%s in the capture", n, plural(n));
    default:
        return g_strdup_printf("%" G_GUINT64_FORMAT " message%s cut by the capture", n, plural(n));
    }
}
