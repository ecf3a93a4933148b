/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of delivery alone: what shows that a packet had arrived which was asked for, or sent
 * again. */

#include "flow/life.h"
#include "talk.h"

/* A Nak asks for what had passed here. It was lost behind here, unless it is acknowledged before it
 * passes again: then it came late. The Ack may overtake the Nak, or be another Nak. */
static void asked_for_and_acknowledged(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        uint32_t psn = PSN + 3 * (uint32_t)i;

        send_one(psn);
        send_one(psn + 1);
        if (i == 2)
            ack(psn + 1);
        answer(RPCRDMA_OP_NAK, psn, RPCRDMA_NAK_PSN_SEQUENCE);
        if (i == 1)
            ack(psn);
        if (i == 3)
            answer(RPCRDMA_OP_NAK, psn + 1, RPCRDMA_NAK_PSN_SEQUENCE);
        if (i < 3)
            send_one(psn);
        send_one(psn + 1);
        assert_int_equal(flow_delivery_recovery(d)->cause,
                         i == 1 || i == 2 ? FLOW_RECOVERY_UNKNOWN : FLOW_RECOVERY_LOST);
        ack(psn + 1);
        assert_int_equal(path_to(d)->late_naks, i);
        assert_int_equal(path_to(d)->lost_behind, i < 3 ? 1 : 2);
        assert_int_equal(path_to(d)->lost, i < 3 ? 1 : 2);
        send_one(psn + 2);
        ack(psn + 2);
    }
}

/* A Nak that was answered with nothing: then nothing was lost on the way. */
static void asked_for_and_not_sent(void **state)
{
    struct rpcrdma_silence silence;
    int64_t asked;

    (void)state;
    send_one(PSN);
    send_one(PSN + 1);
    flow_delivery_silence(d, &silence);
    assert_false(silence.asked);
    answer(RPCRDMA_OP_NAK, PSN, RPCRDMA_NAK_PSN_SEQUENCE);
    asked = now;
    now += 3000 * MS;
    flow_delivery_silence(d, &silence);
    assert_true(silence.asked);
    assert_int_equal(silence.since_ns, asked);
    send_one(PSN);
    flow_delivery_silence(d, &silence);
    assert_false(silence.asked);
    answer(RPCRDMA_OP_NAK, PSN + 1, RPCRDMA_NAK_RNR); /* of this it may wait long */
    flow_delivery_silence(d, &silence);
    assert_false(silence.asked);
}

/* What had passed behind it is to be sent again, too (IBTA 9.7.5); not what was sent since then. */
static void asked_for_and_sent_in_part(void **state)
{
    struct rpcrdma_silence silence;
    int64_t asked;

    (void)state;
    send_one(PSN);
    send_one(PSN + 1);
    answer(RPCRDMA_OP_NAK, PSN, RPCRDMA_NAK_PSN_SEQUENCE);
    asked = now;
    send_one(PSN);
    ack(PSN);
    flow_delivery_silence(d, &silence);
    assert_true(silence.asked);
    assert_int_equal(silence.since_ns, asked);
    send_one(PSN + 1);
    ack(PSN + 1);
    send_one(PSN + 2);
    flow_delivery_silence(d, &silence);
    assert_false(silence.asked);
}

/* No Ack passed, and the receiver answers the RPC: then the Ack was lost, not what it is about. */
static void served_and_sent_again(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        send_one(PSN + i);
    flow_delivery_served(d, PSN + 2); /* in this order it was taken */
    now += 500 * MS;
    send_one(PSN + 1);
    assert_int_equal(path_to(d)->timeouts, 1);
    assert_int_equal(path_to(d)->served_timeouts, 1);
    assert_between(path_to(d)->served_timeout_ns, 500 * MS, 501 * MS);
    send_one(PSN + 2);
    ack(PSN + 2);
    send_one(PSN + 4);
    now += 500 * MS;
    send_one(PSN + 3);
    assert_int_equal(path_to(d)->timeouts, 2);
    assert_int_equal(path_to(d)->served_timeouts, 1);
}

/* What an end does for a request answers it, with an Ack or without. What comes again behind that
 * is not answered. */
static void served_answers(void **state)
{
    struct rpcrdma_silence silence;
    int64_t since;

    (void)state;
    send_one(PSN);
    ack(PSN);
    send_one(PSN + 1);
    send_one(PSN + 2);
    now += 2000 * MS;
    send_one(PSN + 1);
    flow_delivery_silence(d, &silence);
    assert_int_equal(silence.transmissions, 2);
    flow_delivery_served(d, PSN + 1);
    flow_delivery_silence(d, &silence);
    assert_int_equal(silence.transmissions, 0);
    send_one(PSN + 2);
    flow_delivery_silence(d, &silence);
    assert_int_equal(silence.transmissions, 2);
    flow_delivery_served(d, PSN + 2);
    now += 2000 * MS;
    send_one(PSN + 1);
    since = now;
    flow_delivery_silence(d, &silence);
    assert_int_equal(silence.transmissions, 0);
    now += 2000 * MS;
    send_one(PSN + 1);
    flow_delivery_silence(d, &silence);
    assert_int_equal(silence.transmissions, 2);
    assert_int_equal(silence.since_ns, since);
    ack(PSN + 2);
    flow_delivery_silence(d, &silence);
    assert_int_equal(silence.transmissions, 0);
}

