/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_NET_IWARP_H
#define RPCRDMA_TESTS_UNIT_NET_IWARP_H

/* An iWARP conversation written by hand: 10.0.0.1 port 40000 (end 0) and 10.0.0.2 port 20049. */

#include "base/crc.h"
#include "net/iwarp/tcp.h"
#include "packet.h"

enum { SYN = 2, RST = 4, FIN = 1, ACK = 16 };
enum { M = 0x80, C = 0x40, R = 0x20, S = 0x10 };
enum { MSS = 1448 };

enum { TCP_HEADER = 32 };

/* With 12 bytes of options. */
static inline void put_tcp_header(struct bytes *b, int end, uint32_t seq, uint32_t ack,
                                  uint8_t flags)
{
    static const uint16_t port[2] = {40000, 20049};

    put(b, port[end], 2);
    put(b, port[1 - end], 2);
    put(b, seq, 4);
    put(b, ack, 4);
    put(b, 0x80, 1);
    put(b, flags, 1);
    put(b, 0xffff, 2);
    put(b, 0, 4);
    put(b, 0x0101080a00000000, 8);
    put(b, 0, 4);
}

static inline void put_tcp(struct bytes *b, int end, uint32_t seq, uint32_t ack, uint8_t flags,
                           const void *data, size_t n)
{
    static const uint32_t address[2] = {0x0a000001, 0x0a000002};

    b->n = 0;
    put_ethernet(b, 0x0800);
    put_ipv4(b, 6, TCP_HEADER + n);
    set(b, 26, address[end], 4);
    set(b, 30, address[1 - end], 4);
    put_tcp_header(b, end, seq, ack, flags);
    put_bytes(b, data, n);
}

static inline void tcp_cut(struct seen *s, int end, uint32_t seq, uint32_t ack, uint8_t flags,
                           const void *data, size_t n, size_t captured)
{
    static struct bytes b;

    put_tcp(&b, end, seq, ack, flags, data, n);
    give_cut(s, 1, b.at, b.n - n + captured, b.n);
}

static inline void tcp(struct seen *s, int end, uint32_t seq, uint32_t ack, uint8_t flags,
                       const void *data, size_t n)
{
    tcp_cut(s, end, seq, ack, flags, data, n, n);
}

static inline void put_start(struct bytes *b, bool request, uint8_t flags, uint8_t revision,
                             const void *private_data, size_t n)
{
    put_bytes(b, request ? "MPA ID Req Frame" : "MPA ID Rep Frame", 16);
    put(b, flags, 1);
    put(b, revision, 1);
    put(b, n, 2);
    put_bytes(b, private_data, n);
}

/* Adds a byte of the stream, and before it a marker where one is due. `begin`: of the length field.
 */
static inline void put_marked(struct bytes *b, bool markers, size_t *begin, uint8_t byte)
{
    if (markers && b->n % 512 == 0) {
        if (*begin == b->n)
            *begin += 4;
        put(b, b->n < *begin ? 0 : b->n - *begin, 4);
    }
    put(b, byte, 1);
}

/* An FPDU; b holds the stream from where the first FPDU began, for the sake of markers. */
static inline void put_fpdu(struct bytes *b, bool markers, bool crc, const struct bytes *ulpdu)
{
    size_t start = b->n, begin = b->n;
    uint32_t sum = 0;

    put_marked(b, markers, &begin, (uint8_t)(ulpdu->n >> 8));
    put_marked(b, markers, &begin, (uint8_t)ulpdu->n);
    for (size_t i = 0; i < ulpdu->n; i++)
        put_marked(b, markers, &begin, ulpdu->at[i]);
    for (size_t i = ulpdu->n + 2; i % 4 != 0; i++)
        put_marked(b, markers, &begin, 0);
    if (markers && b->n % 512 == 0)
        put(b, b->n - begin, 4);
    if (crc) {
        static struct rpcrdma_crc table;

        rpcrdma_crc_init(&table, RPCRDMA_CRC_CASTAGNOLI);
        sum = ~rpcrdma_crc_add(&table, UINT32_MAX, b->at + start, b->n - start);
    }
    for (int i = 0; i < 4; i++)
        put(b, sum >> 8 * i & 0xff, 1);
}

static inline void put_untagged(struct bytes *u, uint8_t opcode, bool last, uint32_t stag,
                                uint32_t queue, uint32_t msn, uint32_t offset)
{
    u->n = 0;
    put(u, last ? 0x41 : 0x01, 1);
    put(u, 0x40u | opcode, 1);
    put(u, stag, 4);
    put(u, queue, 4);
    put(u, msn, 4);
    put(u, offset, 4);
}

static inline void put_tagged(struct bytes *u, uint8_t opcode, bool last, uint32_t stag,
                              uint64_t offset)
{
    u->n = 0;
    put(u, last ? 0xc1 : 0x81, 1);
    put(u, 0x40u | opcode, 1);
    put(u, stag, 4);
    put(u, offset, 8);
}

/* n bytes of payload that tell where they belong */
static inline void put_payload(struct bytes *u, uint32_t seed, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(u, (seed * 31 + i * 7) & 0xff, 1);
}

static inline void put_send(struct bytes *b, bool crc, uint32_t msn, size_t n)
{
    static struct bytes u;

    put_untagged(&u, 3, true, 0, 0, msn, 0);
    put_payload(&u, msn, n);
    put_fpdu(b, false, crc, &u);
}

/* Request and Reply with these flags; FPDUs of the ends begin at 1020 and 5020. */
enum { NEXT0 = 1020, NEXT1 = 5020 };
static inline void talk_start(struct seen *s, uint8_t flags0, uint8_t flags1)
{
    struct bytes *b = calloc(1, sizeof(*b));

    assert_non_null(b);
    put_start(b, true, flags0, 1, NULL, 0);
    tcp(s, 0, 1000, 5000, ACK, b->at, b->n);
    b->n = 0;
    put_start(b, false, flags1, 1, NULL, 0);
    tcp(s, 1, 5000, NEXT0, ACK, b->at, b->n);
    free(b);
    s->n = 0;
    s->n_findings = 0;
}

/* So long, and so many packets, say of a hole that what it lacks will not come: see tcp_late.c. */
enum { LATE_NS = 10000000, LATE_PACKETS = 10 };

static inline void wait_in_vain(struct seen *s, uint32_t ack)
{
    s->later_ns += LATE_NS;
    seen_others(s, LATE_PACKETS);
    tcp(s, 1, NEXT1, ack, ACK, NULL, 0);
}

static inline size_t count_kind(const struct seen *s, unsigned kind)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n && i < 64; i++)
        n += s->op[i].kind == kind;
    return n;
}

static inline size_t count_rule(const struct seen *s, enum rpcrdma_rule_id rule)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_findings && i < 64; i++)
        n += s->finding[i].rule == rule;
    return n;
}

#endif
