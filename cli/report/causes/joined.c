/* SPDX-License-Identifier: BSD-2-Clause */
/* Several causes of one kind are told as one: which these are, and what the rules do alike that
 * tell of them. */
#include "report/causes/causes.h"

#include <string.h>

#include "common/times.h"

/* By their beginning where they are of one kind. */
static gint by_kind(gconstpointer a, gconstpointer b, gpointer rule)
{
    const struct report_cause *const *x = a, *const *y = b;
    int order = ((const struct report_join *)rule)->compare(*x, *y);

    if (order == 0 && (*x)->since_ns != (*y)->since_ns)
        order = (*x)->since_ns < (*y)->since_ns ? -1 : 1;
    return order ? order : (*x < *y ? -1 : 1);
}

void report_causes_remove(struct report *r)
{
    unsigned left = 0;

    for (unsigned i = 0; i < r->n_causes; i++)
        if (r->causes[i].id != N_CAUSES)
            r->causes[left++] = r->causes[i];
    r->n_causes = left;
}

void report_causes_join(struct report *r, const struct report_join *rule)
{
    GPtrArray *found = g_ptr_array_new();
    guint from = 0;

    for (unsigned i = 0; i < r->n_causes; i++)
        if (r->causes[i].of && rule->concerns(&r->causes[i]))
            g_ptr_array_add(found, &r->causes[i]);
    g_ptr_array_sort_with_data(found, by_kind, (gpointer)(uintptr_t)rule);
    for (guint i = 1; i <= found->len; i++) {
        struct report_cause **all = (struct report_cause **)(void *)found->pdata + from;

        if (i < found->len && rule->compare(all[0], found->pdata[i]) == 0)
            continue;
        rule->join(r, all, i - from);
        from = i;
    }
    g_ptr_array_free(found, TRUE);
    report_causes_remove(r);
}

void report_causes_replace(struct report_cause *const *all, guint n, const struct report_cause *by)
{
    *all[0] = *by;
    for (guint i = 1; i < n; i++)
        all[i]->id = N_CAUSES;
}

void report_causes_judge(struct report_cause *one, struct report_cause *const *all, guint n,
                         bool restart)
{
    const struct report_cause *doubtful = NULL;
    guint sure = 0;

    for (guint i = 0; i < n; i++) {
        sure += all[i]->confidence == CONFIDENCE_HIGH;
        if (all[i]->confidence != CONFIDENCE_HIGH && !doubtful)
            doubtful = all[i];
    }
    if (sure * 2 >= n || (restart && sure > 0)) {
        one->confidence = CONFIDENCE_HIGH;
        one->against[0] = '\0';
    } else if (one->confidence == CONFIDENCE_HIGH && doubtful) {
        one->confidence = doubtful->confidence;
        memcpy(one->against, doubtful->against, sizeof(one->against));
    }
}

static gint by_number(gconstpointer a, gconstpointer b)
{
    const uint32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

GArray *report_causes_connections(struct report_cause *const *all, guint n)
{
    GArray *numbers = g_array_sized_new(FALSE, FALSE, sizeof(uint32_t), n);

    for (guint i = 0; i < n; i++) {
        if (all[i]->connections)
            g_array_append_vals(numbers, all[i]->connections->data, all[i]->connections->len);
        else
            g_array_append_val(numbers, all[i]->of->pub.number);
        g_clear_pointer(&all[i]->connections, g_array_unref);
    }
    g_array_sort(numbers, by_number);
    return numbers;
}

guint report_causes_hosts(struct report_cause *const *all, guint n, bool servers)
{
    GHashTable *seen = g_hash_table_new(g_bytes_hash, g_bytes_equal);
    GPtrArray *keys = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    guint count;

    for (guint i = 0; i < n; i++) {
        const struct rpcrdma_address *host = report_host(&all[i]->of->pub, servers);

        g_ptr_array_add(keys, g_bytes_new(host, sizeof(*host)));
        g_hash_table_add(seen, keys->pdata[i]);
    }
    count = g_hash_table_size(seen);
    g_hash_table_destroy(seen);
    g_ptr_array_free(keys, TRUE);
    return count;
}

const struct report_cause *report_causes_longest(struct report_cause *const *all, guint n)
{
    const struct report_cause *one = all[0];

    for (guint i = 1; i < n; i++)
        if (all[i]->time_ns > one->time_ns)
            one = all[i];
    return one;
}

void report_causes_add_up(struct report_cause *one, struct report_cause *const *all, guint n)
{
    one->rpcs = one->frame = one->count = 0;
    for (guint i = 0; i < n; i++) {
        one->rpcs += all[i]->rpcs;
        one->count += MAX(all[i]->count, 1);
        if (all[i]->frame != 0 && (one->frame == 0 || all[i]->frame < one->frame))
            one->frame = all[i]->frame;
    }
}

guint report_causes_at_once(struct report_cause *const *all, guint n)
{
    int64_t until_ns = all[0]->until_ns;
    guint i = 1;

    for (; i < n && all[i]->since_ns <= until_ns; i++)
        until_ns = MIN(until_ns, all[i]->until_ns);
    return i;
}

struct report_lasted report_causes_lasted(struct report_cause *const *all, guint n)
{
    struct report_lasted lasted = {.until_ns = all[0]->since_ns};

    for (guint i = 0; i < n; i++) {
        int64_t since_ns = MAX(all[i]->since_ns, lasted.until_ns);

        lasted.times += i == 0 || all[i]->since_ns > lasted.until_ns;
        if (all[i]->time_ns > 0) /* else another cause has what it cost */
            lasted.sum_ns = time_plus(lasted.sum_ns, MAX(time_less(all[i]->until_ns, since_ns), 0));
        lasted.until_ns = MAX(lasted.until_ns, all[i]->until_ns);
        lasted.longest_ns = MAX(lasted.longest_ns, all[i]->time_ns);
    }
    return lasted;
}