/* An end sends nothing for seconds, though something is sent to it again: from what was sent first,
 * or from what it sent last. */
static void silent_and_heard(void **state)
{
    struct rpcrdma_op packet;
    const struct flow_recovery *recovery;
    int64_t sent, spoke;

    (void)state;
    send_one(PSN);
    ack(PSN);
    send_one(PSN + 1);
    sent = now;
    now += 2000 * MS;
    packet = op(RPCRDMA_OP_SEND, PSN + 1, ONLY);
    assert_true(flow_delivery_request(&memory, d, &packet, 1));
    flow_delivery_unheard(d, sent - 5 * MS);
    flow_delivery_heard(d, sent + 2500 * MS);
    recovery = flow_delivery_recovery(d);
    assert_int_equal(recovery->silent_from_ns, sent);
    assert_int_equal(recovery->silent_until_ns, sent + 2500 * MS);
    assert_int_equal(path_to(d)->silent_ns, 2500 * MS);
    assert_int_equal(path_to(d)->silent_unasked_ns, sent + 2500 * MS - now);
    assert_int_equal(path_to(d)->silent_again, 1);
    assert_int_equal(path_to(d)->silent_timeouts, 1);
    assert_int_equal(path_to(d)->silent_waited_ns, now - sent);
    flow_delivery_heard(d, now + 900 * MS);
    assert_int_equal(recovery->silent_until_ns, sent + 2500 * MS);

    now += 1000 * MS;
    spoke = now;
    now += 2000 * MS;
    send_one(PSN + 1);
    flow_delivery_unheard(d, spoke);
    flow_delivery_heard(d, now + 900 * MS);
    assert_int_equal(recovery->silent_from_ns, spoke);
    assert_true(path_to(d)->silent_ns > 2500 * MS);

    now += 1000 * MS;
    ack(PSN + 1);
    send_one(PSN + 2);
    now += 600 * MS;
    send_one(PSN + 2);
    flow_delivery_heard(d, now + MS); /* that is soon enough */
    assert_int_equal(recovery->silent_from_ns, spoke);

    begin_again(); /* no Ack is captured: that none comes says nothing */
    send_one(PSN);
    now += 2000 * MS;
    packet = op(RPCRDMA_OP_SEND, PSN, ONLY);
    assert_false(flow_delivery_request(&memory, d, &packet, 1));
    flow_delivery_heard(d, now + 900 * MS);
    assert_int_equal(path_to(d)->silent_ns, 0);
}

static void lost_before(uint64_t lost, uint64_t packets, uint32_t gaps)
{
    assert_int_equal(path_to(d)->lost, lost);
    assert_int_equal(path_to(d)->lost_before, packets);
    assert_int_equal(path_to(d)->lost_before_gaps, gaps);
}

/* A Nak asks for what has not passed: it was lost before the place of capture, and counts so until
 * it passes, or is acknowledged. */
static void asked_for_and_not_passed(void **state)
{
    (void)state;
    send_one(PSN);
    send_one(PSN + 9); /* 8 are missing */
    answer(RPCRDMA_OP_NAK, PSN + 1, RPCRDMA_NAK_PSN_SEQUENCE);
    lost_before(8, 8, 1);
    send_one(PSN + 9);
    answer(RPCRDMA_OP_NAK, PSN + 1, RPCRDMA_NAK_PSN_SEQUENCE); /* once more */
    lost_before(8, 8, 1);
    now += 600 * MS;
    send_one(PSN + 1);
    send_one(PSN + 2);
    send_one(PSN + 5); /* those before it were lost again */
    lost_before(8, 5, 2);
    ack(PSN + 4); /* they came once more, and were not captured */
    lost_before(6, 3, 1);
    ack(PSN + 9);
    lost_before(3, 0, 0);

    begin_again(); /* the Nak acknowledges what is before it */
    send_one(PSN);
    send_one(PSN + 5);
    answer(RPCRDMA_OP_NAK, PSN + 3, RPCRDMA_NAK_PSN_SEQUENCE);
    lost_before(2, 2, 1);
    assert_int_equal(path_to(d)->uncaptured, 2);
}

/* What was acknowledged in time comes again: its Ack was lost where a timer may have ended. */
static void acknowledged_and_sent_again(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        send_one(PSN + i);
        ack(PSN + i);
        now += i == 0 ? 500 * MS : 15 * MS;
        send_one(PSN + i);
        ack(PSN + i);
    }
    assert_int_equal(path_to(d)->timeouts, 2);
    assert_int_equal(path_to(d)->acked_timeouts, 1);
    assert_int_equal(path_to(d)->late_timeouts, 1);
    assert_between(path_to(d)->late_timeout_ns, 15 * MS, 16 * MS);
}

