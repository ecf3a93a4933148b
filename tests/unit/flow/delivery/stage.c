/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of delivery alone: packets of one direction and the answers to them in; what arrived,
 * how often it was sent, and what was lost, out. IBTA volume 1 section 9.7. */

#include "flow/life.h"
#include "talk.h"

/* Of as many holes as are kept, the oldest is filled in its middle: what is left of it is two, and
 * none of these takes the other's place. */
static void the_oldest_hole_filled_in_its_middle(void **state)
{
    enum { WIDE = 3, APART = 10, KEPT = 8 };

    (void)state;
    id = 1;
    send_one(PSN);
    ack(PSN);
    for (uint32_t i = 0; i < KEPT; i++) /* after each, WIDE are missing */
        send_one(PSN + WIDE + 1 + i * APART);
    for (uint32_t i = 0; i < WIDE; i++)
        send_one(PSN + (i == 0 ? 2 : i == 1 ? 1 : 3));
    path_is(WIDE, WIDE, 0, 0, 0);
}

static void a_message_of_several_packets(void **state)
{
    struct rpcrdma_delivery sent;
    uint64_t first = send_part(PSN, RPCRDMA_OP_FIRST);

    (void)state;
    send_part(PSN + 1, 0);
    assert_false(ack(PSN)); /* of a part */
    assert_int_equal(find(PSN, PSN + 1).state, RPCRDMA_DELIVERY_UNKNOWN);
    send_part(PSN + 2, RPCRDMA_OP_LAST);
    assert_true(ack(PSN + 2));
    sent = find(PSN, PSN + 2);
    assert_int_equal(sent.state, RPCRDMA_DELIVERED);
    assert_int_equal(sent.first_frame, first);
    assert_int_equal(sent.last_frame, first + 3);
}

/* The last packet was lost before it was captured, twice. What had arrived is acknowledged once
 * more for each packet that comes again: that proves neither that the message arrived, nor that
 * nothing was lost. */
static void the_end_of_a_message_lost(void **state)
{
    struct rpcrdma_delivery sent;

    (void)state;
    for (int i = 0; i < 2; i++) {
        send_part(PSN, RPCRDMA_OP_FIRST);
        send_part(PSN + 1, 0);
        now += i == 0 ? 300 * MS : 0;
    }
    assert_false(ack(PSN + 1));
    assert_false(ack(PSN + 1));
    assert_int_equal(find(PSN, PSN + 1).state, RPCRDMA_DELIVERY_UNKNOWN);
    now += 300 * MS;
    send_part(PSN + 2, RPCRDMA_OP_LAST);
    assert_true(ack(PSN + 2));
    sent = find(PSN, PSN + 2);
    assert_int_equal(sent.state, RPCRDMA_DELIVERED);
    assert_int_equal(sent.frame, frame);
    assert_int_equal(path_to(d)->timeouts, 1);
    assert_int_equal(path_to(d)->late_timeouts, 0);
}

/* Times may begin at 0, and be before 1970: no time means that there is none. */
static void from_time_0(void **state)
{
    (void)state;
    now = -10 * US;
    send_one(PSN);
    assert_int_equal(now, 0);
    now += 300 * MS;
    send_one(PSN);
    assert_int_equal(path_to(d)->timeouts, 1);
    assert_int_equal(path_to(d)->timeout_ns, now);
    assert_int_equal(path_to(d)->waited_ns, now);
    assert_int_equal(path_to(d)->longest_wait_ns, now);
}

static void before_1970(void **state)
{
    (void)state;
    now = -START;
    send_one(PSN);
    send_one(PSN + 1);
    ack(PSN + 1);
    assert_int_equal(find(PSN + 1, PSN + 1).time_ns, now);
    assert_int_equal(find(PSN, PSN).time_ns, now - 10 * US);
}

