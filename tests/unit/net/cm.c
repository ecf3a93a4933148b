/* SPDX-License-Identifier: BSD-2-Clause */
/* CM messages to QP 1, whole and cut. */
#include "packet.h"

enum { CM_OFF = 14 + 20 + 8 + 12 + 8 + 24, CM_BYTES = 232 };

/* A MAD with this attribute; every byte of the message is its offset, plus 1. */
static void build(struct bytes *b, uint16_t attribute)
{
    b->n = 0;
    put_ethernet(b, 0x0800);
    put_ipv4(b, 17, 8 + 12 + 8 + 256 + 4);
    put_udp(b, 4791, 12 + 8 + 256 + 4);
    put_bth(b, 0x64, 0, 1, 7);
    put(b, 0x8001000000000001, 8);
    put(b, 0x01070203, 4);
    put(b, 0, 4);
    put(b, 0x0123456789abcdef, 8);
    put(b, attribute, 2);
    put(b, 0, 6);
    assert_int_equal(b->n, CM_OFF);
    for (unsigned i = 1; i <= CM_BYTES; i++)
        put(b, i, 1);
    put(b, 0, 4);
}

/* The n bytes that stand at off of every message. */
static uint64_t at(size_t off, size_t n)
{
    uint8_t p[8];

    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(off + i + 1);
    return get(p, n);
}

static const struct {
    uint16_t attribute;
    uint8_t kind;
    int remote, qpn, remote_qpn, psn, private_data;
} messages[] = {
    {0x10, RPCRDMA_OP_CONNECT, -1, 32, -1, 44, 140},
    {0x12, RPCRDMA_OP_REJECT, 4, -1, -1, -1, 84},
    {0x13, RPCRDMA_OP_ACCEPT, 4, 12, -1, 20, 36},
    {0x14, RPCRDMA_OP_ESTABLISHED, 4, -1, -1, -1, 8},
    {0x15, RPCRDMA_OP_DISCONNECT, 4, -1, 8, -1, 12},
    {0x16, RPCRDMA_OP_DISCONNECT, 4, -1, -1, -1, 8},
};

static void cut_at_every_byte(void **state)
{
    struct bytes b;

    (void)state;
    for (size_t m = 0; m < sizeof(messages) / sizeof(messages[0]); m++) {
        build(&b, messages[m].attribute);
        for (size_t caplen = CM_OFF - 24; caplen <= b.n; caplen++) {
            struct seen *s = seen_new(NULL);
            const struct rpcrdma_op *op = &s->op[0];
            const struct rpcrdma_op_connect *c = &s->connect[0];
            size_t have = caplen < CM_OFF              ? 0
                          : caplen - CM_OFF > CM_BYTES ? CM_BYTES
                                                       : caplen - CM_OFF;
            size_t private_off = (size_t)messages[m].private_data;

            give_cut(s, 1, b.at, caplen, b.n);
            if (caplen < CM_OFF) {
                assert_int_equal(s->n, 0);
                assert_int_equal(rpcrdma_net_stats(s->net)->truncated, 1);
                seen_free(s);
                continue;
            }
            assert_int_equal(s->n, 1);
            assert_int_equal(op->kind, messages[m].kind);
            assert_int_equal(op->dst_qpn, 1);
            assert_non_null(op->connect);
            assert_int_equal(!!(op->flags & RPCRDMA_OP_TRUNCATED), have < CM_BYTES);
            assert_int_equal(c->local_comm_id, have >= 4 ? at(0, 4) : 0);
#define CHECK(member, off, n)                                                                      \
    assert_int_equal(c->member,                                                                    \
                     (off) >= 0 && have >= (size_t)((off) + (n)) ? at((size_t)(off), n) : 0)
            CHECK(remote_comm_id, messages[m].remote, 4);
            CHECK(qpn, messages[m].qpn, 3);
            CHECK(remote_qpn, messages[m].remote_qpn, 3);
            CHECK(start_psn, messages[m].psn, 3);
            assert_int_equal(c->drep, messages[m].attribute == 0x16);
            assert_int_equal(c->has_start_psn,
                             messages[m].psn >= 0 && have >= (size_t)(messages[m].psn + 3));
            if (messages[m].attribute == 0x10)
                CHECK(service_id, 8, 8);
            if (messages[m].attribute == 0x12)
                CHECK(reason, 10, 2);
            assert_int_equal(c->private_len, CM_BYTES - private_off);
            assert_int_equal(c->private_caplen, have > private_off ? have - private_off : 0);
            for (size_t i = 0; i < c->private_caplen; i++)
                assert_int_equal(s->data[0][i], (uint8_t)(private_off + i + 1));
            seen_free(s);
        }
    }
}

