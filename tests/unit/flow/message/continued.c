/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages in several Sends: in order, with something in between, and not to their end. */
#include "v2_rig.h"

static void part(bool from_a, enum rpcrdma_kind kind, uint32_t xid, uint32_t remaining,
                 const uint8_t *data, uint32_t n)
{
    struct rpcrdma_message m = message(RPCRDMA_IETF_07, kind, xid);

    m.remaining = remaining;
    m.payload = (struct rpcrdma_span){.data = data, .caplen = n, .len = n};
    send(from_a, &m);
}

static void continued(void **state)
{
    (void)state;
    for (int reading = 0; reading < 2; reading++) {
        struct rpcrdma_span p = call_payload(7, 2960); /* 3000 */

        begin(NULL);
        assert_int_equal(p.len, 3000);
        part(true, RPCRDMA_KIND_CALL_MIDDLE, 7, reading ? 3000 : 2000, rpc, 1000);
        part(true, RPCRDMA_KIND_CALL_MIDDLE, 7, reading ? 2000 : 500, rpc + 1000, 1500);
        part(true, RPCRDMA_KIND_CALL_INLINE, 7, 0, rpc + 2500, 500);
        p = reply_payload(7, 1000);
        part(false, RPCRDMA_KIND_REPLY_MIDDLE, 7, reading ? p.len : p.len - 500, rpc, 500);
        part(false, RPCRDMA_KIND_REPLY_INLINE, 7, 0, rpc + 500, p.len - 500);
        talk(RPCRDMA_IETF_07, 8);
        rig_end(&rig);
        assert_int_equal(rig.messages, 7);
        for (uint32_t i = 0; i < 5; i++) {
            assert_int_equal(rig.message[i].part, i < 3 ? i + 1 : i - 2);
            assert_int_equal(rig.message[i].n_rules, 0);
            assert_int_equal(rig.message[i].program, 100003);
            assert_int_equal(rig.message[i].has_rpc, i == 0 || i == 3);
            assert_int_equal(rig.message[i].has_call, i != 0);
        }
        assert_int_equal(rig.message[5].part, 0);
        assert_int_equal(rig.findings, 0);
    }
}

/* A part is "a beginning or middle portion of an RPC Call message" (ietf-07 section 6.3.6), however
 * short: what of the RPC header the next part has is neither malformed nor cut. */
static void part_ends_in_rpc_header(void **state)
{
    (void)state;
    begin(NULL);
    for (uint32_t n = 0; n <= 48; n++) {
        struct rpcrdma_span p = call_payload(n + 1, 60);

        part(true, RPCRDMA_KIND_CALL_MIDDLE, n + 1, p.len - n, rpc, n);
        part(true, RPCRDMA_KIND_CALL_INLINE, n + 1, 0, rpc + n, p.len - n);
        p = reply_payload(n + 1, 60);
        part(false, RPCRDMA_KIND_REPLY_MIDDLE, n + 1, p.len - n, rpc, n);
        part(false, RPCRDMA_KIND_REPLY_INLINE, n + 1, 0, rpc + n, p.len - n);
    }
    rig_end(&rig);
    assert_int_equal(rig.messages, 4 * 49);
    for (uint32_t i = 0; i < rig.messages; i++)
        assert_int_equal(rig.message[i].n_rules, 0);
    assert_int_equal(rig.findings, 0);
    /* all of the whole is there: now it is malformed */
    begin(NULL);
    call_payload(7, 0);
    part(true, RPCRDMA_KIND_CALL_MIDDLE, 7, 4, rpc, 12);
    rpc[11]++; /* rpcvers */
    part(true, RPCRDMA_KIND_CALL_MIDDLE, 8, 4, (rpc[3] = 8, rpc), 12);
    rig_end(&rig);
    assert_int_equal(rig.message[0].n_rules, 0);
    assert_int_equal(rig.message[1].n_rules, 2);
    assert_int_equal(rig.message[1].rules[1], RPCRDMA_RULE_MALFORMED_RPC);
}

