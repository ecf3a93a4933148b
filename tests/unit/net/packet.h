/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_NET_PACKET_H
#define RPCRDMA_TESTS_UNIT_NET_PACKET_H

/* Packets written by hand, and what net/ makes of them. */

#include "net/net.h"
#include "test.h"

struct bytes {
    uint8_t at[1 << 17];
    size_t n;
};

static inline void put(struct bytes *b, uint64_t value, size_t n)
{
    assert_true(b->n + n <= sizeof(b->at));
    for (size_t i = 0; i < n; i++)
        b->at[b->n++] = (uint8_t)(value >> 8 * (n - 1 - i));
}

static inline void put_bytes(struct bytes *b, const void *data, size_t n)
{
    assert_true(b->n + n <= sizeof(b->at));
    if (n > 0)
        memcpy(b->at + b->n, data, n);
    b->n += n;
}

static inline void put_fill(struct bytes *b, int value, size_t n)
{
    assert_true(b->n + n <= sizeof(b->at));
    memset(b->at + b->n, value, n);
    b->n += n;
}

/* Writes value over the n bytes at off. */
static inline void set(struct bytes *b, size_t off, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b->at[off + i] = (uint8_t)(value >> 8 * (n - 1 - i));
}

static inline void put_ethernet(struct bytes *b, uint16_t type)
{
    put(b, 0x525400770001, 6);
    put(b, 0x525400770011, 6);
    put(b, type, 2);
}

/* 10.0.0.1 to 10.0.0.2; n bytes follow */
static inline void put_ipv4(struct bytes *b, uint8_t protocol, size_t n)
{
    put(b, 0x4500, 2);
    put(b, 20 + n, 2);
    put(b, 0x12344000, 4); /* id, DF */
    put(b, 64, 1);
    put(b, protocol, 1);
    put(b, 0, 2);
    put(b, 0x0a000001, 4);
    put(b, 0x0a000002, 4);
}

/* fd00::1 to fd00::2 */
static inline void put_ipv6(struct bytes *b, uint8_t next, size_t n)
{
    put(b, 0x60000000, 4);
    put(b, n, 2);
    put(b, next, 1);
    put(b, 64, 1);
    for (uint64_t i = 1; i <= 2; i++) {
        put(b, 0xfd00000000000000, 8);
        put(b, i, 8);
    }
}

static inline void put_udp(struct bytes *b, uint16_t port, size_t n)
{
    put(b, 50000, 2);
    put(b, port, 2);
    put(b, 8 + n, 2);
    put(b, 0, 2);
}

static inline void put_bth(struct bytes *b, uint8_t opcode, unsigned pad, uint32_t qpn,
                           uint32_t psn)
{
    put(b, opcode, 1);
    put(b, pad << 4, 1);
    put(b, 0xffff, 2);
    put(b, qpn, 4);
    put(b, psn, 4);
}

/* What came of the packets given so far. Data and private data are copies. */
struct seen {
    struct rpcrdma_net *net;
    struct rpcrdma_op op[64];
    struct rpcrdma_op_connect connect[64];
    uint8_t data[64][2048];
    size_t n; /* all of them, also beyond the first 64 */
    struct rpcrdma_finding finding[64];
    size_t n_findings;
    uint8_t begins[64]; /* of the segments of TCP */
    size_t segments;
    uint64_t frame, others;
    int64_t later_ns; /* than frame us, packets are from now on */
};

static void seen_op(void *context, const struct rpcrdma_op *op)
{
    struct seen *s = context;
    const uint8_t *data = op->connect ? op->connect->private_data : op->data;
    uint32_t caplen = op->connect ? op->connect->private_caplen : op->caplen;

    assert_true(op->caplen <= op->len);
    assert_true(op->caplen == 0 || op->data != NULL);
    if (s->n < 64) {
        s->op[s->n] = *op;
        if (op->connect) {
            s->connect[s->n] = *op->connect;
            s->op[s->n].connect = &s->connect[s->n];
        }
        memset(s->data[s->n], 0, sizeof(s->data[s->n]));
        if (caplen > 0) /* every byte is read, so that ASan sees a wrong length */
            memcpy(s->data[s->n], data, caplen < 2048 ? caplen : 2048);
    }
    s->n++;
}

static void seen_finding(void *context, const struct rpcrdma_finding *finding)
{
    struct seen *s = context;

    if (s->n_findings < 64)
        s->finding[s->n_findings] = *finding;
    s->n_findings++;
}

static void seen_segment(void *context, const struct rpcrdma_tcp_segment *segment)
{
    struct seen *s = context;

    if (s->segments < 64)
        s->begins[s->segments] = segment->begins;
    s->segments++;
}

static inline struct seen *seen_new(const struct rpcrdma_net_config *config)
{
    struct seen *s = calloc(1, sizeof(*s));
    struct rpcrdma_net_sink sink = {
        .op = seen_op, .finding = seen_finding, .segment = seen_segment, .context = s};

    assert_non_null(s);
    s->net = rpcrdma_net_new(config, &sink);
    assert_non_null(s->net);
    return s;
}

/* So many packets of the capture are none that net/ is given. */
static inline void seen_others(struct seen *s, uint64_t n)
{
    s->frame += n;
    s->others += n;
}

/* Each packet was counted once. */
static inline void seen_free(struct seen *s)
{
    const struct rpcrdma_net_stats *t = rpcrdma_net_stats(s->net);

    assert_int_equal(t->packets, s->frame - s->others);
    assert_int_equal(t->packets,
                     t->rdma + t->fragments + t->truncated + t->unknown_link + t->other);
    rpcrdma_net_free(s->net);
    free(s);
}

/* Gives a packet, of which caplen bytes were captured, in a block of exactly so many bytes. */
static inline void give_cut(struct seen *s, uint32_t linktype, const uint8_t *bytes, size_t caplen,
                            size_t len)
{
    uint8_t *copy = heap_copy(bytes, caplen);
    struct rpcrdma_packet packet = {
        .frame = ++s->frame,
        .time_ns = (int64_t)s->frame * 1000 + s->later_ns,
        .linktype = linktype,
        .caplen = (uint32_t)caplen,
        .len = (uint32_t)len,
        .data = copy,
    };

    rpcrdma_net_packet(s->net, &packet);
    free(copy);
}

static inline void give(struct seen *s, uint32_t linktype, const struct bytes *b)
{
    give_cut(s, linktype, b->at, b->n, b->n);
}

/* What n bytes at p would be read as, in big-endian order. */
static inline uint64_t get(const uint8_t *p, size_t n)
{
    uint64_t value = 0;

    while (n-- > 0)
        value = value << 8 | *p++;
    return value;
}

#endif
