/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_MERGE_FINGERPRINT_H
#define RPCRDMA_CLI_SOURCE_MERGE_FINGERPRINT_H

/* A packet as it is known again in another capture: 128 bits made of its IP payload. */

#include <stdbool.h>
#include <stdint.h>

#include "base/siphash.h"
#include "net/net.h"

struct fingerprint {
    uint64_t low, high;
    uint16_t id; /* IPv4's, which a packet that is retransmitted seldom has again; 0: it has none */
    bool forward; /* source address below the destination's: distinguishes the two directions */
};

enum { FINGERPRINT_ALL = UINT32_MAX };

/*
 * Of the packet's first `most` payload bytes, its payload length on the wire and its addresses,
 * without the TCP or UDP checksum. False where the packet has none: no IP, or cut before it.
 */
bool fingerprint(const struct rpcrdma_packet *packet, uint32_t most, struct fingerprint *out);

/* The key of this process: random, and never written. */
const struct siphash_key *fingerprint_key(void);

/* Payload bytes captured of a packet that was cut; FINGERPRINT_ALL where it was not. */
uint32_t fingerprint_cut(const struct rpcrdma_packet *packet);

#endif
