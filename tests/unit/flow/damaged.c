/* SPDX-License-Identifier: BSD-2-Clause */
/* Which packets are in doubt: those that do not fit in where they stand, as long as it takes little
 * to sum them up. */
#include "rig.h"

enum { PORT = 20049, XID = 0x100, WITHIN = 20, BYTES = 1000 };

static struct rig rig;
static struct rig_end a, b;
static uint64_t asked;
static bool all_damaged;

static bool on_doubt(void *context, const struct rpcrdma_op *op)
{
    (void)context;
    assert_int_equal(op->frame, rig.frame);
    asked++;
    return all_damaged;
}

/* A conversation that goes on. */
static void begin(void)
{
    const struct rpcrdma_flow_config config = {.damaged = on_doubt, .delivery = true};

    a = RIG_A;
    b = RIG_B;
    all_damaged = false;
    rig_begin(&rig, &config);
    rig_connect(&rig, &a, &b, PORT);
    for (uint32_t i = 0; i < 3; i++) {
        rig_send_call(&rig, &a, &b, XID + i);
        rig_send_reply(&rig, &b, &a, XID + i);
    }
    asked = 0;
}

static void what_fits(void **state)
{
    (void)state;
    begin();
    for (uint32_t i = 0; i < WITHIN; i++) {
        rig_send_call(&rig, &a, &b, 2 * XID + i);
        rig_ack(&rig, &b, &a, a.psn - 1);
        rig_send_reply(&rig, &b, &a, 2 * XID + i);
        rig_ack(&rig, &a, &b, b.psn - 1);
    }
    assert_int_equal(asked, 0);
    rig_end(&rig);
}

/* One that is damaged is left out, and what follows it is in its place. */
static void left_out(void **state)
{
    static const int32_t by[] = {1, 100, -1, 1 << 12, -(1 << 12), 1 << 22, -(1 << 22)};
    uint8_t call[256];
    uint32_t n = rig_call(call, 2 * XID, 100003, 0);

    (void)state;
    for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
        begin();
        all_damaged = true;
        rig_packet(&rig, &a, &b, (a.psn + (uint32_t)by[i]) & 0xffffff,
                   RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST, call, n);
        assert_int_equal(asked, 1);
        rig_send_call(&rig, &a, &b, 3 * XID);
        rig_send_reply(&rig, &b, &a, 3 * XID);
        assert_int_equal(asked, 1);
        rig_end(&rig);
        assert_int_equal(rig.messages, 8);
        assert_int_equal(rig.findings, 0);
        assert_int_equal(rig.connections, 1);
    }
}

/* Of another host, to another QP, of what was not begun, of another version; an answer to what was
 * not sent; one that refuses. */
static void in_doubt(void **state)
{
    struct rig_end stranger = {9, 99, 7}, other = b;
    uint8_t call[256];
    uint32_t n = rig_call(call, 2 * XID, 100003, 0);
    struct rpcrdma_op op;

    (void)state;
    begin();
    all_damaged = true;
    other.qpn ^= 4;
    rig_packet(&rig, &a, &other, a.psn, RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST, call, n);
    assert_int_equal(asked, 1);
    rig_packet(&rig, &stranger, &b, a.psn, RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST, call, n);
    assert_int_equal(asked, 2);
    rig_packet(&rig, &a, &b, a.psn, RPCRDMA_OP_LAST, call, n);
    assert_int_equal(asked, 3);
    call[6] ^= 1;
    rig_packet(&rig, &a, &b, a.psn, RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST, call, n);
    assert_int_equal(asked, 4);
    op = rig_op(&rig, RPCRDMA_OP_READ_REQUEST, &a, &b, a.psn);
    op.flags = RPCRDMA_OP_RETH;
    op.length = 1 << 20;
    rig_feed(&rig, &op);
    assert_int_equal(asked, 5);
    rig_nak(&rig, &a, &b, b.psn, RPCRDMA_NAK_PSN_SEQUENCE);
    assert_int_equal(asked, 6);
    op = rig_op(&rig, RPCRDMA_OP_READ_RESPONSE, &a, &b, b.psn + 9);
    rig_feed(&rig, &op);
    rig_end(&rig);
    assert_int_equal(rig.messages, 6);
    assert_int_equal(rig.findings, 0);
    assert_int_equal(rig.connections, 1);
}

/* Where nothing fits in, so much is checked as is saved up, and then a part. */
static void bounded(void **state)
{
    enum { TIMES = 50000, SAVED = 1 << 20, PER_FRAME = 64 };
    uint8_t data[BYTES] = {0};

    (void)state;
    begin();
    for (uint32_t i = 0; i < TIMES; i++) /* each to a QP that was not known */
        rig_packet(&rig, &a, &(struct rig_end){2, 1000 + i, 0}, 1, RPCRDMA_OP_FIRST, data, BYTES);
    assert_true(asked > SAVED / (2 * BYTES));
    assert_true(asked * BYTES < SAVED + (uint64_t)TIMES * PER_FRAME);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits),
        cmocka_unit_test(left_out),
        cmocka_unit_test(in_doubt),
        cmocka_unit_test(bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
