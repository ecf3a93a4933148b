/* SPDX-License-Identifier: BSD-2-Clause */
/* Which groups of two captures are the same. */
#include <string.h>

#include "keyed_hash.h"
#include "rpcs/groups.h"

/* Of several files with one name in a capture: that of this key, too. */
static struct group *with_key(const GPtrArray *same, const struct group *g)
{
    for (guint i = 0; same && i < same->len; i++) {
        struct group *one = g_ptr_array_index(same, i);

        if (one->key_length == g->key_length && memcmp(one->key, g->key, g->key_length) == 0)
            return one;
    }
    return NULL;
}

/* The second capture's group for one of the first's: that of its name, where each has only one of
 * that name. A file may be another one with its name in each; of several, one has the same handle
 * on the same server. */
static struct group *partner(const GPtrArray *firsts, const GPtrArray *seconds,
                             const struct group *g)
{
    if (seconds && firsts->len == 1 && seconds->len == 1)
        return g_ptr_array_index(seconds, 0);
    return with_key(seconds, g);
}

/* A file may have the name that the others have. */
static char *name_in(const struct groups *groups, const struct group *g)
{
    return g == groups->others ? "\n" : g->name;
}

/* The groups of each name. */
static GHashTable *by_name(const struct groups *groups)
{
    GHashTable *names = g_hash_table_new_full(keyed_hash_string, g_str_equal, NULL,
                                              (GDestroyNotify)g_ptr_array_unref);

    for (guint k = 0; k < groups->groups->len; k++) {
        struct group *g = g_ptr_array_index(groups->groups, k);
        char *name = name_in(groups, g);
        GPtrArray *same = g_hash_table_lookup(names, name);

        if (!same)
            g_hash_table_insert(names, name, same = g_ptr_array_new());
        g_ptr_array_add(same, g);
    }
    return names;
}

GArray *groups_pairs(const struct groups *first, const struct groups *second)
{
    const struct groups *of[2] = {first, second};
    GArray *pairs = g_array_new(FALSE, TRUE, sizeof(struct groups_pair));
    GHashTable *names[2] = {by_name(first), by_name(second)};
    GHashTable *taken = g_hash_table_new(NULL, NULL);
    GPtrArray *shown = g_ptr_array_new();

    for (int i = 0; i < 2; i++)
        for (guint k = 0; k < of[i]->groups->len; k++) {
            struct group *g = g_ptr_array_index(of[i]->groups, k);
            const char *name = name_in(of[i], g);
            struct groups_pair pair = {{0}};

            if (g_hash_table_contains(taken, g))
                continue;
            pair.of[i] = g;
            if (i == 0)
                pair.of[1] = partner(g_hash_table_lookup(names[0], name),
                                     g_hash_table_lookup(names[1], name), g);
            if (pair.of[0] && pair.of[1])
                g_hash_table_add(taken, pair.of[1]);
            g_array_append_val(pairs, pair);
            g_ptr_array_add(shown, g);
        }
    groups_tell_apart(shown);
    g_ptr_array_free(shown, TRUE);
    g_hash_table_destroy(taken);
    for (int i = 0; i < 2; i++)
        g_hash_table_destroy(names[i]);
    return pairs;
}
