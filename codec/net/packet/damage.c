/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/damage.h"

#include <stdlib.h>

#include "base/siphash.h"
#include "base/step.h"
#include "net/packet/layer.h"

enum {
    SOURCES = 4096, /* as many chains */
    KNOWN = 8,      /* packets of a source until it is known, */
    FEW = 2,        /* and where something else is wrong with the first that is wrong */
    MOST = 1024,    /* counted at most */
};

struct name {
    struct rpcrdma_address address;
    uint8_t checked;
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
    uint64_t words[3] = {(uint64_t)name->checked << 8 | name->address.family};

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

/* NULL: there is none. */
static struct source *find(struct rpcrdma_checksums *checksums, const struct name *name)
{
    for (uint16_t at = *chain_of(checksums, name); at > 0; at = checksums->source[at - 1].next) {
        RPCRDMA_STEP();
        if (memcmp(&checksums->source[at - 1].name, name, sizeof(*name)) == 0)
            return &checksums->source[at - 1];
    }
    return NULL;
}

static struct source *source_of(struct rpcrdma_checksums *checksums, const struct name *name)
{
    struct source *source = find(checksums, name);
    uint16_t *first;
    uint32_t i;

    if (source) {
        source->sent_on = true;
        return source;
    }
    i = place(checksums);
    first = chain_of(checksums, name);
    checksums->source[i] = (struct source){.name = *name, .next = *first};
    *first = (uint16_t)(i + 1);
    return &checksums->source[i];
}

static struct name name_of(const struct rpcrdma_layer *l, uint8_t checked)
{
    struct name name = {.checked = checked};

    rpcrdma_layer_address(l->family, l->src, &name.address);
    return name;
}

/* Enough of its checksums were right, and few wrong. */
static bool is_right(const struct source *source)
{
    return source->right >= KNOWN && source->wrong <= source->right / 4;
}

bool rpcrdma_layer_damaged(const struct rpcrdma_layer *l, uint8_t checked, bool right)
{
    struct name name = name_of(l, checked);
    struct source *source;

    source = source_of(l->net->checksums, &name);
    if (right)
        source->right++;
    else
        source->wrong++;
    if (source->right + source->wrong > MOST) {
        source->right /= 2;
        source->wrong /= 2;
    }
    return !right && is_right(source);
}

/* Of another source, whose checksums are right, with one bit changed. */
static bool is_changed(struct rpcrdma_checksums *checksums, struct name name)
{
    size_t bytes = name.address.family == RPCRDMA_ADDRESS_IPV6   ? 16
                   : name.address.family == RPCRDMA_ADDRESS_IPV4 ? 4
                                                                 : 2;

    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        const struct source *other;

        name.address.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        other = find(checksums, &name);
        if (other && is_right(other))
            return true;
        name.address.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    return false;
}

bool rpcrdma_layer_damaged_in_doubt(const struct rpcrdma_layer *l, uint8_t checked)
{
    struct rpcrdma_checksums *checksums = l->net->checksums;
    struct name name = name_of(l, checked);
    const struct source *source = find(checksums, &name);

    if (!source || source->wrong != 1)
        return false;
    return source->right >= FEW || (source->right == 0 && is_changed(checksums, name));
}
