/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/vnet.h"

#include <stdlib.h>

#include "base/siphash.h"
#include "base/step.h"
#include "bound.h"

enum {
    ENTRIES_FIRST = 64,
    ENTRIES_MOST = RPCRDMA_BOUND(16384, 24), /* of more, nothing is told apart */
    LABELS_MOST = RPCRDMA_BOUND(256, 6),     /* likewise, of two addresses */
    NETWORKS = 4 * LABELS_MOST,              /* of two addresses; see place() and make_way() */
    RECENT = RPCRDMA_BOUND(4096, 16),        /* packets that another may be a copy of */
    CACHE = RPCRDMA_BOUND(256, 4),           /* labels that packets had lately */
};
#define COPY_NS UINT64_C(10000000)

/* A label that was seen between two addresses; or the two addresses, whose label is 0. */
struct entry {
    uint64_t label;
    uint32_t address[2]; /* the lower one first */
    uint32_t chain;      /* 1 + place of the next one of its bucket; 0: none. Likewise: */
    uint32_t next;       /* the label seen before, between these addresses */
    uint16_t network;    /* of two addresses: the highest of theirs */
    uint16_t labels;     /* of two addresses: how many were seen */
    uint8_t directions;  /* it was seen in: bit 1, from the lower address; 2, from the other */
    bool one;            /* of its network's labels, as a copy showed */
    bool begun; /* by more than TCP that may be of any kind: its network is known to others */
};

struct recent {
    int64_t time_ns;
    uint32_t print;
    uint32_t of; /* 1 + place of its label; 0: none */
};

struct rpcrdma_vnets {
    struct siphash_key key;
    struct entry *entries;
    uint32_t *bucket; /* 1 + place of its first one */
    uint32_t n, room; /* room: also of buckets; a power of two */
    /* 1 + place. By a hash without a key: where two meet, the table is asked */
    uint32_t cache[CACHE];
    struct recent recent[RECENT];
};

static struct rpcrdma_vnets *vnets_new(void)
{
    struct rpcrdma_vnets *vnets = calloc(1, sizeof(*vnets));

    if (vnets)
        vnets->key = siphash_key();
    return vnets;
}

void rpcrdma_vnets_free(struct rpcrdma_vnets *vnets)
{
    if (!vnets)
        return;
    free(vnets->entries);
    free(vnets->bucket);
    free(vnets);
}

static uint32_t *bucket_of(const struct rpcrdma_vnets *vnets, const uint32_t address[2],
                           uint64_t label)
{
    uint64_t words[2] = {(uint64_t)address[0] << 32 | address[1], label};

    return &vnets->bucket[siphash_words(&vnets->key, words, 2) & (vnets->room - 1)];
}

static struct entry *find(const struct rpcrdma_vnets *vnets, const uint32_t address[2],
                          uint64_t label)
{
    if (vnets->n == 0)
        return NULL;
    for (uint32_t at = *bucket_of(vnets, address, label); at != 0;) {
        struct entry *e = &vnets->entries[at - 1];

        RPCRDMA_STEP();
        if (e->label == label && e->address[0] == address[0] && e->address[1] == address[1])
            return e;
        at = e->chain;
    }
    return NULL;
}

static void enter(struct rpcrdma_vnets *vnets, uint32_t at)
{
    struct entry *e = &vnets->entries[at];
    uint32_t *bucket = bucket_of(vnets, e->address, e->label);

    e->chain = *bucket;
    *bucket = at + 1;
}

static bool grow(struct rpcrdma_vnets *vnets)
{
    uint32_t room = vnets->room ? 2 * vnets->room : ENTRIES_FIRST;
    uint32_t *bucket = calloc(room, sizeof(*bucket));
    struct entry *entries = bucket ? realloc(vnets->entries, room * sizeof(*entries)) : NULL;

    if (!entries) {
        free(bucket);
        return false;
    }
    free(vnets->bucket);
    vnets->entries = entries;
    vnets->bucket = bucket;
    vnets->room = room;
    for (uint32_t i = 0; i < vnets->n; i++)
        enter(vnets, i);
    return true;
}