static void continued_wrong(void **state)
{
    (void)state;
    /* remaining does not fit */
    begin(NULL);
    call_payload(7, 2960);
    part(true, RPCRDMA_KIND_CALL_MIDDLE, 7, 2000, rpc, 1000);
    part(true, RPCRDMA_KIND_CALL_INLINE, 7, 0, rpc + 1000, 1992);
    rig_end(&rig);
    assert_int_equal(rig.message[1].rules[0], RPCRDMA_RULE_REMAINING);

    /* another Call, a GRANT between; the parts' sequence ends with the first, not with the second
     */
    begin(NULL);
    call_payload(7, 2960);
    part(true, RPCRDMA_KIND_CALL_MIDDLE, 7, 2000, rpc, 1000);
    {
        struct rpcrdma_message m = message(RPCRDMA_IETF_07, RPCRDMA_KIND_GRANT, 0);

        send(true, &m);
    }
    part(true, RPCRDMA_KIND_CALL_INLINE, 7, 0, rpc + 1000, 2000);
    part(false, RPCRDMA_KIND_REPLY_MIDDLE, 7, 100, (reply_payload(7, 172), rpc), 96);
    talk(RPCRDMA_IETF_07, 8);
    rig_end(&rig);
    assert_int_equal(rig.messages, 6);
    assert_int_equal(rig.message[1].rules[0], RPCRDMA_RULE_CONTINUED_CALL);
    assert_int_equal(rig.message[2].n_rules, 0);
    assert_int_equal(rig.message[2].part, 2);
    assert_int_equal(rig.message[5].rules[0], RPCRDMA_RULE_CONTINUED_REPLY);
    assert_int_equal(rig.message[5].part, 0);
}

/* The capture cut the header of a part: what it says is still to come, and how much it has of it.
 */
static void part_cut(void **state)
{
    (void)state;
    for (uint32_t which = 0; which < 3; which++) {
        begin(NULL);
        call_payload(7, 2960);
        for (uint32_t i = 0; i < 3; i++) {
            const uint32_t at = i * 1000;
            struct rpcrdma_message m = message(
                RPCRDMA_IETF_07, i < 2 ? RPCRDMA_KIND_CALL_MIDDLE : RPCRDMA_KIND_CALL_INLINE, 7);
            uint8_t buf[2048];
            struct rpcrdma_op op = rig_op(&rig, RPCRDMA_OP_SEND, &a, &b, a.psn);
            size_t n;

            m.remaining = 2000 - at;
            m.payload = (struct rpcrdma_span){.data = rpc + at, .caplen = 1000, .len = 1000};
            assert_int_equal(rpcrdma_message_encode(&m, buf, sizeof(buf), &n), RPCRDMA_OK);
            op.flags = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST;
            op.data = buf;
            op.len = (uint32_t)n;
            op.caplen = i == which ? 16 : (uint32_t)n;
            rig_feed(&rig, &op);
            a.psn++;
        }
        rig_end(&rig);
        assert_int_equal(rig.messages, 3);
        assert_int_equal(rig.message[2].part, 3);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_REMAINING), 0);
    }
}

/* The last part never comes: the connection ends before, or goes on without it for long. Where the
 * capture ends before, it may have come after that. */
static void unfinished(void **state)
{
    enum { DISCONNECTED, GOES_ON, CAPTURE_ENDS, WAYS };

    (void)state;
    for (int way = 0; way < WAYS; way++) {
        begin(NULL);
        call_payload(7, 2960);
        part(true, RPCRDMA_KIND_CALL_MIDDLE, 7, 2000, rpc, 1000);
        rig_ack(&rig, &b, &a, a.psn - 1);
        rig.time_ns += INT64_C(31000000000);
        if (way == DISCONNECTED)
            rig_disconnect(&rig, &a, &b);
        if (way == GOES_ON) {
            struct rpcrdma_message m = message(RPCRDMA_IETF_07, RPCRDMA_KIND_GRANT, 0);

            send(false, &m);
        }
        rig_end(&rig);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CONTINUED_UNFINISHED), way != CAPTURE_ENDS);
    }
}

