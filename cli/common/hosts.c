/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/hosts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/siphash.h"

enum { SLOTS = 2 * HOSTS_MOST };

struct host {
    struct rpcrdma_address address;
    char name[HOST_NAME + 1];
};

static struct {
    struct host *hosts; /* as many as there are, and room for twice as many at most */
    size_t n, room;
    uint16_t *slots;        /* 0: free; else the number of a host, from 1 */
    struct siphash_key key; /* this process's: nobody can name addresses that all have one slot */
    bool hidden;
} known;

static size_t length_of(const struct rpcrdma_address *address)
{
    return address->family == RPCRDMA_ADDRESS_IPV6 ? 16 : 4;
}

static bool equal(const struct rpcrdma_address *a, const struct rpcrdma_address *b)
{
    return a->family == b->family && memcmp(a->bytes, b->bytes, length_of(a)) == 0;
}

/* Where it is, or would be: there are always free ones. */
static uint16_t *slot_of(const struct rpcrdma_address *address)
{
    uint64_t words[2] = {0};

    memcpy(words, address->bytes, length_of(address));
    for (size_t at = siphash_words(&known.key, words, 2) % SLOTS;; at = (at + 1) % SLOTS) {
        uint16_t *slot = &known.slots[at];

        if (*slot == 0 || equal(&known.hosts[*slot - 1].address, address))
            return slot;
    }
}

static bool is_name(const char *name, size_t length)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    for (size_t i = 0; i < length; i++)
        if (!memchr(allowed, name[i], sizeof(allowed) - 1))
            return false;
    return length > 0;
}

static bool room_for_one(void)
{
    size_t room = known.room ? 2 * known.room : 16;
    struct host *hosts;

    if (!known.slots) {
        if (getrandom(&known.key, sizeof(known.key), GRND_NONBLOCK) != (ssize_t)sizeof(known.key))
            known.key.k[0] = known.key.k[1] = (uint64_t)time(NULL); /* just switched on */
        known.slots = calloc(SLOTS, sizeof(*known.slots));
    }
    if (!known.slots || known.n == HOSTS_MOST)
        return false;
    if (known.n < known.room)
        return true;
    hosts = realloc(known.hosts, room * sizeof(*hosts));
    if (!hosts)
        return false;
    known.hosts = hosts;
    known.room = room;
    return true;
}

void hosts_learn(const struct rpcrdma_address *address, const char *name, size_t length)
{
    struct host *host;
    uint16_t *slot;

    if (!is_name(name, length) || !room_for_one() || *(slot = slot_of(address)) != 0)
        return;
    host = &known.hosts[known.n++];
    *slot = (uint16_t)known.n;
    host->address = *address;
    memset(host->name, 0, sizeof(host->name));
    memcpy(host->name, name, length < HOST_NAME ? length : HOST_NAME);
    if (length > HOST_NAME)
        memcpy(host->name + HOST_NAME - 3, "...", 3);
}

const char *hosts_name(const struct rpcrdma_address *address)
{
    struct rpcrdma_address plain;
    uint16_t slot;

    if (known.n == 0 || known.hidden ||
        (address->family != RPCRDMA_ADDRESS_IPV4 && address->family != RPCRDMA_ADDRESS_IPV6))
        return NULL;
    plain = *address;
    if (plain.family == RPCRDMA_ADDRESS_IPV4) /* of any network */
        memset(plain.bytes + 4, 0, sizeof(plain.bytes) - 4);
    slot = *slot_of(&plain);
    return slot != 0 ? known.hosts[slot - 1].name : NULL;
}

void hosts_show(bool show)
{
    known.hidden = !show;
}
