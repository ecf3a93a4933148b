/* SPDX-License-Identifier: BSD-2-Clause */
#include "keyed_hash.h"

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
    const unsigned char *p = data;
    struct siphash s = siphash_begin(key());
    guint64 word;
    size_t i;

    for (i = 0; i + sizeof(word) <= n; i += sizeof(word)) {
        memcpy(&word, p + i, sizeof(word));
        siphash_word(&s, GUINT64_FROM_LE(word), 1);
    }
    word = 0;
    memcpy(&word, p + i, n - i);
    return (guint)siphash_end(&s, GUINT64_FROM_LE(word) | (guint64)n << 56, 1, 3);
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