/* PSN + 1 is lost before it is captured; PSN + 2 shows it, the Nak asks for both. */
static void lost_and_sent_again(void **state)
{
    struct rpcrdma_delivery sent;
    uint64_t again;
    int64_t was;

    (void)state;
    send_one(PSN);
    send_one(PSN + 2);
    answer(RPCRDMA_OP_NAK, PSN + 1, RPCRDMA_NAK_PSN_SEQUENCE);
    assert_int_equal(find(PSN, PSN).state,
                     RPCRDMA_DELIVERED); /* a Nak acknowledges what is before */
    was = now;
    now += 2 * MS;
    send_one(PSN + 1);
    again = send_one(PSN + 2);
    ack(PSN + 2);
    path_is(2, 1, 0, 0, 0);
    assert_int_equal(path_to(d)->naks[RPCRDMA_NAK_PSN_SEQUENCE], 1);
    assert_int_equal(path_to(d)->timeouts, 0);
    assert_between(path_to(d)->waited_ns, 2 * MS, now - was + 20 * US);
    sent = find(PSN + 2, PSN + 2);
    assert_int_equal(sent.transmissions, 2);
    assert_int_equal(sent.last_frame, again);
    assert_int_equal(sent.state, RPCRDMA_DELIVERED);
    assert_true(sent.lost);
    assert_int_equal(flow_delivery_recovery(d)->cause, FLOW_RECOVERY_LOST);
}

/* The retransmission that a Nak asks for is lost before the capture, too; the timer ends. */
static void silence_after_a_nak(void **state)
{
    (void)state;
    send_one(PSN);
    answer(RPCRDMA_OP_NAK, PSN, RPCRDMA_NAK_PSN_SEQUENCE);
    now += 2200 * MS;
    send_one(PSN);
    ack(PSN);
    assert_int_equal(path_to(d)->timeouts, 1);
    assert_between(path_to(d)->timeout_ns, 2200 * MS, 2201 * MS);
}

static void a_timeout_is_silence_without_a_nak(void **state)
{
    (void)state;
    send_one(PSN);
    now += 500 * MS;
    send_one(PSN);
    now += 500 * MS;
    send_one(PSN);
    ack(PSN);
    path_is(2, 0, 0, 0, 0);
    assert_int_equal(find(PSN, PSN).transmissions, 3);
    assert_int_equal(path_to(d)->timeouts, 2);
    assert_between(path_to(d)->timeout_ns, 1000 * MS, 1001 * MS);
    assert_between(path_to(d)->longest_wait_ns, 1000 * MS, 1001 * MS);
}

/* With this IP ID, if not 0. */
static void send_as(uint16_t ip_id, uint32_t psn)
{
    id = ip_id;
    send_one(psn);
}

/* The same packet twice at once: a copy, where its IP ID is the same or IDs tell nothing. */
static void duplicated_is_not_sent_again(void **state)
{
    (void)state;
    for (int counted = 0; counted < 2; counted++) {
        begin_again();
        send_as(counted ? 7 : 0, PSN);
        send_one(PSN + 1);
        send_as(counted ? 8 : 0, PSN + 1);
        ack(PSN + 1);
        path_is(0, 0, 1, 0, 0);
        assert_int_equal(find(PSN + 1, PSN + 1).transmissions, 1);
    }
}

/* IDs that count say that it was sent again, however soon. */
static void sent_again_at_once(void **state)
{
    (void)state;
    id = 7;
    send_one(PSN);
    send_one(PSN + 1);
    send_one(PSN + 1);
    path_is(1, 0, 0, 0, 0);
}

static void reordered_is_not_sent_again(void **state)
{
    (void)state;
    for (int counted = 0; counted < 2; counted++) {
        begin_again();
        send_as(counted ? 7 : 0, PSN);
        send_as(counted ? 9 : 0, PSN + 2);
        send_as(counted ? 8 : 0, PSN + 1);
        ack(PSN + 2);
        path_is(0, 0, 0, 1, 0);
        assert_int_equal(find(PSN + 1, PSN + 1).transmissions, 1);
        assert_int_equal(find(PSN + 1, PSN + 1).state, RPCRDMA_DELIVERED);
    }
}

static void acknowledged_and_not_captured(void **state)
{
    (void)state;
    send_one(PSN);
    send_one(PSN + 3);
    ack(PSN + 3);
    path_is(0, 0, 0, 0, 2);
}

