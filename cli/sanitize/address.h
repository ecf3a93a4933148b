/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_ADDRESS_H
#define RPCRDMA_CLI_SANITIZE_ADDRESS_H

/*
 * Addresses, in place. Of IP addresses prefixes stay prefixes (Crypto-PAn, Xu et al. 2002): two
 * that have their first n bits in common have n in common afterwards. What kind of address it is
 * stays: the first 4 bits of IPv4, 16 of IPv6.
 */

#include "sanitize/key.h"

enum { ADDRESS_SLOTS = 1024 };

struct sanitize_address {
    bool used;
    uint8_t from[16], to[16];
};

struct sanitize_addresses {
    const struct sanitize_key *key;
    /* those that came last: each costs a hash per bit */
    struct sanitize_address ipv4[ADDRESS_SLOTS], ipv6[ADDRESS_SLOTS];
};

void sanitize_ipv4(struct sanitize_addresses *addresses, uint8_t *p);
/* Also a GID; one that maps an IPv4 address has that replaced. */
void sanitize_ipv6(struct sanitize_addresses *addresses, uint8_t *p);
/* It becomes a locally administered one; group addresses stay such, broadcast stays. */
void sanitize_mac(struct sanitize_addresses *addresses, uint8_t *p);
/* InfiniBand's local identifier. Unicast and multicast stay such, 0 and the permissive one stay. */
void sanitize_lid(struct sanitize_addresses *addresses, uint8_t *p);

#endif