/* RDMA2_F_MORE of the flags family. */
static void continued_by_flag(void **state)
{
    struct rpcrdma_message m;

    (void)state;
    begin(NULL);
    m = message(RPCRDMA_IETF_02, RPCRDMA_KIND_GRANT, 0); /* no other dialect has one */
    send(true, &m);
    m = message(RPCRDMA_IETF_02, RPCRDMA_KIND_MSG, 7);
    m.flags = m.dialect->flag_more;
    m.payload = call_payload(7, 960);
    m.payload.caplen = m.payload.len = 500;
    send(true, &m);
    m.flags = 0;
    m.payload.data = rpc + 500;
    send(true, &m);
    talk(RPCRDMA_IETF_02, 8);
    rig_end(&rig);
    assert_int_equal(rig.messages, 5);
    assert_int_equal(rig.message[1].part, 1);
    assert_true(rig.message[1].has_rpc);
    assert_int_equal(rig.message[2].part, 2);
    assert_false(rig.message[2].has_rpc);
    assert_int_equal(rig.message[3].part, 0);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(rig.message[i].dialect, RPCRDMA_IETF_02);
        assert_int_equal(rig.message[i].n_rules, 0);
    }
}

/* Something else of the same sender between the parts, or in their place, by what was begun. */
static void interrupted(void **state)
{
    static const struct {
        enum rpcrdma_dialect_id dialect;
        enum rpcrdma_kind kind;
        bool more; /* by flag */
        enum rpcrdma_rule_id rule;
    } begun[] = {
        {RPCRDMA_IETF_07, RPCRDMA_KIND_CONNPROP_MIDDLE, false, RPCRDMA_RULE_CONTINUED_PROPERTIES},
        {RPCRDMA_IETF_02, RPCRDMA_KIND_MSG, true, RPCRDMA_RULE_CONTINUED_MORE},
        {RPCRDMA_IETF_02, RPCRDMA_KIND_CONNPROP, true, RPCRDMA_RULE_CONTINUED_TPMORE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(begun) / sizeof(begun[0]); i++) {
        const struct rpcrdma_flow_config config = {.dialect = rpcrdma_dialect(begun[i].dialect)};
        const struct rpcrdma_property p = number(1, 8192);
        struct rpcrdma_message m = message(begun[i].dialect, begun[i].kind, 7);

        begin(&config);
        if (begun[i].kind == RPCRDMA_KIND_MSG) {
            m.payload = call_payload(7, 960);
            m.payload.caplen = m.payload.len = 500;
            m.flags = m.dialect->flag_more;
        } else {
            m.properties = set(&p, 1);
            m.flags = begun[i].more ? m.dialect->flag_tpmore : 0;
        }
        send(true, &m);
        talk(begun[i].dialect, 8);
        talk(begun[i].dialect, 9); /* said once: what was begun is over */
        rig_end(&rig);
        assert_int_equal(rig.messages, 5);
        assert_int_equal(rig.message[0].part, 1);
        assert_int_equal(rig.message[0].n_rules, 0);
        assert_int_equal(rig.message[1].n_rules, 1);
        assert_int_equal(rig.message[1].rules[0], begun[i].rule);
        assert_int_equal(rig.message[1].part, 0);
        for (size_t k = 2; k < 5; k++)
            assert_int_equal(rig.message[k].n_rules, 0);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CONTINUED_UNFINISHED), 0);
    }
}

/* Parts that the capture lost are no fault of the sender. */
/* An error answered the first part: its sender is free to go on with another Call, with the same
 * from its beginning, or with nothing. */
