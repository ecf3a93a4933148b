/* SPDX-License-Identifier: BSD-2-Clause */
/* A server that answers several connections no more is one cause, however many they are. */
#include "report/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "out/address.h"
#include "plural.h"
#include "times.h"

enum { FEW = 3 }; /* so many are told one by one */

static gint by_server(gconstpointer a, gconstpointer b)
{
    const struct report_cause *const *x = a, *const *y = b;
    int order = report_compare_hosts((*x)->of, (*y)->of, true);

    if (order == 0 && (*x)->since_ns != (*y)->since_ns)
        order = (*x)->since_ns < (*y)->since_ns ? -1 : 1;
    return order ? order : (*x < *y ? -1 : 1);
}

static gint by_number(gconstpointer a, gconstpointer b)
{
    const uint32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Whether it answered nobody behind the first of them. */
static bool answered_none(const struct report *r, const struct report_cause *first)
{
    GHashTableIter each;
    bool none = report_not_looked_at(r) == 0;
    gpointer one;

    g_hash_table_iter_init(&each, r->connections);
    while (none && g_hash_table_iter_next(&each, NULL, &one)) {
        const struct report_connection *c = one;

        none = report_compare_hosts(c, first->of, true) != 0 || c->answers.first_ns == 0 ||
               c->answers.last_ns <= first->since_ns;
    }
    return none;
}

/* Those of one server, by their beginning. Of what overlaps the time counts once. */
static void make_one(const struct report *r, struct report_cause *const *all, guint n)
{
    struct report_cause *one = all[0];
    int64_t until_ns = one->since_ns, longest_ns = 0, lasted_ns = 0;
    bool none = answered_none(r, one);
    char who[ADDRESS_SIZE], none_text[96] = "";
    uint64_t rpcs = 0;

    one->connections = g_array_sized_new(FALSE, FALSE, sizeof(uint32_t), n);
    for (guint i = 0; i < n; i++) {
        rpcs += all[i]->rpcs;
        longest_ns = MAX(longest_ns, all[i]->time_ns);
        lasted_ns = time_plus(lasted_ns,
                              MAX(time_less(all[i]->until_ns, MAX(all[i]->since_ns, until_ns)), 0));
        until_ns = MAX(until_ns, all[i]->until_ns);
        one->frame = MIN(one->frame, all[i]->frame);
        g_array_append_val(one->connections, all[i]->of->pub.number);
        if (i > 0)
            all[i]->id = N_CAUSES;
    }
    g_array_sort(one->connections, by_number);
    who[address_or_name(report_host(&one->of->pub, true), who)] = '\0';
    one->rpcs = rpcs;
    one->count = n;
    one->time_ns = lasted_ns;
    if (none)
        snprintf(none_text, sizeof(none_text), ", and it answered nobody from %.1f s on",
                 report_seconds(time_less(one->since_ns, r->pipeline->clock.start_ns)));
    snprintf(one->text, sizeof(one->text),
             "The server %s never answered %" PRIu64 " Call%s on %s%u connections%s. Up to %.1f s "
             "passed until the capture or the connection ended.",
             who, rpcs, plural(rpcs), report_not_looked_at(r) > 0 ? "at least " : "", n, none_text,
             report_seconds(longest_ns));
}

void causes_of_unanswered(struct report *r)
{
    GPtrArray *found = g_ptr_array_new();
    guint from = 0;
    unsigned left = 0;

    for (unsigned i = 0; i < r->n_causes; i++)
        if (r->causes[i].id == CAUSE_UNANSWERED && r->causes[i].since_ns != 0 && r->causes[i].of)
            g_ptr_array_add(found, &r->causes[i]);
    g_ptr_array_sort(found, by_server);
    for (guint i = 1; i <= found->len; i++) {
        struct report_cause **all = (struct report_cause **)(void *)found->pdata + from;

        if (i < found->len &&
            report_compare_hosts(all[0]->of, ((struct report_cause *)found->pdata[i])->of, true) ==
                0)
            continue;
        if (i - from > FEW)
            make_one(r, all, i - from);
        from = i;
    }
    g_ptr_array_free(found, TRUE);
    for (unsigned i = 0; i < r->n_causes; i++)
        if (r->causes[i].id != N_CAUSES)
            r->causes[left++] = r->causes[i];
    r->n_causes = left;
}
