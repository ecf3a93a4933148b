/* SPDX-License-Identifier: BSD-2-Clause */
/* Version 2: which dialect, versions, the effect of properties. */
#include "v2_rig.h"

#include "wire/xchar.h"

/* What sets a dialect apart from those its Calls and Replies look like. */
static void speak(enum rpcrdma_dialect_id id)
{
    const struct rpcrdma_property sizes[] = {number(1, 8192), number(2, 16384), number(3, 65536),
                                             number(4, 8)};
    const struct rpcrdma_property one[] = {number(1, 8192)};
    struct rpcrdma_message m;

    switch (id) {
    case RPCRDMA_CEL_01: {
        uint8_t info[64];
        struct rpcrdma_xchar x = {.type = RPCRDMA_XCHAR_INIT, .start = set(one, 1)};
        size_t n;

        assert_int_equal(rpcrdma_xchar_encode(&x, info, sizeof(info), &n), RPCRDMA_OK);
        m = message(id, RPCRDMA_KIND_OPTIONAL, 0);
        m.optional.type = RPCRDMA_XCHAR_INIT;
        m.optional.info =
            (struct rpcrdma_span){.data = info, .caplen = (uint32_t)n, .len = (uint32_t)n};
        send(true, &m);
        break;
    }
    case RPCRDMA_CEL_02:
        m = message(id, RPCRDMA_KIND_ERROR, 99);
        m.error = (struct rpcrdma_error){.code = 3, .body = RPCRDMA_ERROR_CANT_REPLY};
        send(false, &m);
        break;
    case RPCRDMA_CEL_03:
    case RPCRDMA_CEL_04:
        m = message(id, RPCRDMA_KIND_CONNPROP, 0);
        m.properties = set(one, 1);
        send(true, &m);
        m = message(id, RPCRDMA_KIND_ERROR, 99);
        m.error = id == RPCRDMA_CEL_03
                      ? (struct rpcrdma_error){.code = 3, .body = RPCRDMA_ERROR_SEGMENT_LENGTH}
                      : (struct rpcrdma_error){.code = 8, .body = RPCRDMA_ERROR_LENGTH};
        send(false, &m);
        break;
    case RPCRDMA_CEL_08:
        m = message(id, RPCRDMA_KIND_CONNPROP, 0);
        m.properties = set(one, 1);
        send(true, &m);
        m = message(id, RPCRDMA_KIND_ERROR, 99);
        m.error = (struct rpcrdma_error){.code = 4, .body = RPCRDMA_ERROR_MAX_CHUNKS};
        send(false, &m);
        break;
    case RPCRDMA_IETF_00:
    case RPCRDMA_IETF_01:
        m = message(id, RPCRDMA_KIND_CONNPROP, 0);
        m.properties = set(sizes, 4);
        send(true, &m);
        m = message(id, RPCRDMA_KIND_ERROR, 99);
        m.error = id == RPCRDMA_IETF_00
                      ? (struct rpcrdma_error){.code = 5, .body = RPCRDMA_ERROR_MAX_CHUNKS}
                      : (struct rpcrdma_error){.code = 6, .body = RPCRDMA_ERROR_MAX_CHUNKS};
        if (id == RPCRDMA_IETF_00)
            send(false, &m);
        if (id == RPCRDMA_IETF_01) {
            m.error = (struct rpcrdma_error){.code = 100};
            send(false, &m);
            m = message(id, RPCRDMA_KIND_CONNPROP, 0);
            m.flags = m.dialect->flag_tpmore;
            m.properties = set(sizes, 4);
            send(true, &m);
            m.flags = 0;
            send(true, &m);
        }
        break;
    case RPCRDMA_IETF_02:
        m = message(id, RPCRDMA_KIND_GRANT, 0);
        send(true, &m);
        break;
    default:
        break;
    }
}

/* Each dialect is recognised, first message and all; what cannot be told apart is named together.
 */