static void naks_are(uint64_t late, uint64_t lost)
{
    assert_int_equal(path_to(d)->late_naks, late);
    assert_int_equal(path_to(d)->lost, lost);
    assert_int_equal(path_to(d)->lost_behind, lost);
}

static void asks_for(uint32_t psn)
{
    answer(RPCRDMA_OP_NAK, psn, RPCRDMA_NAK_PSN_SEQUENCE);
}

/* A packet that is out of order here is so for its receiver, which asks for it and does not take
 * those before it: nothing was lost. Nor was it where that happens to what is retransmitted. What
 * it asks for behind that was. */
static void asked_for_out_of_order(void **state)
{
    (void)state;
    send_one(PSN);
    send_one(PSN + 2);
    send_one(PSN + 3);
    send_one(PSN + 1);
    assert_int_equal(path_to(d)->reordered, 1);
    asks_for(PSN + 1);
    naks_are(1, 0);
    asks_for(PSN + 2); /* PSN + 1 had come then */
    naks_are(2, 0);
    now += 2 * MS; /* else they are copies */
    send_one(PSN + 3);
    send_one(PSN + 2);
    asks_for(PSN + 3);
    naks_are(3, 0);
    send_one(PSN + 3);
    ack(PSN + 3);
    send_one(PSN + 4);
    send_one(PSN + 5);
    asks_for(PSN + 4);
    naks_are(3, 1);
}

/* Where nothing was seen out of order, all that is asked for was lost. */
static void asked_for_in_order(void **state)
{
    (void)state;
    send_one(PSN);
    send_one(PSN + 1);
    send_one(PSN + 2);
    asks_for(PSN);
    naks_are(0, 1);
    send_one(PSN);
    send_one(PSN + 2);
    asks_for(PSN + 1); /* it did not pass again */
    naks_are(0, 2);
}

/* Responses stop in the middle, and go on after a timer ended: to the request and to its
 * repetition. Both had arrived, and what is asked for once more then, as these came twice, was not
 * lost. */
static void responses_late(void **state)
{
    const struct rpcrdma_path *path;

    (void)state;
    for (int times = 1; times <= 2; times++) {
        begin_again();
        id = 1;
        read_request(PSN, 3);
        answer(RPCRDMA_OP_READ_RESPONSE, PSN, 0);
        now += 2000 * MS;
        read_request(PSN + 1, 2);
        now += 7000 * MS;
        for (int i = 0; i < times; i++)
            for (uint32_t n = 1; n < 3; n++)
                answer(RPCRDMA_OP_READ_RESPONSE, PSN + n, 0);
        path = path_to(d);
        assert_int_equal(path->timeouts, 1);
        assert_int_equal(path->late_timeouts, times - 1);
        assert_int_equal(path->asked_again, 2 - times);
        if (times == 1) { /* of these responses nothing says that they arrived */
            now += 2000 * MS;
            read_request(PSN + 1, 2);
            assert_int_equal(path_to(d)->timeouts, 2);
            continue;
        }
        assert_between(path->late_longest_ns, 9000 * MS, 9001 * MS);
        assert_int_equal(path->late_frame, 1);
        assert_int_equal(path->asked_timeouts, 0);
        read_request(PSN + 1, 2);
        assert_int_equal(path_to(d)->asked_again, 0);
        assert_int_equal(path_to(d)->timeouts, 1);
    }
}

/* Each timer that ended is judged by the answers: all four transmissions had arrived, or the last
 * two, or the last one alone. */
static void several_timers(void **state)
{
    static const uint32_t late[] = {0, 0, 1, 1, 3};

    (void)state;
    for (uint32_t answers = 1; answers <= 4; answers++) {
        begin_again();
        id = 1;
        for (int i = 0; i < 4; i++) {
            send_one(PSN);
            now += 1000 * MS;
        }
        for (uint32_t i = 0; i < answers; i++)
            ack(PSN);
        assert_int_equal(path_to(d)->timeouts, 3);
        assert_int_equal(path_to(d)->late_timeouts, late[answers]);
        assert_between(path_to(d)->late_longest_ns, answers > 1 ? 4000 * MS : 0,
                       answers > 1 ? 4001 * MS : 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, delivery_end)
    const struct CMUnitTest tests[] = {
        TEST(asked_for_and_acknowledged),
        TEST(asked_for_and_not_sent),
        TEST(asked_for_and_sent_in_part),
        TEST(served_and_sent_again),
        TEST(served_answers),
        TEST(silent_and_heard),
        TEST(asked_for_and_not_passed),
        TEST(acknowledged_and_sent_again),
        TEST(asked_for_out_of_order),
        TEST(responses_late),
        TEST(several_timers),
        TEST(asked_for_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
