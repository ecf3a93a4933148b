/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/identity.h"

#include <assert.h>
#include <string.h>

#include "base/siphash.h"

/* Everybody's: whoever reads the same capture gets the same keys. */
static const struct siphash_key public_key = {{0, 0}};

/* Of n bytes, of which the last few, less than 8, are still to come. */
static uint64_t end_hash(struct siphash s, const uint8_t *rest, size_t n)
{
    uint64_t word = (uint64_t)(n & 0xff) << 56;

    for (size_t i = 0; i < n % 8; i++)
        word |= (uint64_t)rest[i] << 8 * i;
    return siphash_end(&s, word, 2, 4);
}

/* And, unless heads is NULL, of each power of two that is not more. */
static uint64_t hash(const void *bytes, size_t n, int64_t *heads)
{
    struct siphash s = siphash_begin(&public_key);
    const uint8_t *p = bytes;
    size_t at = 0, next = 1;
    uint64_t word = 0;

    for (;; at += 8) {
        for (; heads && next <= n && next < at + 8; next *= 2)
            *heads++ = (int64_t)end_hash(s, p + at, next);
        if (n - at < 8)
            return end_hash(s, p + at, n);
        for (size_t i = 8; i-- > 0;)
            word = word << 8 | p[at + i];
        siphash_word(&s, word, 2);
    }
}

struct identity identity_of(uint64_t first)
{
    return (struct identity){.words = {first}, .n = 1};
}

void identity_add(struct identity *identity, uint64_t word)
{
    assert(identity->n < sizeof(identity->words) / sizeof(identity->words[0]));
    identity->words[identity->n++] = word;
}

void identity_add_bytes(struct identity *identity, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    for (size_t at = 0; at < n; at += 8) {
        uint64_t word = 0;

        for (size_t i = 0; i < 8 && at + i < n; i++)
            word |= (uint64_t)p[at + i] << 8 * i;
        identity_add(identity, word);
    }
}

int64_t identity_end(const struct identity *identity)
{
    struct siphash s = siphash_begin(&public_key);

    for (unsigned i = 0; i < identity->n; i++)
        siphash_word(&s, identity->words[i], 2);
    return (int64_t)siphash_end(&s, (uint64_t)(identity->n * 8 & 0xff) << 56, 2, 4);
}

/* QP number or port; what is not known is beyond either. */
static uint64_t number_of(const struct rpcrdma_connection *c, int end)
{
    const struct rpcrdma_endpoint *e = &c->end[end];

    if (c->carrier == RPCRDMA_CARRIER_IWARP)
        return e->port;
    return e->has_qpn ? e->qpn : UINT64_C(1) << 32;
}

int identity_first_end(const struct rpcrdma_connection *c)
{
    int order = memcmp(&c->end[0].address, &c->end[1].address, sizeof(c->end[0].address));

    return order > 0 || (order == 0 && number_of(c, 0) > number_of(c, 1));
}

/* Without the number of its network, which goes by what else is in the capture. */
static void add_address(struct identity *identity, const struct rpcrdma_address *address)
{
    struct rpcrdma_address plain = *address;

    if (plain.family == RPCRDMA_ADDRESS_IPV4)
        memset(plain.bytes + 4, 0, sizeof(plain.bytes) - 4);
    identity_add(identity, plain.family);
    identity_add_bytes(identity, plain.bytes, sizeof(plain.bytes));
}

int64_t identity_path(const struct rpcrdma_connection *c)
{
    struct identity identity = identity_of(c->carrier);

    for (int i = 0, end = identity_first_end(c); i < 2; i++, end = 1 - end) {
        add_address(&identity, &c->end[end].address);
        identity_add(&identity, number_of(c, end));
    }
    return identity_end(&identity);
}

int64_t identity_file(uint64_t size, const void *head, size_t n, int64_t heads[IDENTITY_HEADS])
{
    struct identity identity = identity_of(size);

    assert(!heads || n <= (size_t)1 << (IDENTITY_HEADS - 1));
    identity_add(&identity, hash(head, n, heads));
    return identity_end(&identity);
}

int64_t identity_tail(int64_t file, const void *tail, size_t n)
{
    struct identity identity = identity_of((uint64_t)file);

    identity_add(&identity, hash(tail, n, NULL));
    return identity_end(&identity);
}

int64_t identity_packet(int64_t contents, const struct rpcrdma_packet *packet)
{
    struct identity identity = identity_of((uint64_t)contents);

    identity_add(&identity, (uint64_t)packet->time_ns);
    identity_add(&identity, (uint64_t)packet->linktype << 32 | packet->len);
    return identity_end(&identity);
}

int64_t identity_contents(int64_t of, const struct rpcrdma_packet *packet)
{
    struct identity identity = identity_of((uint64_t)of);

    identity_add(&identity, packet->caplen);
    identity_add(&identity, hash(packet->data, packet->caplen, NULL));
    return identity_end(&identity);
}

unsigned identity_head(uint64_t bytes)
{
    unsigned i = 0;

    while (i + 1 < IDENTITY_HEADS && bytes >> (i + 1) > 0)
        i++;
    return i;
}

int64_t identity_reading(const struct options *options)
{
    GString *how = g_string_new(options->filter);
    int64_t id;

    g_string_append_printf(how, "|%s|%d %d|", options->dialect ? options->dialect->name : "",
                           options->check_icrc, options->time_source);
    for (guint i = 0; options->ports && i < options->ports->len; i++)
        g_string_append_printf(how, "%u,", g_array_index(options->ports, uint16_t, i));
    for (guint i = 0; options->qpns && i < options->qpns->len; i++)
        g_string_append_printf(how, "|%u", g_array_index(options->qpns, uint32_t, i));
    id = identity_file(0, how->str, how->len, NULL);
    g_string_free(how, TRUE);
    return id;
}