static void each_dialect(void **state)
{
    (void)state;
    for (int id = RPCRDMA_CEL_00; id < RPCRDMA_DIALECT_COUNT; id++) {
        uint32_t named;

        begin(NULL);
        talk((enum rpcrdma_dialect_id)id, 1);
        speak((enum rpcrdma_dialect_id)id);
        talk((enum rpcrdma_dialect_id)id, 2);
        rig_end(&rig);
        named = rig.connection[0].dialects;
        assert_true(named & 1u << id);
        if (id == RPCRDMA_IETF_01) {
            /* ietf-02 only adds GRANT */
            assert_int_equal(named, 1u << RPCRDMA_IETF_01 | 1u << RPCRDMA_IETF_02);
            assert_int_equal(rig_count(&rig, RPCRDMA_RULE_DIALECT_UNDECIDED), 1);
        } else {
            if (named != 1u << id)
                print_message("%s: %x\n", rpcrdma_dialect((enum rpcrdma_dialect_id)id)->name,
                              named);
            assert_int_equal(named, 1u << id);
            for (size_t i = 0; i < rig.messages; i++)
                assert_int_equal(rig.message[i].dialect, id);
        }
        assert_true(rig.messages >= 4);
        for (size_t i = 0; i < rig.messages; i++)
            for (size_t j = 0; j < rig.message[i].n_rules; j++)
                fail_msg("%s: message %zu: %s", rpcrdma_dialect((enum rpcrdma_dialect_id)id)->name,
                         i, rpcrdma_rule(rig.message[i].rules[j])->name);
        assert_int_equal(rig.message[0].direction, RPCRDMA_DIRECTION_CALL);
        assert_int_equal(rig.message[1].direction, RPCRDMA_DIRECTION_REPLY);
        assert_true(rig.message[1].has_call);
        assert_int_equal(rig.message[1].program, 100003);
        assert_int_equal(rig.connection[0].version, 2);
    }
}

/* An OPTIONAL message of cel-00 whose type is one of cel-01's: in the layout of cel-02 to -04 its
 * padding is not zero, so it is none of them, whatever comes later. */
static void canonical_before_known(void **state)
{
    static const uint8_t info[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    struct rpcrdma_message m;

    (void)state;
    begin(NULL);
    m = message(RPCRDMA_CEL_00, RPCRDMA_KIND_OPTIONAL, 1);
    m.optional.type = 1;
    m.optional.info =
        (struct rpcrdma_span){.data = info, .caplen = sizeof(info), .len = sizeof(info)};
    send(true, &m);
    rig_end(&rig);
    assert_int_equal(rig.connection[0].dialects, 1u << RPCRDMA_CEL_00);
    assert_int_equal(rig.messages, 1);
    assert_int_equal(rig.message[0].n_rules, 0);
}

/* Without a CM exchange, too: version 2's control messages are taken with their connection. */
static void without_cm(void **state)
{
    struct rpcrdma_message m;
    const struct rpcrdma_property p[] = {number(2, 8192)};

    (void)state;
    a = RIG_A;
    b = RIG_B;
    rig_begin(&rig, NULL);
    m = message(RPCRDMA_IETF_07, RPCRDMA_KIND_CONNPROP_FINAL, 0);
    m.properties = set(p, 1);
    send(true, &m);
    rig_ack(&rig, &b, &a, a.psn - 1);
    send(false, &m);
    assert_int_equal(rig.messages, 0);
    talk(RPCRDMA_IETF_07, 5);
    rig_end(&rig);
    assert_int_equal(rig.messages, 4);
    assert_int_equal(rig.connections, 1);
    assert_int_equal(rig.message[0].sender, RPCRDMA_ROLE_CLIENT);
    assert_int_equal(rig.connection[0].dialects, 1u << RPCRDMA_IETF_07);
    assert_int_equal(rig.connection[0].threshold_call, 4096);
    assert_int_equal(rig.connection[0].properties[0].receive_size, 8192);
}

static void overridden(void **state)
{
    const struct rpcrdma_flow_config config = {.dialect = rpcrdma_dialect(RPCRDMA_CEL_04)};

    (void)state;
    begin(&config);
    talk(RPCRDMA_IETF_02, 1);
    rig_end(&rig);
    assert_int_equal(rig.message[0].dialect, RPCRDMA_CEL_04);
    assert_int_equal(rig.findings, 0);
}

/* Types 4 to 9 alone: decoded as ietf-07, and said. */
static void undecided(void **state)
{
    struct rpcrdma_message m;

    (void)state;
    begin(NULL);
    m = message(RPCRDMA_IETF_07, RPCRDMA_KIND_ERROR, 1);
    m.error.code = 2; /* BAD_XDR, 20 bytes: no flags word; cel-00 to -04 and ietf-07 */
    send(false, &m);
    rig_end(&rig);
    assert_int_equal(rig.messages, 1);
    assert_int_equal(rig.message[0].dialect, RPCRDMA_IETF_07);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_DIALECT_UNDECIDED), 1);
    assert_true(rig.connection[0].dialects & 1u << RPCRDMA_CEL_04);
    assert_false(rig.connection[0].dialects & 1u << RPCRDMA_IETF_02);
}