static void refused_part(void **state)
{
    enum { NOTHING, ANOTHER, AGAIN, WAYS };

    (void)state;
    for (int way = 0; way < WAYS; way++) {
        struct rpcrdma_message m = message(RPCRDMA_IETF_07, RPCRDMA_KIND_ERROR, 7);

        begin(NULL);
        talk(RPCRDMA_IETF_07, 6);
        call_payload(7, 2960);
        part(true, RPCRDMA_KIND_CALL_MIDDLE, 7, 2000, rpc, 1000);
        m.error = (struct rpcrdma_error){.code = 3, .body = RPCRDMA_ERROR_CANT_REPLY};
        send(false, &m);
        if (way == ANOTHER) {
            talk(RPCRDMA_IETF_07, 8);
        } else if (way == AGAIN) {
            call_payload(7, 2960);
            part(true, RPCRDMA_KIND_CALL_MIDDLE, 7, 2000, rpc, 1000);
            part(true, RPCRDMA_KIND_CALL_INLINE, 7, 0, rpc + 1000, 2000);
            assert_int_equal(rig.message[4].part, 1);
            assert_int_equal(rig.message[5].part, 2);
            assert_true(rig.message[4].has_rpc);
            m = message(RPCRDMA_IETF_07, RPCRDMA_KIND_REPLY_INLINE, 7);
            m.payload = reply_payload(7, 0);
            send(false, &m);
            assert_true(rig.message[6].has_call);
        }
        rig_disconnect(&rig, &a, &b);
        rig_end(&rig);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CONTINUED_CALL), 0);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CONTINUED_UNFINISHED), 0);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_REMAINING), 0);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_REPLY_AFTER_ERROR_2), 0);
    }
}

/* An item in a Read chunk is not in the last part's payload: how much is missing there says
 * nothing. Without chunks it does. */
static void last_part_is_reduced(void **state)
{
    static const struct rpcrdma_read_segment item = {.position = 1500, .segment = {77, 1000, 4096}};

    (void)state;
    for (uint32_t chunks = 0; chunks < 2; chunks++) {
        struct rpcrdma_message m;

        begin(NULL);
        m = message(RPCRDMA_IETF_07, RPCRDMA_KIND_CALL_INLINE, 7);
        call_payload(7, 2960);
        part(true, RPCRDMA_KIND_CALL_MIDDLE, 7, 2000, rpc, 1000);
        m.read.segments = &item;
        m.read.count = chunks;
        m.payload = (struct rpcrdma_span){.data = rpc + 1000, .caplen = 900, .len = 900};
        send(true, &m);
        rig_end(&rig);
        assert_int_equal(rig.messages, 2);
        assert_int_equal(rig.message[1].part, 2);
        assert_int_equal(rig.message[1].n_rules, 1 - chunks);
    }
}

static void lost_part(void **state)
{
    (void)state;
    begin(NULL);
    call_payload(7, 2960);
    part(true, RPCRDMA_KIND_CALL_MIDDLE, 7, 2000, rpc, 1000);
    a.psn++;
    part(true, RPCRDMA_KIND_CALL_INLINE, 7, 0, rpc + 2000, 1000);
    rig_ack(&rig, &b, &a, a.psn - 1);
    rig.time_ns += FLOW_ADMISSION_NS;
    talk(RPCRDMA_IETF_07, 8);
    rig_end(&rig);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_PACKETS_LOST), 1);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CONTINUED_CALL), 0);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CONTINUED_UNFINISHED), 0);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_REMAINING), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(continued),
        cmocka_unit_test(part_cut),
        cmocka_unit_test(part_ends_in_rpc_header),
        cmocka_unit_test(continued_wrong),
        cmocka_unit_test(unfinished),
        cmocka_unit_test(continued_by_flag),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(last_part_is_reduced),
        cmocka_unit_test(lost_part),
        cmocka_unit_test(refused_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