/* After it, what was found before may have moved. NULL: there are too many, or there is no memory
 * (*failed). */
static struct entry *add(struct rpcrdma_vnets *vnets, const uint32_t address[2], uint64_t label,
                         bool *failed)
{
    struct entry *e;

    if (vnets->n >= ENTRIES_MOST)
        return NULL;
    if (vnets->n == vnets->room && !grow(vnets)) {
        *failed = true;
        return NULL;
    }
    e = &vnets->entries[vnets->n];
    *e = (struct entry){.label = label, .address = {address[0], address[1]}};
    enter(vnets, vnets->n++);
    return e;
}

/* --- labels ------------------------------------------------------------------------------------
 */

enum { VLAN_BITS = RPCRDMA_VNET_VLAN_BITS, VLAN = RPCRDMA_VNET_VLAN };

static bool differ(uint64_t a, uint64_t b)
{
    return a != 0 && b != 0 && a != b;
}

static bool contradict(uint64_t a, uint64_t b)
{
    return differ(a & VLAN, b & VLAN) || differ(a >> VLAN_BITS & VLAN, b >> VLAN_BITS & VLAN) ||
           differ(a >> 2 * VLAN_BITS, b >> 2 * VLAN_BITS);
}

/* The lowest network that the label may be of, by all labels of it that were seen in one of its
 * directions. Its own is the first choice; else a new one. */
static uint16_t place(const struct rpcrdma_vnets *vnets, const struct entry *pair,
                      const struct entry *e, bool is_new)
{
    /* a label is placed once for each direction, and gets a new network twice at most */
    enum { WORDS = NETWORKS / 64 + 1 };
    uint64_t there[WORDS] = {0}, other[WORDS] = {0};
    uint16_t n = 0;

    for (uint32_t at = pair->next; at != 0; at = vnets->entries[at - 1].next) {
        const struct entry *one = &vnets->entries[at - 1];
        uint64_t bit = UINT64_C(1) << one->network % 64;

        RPCRDMA_STEP();
        if (one == e && is_new)
            continue;
        there[one->network / 64] |= bit;
        if (one != e && one->directions & e->directions && contradict(one->label, e->label) &&
            (is_new || one->network != e->network || !(one->one || e->one)))
            other[one->network / 64] |= bit;
    }
    if (!is_new && !(other[e->network / 64] >> e->network % 64 & 1))
        return e->network;
    if (pair->labels == 1)
        return 0;
    for (; n <= pair->network; n++)
        if ((there[n / 64] & ~other[n / 64]) >> n % 64 & 1)
            return n;
    return n;
}

/* Labels in its network that contradict it, and of which nothing was built yet, get new ones: what
 * was built of this one stays what it is. */
static void make_way(struct rpcrdma_vnets *vnets, struct entry *pair, const struct entry *e)
{
    for (uint32_t at = pair->next; at != 0; at = vnets->entries[at - 1].next) {
        struct entry *one = &vnets->entries[at - 1];

        RPCRDMA_STEP();
        if (one != e && !one->begun && !one->one && one->network == e->network &&
            one->directions & e->directions && contradict(one->label, e->label) &&
            pair->network < NETWORKS / 2)
            one->network = ++pair->network;
    }
}

static void join(struct rpcrdma_vnets *vnets, const struct entry *pair, struct entry *a,
                 struct entry *b)
{
    uint16_t low = a->network < b->network ? a->network : b->network;
    uint16_t high = a->network < b->network ? b->network : a->network;

    a->one = b->one = true;
    if (low == high)
        return;
    for (uint32_t at = pair->next; at != 0; at = vnets->entries[at - 1].next) {
        RPCRDMA_STEP();
        if (vnets->entries[at - 1].network == high)
            vnets->entries[at - 1].network = low;
    }
}

/* --- copies ------------------------------------------------------------------------------------
 */