/* A capture may have a packet a few places behind its own Ack: it was sent once. Where it comes
 * long after that, or with a newer IP ID, its Ack was lost. Of three that were missing the last may
 * have been lost: only what is before it is acknowledged. */
static void captured_behind_its_own_ack(void **state)
{
    (void)state;
    for (int counted = 0; counted < 2; counted++) {
        begin_again();
        send_as(counted ? 7 : 0, PSN);
        send_as(counted ? 11 : 0, PSN + 4);
        ack(PSN + 2);
        path_is(0, 0, 0, 0, 2);
        send_as(counted ? 9 : 0, PSN + 2);
        path_is(0, 0, 0, 1, 1);
        assert_int_equal(find(PSN + 2, PSN + 2).transmissions, 1);
        answer(RPCRDMA_OP_NAK, PSN + 3, RPCRDMA_NAK_PSN_SEQUENCE);
        send_as(counted ? 12 : 0, PSN + 3); /* this was lost */
        path_is(1, 1, 0, 1, 1);
        now += counted ? 0 : 2 * MS;
        send_one(PSN + 1);
        path_is(2, 1, 0, 1, 1);
    }
}

/* A Read request has the PSNs of all its responses. */
static void a_request_captured_behind_its_responses(void **state)
{
    (void)state;
    send_one(PSN);
    send_one(PSN + 4);
    answer(RPCRDMA_OP_READ_RESPONSE, PSN + 3, 0);
    path_is(0, 0, 0, 0, 3);
    read_request(PSN + 1, 3);
    path_is(0, 0, 0, 1, 0);
}

static void not_ready(void **state)
{
    (void)state;
    send_one(PSN);
    answer(RPCRDMA_OP_NAK, PSN, RPCRDMA_NAK_RNR);
    assert_true(flow_delivery_not_ready(d));
    now += 10 * MS;
    send_one(PSN);
    assert_false(flow_delivery_not_ready(d));
    ack(PSN);
    assert_int_equal(flow_delivery_recovery(d)->cause, FLOW_RECOVERY_NOT_READY);
    assert_int_equal(path_to(d)->naks[RPCRDMA_NAK_RNR], 1);
    assert_int_equal(path_to(d)->timeouts, 0);
    path_is(1, 0, 0, 0, 0);
}

/* A Send, and a Read request, again after silence: lost, or the answer, or an end stood still. */
static void a_timer_proves_no_loss(void **state)
{
    (void)state;
    send_one(PSN);
    now += 300 * MS;
    send_one(PSN);
    ack(PSN);
    ack(PSN); /* both had arrived */
    assert_int_equal(flow_delivery_recovery(d)->cause, FLOW_RECOVERY_UNKNOWN);
    assert_false(find(PSN, PSN).lost);
    path_is(1, 0, 0, 0, 0);
    assert_int_equal(path_to(d)->timeouts, 1);
    for (int i = 0; i < 2; i++) { /* the second time all of its responses have passed */
        read_request(PSN + 1, 2);
        answer(RPCRDMA_OP_READ_RESPONSE, PSN + 1, 0);
        answer(RPCRDMA_OP_READ_RESPONSE, PSN + 2, 0);
        now += 300 * MS;
    }
    assert_int_equal(flow_delivery_recovery(d)->cause, FLOW_RECOVERY_UNKNOWN);
}

static void never_acknowledged(void **state)
{
    struct rpcrdma_silence silence;
    int64_t first;

    (void)state;
    send_one(PSN);
    ack(PSN);
    send_one(PSN + 1);
    first = now;
    flow_delivery_silence(d, &silence);
    assert_int_equal(silence.transmissions, 0); /* sent once: the answer may be on its way */
    for (int i = 0; i < 2; i++) {
        now += 500 * MS;
        send_one(PSN + 1);
    }
    flow_delivery_silence(d, &silence);
    assert_int_equal(silence.transmissions, 3);
    assert_int_equal(silence.since_ns, first);
    assert_int_equal(find(PSN + 1, PSN + 1).state, RPCRDMA_DELIVERY_UNKNOWN);
    flow_delivery_end(d);
    assert_int_equal(find(PSN + 1, PSN + 1).state, RPCRDMA_NOT_DELIVERED);
}

