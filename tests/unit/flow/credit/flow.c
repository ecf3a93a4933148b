/* SPDX-License-Identifier: BSD-2-Clause */
/* Credit accounts fed by a flow: Acks across the PSN's wrap, Read responses, gaps, reports at
 * intervals, short memory. */
#include "credit_rig.h"

#include "wire/message.h"

static void begin(uint64_t max_memory)
{
    const struct rpcrdma_flow_config config = {.credits = true, .max_memory = max_memory};

    pair_begin(&config);
}

/* 64 granted, 8 in flight, then 4: a Reply whose PSN is the last before the wrap, acknowledged
 * after. */
static void test_ack_wraps(void **state)
{
    (void)state;
    begin(0);
    b.psn = 0xfffffd;
    rig_connect(&rig, &a, &b, 20049);
    call(1, 128);
    reply(1, 64);
    for (uint32_t xid = 10; xid < 18; xid++)
        call(xid, 128);
    reply(10, 64); /* 0xfffffe */
    reply(11, 4);  /* 0xffffff */
    reply(12, 4);  /* 0 */
    rig_ack(&rig, &a, &b, 0xfffffe);
    call(20, 128);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_SHRINK), 0);
    rig_ack(&rig, &a, &b, 0);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_SHRINK), 1);
    call(21, 128);
    reply(13, 4);
    rig_end(&rig);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_OVERRUN), 1);
}

/* The Reply is captured behind the Call that it allowed, as its Ack, before that Call, shows. */
static void test_first_reply_late(void **state)
{
    (void)state;
    for (int acked = 0; acked < 2; acked++) {
        begin(0);
        rig_connect(&rig, &a, &b, 20049);
        call(1, 128);
        if (acked)
            rig_ack(&rig, &a, &b, b.psn);
        call(2, 128);
        reply(1, 64);
        reply(2, 64);
        rig_end(&rig);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_FIRST_CALL), !acked);
        assert_int_equal(rig.credit[0].violations, !acked);
    }
}

/* A Read response acknowledges what was sent before the Read request. */
static void test_read_response_acknowledges(void **state)
{
    struct rpcrdma_op op;

    (void)state;
    begin(0);
    rig_connect(&rig, &a, &b, 20049);
    call(1, 128);
    reply(1, 64);
    for (uint32_t xid = 10; xid < 18; xid++)
        call(xid, 128);
    reply(10, 4);
    op = rig_op(&rig, RPCRDMA_OP_READ_REQUEST, &b, &a, b.psn);
    op.flags = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST | RPCRDMA_OP_RETH;
    op.length = 100;
    rig_feed(&rig, &op);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_SHRINK), 0);
    op = rig_op(&rig, RPCRDMA_OP_READ_RESPONSE, &a, &b, b.psn);
    op.flags = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST;
    op.len = 100;
    rig_feed(&rig, &op);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_SHRINK), 1);
    rig_end(&rig);
}

/* The results so far, again and again; then the rest. */
static void test_intervals(void **state)
{
    (void)state;
    begin(0);
    rig_connect(&rig, &a, &b, 20049);
    call(1, 2);
    reply(1, 64);
    call(2, 2);
    call(3, 2);
    rpcrdma_flow_credits(rig.flow, true);
    assert_int_equal(rig.credits, 1);
    assert_int_equal(rig.credit[0].calls, 3);
    assert_int_equal(rig.credit[0].replies, 1);
    assert_int_equal(rig.credit[0].end, 0);
    assert_int_equal(rig.credit[0].bound_by, RPCRDMA_BOUND_NEITHER); /* for no time yet */
    assert_int_equal(rig.credit[0].stalls.count, 1);
    reply(2, 64);
    rpcrdma_flow_credits(rig.flow, true);
    assert_int_equal(rig.credit[1].calls, 0);
    assert_int_equal(rig.credit[1].replies, 1);
    assert_int_equal(rig.credit[1].in_flight.max, 2);
    assert_int_equal(rig.credit[1].unanswered, 1);
    assert_int_equal(rig.credit[1].bound_by, RPCRDMA_BOUND_REQUESTED);
    assert_int_equal(rig.credit[1].at_limit_ns, rig.credit[1].measured_ns);
    rpcrdma_flow_credits(rig.flow, false);
    assert_int_equal(rig.credit[2].calls + rig.credit[2].replies, 0);
    assert_int_equal(rig.credit[2].in_flight.max, 1);
    reply(3, 64);
    rig_end(&rig);
    assert_int_equal(rig.credits, 4);
    assert_int_equal(rig.credit[3].replies, 1);
    assert_int_equal(rig.credit[3].unanswered, 0);
    assert_int_equal(rig.findings, 0);
}

