/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends that are not whole, too long, or contradict themselves; what is said of them, and that what
 * follows is not harmed. */
#include "pair.h"

#include "wire/message.h"

static int setup(void **state)
{
    (void)state;
    a = RIG_A;
    b = RIG_B;
    rig_begin_connected(&rig, &a, &b);
    return 0;
}

/* The capture begins in the middle of a Send. */
static void without_beginning(void **state)
{
    uint8_t buf[256];

    (void)state;
    rig_send_call(&rig, &a, &b, 1);
    rig_packet(&rig, &a, &b, a.psn, 0, buf, sizeof(buf));
    a.psn++;
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_SEND_START_MISSING), 0); /* its end may tell */
    rig_packet(&rig, &a, &b, a.psn, RPCRDMA_OP_LAST, buf, sizeof(buf));
    a.psn++;
    rig_send_call(&rig, &a, &b, 2);
    rig_end(&rig);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_SEND_START_MISSING), 1);
    assert_int_equal(rig.finding[0].connection, 1);
    assert_int_equal(rig.messages, 2);
}

/* Nor is the connection known yet: of the Send that was begun nothing is in the next. */
static void without_end_or_connection(void **state)
{
    enum { PACKETS = 3 };
    static uint8_t buf[RIG_PMTU * PACKETS];
    uint32_t n = rig_call(buf, 2, 100003, sizeof(buf) - 68);

    (void)state;
    rig_end(&rig);
    rig_begin(&rig, NULL);
    rig_packet(&rig, &a, &b, a.psn, RPCRDMA_OP_FIRST, buf, RIG_PMTU);
    a.psn += PACKETS + 2; /* its end, and more, were not captured */
    rig_send(&rig, &a, &b, buf, n);
    rig_end(&rig);
    assert_int_equal(rig.messages, 1);
    assert_int_equal(rig.message[0].first_frame, 2);
    assert_int_equal(rig.message[0].len, n);
    assert_int_equal(rig.message[0].caplen, n);
    assert_int_equal(rig.message[0].xid, 2);
    assert_int_equal(rig.message[0].program, 100003);
}

/* More than a Send can hold here: what was captured of it is decoded, its length is right. */
static void too_long(void **state)
{
    static uint8_t block[RIG_PMTU * 4];
    enum { PACKETS = FLOW_SEND_MAX / sizeof(block) + 3 };
    uint32_t n = rig_call(block, 7, 100003, sizeof(block) - 68);

    (void)state;
    assert_int_equal(n, sizeof(block));
    for (uint32_t i = 0; i < PACKETS; i++) {
        rig_packet(&rig, &a, &b, a.psn,
                   (i == 0 ? RPCRDMA_OP_FIRST : 0u) | (i + 1 == PACKETS ? RPCRDMA_OP_LAST : 0u),
                   block, sizeof(block));
        a.psn++;
    }
    rig_send_call(&rig, &a, &b, 8);
    rig_end(&rig);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_SEND_TOO_LONG), 1);
    assert_int_equal(rig.messages, 2);
    assert_int_equal(rig.message[0].xid, 7);
    assert_int_equal(rig.message[0].program, 100003);
    assert_int_equal(rig.message[0].caplen, FLOW_SEND_MAX);
    assert_int_equal(rig.message[0].len, PACKETS * sizeof(block));
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_TRUNCATED), 1);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_MALFORMED), 0);
}

/* The header's XID is that of the RPC message (RFC 8166 section 4.2.1; version 2, section 7.2). */
static void two_xids(void **state)
{
    uint8_t buf[256], inner[256];
    uint32_t n = rig_call(buf, 5, 100003, 0);
    const struct rpcrdma_dialect *cel = rpcrdma_dialect(RPCRDMA_CEL_00);
    struct rpcrdma_message m = {.dialect = cel, .xid = 6, .version = 2, .credits = 1};
    size_t size;

    (void)state;
    rig_word(buf + 28, 0x55); /* the RPC message's */
    rig_send(&rig, &a, &b, buf, n);
    rig_end(&rig);
    assert_int_equal(rig.messages, 1);
    assert_int_equal(rig.message[0].xid, 5);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_XID_MISMATCH), 1);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_XID_MISMATCH_2), 0);

    b = RIG_B;
    a = RIG_A;
    rig_begin(&rig, &(struct rpcrdma_flow_config){.dialect = cel});
    rig_connect(&rig, &a, &b, 20049);
    n = rig_call(inner, 0x66, 100003, 0) - 28;
    m.payload = (struct rpcrdma_span){.data = inner + 28, .caplen = n, .len = n};
    assert_int_equal(rpcrdma_message_encode(&m, buf, sizeof(buf), &size), RPCRDMA_OK);
    rig_send(&rig, &a, &b, buf, (uint32_t)size);
    rig_end(&rig);
    assert_int_equal(rig.messages, 1);
    assert_int_equal(rig.message[0].xid, 6);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_XID_MISMATCH), 0);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_XID_MISMATCH_2), 1);

    /* version 1's after that: each cites its own version */
    n = rig_call(inner, 0x66, 100003, 0);
    rig_word(inner + 28, 0x55);
    a = RIG_A;
    b = RIG_B;
    rig_begin(&rig, &(struct rpcrdma_flow_config){.dialect = cel});
    rig_connect(&rig, &a, &b, 20049);
    rig_send(&rig, &a, &b, buf, (uint32_t)size);
    rig_send(&rig, &a, &b, inner, n);
    rig_end(&rig);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_XID_MISMATCH), 1);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_XID_MISMATCH_2), 1);
}

/* A boolean that is neither 0 nor 1 (RFC 4506 section 4.4): read as true, and said. */
static void odd_boolean(void **state)
{
    uint8_t buf[256];
    uint32_t n = rig_nomsg_call(buf, 9);

    (void)state;
    rig_word(buf + 16, 2); /* that there is a read chunk */
    rig_send(&rig, &a, &b, buf, n);
    rig_end(&rig);
    assert_int_equal(rig.messages, 1);
    assert_int_equal(rig.message[0].direction, RPCRDMA_DIRECTION_CALL);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_NONCANONICAL), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_end)
    const struct CMUnitTest tests[] = {
        TEST(without_beginning), TEST(without_end_or_connection), TEST(too_long), TEST(two_xids),
        TEST(odd_boolean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