static uint64_t mixed(uint64_t h, uint64_t word)
{
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return (h ^ h >> 29 ^ word) * UINT64_C(0xd6e8feb86659fd93);
}

/* CM's PSNs count from 0. Some of its messages say little: copies of those show nothing but where
 * no other packet did. */
static bool is_datagram(const struct rpcrdma_layer *l, const uint8_t *transport)
{
    enum { UD_SEND_ONLY = 0x64 };

    return l->udp && transport[0] == UD_SEND_ONLY;
}

/* What no router changes of a packet, and what another one does not have: PSN or sequence numbers,
 * IP ID; of a datagram, all of it. */
static uint64_t print_of(const struct rpcrdma_layer *l, const uint8_t *transport, size_t n,
                         const uint32_t ends[2])
{
    enum { BTH = 12, MAD_END = BTH + 8 + 256 };
    uint64_t h = mixed((uint64_t)ends[0] << 32 | ends[1], rpcrdma_get_be64(transport));

    h = mixed(h, (uint64_t)rpcrdma_get_be32(transport + 8) << 16 | rpcrdma_layer_ip_id(l));
    if (is_datagram(l, transport))
        for (size_t at = BTH; at + 8 <= n && at < MAD_END; at += 8)
            h = mixed(h, rpcrdma_get_be64(transport + at));
    return h ^ h >> 32;
}

/* A label of another packet that this one is a copy of, or NULL; and remembers this one. */
static struct entry *copied(struct rpcrdma_vnets *vnets, const struct entry *e, uint64_t print,
                            int64_t time_ns)
{
    struct recent *recent = &vnets->recent[print % RECENT];
    struct entry *other = recent->of ? &vnets->entries[recent->of - 1] : NULL;
    uint64_t apart = time_ns > recent->time_ns ? (uint64_t)time_ns - (uint64_t)recent->time_ns
                                               : (uint64_t)recent->time_ns - (uint64_t)time_ns;

    if (other && (other == e || recent->print != print >> 32 || apart > COPY_NS ||
                  other->address[0] != e->address[0] || other->address[1] != e->address[1]))
        other = NULL;
    *recent = (struct recent){time_ns, (uint32_t)(print >> 32), (uint32_t)(e - vnets->entries) + 1};
    return other;
}

/* --- packets -----------------------------------------------------------------------------------
 */

static const uint8_t *ipv4_of(const struct rpcrdma_layer *l, const uint8_t *address)
{
    if (l->family == RPCRDMA_ADDRESS_IPV4)
        return address;
    return l->family == RPCRDMA_ADDRESS_IPV6 && rpcrdma_layer_mapped(address) ? address + 12 : NULL;
}

/* The label, which is made where it is not there; NULL: nothing is remembered of it. */
RPCRDMA_RARE static struct entry *new_label(struct rpcrdma_vnets *vnets, const uint32_t address[2],
                                            uint64_t value, bool begins, bool *failed)
{
    struct entry *e = find(vnets, address, value), *pair;
    uint32_t at;

    if (e)
        return e;
    pair = find(vnets, address, 0);
    if (!pair && begins)
        pair = add(vnets, address, 0, failed);
    if (!pair || pair->labels >= LABELS_MOST)
        return NULL;
    at = (uint32_t)(pair - vnets->entries);
    e = add(vnets, address, value, failed);
    if (!e)
        return NULL;
    pair = &vnets->entries[at];
    pair->labels++;
    e->next = pair->next;
    pair->next = (uint32_t)(e - vnets->entries) + 1;
    return e;
}

static struct entry *label(struct rpcrdma_vnets *vnets, const uint32_t address[2], uint64_t value,
                           bool begins, bool *failed)
{
    uint64_t hash = mixed((uint64_t)address[0] << 32 | address[1], value);
    uint32_t *at = &vnets->cache[(hash >> 32) % CACHE];
    struct entry *e = *at ? &vnets->entries[*at - 1] : NULL;

    if (e && e->label == value && e->address[0] == address[0] && e->address[1] == address[1])
        return e;
    e = new_label(vnets, address, value, begins, failed);
    if (e)
        *at = (uint32_t)(e - vnets->entries) + 1;
    return e;
}