static void test_not_asked_for(void **state)
{
    (void)state;
    a = RIG_A;
    b = RIG_B;
    rig_begin_connected(&rig, &a, &b);
    call(1, 2);
    call(2, 2);
    reply(1, 0);
    rpcrdma_flow_credits(rig.flow, true);
    assert_null(rig.flow->credits);
    rig_end(&rig);
    assert_int_equal(rig.credits, 0);
    assert_int_equal(rig.findings, 0);
}

/* The same QP numbers set up anew: another connection, and nothing of the old one in it. */
static void test_set_up_again(void **state)
{
    (void)state;
    begin(0);
    rig_connect(&rig, &a, &b, 20049);
    call(1, 128);
    reply(1, 64);
    call(2, 128);
    call(3, 128);
    rig_disconnect(&rig, &a, &b);
    rig_connect(&rig, &a, &b, 20049);
    call(2, 128);
    reply(2, 64);
    rig_end(&rig);
    assert_int_equal(rig.credits, 2);
    assert_int_equal(rig.credit[0].unanswered, 2);
    assert_int_equal(rig.credit[1].calls, 1);
    assert_int_equal(rig.credit[1].in_flight.max, 1);
    assert_int_equal(rig.credit[1].unanswered, 0);
}

static void conversation(void)
{
    rig_connect(&rig, &a, &b, 20049);
    call(1, 128);
    reply(1, 200);
    for (uint32_t xid = 2; xid < 150; xid++)
        call(xid, 200);
    for (uint32_t xid = 2; xid < 150; xid++)
        reply(xid, 200);
    rig_disconnect(&rig, &a, &b);
}

/* malloc fails at any point: it is reported, and nothing leaks or crashes. */
static void test_malloc_fails(void **state)
{
    uint64_t needed;

    (void)state;
    begin(0);
    conversation();
    needed = rig.flow->context.memory.count;
    rig_end(&rig);
    for (uint64_t fail = needed - 1; fail > 0; fail--) {
        begin(0);
        if (rig.flow->context.memory.count > fail) {
            rig_end(&rig);
            break;
        }
        rig.may_fail = true;
        rig.flow->context.memory.fail_after = fail;
        conversation();
        assert_true(rig.flow->context.memory.failed);
        rig_end(&rig);
    }
}

/* The limit is too low for the Calls in flight: the count goes on, roughly, and it is said. */
static void test_memory_limit(void **state)
{
    (void)state;
    begin(0);
    rig_connect(&rig, &a, &b, 20049);
    call(1, 128);
    reply(1, 200);
    rig.flow->context.memory.limit = rig.flow->context.memory.used;
    for (uint32_t xid = 2; xid < 150; xid++)
        call(xid, 200);
    for (uint32_t xid = 2; xid < 150; xid++)
        reply(xid, 200);
    rig_end(&rig);
    assert_int_equal(rig.credits, 1);
    assert_true(rig.credit[0].memory);
    assert_int_equal(rig.credit[0].in_flight.max, 148);
    assert_int_equal(rig.credit[0].unanswered, 0);
    assert_true(rig_count(&rig, RPCRDMA_RULE_MEMORY_LIMIT) > 0);
}

/* RNR Naks (RFC 8167 section 4) of one message, again and again; of one that is put together later;
 * and of one that was not captured, which the next message proves. */
static void test_rnr(void **state)
{
    uint8_t buf[2048];
    uint32_t n;

    (void)state;
    begin(0);
    rig_connect(&rig, &a, &b, 20049);
    call(1, 128);
    rig_nak(&rig, &b, &a, a.psn - 1, RPCRDMA_NAK_RNR);
    rig_nak(&rig, &b, &a, a.psn - 1, RPCRDMA_NAK_RNR);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_RNR), 1);
    assert_int_equal(rig.finding[0].arg[0], 1);
    reply(1, 64);

    n = rig_call(buf, 2, 100003, 1500); /* two packets; the Nak comes between */
    rig_packet(&rig, &a, &b, a.psn, RPCRDMA_OP_FIRST, buf, RIG_PMTU);
    rig_nak(&rig, &b, &a, a.psn, RPCRDMA_NAK_RNR);
    rig_packet(&rig, &a, &b, a.psn + 1, RPCRDMA_OP_LAST, buf + RIG_PMTU, n - RIG_PMTU);
    a.psn += 2;
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_RNR), 2);
    reply(2, 64);

    rig_nak(&rig, &b, &a, a.psn, RPCRDMA_NAK_RNR); /* of what is missing */
    rig_nak(&rig, &b, &a, a.psn, RPCRDMA_NAK_RNR);
    a.psn++;
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_RNR_UNKNOWN), 0); /* it may yet come */
    call(3, 128);
    reply(3, 64);
    rig_end(&rig);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_RNR_UNKNOWN), 1);
    assert_int_equal(rig.credits, 1);
    assert_int_equal(rig.credit[0].rnr_naks, 5);
}

