/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/merge/replays.h"

#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"
#include "source/merge/fingerprint.h"

enum {
    PLACES = 1 << 17, /* 1 MiB */
    MOST = PLACES / 2,
    LONGEST = 1024, /* no longer packet is repeated */
    TIME_BITS = 1 << 16,
};

#define GIVEN UINT64_C(1)

void replays_free(struct replays *replays)
{
    free(replays->keys);
    free(replays->times);
    *replays = (struct replays){0};
}

static uint64_t key_of(const struct rpcrdma_packet *packet)
{
    uint64_t words[LONGEST / sizeof(uint64_t) + 2] = {(uint64_t)packet->time_ns,
                                                      (uint64_t)packet->len << 32 | packet->caplen};

    if (packet->caplen > 0)
        memcpy(&words[2], packet->data, packet->caplen);
    return siphash_words(fingerprint_key(), words, 2 + (packet->caplen + 7) / 8) | GIVEN;
}

static uint64_t *place(const struct replays *replays, uint64_t key)
{
    size_t at = (key >> 1) % PLACES;

    while (replays->keys[at] != 0 && (replays->keys[at] | GIVEN) != key)
        at = (at + 1) % PLACES;
    return &replays->keys[at];
}

static uint64_t *time_word(const struct replays *replays, int64_t time_ns, uint64_t *bit)
{
    uint64_t hash = ((uint64_t)time_ns * UINT64_C(0x9e3779b97f4a7c15)) >> 48;

    *bit = UINT64_C(1) << hash % 64;
    return &replays->times[hash % TIME_BITS / 64];
}

bool replays_add(struct replays *replays, const struct rpcrdma_packet *packet)
{
    uint64_t key, bit, *at;

    if (packet->caplen > LONGEST)
        return true;
    if (!replays->keys) {
        replays->keys = calloc(PLACES, sizeof(*replays->keys));
        replays->times = calloc(TIME_BITS / 64, sizeof(*replays->times));
        if (!replays->keys || !replays->times) {
            replays_free(replays);
            return false;
        }
    }
    key = key_of(packet);
    at = place(replays, key);
    if (*at != 0)
        return true;
    if (replays->n == MOST) {
        replays->too_many++;
        return true;
    }
    *at = key & ~GIVEN;
    replays->n++;
    *time_word(replays, packet->time_ns, &bit) |= bit;
    return true;
}

bool replays_given(struct replays *replays, const struct rpcrdma_packet *packet)
{
    uint64_t bit, *at;
    bool before;

    if (!replays->keys || packet->caplen > LONGEST ||
        !(*time_word(replays, packet->time_ns, &bit) & bit))
        return false;
    at = place(replays, key_of(packet));
    before = *at & GIVEN;
    if (*at != 0)
        *at |= GIVEN;
    return before;
}
