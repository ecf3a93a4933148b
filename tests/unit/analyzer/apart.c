/* SPDX-License-Identifier: BSD-2-Clause */
/* How far the clocks of two directions are apart: packets that are answered before they pass. */
#include "test.h"

#include "analyzer/apart.h"

#define MS INT64_C(1000000)
#define RTT (MS / 10)
#define EACH (2 * MS) /* from a message to the next */

static const struct rpcrdma_address client = {RPCRDMA_ADDRESS_IPV4, {10, 0, 0, 1}},
                                    server = {RPCRDMA_ADDRESS_IPV4, {10, 0, 0, 2}};
static struct apart apart;

static int begin(void **state)
{
    (void)state;
    memset(&apart, 0, sizeof(apart));
    return 0;
}

static void op(uint8_t kind, bool to_server, uint32_t psn, int64_t time_ns)
{
    struct rpcrdma_op one = {.kind = kind,
                             .flags = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST,
                             .seq = psn & 0xffffff,
                             .time_ns = time_ns,
                             .src = to_server ? client : server,
                             .dst = to_server ? server : client};

    apart_ops(&apart, &one, 1);
}

/* The i-th message, and its Ack, with times of the clocks that they have. */
static void message(bool to_server, uint32_t i, int64_t server_late_ns)
{
    int64_t sent_ns = i * EACH, acked_ns = sent_ns + RTT;

    *(to_server ? &acked_ns : &sent_ns) += server_late_ns;
    if (sent_ns <= acked_ns)
        op(RPCRDMA_OP_SEND, to_server, 1000 + i, sent_ns);
    op(RPCRDMA_OP_ACK, !to_server, 1000 + i, acked_ns);
    if (sent_ns > acked_ns)
        op(RPCRDMA_OP_SEND, to_server, 1000 + i, sent_ns);
}

static void messages(uint32_t n, int64_t server_late_ns)
{
    for (uint32_t i = 0; i < n; i++) {
        message(true, i, server_late_ns);
        message(false, i, server_late_ns);
    }
}

static void one_clock(void **state)
{
    (void)state;
    messages(100, 0);
    assert_int_equal(apart_tell(&apart)->ns, 0);
    assert_false(apart_tell(&apart)->too_far);
}

static void the_server_late(void **state)
{
    const struct rpcrdma_apart *told;

    (void)state;
    messages(100, 50 * MS);
    told = apart_tell(&apart);
    assert_int_equal(told->ns, 50 * MS - RTT);
    assert_int_equal(told->packets, 100);
    assert_memory_equal(&told->late, &server, sizeof(server));
    assert_memory_equal(&told->early, &client, sizeof(client));
    assert_true(told->too_far);
}

static void the_server_early(void **state)
{
    const struct rpcrdma_apart *told;

    (void)state;
    messages(100, -5 * MS);
    told = apart_tell(&apart);
    assert_int_equal(told->ns, 5 * MS - RTT);
    assert_memory_equal(&told->late, &client, sizeof(client));
    assert_false(told->too_far); /* what answers is put behind what it answers */
}

/* Less than the way takes does not show. */
static void less_than_the_way(void **state)
{
    (void)state;
    messages(100, RTT / 2);
    assert_int_equal(apart_tell(&apart)->ns, 0);
}

static void responses(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        op(RPCRDMA_OP_READ_RESPONSE, true, i, i * EACH);
        op(RPCRDMA_OP_READ_REQUEST, false, i, i * EACH + 30 * MS);
    }
    assert_int_equal(apart_tell(&apart)->ns, 30 * MS);
}

/* Four may be captured in the wrong order; and of many more may. */
static void few(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        message(false, i, 50 * MS);
    assert_int_equal(apart_tell(&apart)->ns, 0);
    for (uint32_t i = 4; i < 100; i++)
        message(false, i, i % 5 == 0 ? 50 * MS : 0);
    assert_int_equal(apart_tell(&apart)->ns, 0);
}

/* In the wrong order are packets of both directions: that is no clock. */
static void both_early(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        message(true, i, -50 * MS);
        message(false, i, 50 * MS);
    }
    assert_int_equal(apart_tell(&apart)->ns, 0);
}