/* RNR Naks of two messages that were not captured, one after the other; and of such a one and then
 * of one that was. */
static void test_rnr_of_two(void **state)
{
    (void)state;
    for (uint32_t captured = 0; captured < 2; captured++) {
        begin(0);
        rig_connect(&rig, &a, &b, 20049);
        call(1, 128);
        reply(1, 64);
        rig_nak(&rig, &b, &a, a.psn, RPCRDMA_NAK_RNR);
        a.psn++;
        if (captured)
            call(2, 128);
        else
            a.psn++;
        rig_nak(&rig, &b, &a, a.psn - 1, RPCRDMA_NAK_RNR);
        call(3, 128);
        reply(3, 64);
        rig_end(&rig);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_RNR), captured);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_RNR_UNKNOWN), 2 - captured);
        assert_int_equal(rig.credit[0].rnr_naks, 2);
    }
}

/* An RNR Nak names any of 60 Calls that nothing acknowledged; of those that were, the latest is
 * kept. */
static void test_rnr_of_many(void **state)
{
    uint32_t first;

    (void)state;
    begin(0);
    rig_connect(&rig, &a, &b, 20049);
    call(1, 128);
    reply(1, 128);
    for (uint32_t xid = 10; xid < 110; xid++) {
        call(xid, 128);
        rig_ack(&rig, &b, &a, a.psn - 1);
        reply(xid, 128);
    }
    first = a.psn;
    for (uint32_t xid = 200; xid < 260; xid++)
        call(xid, 128);
    for (uint32_t i = 0; i < 60; i++) {
        rig_nak(&rig, &b, &a, first + i, RPCRDMA_NAK_RNR);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_RNR), i + 1);
        assert_int_equal(rig.finding[rig.findings - 1].arg[0], 200 + i);
    }
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_RNR_UNKNOWN), 0);
    rig_end(&rig);
}

/* A message of the dialect whose credits count messages: a GRANT carries nothing but them. */
static void grant(bool from_a, uint32_t xid, uint32_t credits)
{
    struct rpcrdma_message m = {.dialect = rpcrdma_dialect(RPCRDMA_IETF_07),
                                .xid = xid,
                                .version = 2,
                                .credits = credits,
                                .type = 5 /* RDMA2_GRANT */};
    uint8_t buf[64];
    size_t n;

    assert_int_equal(rpcrdma_message_encode(&m, buf, sizeof(buf), &n), RPCRDMA_OK);
    rig_send(&rig, from_a ? &a : &b, from_a ? &b : &a, buf, (uint32_t)n);
}

static void test_counting(void **state)
{
    const struct rpcrdma_flow_config config = {.credits = true,
                                               .dialect = rpcrdma_dialect(RPCRDMA_IETF_07)};

    (void)state;
    pair_begin(&config);
    rig_connect(&rig, &a, &b, 20049);
    grant(true, 1, 10);
    grant(false, 2, 10);
    grant(true, 3, 11);
    rig_nak(&rig, &b, &a, a.psn - 1, RPCRDMA_NAK_RNR);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_RNR_2), 1);
    rpcrdma_flow_credits(rig.flow, true);
    assert_int_equal(rig.credits, 2); /* a sender each */
    assert_true(rig.credit[0].counting && rig.credit[1].counting);
    assert_int_equal(rig.credit[0].messages + rig.credit[1].messages, 3);
    assert_int_equal(rig.credit[0].rnr_naks + rig.credit[1].rnr_naks, 1);
    grant(false, 4, 11);
    rig_end(&rig);
    assert_int_equal(rig.credits, 4);
    assert_int_equal(rig.credit[2].messages + rig.credit[3].messages, 1);
    assert_int_equal(rig.credit[2].rnr_naks + rig.credit[3].rnr_naks, 0);
}

/* A Reply that was cut before its credits, or before its type, may grant what is used behind it. */
static void test_cut_reply(void **state)
{
    uint8_t buf[256];

    (void)state;
    for (uint32_t variant = 0; variant < 10; variant++) {
        const uint32_t caplen = variant / 2 * 4;
        const bool call_too = variant % 2;
        uint32_t n = rig_call(buf, 1, 100003, 0);

        begin(0);
        rig_connect(&rig, &a, &b, 20049);
        if (call_too)
            rig_send_cut(&rig, &a, &b, buf, caplen, n);
        else
            call(1, 128);
        n = rig_reply(buf, 1, 0);
        rig_word(buf + 8, 2);
        rig_send_cut(&rig, &b, &a, buf, caplen, n);
        call(2, 128);
        call(3, 128);
        reply(2, 64);
        rig_end(&rig);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_FIRST_CALL), 0);
        assert_int_equal(rig.credits, 1);
        assert_int_equal(rig.credit[0].calls, call_too && caplen < 16 ? 2 : 3);
        assert_int_equal(rig.credit[0].violations, 0);
    }
}

