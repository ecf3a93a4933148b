/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_KEY_H
#define RPCRDMA_CLI_SANITIZE_KEY_H

/*
 * What stands for what, by a key: the same for equal values, and nobody without the key can say
 * whether a guess is right. SipHash-2-4 is the pseudo-random function.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"

enum sanitize_use {
    SANITIZE_OPAQUE,
    SANITIZE_FILL,
    SANITIZE_NAME,
    SANITIZE_HYPER,
    SANITIZE_WORD,
    SANITIZE_IPV4,
    SANITIZE_IPV6,
    SANITIZE_MAC,
    SANITIZE_LID,
    SANITIZE_TABLE,
    SANITIZE_USES,
};

struct sanitize_key {
    struct siphash_key use[SANITIZE_USES];
};

/* From a file of at least 16 bytes; path NULL: random. False with one line in `error`. */
bool sanitize_key_make(struct sanitize_key *key, const char *path, char *error, size_t size);

uint64_t sanitize_hash(const struct sanitize_key *key, enum sanitize_use use, const void *data,
                       size_t n);

/* An opaque or a string of n bytes, of which `captured` are at p. What is text stays text of the
 * same length, "." and ".." stay, and so do bytes that are all 0 or all 0xff (special stateids). */
void sanitize_opaque(const struct sanitize_key *key, uint8_t *p, size_t captured, size_t n);

/* A number that names something: file, file system, client. Below 16 and all ones stay. */
uint64_t sanitize_hyper(const struct sanitize_key *key, uint64_t value);

/* A user, a group. 0 and 65534 ("nobody") and all ones stay. */
uint32_t sanitize_word(const struct sanitize_key *key, uint32_t value);

#endif