/* The clients of a server, with lower addresses than its and with higher ones. */
static void several_clients(void **state)
{
    struct rpcrdma_address others = client;

    (void)state;
    for (uint32_t i = 0; i < 2000; i++) {
        struct rpcrdma_op one = {.flags = RPCRDMA_OP_LAST, .seq = i / 100, .src = server};

        others.bytes[3] = (uint8_t)(i % 100 < 50 ? 100 + i % 50 : i % 50);
        others.bytes[2] = i % 100 < 50;
        one.dst = others;
        one.time_ns = i * EACH + 50 * MS;
        apart_ops(&apart, &one, 1);
        one.kind = RPCRDMA_OP_ACK;
        one.src = others;
        one.dst = server;
        one.time_ns = i * EACH + RTT;
        apart_ops(&apart, &one, 1);
    }
    assert_int_equal(apart_tell(&apart)->ns, 50 * MS - RTT);
    assert_memory_equal(&apart_tell(&apart)->late, &server, sizeof(server));
}

/* What comes again is no new packet: neither an Ack behind its message, nor a message behind it. */
static void again(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        message(true, i, 0);
        op(RPCRDMA_OP_ACK, false, 1000 + i, i * EACH + 50 * MS);
        op(RPCRDMA_OP_SEND, true, 1000 + i, i * EACH + 100 * MS);
    }
    assert_int_equal(apart_tell(&apart)->ns, 0);
}

/* Others have the same PSN by chance: of another connection, long after. */
static void by_chance(void **state)
{
    (void)state;
    messages(100, 50 * MS);
    for (uint32_t i = 0; i < 3; i++) {
        op(RPCRDMA_OP_ACK, true, 5000 + i, 0);
        op(RPCRDMA_OP_SEND, false, 5000 + i, 3600 * 1000 * MS);
    }
    assert_int_equal(apart_tell(&apart)->ns, 50 * MS - RTT);
}

/* All of one direction passes, more than the table has room for, and then the other. */
static void one_behind_the_other(void **state)
{
    enum { N = 1 << 20 };
    const int64_t late_ns = 12000 * MS, each = MS / 100;

    (void)state;
    for (uint32_t i = 0; i < N; i++)
        op(RPCRDMA_OP_ACK, true, i, i * each + RTT);
    for (uint32_t i = 0; i < N; i++)
        op(RPCRDMA_OP_SEND, false, i, i * each + late_ns);
    assert_int_equal(apart_tell(&apart)->ns, late_ns - RTT);
    assert_true(apart.mask > 0xff00);
}

/* Of very many few are looked at: what each costs is in the others. */
static void looks_less(void **state)
{
    (void)state;
    messages(1 << 20, 50 * MS);
    assert_int_equal(apart.mask, 0xff00);
    assert_int_equal(apart_tell(&apart)->ns, 50 * MS - RTT);
    assert_between(apart_tell(&apart)->packets, 4096, 8192);
}

static void segment(bool to_server, uint32_t seq, uint32_t len, uint32_t ack, int64_t time_ns)
{
    apart_segment(&apart, &(struct rpcrdma_tcp_segment){.time_ns = time_ns,
                                                        .src = to_server ? client : server,
                                                        .dst = to_server ? server : client,
                                                        .src_port = to_server ? 1000 : 20049,
                                                        .dst_port = to_server ? 20049 : 1000,
                                                        .seq = seq,
                                                        .len = len,
                                                        .ack = ack,
                                                        .has_ack = true});
}

/* Acknowledged before they pass; the other direction's acknowledgements stay what they are. */
static void segments(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        segment(true, 1, 0, 1000 + 200 * (i + 1), i * EACH + RTT);
        segment(false, 1000 + 200 * i, 200, 1, i * EACH + 15 * MS);
    }
    assert_int_equal(apart_tell(&apart)->ns, 15 * MS - RTT);
    assert_memory_equal(&apart_tell(&apart)->late, &server, sizeof(server));
    assert_true(apart_tell(&apart)->too_far); /* TCP's are put in order for 10 ms */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_clock, begin),
        cmocka_unit_test_setup(the_server_late, begin),
        cmocka_unit_test_setup(the_server_early, begin),
        cmocka_unit_test_setup(less_than_the_way, begin),
        cmocka_unit_test_setup(responses, begin),
        cmocka_unit_test_setup(few, begin),
        cmocka_unit_test_setup(both_early, begin),
        cmocka_unit_test_setup(several_clients, begin),
        cmocka_unit_test_setup(again, begin),
        cmocka_unit_test_setup(by_chance, begin),
        cmocka_unit_test_setup(one_behind_the_other, begin),
        cmocka_unit_test_setup(looks_less, begin),
        cmocka_unit_test_setup(segments, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
