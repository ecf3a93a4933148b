/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostile.h"

#include <stdlib.h>
#include <string.h>

/*
 * What the wire names, chosen so that all of it meets in a hash without a key: file names in
 * djb2, file handles in FNV-1a, XIDs in Knuth's multiplicative hash, IPv6 addresses in a sum.
 */

enum {
    RPC_MAX = 900,
    CREDITS = 64,
    CLIENT_QPN = 0x100,
    LOOKUP = 3,
    HANDLE_WORDS = 16, /* a file handle: as many pairs of blocks that are equal to FNV-1a */
    NAME_PAIRS = 16,
};
#define FNV_PRIME UINT32_C(16777619)
#define KNUTH UINT32_C(2654435761)
#define GOLDEN UINT32_C(2654435769)

static uint8_t *zeros(uint8_t *p, size_t n)
{
    memset(p, 0, n);
    return p + n;
}

static uint8_t *header(uint8_t *p, uint32_t xid)
{
    return zeros(put32(put32(put32(put32(p, xid), 1), CREDITS), 0), 12);
}

static uint8_t *call(uint8_t *p, uint32_t xid, uint32_t procedure)
{
    p = put32(put32(put32(header(p, xid), xid), 0), 2);
    p = put32(put32(put32(p, 100003), 3), procedure);
    return zeros(p, 16);
}

static uint32_t fnv(uint32_t hash, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * FNV_PRIME;
    return hash;
}

/* Two blocks of four bytes that take FNV-1a from *hash to the same state (Joux 2004). */
static void meet(uint32_t *hash, uint8_t block[2][4])
{
    enum { TRIES = 1 << 18, SLOTS = 1 << 20 };
    uint32_t *seen = calloc(SLOTS, sizeof(*seen)), state = *hash;

    if (!seen)
        abort();
    for (uint32_t i = 1; i < TRIES; i++) {
        uint8_t mine[4], other[4];
        uint32_t h, slot;

        put32(mine, i * GOLDEN);
        h = fnv(state, mine, 4);
        for (slot = h >> 12; seen[slot]; slot = (slot + 1) % SLOTS) {
            put32(other, seen[slot] * GOLDEN);
            if (fnv(state, other, 4) != h)
                continue;
            memcpy(block[0], other, 4);
            memcpy(block[1], mine, 4);
            *hash = h;
            free(seen);
            return;
        }
        seen[slot] = i;
    }
    abort(); /* by chance never: 2^18 states of 2^32 */
}

/* LOOKUPs in one directory, of names that are one to djb2, which find handles that are one to
 * FNV-1a, of a server at 10.1.0.1. */
static void names(struct talk_file *file, uint64_t size)
{
    static const uint8_t address[16] = {10, 1, 0, 1};
    struct talk talk = {.file = file,
                        .mtu = 1024,
                        .client = {.address = 0x0b000000, .qpn = CLIENT_QPN},
                        .server = {.address = 0x0a010001, .qpn = CLIENT_QPN, .psn = 7}};
    uint64_t server = (uint64_t)fnv(UINT32_C(2166136261), address, 16) << 8 | 1;
    uint8_t block[HANDLE_WORDS][2][4], bytes[8];
    uint32_t hash;

    memcpy(bytes, &server, sizeof(bytes));
    hash = fnv(UINT32_C(2166136261), bytes, sizeof(bytes));
    for (int i = 0; i < HANDLE_WORDS; i++)
        meet(&hash, block[i]);
    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[RPC_MAX], *p = call(buf, i, LOOKUP);

        p = put32(put32(put32(p, 8), 0xd1), 0xd1); /* the directory's handle */
        p = put32(p, 2 * NAME_PAIRS);
        for (int k = 0; k < NAME_PAIRS; k++, p += 2)
            memcpy(p, i >> k & 1 ? "bY" : "az", 2); /* 33 * 'a' + 'z' == 33 * 'b' + 'Y' */
        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
        p = zeros(put32(put32(header(buf, i), i), 1), 20);
        p = put32(p, 4 * HANDLE_WORDS);
        for (int k = 0; k < HANDLE_WORDS; k++, p += 4)
            memcpy(p, block[k][i >> k & 1], 4);
        p = zeros(p, 8); /* no attributes */
        talk_send(&talk, &talk.server, buf, (uint32_t)(p - buf));
    }
}