/* Of one direction alone nothing can be said, unless it comes again and again. */
static void without_answers(void **state)
{
    struct rpcrdma_silence silence;

    (void)state;
    send_one(PSN);
    now += 500 * MS;
    send_one(PSN);
    flow_delivery_end(d);
    flow_delivery_silence(d, &silence);
    assert_int_equal(silence.transmissions, 0);
    assert_false(flow_delivery_answered(d));
    assert_int_equal(find(PSN, PSN).state, RPCRDMA_DELIVERY_UNKNOWN);
}

/* A Read request that was answered in part comes again: what it asks for was lost on its way. Its
 * sender sees that by the responses behind it; of the last one only a timer tells. */
static void a_response_lost(void **state)
{
    (void)state;
    read_request(PSN, 3);
    answer(RPCRDMA_OP_READ_RESPONSE, PSN, 0);
    answer(RPCRDMA_OP_READ_RESPONSE, PSN + 2, 0);
    now += 20 * MS;
    read_request(PSN + 1, 2);
    assert_int_equal(flow_delivery_recovery(d)->cause, FLOW_RECOVERY_RESPONSE);
    assert_int_equal(path_to(d)->asked_again, 1);
    assert_int_equal(path_to(d)->timeouts, 0);
    assert_between(path_to(d)->asked_waited_ns, 20 * MS, 21 * MS);
    answer(RPCRDMA_OP_READ_RESPONSE, PSN + 1, 0);
    now += 300 * MS;
    read_request(PSN + 2, 1);
    assert_int_equal(path_to(d)->asked_again, 2);
    assert_int_equal(path_to(d)->timeouts, 1);
    assert_int_equal(path_to(d)->asked_timeouts, 1);
    assert_int_equal(path_to(d)->waited_ns, 0);
}

static void other_bytes_under_the_same_psn(void **state)
{
    (void)state;
    send_one(PSN);
    now += 20 * MS;
    send_one(PSN);
    assert_int_equal(path_to(d)->different, 0);
    bytes[LENGTH - 1] ^= 1;
    now += 20 * MS;
    send_one(PSN);
    assert_int_equal(path_to(d)->different, 1);
    assert_int_equal(path_to(d)->different_frame, frame);
    /* what had arrived already is not taken, whatever it says */
    flow_delivery_served(d, PSN);
    bytes[LENGTH - 1] ^= 1;
    now += 20 * MS;
    send_one(PSN);
    ack(PSN);
    bytes[LENGTH - 1] ^= 1;
    now += 20 * MS;
    send_one(PSN);
    assert_int_equal(path_to(d)->different, 3);
    assert_int_equal(path_to(d)->different_arrived, 2);
}

/* What is outstanding is bounded, and so is what was answered. */
static void memory_is_bounded(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100000; i++)
        send_one(PSN + i);
    assert_between(memory.used, 1, 1 << 20);
    for (uint32_t i = 0; i < 100000; i++) {
        send_one(PSN + 100000 + i);
        ack(PSN + 100000 + i);
    }
    assert_between(memory.used, 1, 1 << 20);
    assert_int_equal(find(PSN + 199999, PSN + 199999).state, RPCRDMA_DELIVERED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, delivery_end)
    const struct CMUnitTest tests[] = {
        TEST(the_oldest_hole_filled_in_its_middle),
        TEST(a_message_of_several_packets),
        TEST(the_end_of_a_message_lost),
        TEST(from_time_0),
        TEST(before_1970),
        TEST(lost_and_sent_again),
        TEST(silence_after_a_nak),
        TEST(a_timeout_is_silence_without_a_nak),
        TEST(duplicated_is_not_sent_again),
        TEST(sent_again_at_once),
        TEST(reordered_is_not_sent_again),
        TEST(acknowledged_and_not_captured),
        TEST(captured_behind_its_own_ack),
        TEST(a_request_captured_behind_its_responses),
        TEST(not_ready),
        TEST(a_timer_proves_no_loss),
        TEST(never_acknowledged),
        TEST(without_answers),
        TEST(a_response_lost),
        TEST(other_bytes_under_the_same_psn),
        TEST(memory_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