/* How long a Send was on the wire is known however short its packet was cut; what is behind its
 * header is not asked for. */
static void test_cut_too_long(void **state)
{
    static uint8_t buf[1025];

    (void)state;
    for (uint32_t caplen = 0; caplen <= 20; caplen += 4)
        for (uint32_t n = 1024; n <= 1025; n++) {
            rig_call(buf, 2, 100003, 0);
            begin(0);
            rig_connect(&rig, &a, &b, 20049);
            call(1, 128);
            reply(1, 64);
            rig_send_cut(&rig, &a, &b, buf, caplen, n);
            rig_end(&rig);
            assert_int_equal(rig_count(&rig, RPCRDMA_RULE_INLINE_THRESHOLD), n > 1024);
        }
}

/* Likewise where credits count messages. */
static void test_cut_grant(void **state)
{
    const struct rpcrdma_flow_config config = {.credits = true,
                                               .dialect = rpcrdma_dialect(RPCRDMA_IETF_07)};

    (void)state;
    for (uint32_t caplen = 0; caplen <= 8; caplen += 4) {
        uint8_t buf[16] = {0};

        pair_begin(&config);
        rig_connect(&rig, &a, &b, 20049);
        grant(true, 1, 10);
        grant(false, 2, 1);
        rig_word(buf + 4, 2);
        rig_send_cut(&rig, &b, &a, buf, caplen, sizeof(buf));
        for (uint32_t xid = 3; xid < 9; xid++)
            grant(true, xid, 10);
        grant(false, 9, 20);
        rig_end(&rig);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_CREDIT_COUNT_OVERRUN), 0);
    }
}

/* An Ack of a's, of that PSN and of so many messages. */
static void acknowledge(uint32_t psn, uint32_t msn)
{
    struct rpcrdma_op op = rig_op(&rig, RPCRDMA_OP_ACK, &a, &b, psn);

    op.msn = msn;
    rig_feed(&rig, &op);
}

/* The REQ is cut before where the server's PSNs begin. Its first Reply may be missing then; an Ack
 * of that shows it. Of one that comes yet, of several, or of another connection it shows nothing.
 */
static void test_cut_req(void **state)
{
    enum { NO_ACK, MISSING, TWO_MISSING, COMES_YET, SEVERAL, FAR, OTHER, EARLIER, WAYS };

    (void)state;
    for (int way = 0; way < WAYS; way++) {
        const uint32_t missing = way == TWO_MISSING ? 2 : way == NO_ACK || way == MISSING ? 1 : 0;
        const bool shows = way == MISSING || way == TWO_MISSING;

        begin(0);
        rig_connect_cut(&rig, &a, &b, 20049);
        call(1, 128);
        call(2, 128);
        if (way == SEVERAL || way == TWO_MISSING)
            acknowledge(b.psn + 1, 2);
        else if (way == OTHER || way == EARLIER)
            acknowledge(b.psn - (way == OTHER ? 1 : 20), way == OTHER ? 1000 : 1);
        else if (way != NO_ACK)
            acknowledge(b.psn, 1);
        b.psn += way == FAR ? 70000 : missing;
        if (missing == 0)
            reply(1, 64);
        reply(2, 64);
        acknowledge(b.psn - 1, 3);
        rig_end(&rig);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_PACKETS_LOST), shows);
        assert_int_equal(rig.findings, shows);
        if (shows)
            assert_int_equal(rig.finding[0].arg[0], missing);
        assert_int_equal(rig.messages, missing > 0 ? 3 : 4);
        assert_int_equal(rig.credit[0].replies, missing > 0 ? 1 : 2);
        assert_int_equal(rig.credit[0].violations, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ack_wraps),
        cmocka_unit_test(test_first_reply_late),
        cmocka_unit_test(test_read_response_acknowledges),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_not_asked_for),
        cmocka_unit_test(test_set_up_again),
        cmocka_unit_test(test_malloc_fails),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_rnr),
        cmocka_unit_test(test_counting),
        cmocka_unit_test(test_rnr_of_many),
        cmocka_unit_test(test_rnr_of_two),
        cmocka_unit_test(test_cut_reply),
        cmocka_unit_test(test_cut_grant),
        cmocka_unit_test(test_cut_too_long),
        cmocka_unit_test(test_cut_req),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
