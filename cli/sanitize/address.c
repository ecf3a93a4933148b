/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/address.h"

#include <string.h>

/* Bit i is turned over, or not, by what a hash of the i bits before it says. */
static void preserve(const struct sanitize_addresses *addresses, enum sanitize_use use, uint8_t *p,
                     size_t bits, size_t first)
{
    uint8_t from[16], prefix[17] = {0};

    memcpy(from, p, bits / 8);
    for (size_t i = 0; i < bits; i++) {
        uint8_t bit = (uint8_t)(0x80 >> i % 8);

        if (i >= first) {
            prefix[16] = (uint8_t)i;
            if (sanitize_hash(addresses->key, use, prefix, sizeof(prefix)) & 1)
                p[i / 8] ^= bit;
        }
        prefix[i / 8] = (uint8_t)((prefix[i / 8] & ~bit) | (from[i / 8] & bit));
    }
}

static void with_cache(struct sanitize_addresses *addresses, struct sanitize_address *slots,
                       enum sanitize_use use, uint8_t *p, size_t bytes, size_t first)
{
    struct sanitize_address *one =
        &slots[sanitize_hash(addresses->key, SANITIZE_TABLE, p, bytes) % ADDRESS_SLOTS];

    if (!one->used || memcmp(one->from, p, bytes) != 0) {
        memcpy(one->from, p, bytes);
        memcpy(one->to, p, bytes);
        preserve(addresses, use, one->to, bytes * 8, first);
        one->used = true;
    }
    memcpy(p, one->to, bytes);
}

void sanitize_ipv4(struct sanitize_addresses *addresses, uint8_t *p)
{
    with_cache(addresses, addresses->ipv4, SANITIZE_IPV4, p, 4, 4);
}

void sanitize_ipv6(struct sanitize_addresses *addresses, uint8_t *p)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, none[16];

    if (memcmp(p, none, sizeof(none)) == 0)
        return;
    if (memcmp(p, mapped, sizeof(mapped)) == 0)
        sanitize_ipv4(addresses, p + 12);
    else
        with_cache(addresses, addresses->ipv6, SANITIZE_IPV6, p, 16, 16);
}

void sanitize_mac(struct sanitize_addresses *addresses, uint8_t *p)
{
    enum { GROUP = 1, LOCAL = 2 };
    static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, none[6];
    uint8_t group = p[0] & GROUP;
    uint64_t h;

    if (memcmp(p, broadcast, sizeof(broadcast)) == 0 || memcmp(p, none, sizeof(none)) == 0)
        return;
    h = sanitize_hash(addresses->key, SANITIZE_MAC, p, 6);
    memcpy(p, &h, 6);
    p[0] = (uint8_t)((p[0] & ~GROUP) | LOCAL | group);
}

void sanitize_lid(struct sanitize_addresses *addresses, uint8_t *p)
{
    enum { PERMISSIVE = 0xffff, KEPT = 2 };
    unsigned lid = (unsigned)p[0] << 8 | p[1];

    if (lid == 0 || lid == PERMISSIVE)
        return;
    do {
        preserve(addresses, SANITIZE_LID, p, 16, KEPT);
        lid = (unsigned)p[0] << 8 | p[1];
    } while (lid == 0 || lid == PERMISSIVE);
}