static uint32_t inverse(uint32_t odd)
{
    uint32_t x = odd;

    for (int i = 0; i < 5; i++)
        x *= 2 - odd * x;
    return x;
}

/* Calls that nobody answers, of one connection, whose XIDs' products with the golden ratio are
 * one in bits 7 to 23. */
static void xids(struct talk_file *file, uint64_t size)
{
    struct talk talk = {.file = file,
                        .mtu = 1024,
                        .client = {.address = 0x0b000000, .qpn = CLIENT_QPN},
                        .server = {.address = 0x0a010001, .qpn = CLIENT_QPN, .psn = 7}};

    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint32_t xid = (i >> 7 << 24 | (i & 0x7f)) * inverse(GOLDEN);
        uint8_t buf[RPC_MAX], *p = call(buf, xid, 0);

        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
    }
}

/* One Call on each connection; its XID undoes the connection's number. */
static void callers(struct talk_file *file, uint64_t size)
{
    for (uint32_t i = 0; file->bytes < size; i++) {
        struct talk talk = {.file = file,
                            .mtu = 1024,
                            .client = {.address = 0x0b000000 + i, .qpn = CLIENT_QPN, .psn = i},
                            .server = {.address = 0x0a010001, .qpn = CLIENT_QPN, .psn = 7}};
        uint32_t xid = ((i + 1) << 1) * inverse(KNUTH);
        uint8_t buf[RPC_MAX], *p = call(buf, xid, 0);

        talk_connect(&talk, NULL);
        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
    }
}

/* Every packet from another IPv6 address: what is added to the last two bytes of its first half
 * is taken from those of its second half (iWARP); or only byte 7 and the QP number differ (RoCE).
 */
static void addresses(struct talk_file *file, uint64_t size, bool iwarp)
{
    static const uint8_t mpa[20] = "MPA ID Req Frame\x40\x01\0";

    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[200] = {0}, *p = buf, *ip;

        p = ip = put16(zeros(p, 12), 0x86dd);
        p = put32(p, 0x60000000);
        p = put16(p, iwarp ? 20 + sizeof(mpa) : 8 + 12 + 28 + 12 + 4);
        p = put16(p, iwarp ? 6u << 8 | 64 : 17u << 8 | 64);
        p = put64(p, UINT64_C(0x20010db800010000));
        p = put64(p, UINT64_C(0x0000000100010000));
        if (iwarp) { /* as little-endian machines read them */
            ip[14] = (uint8_t)i;
            ip[15] = (uint8_t)(i >> 8);
            ip[22] = (uint8_t)-i;
            ip[23] = (uint8_t)((0x10000 - (i & 0xffff)) >> 8);
        } else {
            ip[15] = (uint8_t)i;
        }
        p = put64(p, UINT64_C(0x20010db800020000));
        p = put64(p, 1);
        if (iwarp) {
            p = put32(put16(put16(p, 40000), 20049), 1000);
            p = put32(put16(put16(put32(p, 5000), 0x5010), 0xffff), 0);
            memcpy(p, mpa, sizeof(mpa));
            p += sizeof(mpa);
        } else {
            uint8_t *rpc;

            p = put32(put16(put16(p, 49152), 4791), (8 + 12 + 28 + 12 + 4) << 16);
            p = put32(put32(put32(p, 0x0440ffff), 0x11), i); /* Send Only */
            rpc = header(p, i);
            p = zeros(put32(rpc, i), 12);
        }
        talk_bytes(file, buf, (uint32_t)(p - buf));
    }
}

static void iwarp6(struct talk_file *file, uint64_t size)
{
    addresses(file, size, true);
}

static void roce6(struct talk_file *file, uint64_t size)
{
    addresses(file, size, false);
}

const struct bench_kind hostile_names_kinds[] = {
    {"names", names},   {"xids", xids},   {"callers", callers},
    {"iwarp6", iwarp6}, {"roce6", roce6}, {NULL, NULL},
};