/* The first messages wait for the one that decides; nothing is lost if none comes. */
static void waits(void **state)
{
    (void)state;
    begin(NULL);
    for (uint32_t i = 0; i < CONN_ADMISSION_EVENTS + 100; i++)
        talk(RPCRDMA_IETF_02, i);
    speak(RPCRDMA_IETF_02);
    rig_end(&rig);
    assert_int_equal(rig.messages, 2 * (CONN_ADMISSION_EVENTS + 100) + 1);
    for (size_t i = 0; i + 1 < rig.messages; i++)
        assert_int_equal(rig.message[i].xid, i / 2);
}

/* The server knows version 1 only: ERR_VERS, then version 1. */
static void falls_back(void **state)
{
    uint8_t buf[64];

    (void)state;
    begin(NULL);
    {
        struct rpcrdma_message m = message(RPCRDMA_IETF_07, RPCRDMA_KIND_CALL_INLINE, 1);

        m.payload = call_payload(1, 0);
        send(true, &m);
    }
    rig_word(rig_word(rig_word(rig_word(buf, 1), 1), 32), 4);
    rig_word(rig_word(rig_word(buf + 16, 1), 1), 1);
    rig_send(&rig, &b, &a, buf, 28);
    rig_send_call(&rig, &a, &b, 2);
    rig_send_reply(&rig, &b, &a, 2);
    rig_end(&rig);
    assert_int_equal(rig.messages, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(rig.message[i].n_rules, 0);
    assert_int_equal(rig.message[1].direction, RPCRDMA_DIRECTION_REPLY);
    assert_int_equal(rig.message[0].threshold_call, 4096);
    assert_int_equal(rig.connection[0].version, 1);
    assert_int_equal(rig.connection[0].threshold_call, 1024);
}

/* ... and the first message waits no longer than until then. */
static void falls_back_undecided(void **state)
{
    uint8_t buf[64];
    struct rpcrdma_message m = message(RPCRDMA_IETF_02, RPCRDMA_KIND_MSG, 1);

    (void)state;
    begin(NULL);
    m.payload = call_payload(1, 0);
    send(true, &m);
    rig_word(rig_word(rig_word(rig_word(buf, 1), 1), 32), 4);
    rig_word(rig_word(rig_word(buf + 16, 1), 1), 1);
    rig_send(&rig, &b, &a, buf, 28);
    assert_int_equal(rig.messages, 0);
    rig_send_call(&rig, &a, &b, 2);
    assert_int_equal(rig.messages, 3);
    rig_end(&rig);
    assert_int_equal(rig.message[0].dialect, RPCRDMA_IETF_01); /* it sent no RDMA2_GRANT */
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_DIALECT_UNDECIDED), 1);
}

