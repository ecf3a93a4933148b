/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_SIPHASH_H
#define RPCRDMA_BASE_SIPHASH_H

/*
 * SipHash (Aumasson and Bernstein 2012): a hash with a key that nobody can choose collisions for
 * who does not know it. Tables of what the wire names are hashed with it, so that no capture makes
 * their chains long. SipHash-1-3, as in other tables of programs that face the network; 2-4 is what
 * the published test vectors are of (tests/unit/base/siphash.c).
 */

#include <stddef.h>
#include <stdint.h>

struct siphash_key {
    uint64_t k[2];
};

/* The process's own, from getrandom; the same for all of it. */
struct siphash_key siphash_key(void);

/* For tests: this one from now on, for what begins now. */
void siphash_set_key(struct siphash_key key);

struct siphash {
    uint64_t v[4];
};

static inline uint64_t siphash_rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void siphash_rounds(struct siphash *s, int n)
{
    for (; n > 0; n--) {
        s->v[0] += s->v[1];
        s->v[2] += s->v[3];
        s->v[1] = siphash_rotate(s->v[1], 13) ^ s->v[0];
        s->v[3] = siphash_rotate(s->v[3], 16) ^ s->v[2];
        s->v[0] = siphash_rotate(s->v[0], 32);
        s->v[2] += s->v[1];
        s->v[0] += s->v[3];
        s->v[1] = siphash_rotate(s->v[1], 17) ^ s->v[2];
        s->v[3] = siphash_rotate(s->v[3], 21) ^ s->v[0];
        s->v[2] = siphash_rotate(s->v[2], 32);
    }
}

static inline struct siphash siphash_begin(const struct siphash_key *key)
{
    return (struct siphash){
        {key->k[0] ^ UINT64_C(0x736f6d6570736575), key->k[1] ^ UINT64_C(0x646f72616e646f6d),
         key->k[0] ^ UINT64_C(0x6c7967656e657261), key->k[1] ^ UINT64_C(0x7465646279746573)}};
}

/* Eight bytes of the message, the first one lowest. */
static inline void siphash_word(struct siphash *s, uint64_t word, int c)
{
    s->v[3] ^= word;
    siphash_rounds(s, c);
    s->v[0] ^= word;
}

/* `last`: what is left of the message, below its length modulo 256 in the highest byte. */
static inline uint64_t siphash_end(struct siphash *s, uint64_t last, int c, int d)
{
    siphash_word(s, last, c);
    s->v[2] ^= 0xff;
    siphash_rounds(s, d);
    return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

/* Eight bytes as one word: one load, where that is the order of the machine's own words. */
static inline uint64_t siphash_load(const uint8_t *p)
{
    return p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

/* SipHash-c-d of n bytes. */
static inline uint64_t siphash_bytes(const struct siphash_key *key, const void *data, size_t n,
                                     int c, int d)
{
    struct siphash s = siphash_begin(key);
    const uint8_t *p = data, *end = p + n / 8 * 8;
    uint64_t word = (uint64_t)n << 56;

    for (; p < end; p += 8)
        siphash_word(&s, siphash_load(p), c);
    for (size_t i = 0; i < n % 8; i++)
        word |= (uint64_t)p[i] << 8 * i;
    return siphash_end(&s, word, c, d);
}

/* SipHash-1-3 of n words. */
static inline uint64_t siphash_words(const struct siphash_key *key, const uint64_t *words, size_t n)
{
    struct siphash s = siphash_begin(key);

    for (size_t i = 0; i < n; i++)
        siphash_word(&s, words[i], 1);
    return siphash_end(&s, (uint64_t)(n * 8 & 0xff) << 56, 1, 3);
}

#endif
