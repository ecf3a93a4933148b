/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/damage.h"

#include <stdlib.h>

#include "base/siphash.h"
#include "base/step.h"
#include "net/packet/layer.h"

enum {
    SOURCES = 4096, /* as many chains */
    KNOWN = 8,      /* packets of a source until it is known */
    MOST = 1024,    /* counted at most */
};

struct name {
    struct rpcrdma_address address;
    uint8_t carrier;
};

struct source {
    struct name name;
    bool sent_on; /* since the search for places came by */
    uint16_t right, wrong;
    uint16_t next; /* of its chain, as `first` */
};

struct rpcrdma_checksums {
    struct siphash_key key;
    uint32_t n, search;      /* places taken; where the search for one stands */
    uint16_t first[SOURCES]; /* of each chain: 1 + its place, 0: none */
    struct source source[SOURCES];
};

struct rpcrdma_checksums *rpcrdma_checksums_new(void)
{
    struct rpcrdma_checksums *checksums = calloc(1, sizeof(*checksums));

    if (checksums)
        checksums->key = siphash_key();
    return checksums;
}

static uint16_t *chain_of(struct rpcrdma_checksums *checksums, const struct name *name)
{
    uint64_t words[3] = {(uint64_t)name->carrier << 8 | name->address.family};

    memcpy(&words[1], name->address.bytes, sizeof(name->address.bytes));
    return &checksums->first[siphash_words(&checksums->key, words, 3) % SOURCES];
}

/* A place for a source that is new. */
static uint32_t place(struct rpcrdma_checksums *checksums)
{
    struct source *source = checksums->source;
    uint32_t i;
    uint16_t *at;

    if (checksums->n < SOURCES)
        return checksums->n++;
    for (; source[checksums->search].sent_on;
         checksums->search = (checksums->search + 1) % SOURCES) {
        RPCRDMA_STEP();
        source[checksums->search].sent_on = false;
    }
    i = checksums->search;
    checksums->search = (i + 1) % SOURCES;
    for (at = chain_of(checksums, &source[i].name); *at != i + 1; at = &source[*at - 1].next)
        RPCRDMA_STEP();
    *at = source[i].next;
    return i;
}

static struct source *source_of(struct rpcrdma_checksums *checksums, const struct name *name)
{
    uint16_t *first = chain_of(checksums, name);
    uint32_t i;

    for (uint16_t at = *first; at > 0; at = checksums->source[at - 1].next) {
        struct source *source = &checksums->source[at - 1];

        RPCRDMA_STEP();
        if (memcmp(&source->name, name, sizeof(*name)) == 0) {
            source->sent_on = true;
            return source;
        }
    }
    i = place(checksums);
    checksums->source[i] = (struct source){.name = *name, .next = *first};
    *first = (uint16_t)(i + 1);
    return &checksums->source[i];
}

bool rpcrdma_layer_damaged(const struct rpcrdma_layer *l, enum rpcrdma_carrier carrier, bool right)
{
    struct name name = {.carrier = (uint8_t)carrier};
    struct source *source;

    if (!l->net->checksums)
        l->net->checksums = rpcrdma_checksums_new();
    if (!l->net->checksums)
        return false;
    rpcrdma_layer_address(l->family, l->src, &name.address);
    source = source_of(l->net->checksums, &name);
    if (right)
        source->right++;
    else
        source->wrong++;
    if (source->right + source->wrong > MOST) {
        source->right /= 2;
        source->wrong /= 2;
    }
    return !right && source->right >= KNOWN && source->wrong <= source->right / 4;
}