/* ietf-02 is ietf-01 with an RDMA2_GRANT, and with credits that count on: these tell, too. Both
 * ends send in turn; or each sends several before the other does, which leaves its counter as it
 * is. */
static void counters_or_not(void **state)
{
    const uint32_t both = 1u << RPCRDMA_IETF_01 | 1u << RPCRDMA_IETF_02;

    (void)state;
    for (uint32_t counting = 0; counting <= 8; counting += counting ? 7 : 1) { /* posts so many */
        for (int in_turn = 0; in_turn < 2; in_turn++) {
            struct rpcrdma_message m;
            uint32_t xid = 1;

            begin(NULL);
            for (int round = 0; round < 30; round++) {
                uint32_t n = in_turn ? 1 : 6,
                         credits = counting ? 16 + xid / counting * counting : 16;

                for (uint32_t i = 0; i < 2 * n; i++) {
                    m = message(RPCRDMA_IETF_02, RPCRDMA_KIND_MSG, xid + i % n);
                    m.credits = credits;
                    m.flags = i < n ? 0 : m.dialect->flag_response;
                    m.direction = i >= n;
                    m.payload =
                        i < n ? call_payload(xid + i % n, 0) : reply_payload(xid + i % n, 0);
                    send(i < n, &m);
                }
                xid += n;
            }
            rig_end(&rig);
            assert_int_equal(rig.connection[0].dialects & both,
                             1u << (counting ? RPCRDMA_IETF_02 : RPCRDMA_IETF_01));
            assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_COUNT_RANGE), 0);
        }
    }
}

static void changes_version(void **state)
{
    (void)state;
    begin(NULL);
    talk(RPCRDMA_IETF_07, 1);
    rig_send_call(&rig, &a, &b, 2);
    talk(RPCRDMA_IETF_07, 3);
    rig_end(&rig);
    assert_int_equal(rig.messages, 5);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_VERSION_CHANGED), 1);
    assert_int_equal(rig.message[2].rules[0], RPCRDMA_RULE_VERSION_CHANGED);
    assert_int_equal(rig.connection[0].version, 2);
}

/* The version chosen after an ERR_VERS is in the range that it offered (section 7.1.1). */
static void not_offered(void **state)
{
    (void)state;
    for (uint32_t high = 2; high < 5; high++) {
        uint8_t buf[28];

        begin(NULL);
        rig_send_call(&rig, &a, &b, 1);
        rig_word(rig_word(rig_word(rig_word(buf, 1), 1), 32), 4);          /* RDMA_ERROR, */
        rig_word(rig_word(rig_word(buf + 16, 1), high > 3 ? 3 : 2), high); /* ERR_VERS, range */
        rig_send(&rig, &b, &a, buf, sizeof(buf));
        talk(RPCRDMA_IETF_07, 2);
        rig_end(&rig);
        assert_int_equal(rig.messages, 4);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_VERSION_NOT_OFFERED), high > 3);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_VERSION_CHANGED), 0);
        assert_int_equal(rig.connection[0].version, 2);
    }
}

