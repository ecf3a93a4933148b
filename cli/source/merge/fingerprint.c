/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/merge/fingerprint.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/siphash.h"
#include "net/packet/payload.h"

/* Tables go by the low half, which is SipHash with a key of this process: nobody can send packets
 * that all have one. The high half is the same in each run. */
struct lanes {
    struct siphash low;
    uint64_t high;
};

const struct siphash_key *fingerprint_key(void)
{
    static struct siphash_key own;
    static bool made;

    if (!made && getrandom(&own, sizeof(own), GRND_NONBLOCK) != (ssize_t)sizeof(own))
        own.k[0] = own.k[1] = (uint64_t)time(NULL); /* the machine was just switched on */
    made = true;
    return &own;
}

static inline void mix(struct lanes *l, uint64_t word)
{
    siphash_word(&l->low, word, 1);
    l->high += word * UINT64_C(0xc2b2ae3d27d4eb4f);
    l->high = (l->high << 31 | l->high >> 33) * UINT64_C(0xd6e8feb86659fd93);
}

static void mix_bytes(struct lanes *l, const uint8_t *p, size_t n)
{
    uint64_t word;

    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        mix(l, word);
    }
    if (n > 0) {
        word = 0;
        memcpy(&word, p, n);
        mix(l, word);
    }
}

/* Of a header without options. */
static uint16_t ipv4_id(const struct rpcrdma_net_payload *payload)
{
    enum { HEADER = 20, FIRST = 0x45, ID = 4 };
    const uint8_t *header = payload->data - HEADER;

    if (payload->src.family != RPCRDMA_ADDRESS_IPV4 || header[0] != FIRST)
        return 0;
    return (uint16_t)(header[ID] << 8 | header[ID + 1]);
}

bool fingerprint(const struct rpcrdma_packet *packet, uint32_t most, struct fingerprint *out)
{
    struct rpcrdma_net_payload payload;
    struct lanes lanes;
    uint32_t n;

    if (!rpcrdma_net_payload(packet, &payload))
        return false;
    n = payload.caplen < most ? payload.caplen : most;
    lanes = (struct lanes){siphash_begin(fingerprint_key()), n};
    out->id = ipv4_id(&payload);
    out->forward = memcmp(&payload.src, &payload.dst, sizeof(payload.src)) < 0;
    mix_bytes(&lanes, payload.src.bytes, sizeof(payload.src.bytes));
    mix_bytes(&lanes, payload.dst.bytes, sizeof(payload.dst.bytes));
    if (payload.checksum <= n && n - payload.checksum >= 2) {
        mix_bytes(&lanes, payload.data, payload.checksum);
        payload.data += payload.checksum + 2;
        n -= payload.checksum + 2;
    }
    mix_bytes(&lanes, payload.data, n);
    out->low = siphash_end(&lanes.low, (uint64_t)payload.len << 32 | n, 1, 3);
    out->high = (lanes.high ^ lanes.high >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return true;
}

uint32_t fingerprint_cut(const struct rpcrdma_packet *packet)
{
    struct rpcrdma_net_payload payload;

    if (packet->caplen >= packet->len || !rpcrdma_net_payload(packet, &payload) ||
        payload.caplen >= payload.len)
        return FINGERPRINT_ALL;
    return payload.caplen;
}