uint16_t rpcrdma_vnet_of(const struct rpcrdma_layer *l, const uint8_t *transport, size_t n,
                         bool begins)
{
    enum { LEAST = 12 };
    struct rpcrdma_net *net = l->net;
    const uint8_t *src = ipv4_of(l, l->src), *dst = ipv4_of(l, l->dst);
    uint32_t ends[2], address[2];
    struct entry *e, *pair, *other;
    bool failed = false;
    uint8_t direction;

    if (!src || !dst)
        return 0;
    ends[0] = rpcrdma_get_be32(src);
    ends[1] = rpcrdma_get_be32(dst);
    direction = ends[0] < ends[1] ? 1 : 2;
    address[0] = ends[direction - 1];
    address[1] = ends[2 - direction];
    if (!net->vnets && begins && !(net->vnets = vnets_new()))
        failed = true;
    e = net->vnets ? label(net->vnets, address, rpcrdma_vnet_label(l), begins, &failed) : NULL;
    if (failed)
        rpcrdma_net_fail(net);
    if (!e)
        return 0;
    other = n >= LEAST ? copied(net->vnets, e, print_of(l, transport, n, ends), l->packet->time_ns)
                       : NULL;
    if (other && e->directions && is_datagram(l, transport))
        other = NULL;
    if (!other && e->directions & direction && (e->begun || !begins))
        return e->network;
    e->begun = e->begun || begins;
    pair = find(net->vnets, address, 0);
    if (!(e->directions & direction)) {
        bool is_new = e->directions == 0;

        e->directions |= direction;
        if (!is_new && e->begun)
            make_way(net->vnets, pair, e);
        e->network = other && is_new ? other->network : place(net->vnets, pair, e, is_new);
        if (e->network > pair->network)
            pair->network = e->network;
    }
    if (other)
        join(net->vnets, pair, e, other);
    return e->network;
}

/* *several: hosts of other networks have these addresses, too. */
static bool network_of(const struct rpcrdma_net *net, const struct rpcrdma_address *a,
                       const struct rpcrdma_address *b, struct rpcrdma_network *out, bool *several)
{
    uint32_t ends[2] = {rpcrdma_get_be32(a->bytes), rpcrdma_get_be32(b->bytes)};
    uint32_t address[2];
    const struct entry *pair;
    const struct entry *first = NULL;
    int high = ends[0] > ends[1];

    *out = (struct rpcrdma_network){0};
    address[0] = ends[high];
    address[1] = ends[1 - high];
    if (!net->vnets || a->family != RPCRDMA_ADDRESS_IPV4 || b->family != RPCRDMA_ADDRESS_IPV4 ||
        !(pair = find(net->vnets, address, 0)))
        return false;
    *several = pair->network != 0;
    for (uint32_t at = pair->next; at != 0; at = net->vnets->entries[at - 1].next)
        if (net->vnets->entries[at - 1].network == (a->bytes[4] << 8 | a->bytes[5]))
            first = &net->vnets->entries[at - 1]; /* they are listed the last one first */
    if (!first)
        return false;
    *out = rpcrdma_vnet_network(first->label);
    return true;
}

bool rpcrdma_net_network(const struct rpcrdma_net *net, const struct rpcrdma_address *a,
                         const struct rpcrdma_address *b, struct rpcrdma_network *out)
{
    bool several = false;
    bool found = network_of(net, a, b, out, &several);

    if (!several)
        *out = (struct rpcrdma_network){0};
    return found && several;
}

bool rpcrdma_net_label(const struct rpcrdma_net *net, const struct rpcrdma_address *a,
                       const struct rpcrdma_address *b, struct rpcrdma_network *out)
{
    bool several;

    return network_of(net, a, b, out, &several);
}