static void properties(void **state)
{
    struct rpcrdma_property p[4] = {number(1, 8192), number(2, 16384), number(4, 8), {.id = 1234}};
    struct rpcrdma_message m;

    (void)state;
    begin(NULL);
    talk(RPCRDMA_IETF_07, 1);
    m = message(RPCRDMA_IETF_07, RPCRDMA_KIND_CONNPROP_MIDDLE, 0);
    m.properties = set(p, 4);
    send(true, &m);
    m = message(RPCRDMA_IETF_07, RPCRDMA_KIND_CONNPROP_FINAL, 0);
    p[0] = number(2, 6000);
    m.properties = set(p, 1);
    send(false, &m);
    /* one bad property, three bytes long: none takes effect */
    p[0] = number(1, 100000);
    p[1] = number(2, 100000);
    p[1].data.len = p[1].data.caplen = 3;
    m = message(RPCRDMA_IETF_07, RPCRDMA_KIND_CONNPROP_FINAL, 0);
    m.properties = set(p, 2);
    send(true, &m);
    /* after FINAL */
    p[0] = number(5, 3);
    m.properties = set(p, 1);
    send(true, &m);
    rig_end(&rig);
    assert_int_equal(rig.messages, 6);
    assert_int_equal(rig.message[1].threshold_call, 4096);
    assert_int_equal(rig.message[1].properties[0].segment_size, 1048576);
    assert_int_equal(rig.message[2].properties[0].segment_count, 8);
    assert_int_equal(rig.message[2].part, 1);
    assert_int_equal(rig.message[2].threshold_call, 4096); /* the server's buffers bound it */
    assert_int_equal(rig.message[2].threshold_reply, 4096);
    assert_int_equal(rig.message[3].threshold_call, 6000);
    assert_int_equal(rig.message[4].threshold_call, 6000);
    assert_int_equal(rig.message[4].properties[0].send_size, 8192);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_PROPERTY_BAD), 1);
    assert_int_equal(rig.message[5].rules[0], RPCRDMA_RULE_PROPERTIES_AFTER_FINAL);
    assert_int_equal(rig.message[5].properties[0].reverse_direction, 3);
}

/* A change asked for takes effect when it is answered as done. */
static void asked_for(void **state)
{
    const uint32_t done[] = {1u << 1};
    struct rpcrdma_property p[2] = {number(2, 1), number(1, 9000)};
    struct rpcrdma_message m;

    (void)state;
    begin(NULL);
    speak(RPCRDMA_CEL_03);
    m = message(RPCRDMA_CEL_03, RPCRDMA_KIND_REQPROP, 50);
    m.want = set(p, 2);
    send(true, &m);
    m = message(RPCRDMA_CEL_03, RPCRDMA_KIND_RESPROP, 50);
    m.done = (struct rpcrdma_words){.words = done, .count = 1, .declared = 1};
    send(false, &m);
    rig_end(&rig);
    assert_int_equal(rig.messages, 4);
    assert_int_equal(rig.message[2].properties[1].receive_size, 4096);
    assert_int_equal(rig.message[3].properties[1].receive_size, 9000);
    assert_int_equal(rig.message[3].properties[1].reverse_direction, 0);
    assert_int_equal(rig.message[3].properties[0].receive_size, 8192);
}

/* A version 3 header, a type nobody knows: a finding, and the rest unharmed. */
static void unknown_things(void **state)
{
    static const enum rpcrdma_rule_id want[] = {RPCRDMA_RULE_MALFORMED_VERSION_2,
                                                RPCRDMA_RULE_MALFORMED_PROCEDURE_2,
                                                RPCRDMA_RULE_MALFORMED_END_2};
    uint8_t buf[64] = {0};

    (void)state;
    begin(NULL);
    talk(RPCRDMA_IETF_07, 1);
    rig_word(buf + 4, 3);
    rig_send(&rig, &a, &b, buf, 32);
    rig_word(buf + 4, 2);
    rig_word(buf + 12, 77);
    rig_send(&rig, &a, &b, buf, 32);
    rig_send(&rig, &a, &b, buf, 7);
    talk(RPCRDMA_IETF_07, 2);
    rig_end(&rig);
    assert_int_equal(rig.messages, 7);
    for (size_t i = 2; i < 5; i++)
        assert_int_equal(rig.message[i].rules[0], want[i - 2]);
    assert_int_equal(rig.message[6].n_rules, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_dialect),    cmocka_unit_test(canonical_before_known),
        cmocka_unit_test(without_cm),      cmocka_unit_test(overridden),
        cmocka_unit_test(undecided),       cmocka_unit_test(waits),
        cmocka_unit_test(falls_back),      cmocka_unit_test(falls_back_undecided),
        cmocka_unit_test(counters_or_not), cmocka_unit_test(changes_version),
        cmocka_unit_test(not_offered),     cmocka_unit_test(properties),
        cmocka_unit_test(asked_for),       cmocka_unit_test(unknown_things),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