/* Bytes behind the MAD's 256 are not its message's. */
static void longer_than_a_mad(void **state)
{
    struct seen *s = seen_new(NULL);
    struct bytes b;

    (void)state;
    build(&b, 0x10);
    set(&b, 16, get(b.at + 16, 2) + 40, 2);
    set(&b, 38, get(b.at + 38, 2) + 40, 2);
    put_fill(&b, 0xee, 40);
    give(s, 1, &b);
    assert_int_equal(s->n, 1);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_CONNECT);
    assert_int_equal(s->connect[0].private_len, CM_BYTES - 140);
    assert_int_equal(s->connect[0].private_caplen, CM_BYTES - 140);
    seen_free(s);
}

static void service_port_and_mtu(void **state)
{
    static const struct {
        uint64_t id;
        uint16_t port;
    } ids[] = {{0x0000000001064e51, 20049},
               {0x000000000111012f, 0x012f},
               {0x0000000002064e51, 0},
               {0x1000000001064e51, 0},
               {0x0002c90300a1b2c3, 0}};
    static const uint32_t mtu[] = {0, 256, 512, 1024, 2048, 4096, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct seen *s = seen_new(NULL);
    struct bytes b;

    (void)state;
    build(&b, 0x10);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        set(&b, CM_OFF + 8, ids[i].id, 8);
        s->n = 0;
        give(s, 1, &b);
        assert_int_equal(s->connect[0].service_id, ids[i].id);
        assert_int_equal(s->connect[0].port, ids[i].port);
    }
    for (unsigned code = 0; code < 16; code++) {
        b.at[CM_OFF + 50] = (uint8_t)(code << 4 | 7);
        s->n = 0;
        give(s, 1, &b);
        assert_int_equal(s->connect[0].path_mtu, mtu[code]);
    }
    seen_free(s);
}

/* What is no message of a connection's life leaves no operation and is no error. */
static void ignored(void **state)
{
    static const struct {
        size_t off;
        uint64_t value;
        size_t n;
    } changes[] = {
        {CM_OFF - 8, 0x0011, 2},                         /* MRA */
        {CM_OFF - 8, 0x0017, 2},                         /* SIDR REQ */
        {CM_OFF - 8, 0x0018, 2},                         /* SIDR REP */
        {CM_OFF - 8, 0x0019, 2},                         /* LAP */
        {CM_OFF - 8, 0xffff, 2},    {CM_OFF - 24, 2, 1}, /* base version */
        {CM_OFF - 23, 3, 1},                             /* subnet administration */
        {CM_OFF - 22, 1, 1},                             /* class version */
        {CM_OFF - 21, 0x81, 1},                          /* GetResp */
        {14 + 28 + 5, 0x000011, 3},                      /* a datagram to another QP */
    };
    struct seen *s = seen_new(NULL);
    struct bytes b;

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        build(&b, 0x10);
        set(&b, changes[i].off, changes[i].value, changes[i].n);
        give(s, 1, &b);
    }
    /* too short for a MAD */
    build(&b, 0x10);
    set(&b, 16, 20 + 8 + 12 + 8 + 100 + 4, 2);
    set(&b, 38, 8 + 12 + 8 + 100 + 4, 2);
    give(s, 1, &b);
    assert_int_equal(s->n, 0);
    assert_int_equal(s->n_findings, 0);
    assert_int_equal(rpcrdma_net_stats(s->net)->rdma, s->frame);
    seen_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(longer_than_a_mad),
        cmocka_unit_test(service_port_and_mtu),
        cmocka_unit_test(ignored),
    };

    return cmocka_run_group_tests_name("cm", tests, NULL, NULL);
}
