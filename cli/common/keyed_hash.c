/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/keyed_hash.h"

#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#include "base/siphash.h"

static const struct siphash_key *key(void)
{
    static struct siphash_key own;
    static bool made;

    if (!made) {
        if (getrandom(&own, sizeof(own), GRND_NONBLOCK) != (ssize_t)sizeof(own))
            own.k[0] = own.k[1] = (guint64)g_get_real_time(); /* the machine was just switched on */
        made = true;
    }
    return &own;
}

guint keyed_hash(gconstpointer data, size_t n)
{
    return (guint)siphash_bytes(key(), data, n, 1, 3);
}

guint keyed_hash_string(gconstpointer string)
{
    return keyed_hash(string, strlen(string));
}

guint keyed_hash_numbers(guint64 a, guint64 b)
{
    guint64 words[2] = {a, b};

    return (guint)siphash_words(key(), words, 2);
}
