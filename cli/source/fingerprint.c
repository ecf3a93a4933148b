/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/fingerprint.h"

#include <string.h>

#include "net/packet/payload.h"

/* Two lanes that mix every word in different ways. Not meant against an enemy: who can forge
 * captures needs no collisions. */
static inline void mix(struct fingerprint *f, uint64_t word)
{
    f->low = (f->low ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    f->low ^= f->low >> 29;
    f->high += word * UINT64_C(0xc2b2ae3d27d4eb4f);
    f->high = (f->high << 31 | f->high >> 33) * UINT64_C(0xd6e8feb86659fd93);
}

static void mix_bytes(struct fingerprint *f, const uint8_t *p, size_t n)
{
    uint64_t word;

    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        mix(f, word);
    }
    if (n > 0) {
        word = 0;
        memcpy(&word, p, n);
        mix(f, word);
    }
}

bool fingerprint(const struct rpcrdma_packet *packet, uint32_t most, struct fingerprint *out)
{
    struct rpcrdma_net_payload payload;
    uint32_t n;

    if (!rpcrdma_net_payload(packet, &payload))
        return false;
    n = payload.caplen < most ? payload.caplen : most;
    *out = (struct fingerprint){.low = payload.len, .high = n};
    out->forward = memcmp(&payload.src, &payload.dst, sizeof(payload.src)) < 0;
    mix_bytes(out, payload.src.bytes, sizeof(payload.src.bytes));
    mix_bytes(out, payload.dst.bytes, sizeof(payload.dst.bytes));
    if (payload.checksum <= n && n - payload.checksum >= 2) {
        mix_bytes(out, payload.data, payload.checksum);
        payload.data += payload.checksum + 2;
        n -= payload.checksum + 2;
    }
    mix_bytes(out, payload.data, n);
    out->low ^= out->high >> 32; /* the last words reach the high bits too late otherwise */
    out->low *= UINT64_C(0x9e3779b97f4a7c15);
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
