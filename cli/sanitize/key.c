/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <glib.h>

enum { SECRET = 32, KEY_LEAST = 16, KEY_MOST = 1024 * 1024 };

static bool read_secret(const char *path, uint8_t *secret, char *error, size_t size)
{
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    uint8_t buffer[4096];
    size_t total = 0;
    gsize length = SECRET;
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0)
        while ((n = read(fd, buffer, sizeof(buffer))) > 0 && total <= KEY_MOST) {
            g_checksum_update(sum, buffer, n);
            total += (size_t)n;
        }
    if (n < 0)
        snprintf(error, size, "%s: %s", path, strerror(errno));
    else if (total < KEY_LEAST || total > KEY_MOST)
        snprintf(error, size, "%s: a key has %d bytes at least, and %d at most", path, KEY_LEAST,
                 KEY_MOST);
    if (fd >= 0)
        close(fd);
    g_checksum_get_digest(sum, secret, &length);
    g_checksum_free(sum);
    return n >= 0 && total >= KEY_LEAST && total <= KEY_MOST;
}

bool sanitize_key_make(struct sanitize_key *key, const char *path, char *error, size_t size)
{
    uint8_t secret[SECRET + 1];

    if (path && !read_secret(path, secret, error, size))
        return false;
    if (!path && getrandom(secret, SECRET, 0) != SECRET) {
        snprintf(error, size, "no random key: %s", strerror(errno));
        return false;
    }
    for (int i = 0; i < SANITIZE_USES; i++) {
        GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
        uint8_t digest[SECRET];
        gsize length = SECRET;

        secret[SECRET] = (uint8_t)i;
        g_checksum_update(sum, secret, sizeof(secret));
        g_checksum_get_digest(sum, digest, &length);
        g_checksum_free(sum);
        for (size_t j = 0; j < 2; j++) {
            uint64_t word;

            memcpy(&word, digest + 8 * j, sizeof(word));
            key->use[i].k[j] = GUINT64_FROM_LE(word);
        }
    }
    return true;
}

uint64_t sanitize_hash(const struct sanitize_key *key, enum sanitize_use use, const void *data,
                       size_t n)
{
    return siphash_bytes(&key->use[use], data, n, 2, 4);
}

static uint64_t hash2(const struct sanitize_key *key, enum sanitize_use use, uint64_t a, uint64_t b)
{
    uint64_t words[2] = {a, b};

    return sanitize_hash(key, use, words, sizeof(words));
}

uint64_t sanitize_hyper(const struct sanitize_key *key, uint64_t value)
{
    if (value < 16 || value == UINT64_MAX)
        return value;
    return hash2(key, SANITIZE_HYPER, value, 0);
}

uint32_t sanitize_word(const struct sanitize_key *key, uint32_t value)
{
    enum { NOBODY = 65534, RANGE = 0x3fffffff, FIRST = 65536 };

    if (value == 0 || value == NOBODY || value == UINT32_MAX)
        return value;
    return (uint32_t)(hash2(key, SANITIZE_WORD, value, 0) % RANGE) + FIRST;
}

/* -- text ------------------------------------------------------------------------------------- */

/* Short names are permuted among all names of their length and class of characters: two names never
 * become one. */
enum { SHORT = 12, ROUNDS = 10 };

static const char *const classes[] = {
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ._-",
    ("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ._-"
     " !\"#$%&'()*+,:;<=>?@[\\]^`{|}~"),
};

enum { CLASSES = sizeof(classes) / sizeof(classes[0]) };

/* The first class that all of it belongs to; CLASSES: none. */
static int class_of(const uint8_t *p, size_t n)
{
    for (int i = 0; i < CLASSES; i++) {
        size_t k = 0;

        while (k < n && p[k] != 0 && strchr(classes[i], p[k]))
            k++;
        if (k == n)
            return i;
    }
    return CLASSES;
}

static bool is_dots(const uint8_t *p, size_t n)
{
    return (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.');
}

/* A Feistel network on the characters: each half is moved by what the other one says. */
static void permute(const struct sanitize_key *key, uint8_t *p, size_t n, int class)
{
    const char *letters = classes[class];
    size_t radix = strlen(letters), half = n / 2;
    uint8_t v[SHORT];

    for (size_t i = 0; i < n; i++)
        v[i] = (uint8_t)(strchr(letters, p[i]) - letters);
    for (int round = 0; round < ROUNDS; round++) {
        bool left = round & 1;
        size_t from = left ? 0 : half, to = left ? half : n;
        uint8_t other[SHORT + 4] = {(uint8_t)round, (uint8_t) class, (uint8_t)n};
        size_t m = 4;
        uint64_t h;

        for (size_t i = 0; i < n; i++)
            if (i < from || i >= to)
                other[m++] = v[i];
        h = sanitize_hash(key, SANITIZE_NAME, other, m);
        for (size_t i = from; i < to; i++) {
            v[i] = (uint8_t)((v[i] + h % radix) % radix);
            h /= radix;
        }
    }
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)letters[v[i]];
}

static void fill(const struct sanitize_key *key, uint64_t seed, uint8_t *p, size_t n, bool text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";

    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = hash2(key, SANITIZE_FILL, seed, i);

        for (size_t k = i; k < n && k < i + 8; k++, word >>= 8)
            p[k] = text ? (uint8_t)letters[word & 31] : (uint8_t)word;
    }
}

static bool is_text(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] < 0x20 || p[i] == 0x7f)
            return false;
    return g_utf8_validate((const char *)p, (gssize)n, NULL);
}

static bool is_all(const uint8_t *p, size_t n, uint8_t value)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != value)
            return false;
    return true;
}

/* RFC 8881 section 6.2.1.5: nobody's name. */
static bool is_special(const uint8_t *p, size_t n)
{
    static const char *const special[] = {"OWNER@",         "GROUP@",  "EVERYONE@", "INTERACTIVE@",
                                          "NETWORK@",       "DIALUP@", "BATCH@",    "ANONYMOUS@",
                                          "AUTHENTICATED@", "SERVICE@"};

    for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
        if (strlen(special[i]) == n && memcmp(p, special[i], n) == 0)
            return true;
    return false;
}

void sanitize_opaque(const struct sanitize_key *key, uint8_t *p, size_t captured, size_t n)
{
    enum { SPECIAL = 16 }; /* bytes of a stateid */
    int class;

    if (captured == 0 || (captured == n && (is_dots(p, n) || is_special(p, n))) ||
        (n <= SPECIAL && (is_all(p, captured, 0) || is_all(p, captured, 0xff))))
        return;
    class = n <= SHORT && captured == n ? class_of(p, n) : CLASSES;
    if (class < CLASSES) {
        do /* until it is no name of a smaller class: those are other names' */
            permute(key, p, n, class);
        while (class_of(p, n) != class || is_dots(p, n));
        return;
    }
    fill(key, sanitize_hash(key, SANITIZE_OPAQUE, p, captured) ^ n, p, captured,
         is_text(p, captured));
}
