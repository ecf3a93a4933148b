/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which groups of two captures are the same: files of one name by their handles, then by their
 * server. A file that is made anew for each run has another handle in each; what is left of a name
 * on both sides is added up, as which is which is not known.
 */
#include <string.h>

#include "common/keyed_hash.h"
#include "rpcs/groups.h"

struct pairing {
    struct groups *of[2];
    GHashTable *partner; /* of groups; what was added to another one is its own */
    GHashTable *files;   /* how many a group is the sum of; not there: one */
};

/* A file may have the name that the others have, which have no key of their own. */
static bool one_name(const struct group *x, const struct group *y)
{
    return (x->key == x->name) == (y->key == y->name) && strcmp(x->name, y->name) == 0;
}

static guint key_hash(gconstpointer p)
{
    const struct group *g = p;

    return keyed_hash(g->key, g->key_length);
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
    const struct group *x = a, *y = b;

    return x->key_length == y->key_length && memcmp(x->key, y->key, x->key_length) == 0 &&
           one_name(x, y);
}

static guint name_hash(gconstpointer p)
{
    return keyed_hash_string(((const struct group *)p)->name);
}

static gboolean server_equal(gconstpointer a, gconstpointer b)
{
    const struct group *x = a, *y = b;

    return memcmp(&x->dst, &y->dst, sizeof(x->dst)) == 0 && one_name(x, y);
}

static gboolean name_equal(gconstpointer a, gconstpointer b)
{
    return one_name(a, b);
}

static const struct way {
    GHashFunc hash;
    GEqualFunc equal;
} ways[] = {{key_hash, key_equal}, {name_hash, server_equal}, {name_hash, name_equal}};

/* Those that have no partner, by what they have in common. */
static GHashTable *left(const struct pairing *p, int side, const struct way *way)
{
    GHashTable *table =
        g_hash_table_new_full(way->hash, way->equal, NULL, (GDestroyNotify)g_ptr_array_unref);
    const GPtrArray *groups = p->of[side]->groups;

    for (guint k = 0; k < groups->len; k++) {
        struct group *g = g_ptr_array_index(groups, k);
        GPtrArray *same;

        if (g_hash_table_contains(p->partner, g))
            continue;
        same = g_hash_table_lookup(table, g);
        if (!same)
            g_hash_table_insert(table, g, same = g_ptr_array_new());
        g_ptr_array_add(same, g);
    }
    return table;
}

/* Adds them to the first, which has no handle then. */
static struct group *sum_up(struct pairing *p, int side, const GPtrArray *same)
{
    struct group *sum = g_ptr_array_index(same, 0);

    if (same->len == 1)
        return sum;
    for (guint k = 1; k < same->len; k++) {
        struct group *one = g_ptr_array_index(same, k);

        group_merge(sum, one);
        g_hash_table_insert(p->partner, one, one);
    }
    g_hash_table_remove(p->of[side]->table, sum);
    if (sum->key != sum->name)
        g_free(sum->key);
    sum->key = sum->name;
    sum->key_length = strlen(sum->name);
    g_hash_table_insert(p->files, sum, GUINT_TO_POINTER(same->len));
    return sum;
}

static void pair_by(struct pairing *p, const struct way *way)
{
    GHashTable *tables[2] = {left(p, 0, way), left(p, 1, way)};
    GHashTableIter it;
    gpointer key, firsts;

    g_hash_table_iter_init(&it, tables[0]);
    while (g_hash_table_iter_next(&it, &key, &firsts)) {
        const GPtrArray *seconds = g_hash_table_lookup(tables[1], key);
        struct group *of[2];

        if (!seconds)
            continue;
        of[0] = sum_up(p, 0, firsts);
        of[1] = sum_up(p, 1, seconds);
        for (int i = 0; i < 2; i++)
            g_hash_table_insert(p->partner, of[i], of[1 - i]);
    }
    for (int i = 0; i < 2; i++)
        g_hash_table_destroy(tables[i]);
}

/* Of what is a sum: of how many files. */
static void say_sums(const struct pairing *p, const GArray *pairs)
{
    for (guint k = 0; k < pairs->len; k++) {
        struct group *const *of = g_array_index(pairs, struct groups_pair, k).of;
        guint n[2] = {0};

        for (int i = 0; i < 2; i++)
            n[i] = of[i] ? GPOINTER_TO_UINT(g_hash_table_lookup(p->files, of[i])) : 0;
        if (!of[0] || (n[0] == 0 && n[1] == 0)) /* a sum has a partner */
            continue;
        g_free(of[0]->apart);
        of[0]->apart = g_strdup_printf(" (%u files of A, %u of B)", MAX(n[0], 1u), MAX(n[1], 1u));
    }
}

GArray *groups_pairs(struct groups *first, struct groups *second)
{
    struct pairing p = {
        {first, second}, g_hash_table_new(NULL, NULL), g_hash_table_new(NULL, NULL)};
    GArray *pairs = g_array_new(FALSE, TRUE, sizeof(struct groups_pair));
    GPtrArray *shown = g_ptr_array_new();

    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++)
        pair_by(&p, &ways[i]);
    for (int i = 0; i < 2; i++)
        for (guint k = 0; k < p.of[i]->groups->len; k++) {
            struct group *g = g_ptr_array_index(p.of[i]->groups, k);
            struct group *partner = g_hash_table_lookup(p.partner, g);
            struct groups_pair pair = {{0}};

            if (partner == g || (partner && i == 1))
                continue;
            pair.of[i] = g;
            if (partner)
                pair.of[1] = partner;
            g_array_append_val(pairs, pair);
            g_ptr_array_add(shown, g);
        }
    groups_tell_apart(shown);
    say_sums(&p, pairs);
    g_ptr_array_free(shown, TRUE);
    g_hash_table_destroy(p.partner);
    g_hash_table_destroy(p.files);
    return pairs;
}
