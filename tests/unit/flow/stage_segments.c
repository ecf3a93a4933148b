/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of delivery alone, of TCP: segments of one direction and their acknowledgements in;
 * what arrived, how often it was sent, and what was lost, out. RFC 9293; RFC 5681. */

#include "delivery_rig.h"

#include "base/step.h"

#define START INT64_C(1700000000000000000)

static int64_t now;

static int begin(void **state)
{
    now = START;
    return delivery_begin(state);
}

static bool segment(struct flow_delivery *to, struct flow_delivery *other, uint32_t seq,
                    uint32_t len, uint32_t acknowledges, uint32_t window)
{
    const struct rpcrdma_tcp_segment one = {.frame = ++frame,
                                            .time_ns = now += 10 * US,
                                            .seq = seq,
                                            .len = len,
                                            .ack = acknowledges,
                                            .window = window,
                                            .has_ack = true};

    return flow_delivery_segment(&memory, to, other, &one);
}

static struct rpcrdma_delivery find_bytes(uint32_t first, uint32_t last)
{
    struct rpcrdma_delivery out;

    assert_true(flow_delivery_find(d, false, first, last, &out));
    return out;
}

static void tcp_acknowledges_bytes(void **state)
{
    const uint32_t at = UINT32_MAX - 50; /* sequence numbers wrap */

    (void)state;
    segment(d, back, at, 100, 1, 500);
    segment(d, back, at + 100, 100, 1, 500);
    assert_true(segment(back, d, 1, 0, at + 100, 500));
    assert_int_equal(find_bytes(at, at + 99).state, RPCRDMA_DELIVERED);
    assert_int_equal(find_bytes(at + 100, at + 199).state, RPCRDMA_DELIVERY_UNKNOWN);
    assert_true(segment(back, d, 1, 0, at + 200, 500));
    assert_int_equal(find_bytes(at + 100, at + 199).state, RPCRDMA_DELIVERED);
}

static void tcp_sends_again(void **state)
{
    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    now += 300 * MS;
    segment(d, back, 1000, 100, 1, 500);
    segment(back, d, 1, 0, 1100, 0);
    assert_int_equal(path_to(d)->retransmitted, 1);
    assert_int_equal(path_to(d)->timeouts, 1);
    assert_int_equal(path_to(d)->zero_windows, 1);
    assert_int_equal(find_bytes(1000, 1099).transmissions, 2);
    assert_false(find_bytes(1000, 1099).lost); /* or the acknowledgement was */
}

/* The capture has a segment behind its own acknowledgement. */
static void tcp_captured_late(void **state)
{
    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    segment(d, back, 1200, 100, 1, 500);
    segment(back, d, 1, 0, 1300, 500);
    assert_int_equal(path_to(d)->uncaptured, 1);
    segment(d, back, 1100, 100, 1, 500);
    assert_int_equal(path_to(d)->uncaptured, 0);
    assert_int_equal(path_to(d)->reordered, 1);
    assert_int_equal(path_to(d)->retransmitted, 0);
}

/* RFC 9293 section 3.8.4: a keep-alive may have a byte, of what was acknowledged long ago. The same
 * of what was not is retransmitted. */
static void tcp_keeps_alive(void **state)
{
    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    segment(back, d, 1, 0, 1100, 500);
    for (int i = 0; i < 3; i++) {
        now += 300 * MS;
        segment(d, back, 1099, 1, 1, 500);
    }
    segment(d, back, 1100, 1, 1, 500);
    assert_int_equal(path_to(d)->retransmitted, 0);
    assert_int_equal(path_to(d)->timeouts, 0);
    now += 300 * MS;
    segment(d, back, 1100, 1, 1, 500);
    assert_int_equal(path_to(d)->retransmitted, 1);
    assert_int_equal(path_to(d)->timeouts, 1);
}

/* Bytes are acknowledged that were never sent: that hides no acknowledgement behind it. */
static void tcp_acknowledges_nothing(void **state)
{
    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    segment(back, d, 1, 0, 1000 + (1 << 29), 500);
    segment(d, back, 1100, 100, 1, 500);
    assert_true(segment(back, d, 1, 0, 1200, 500));
    assert_int_equal(find_bytes(1100, 1199).state, RPCRDMA_DELIVERED);
}

/* What arrived and was not captured: not less than so many segments. */
static void tcp_lacks_segments(void **state)
{
    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    segment(d, back, 1350, 50, 1, 500); /* behind 250 bytes */
    assert_int_equal(path_to(d)->uncaptured, 0);
    segment(back, d, 1, 0, 1400, 500);
    assert_int_equal(path_to(d)->uncaptured, 3);
    segment(d, back, 1401, 100, 1, 500); /* and behind one */
    segment(back, d, 1, 0, 1501, 500);
    assert_int_equal(path_to(d)->uncaptured, 4);
}

/* RFC 5681 section 2: the same acknowledgement again, as later bytes arrive. */
static void tcp_lacks_bytes(void **state)
{
    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    segment(back, d, 1, 0, 1100, 500);
    segment(d, back, 1100, 100, 1, 500);
    segment(d, back, 1200, 100, 1, 500);
    segment(back, d, 1, 0, 1100, 500);
    now += 10 * MS;
    segment(d, back, 1100, 100, 1, 500);
    segment(back, d, 1, 0, 1300, 500);
    assert_true(find_bytes(1100, 1199).lost);
    assert_false(find_bytes(1200, 1299).lost);
    assert_int_equal(flow_delivery_recovery(d)->cause, FLOW_RECOVERY_LOST);
}

/* Segments of which little was captured may claim to send again whatever is remembered: that takes
 * what 64 KiB of small segments take (RFC 9293 section 3.7.1), not what there is. */
static void tcp_sends_much_again(void **state)
{
    enum { SMALL = 14, N = 4096, AGAIN = 50 };

    (void)state;
    for (uint32_t i = 0; i < N; i++)
        segment(d, back, 1000 + i * SMALL, SMALL, 1, 500);
#ifdef RPCRDMA_COUNT_STEPS
    rpcrdma_steps = 0;
#endif
    for (uint32_t i = 0; i < AGAIN; i++) {
        now += 10 * MS;
        segment(d, back, 1000 + SMALL, (N - 2) * SMALL, 1, 500);
    }
    assert_int_equal(path_to(d)->retransmitted, AGAIN);
#ifdef RPCRDMA_COUNT_STEPS
    assert_true(rpcrdma_steps > AGAIN);
    assert_true(rpcrdma_steps < AGAIN * 512);
#endif
}

/* An Ack that waited for a timer (RFC 9293 section 3.8.6.3) tells late of what came early. */
static void tcp_acknowledges_late(void **state)
{
    int64_t sent;

    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    segment(back, d, 1, 0, 1100, 500);
    segment(d, back, 1100, 100, 1, 500);
    sent = now;
    now += 40 * MS;
    segment(back, d, 1, 0, 1200, 500);
    assert_between(find_bytes(1100, 1199).time_ns, sent, sent + 20 * US);
}

/* One that travels alone, and sooner than any timer, tells when it came, though others came faster;
 * one that travels with data may have waited for these. */
static void tcp_acknowledges_at_once(void **state)
{
    (void)state;
    for (uint32_t data = 0; data < 2; data++) {
        uint32_t at = 1000 + 200 * data;
        int64_t sent;

        segment(d, back, at, 100, 1, 500);
        segment(back, d, 1, 0, at + 100, 500);
        segment(d, back, at + 100, 100, 1, 500);
        sent = now;
        now += 5 * MS;
        segment(back, d, 1, data, at + 200, 500);
        if (data)
            assert_between(find_bytes(at + 100, at + 199).time_ns, sent, sent + 20 * US);
        else
            assert_int_equal(find_bytes(at + 100, at + 199).time_ns, now);
    }
}

/* What an acknowledgement did not tell of arrived after it was sent. */
static void tcp_acknowledges_in_order(void **state)
{
    int64_t first;

    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    segment(back, d, 1, 0, 1100, 500);
    segment(d, back, 1100, 100, 1, 500);
    segment(d, back, 1200, 100, 1, 500);
    now += 5 * MS;
    segment(back, d, 1, 0, 1200, 500);
    first = now;
    segment(back, d, 1, 1, 1300, 500);
    assert_int_equal(find_bytes(1100, 1199).time_ns, first);
    assert_int_equal(find_bytes(1200, 1299).time_ns, first);
}

/* Nor does it tell more where segments before it were not captured, or were retransmitted. */
static void tcp_acknowledges_late_behind_gap(void **state)
{
    int64_t sent;

    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    segment(back, d, 1, 0, 1100, 500);
    segment(d, back, 1200, 100, 1, 500);
    sent = now;
    now += 3000 * MS;
    segment(back, d, 1, 1, 1300, 500);
    assert_between(find_bytes(1200, 1299).time_ns, sent, sent + 20 * US);
    for (uint32_t i = 0; i < 2; i++) {
        now += 300 * MS;
        segment(d, back, 1300, 100, 1, 500);
    }
    segment(d, back, 1400, 100, 1, 500);
    sent = now;
    now += 3000 * MS;
    segment(back, d, 1, 0, 1500, 500);
    assert_between(find_bytes(1400, 1499).time_ns, sent, sent + 20 * US);
}

/* As segment, for all of the other direction before `acknowledges`, of which these came twice. */
static bool says_twice(uint32_t acknowledges, uint32_t first, uint32_t end)
{
    const struct rpcrdma_tcp_segment one = {.frame = ++frame,
                                            .time_ns = now += 10 * US,
                                            .seq = 1,
                                            .ack = acknowledges,
                                            .window = 500,
                                            .has_ack = true,
                                            .twice = first,
                                            .twice_end = end};

    return flow_delivery_segment(&memory, back, d, &one);
}

static void times_out(unsigned times)
{
    while (times-- > 0) {
        now += 300 * MS;
        segment(d, back, 1000, 100, 1, 500);
    }
}

static void expect_timeouts(uint64_t acked, uint64_t late, uint64_t served)
{
    assert_int_equal(path_to(d)->acked_timeouts, acked);
    assert_int_equal(path_to(d)->late_timeouts, late);
    assert_int_equal(path_to(d)->served_timeouts, served);
    assert_int_equal(path_to(d)->acked_timeout_ns + path_to(d)->late_timeout_ns +
                         path_to(d)->served_timeout_ns,
                     path_to(d)->timeout_ns);
}

/* RFC 2883: the receiver had it, and its acknowledgements were lost before they came here. One or
 * two of several times that it came may be told by themselves. */
static void tcp_answers_lost(void **state)
{
    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    times_out(3);
    assert_int_equal(path_to(d)->spurious, 0);
    for (int i = 0; i < 2; i++) {
        says_twice(1100, 1000, 1100);
        expect_timeouts(0, 0, 3);
        assert_int_equal(path_to(d)->spurious, 3);
        now += 2 * MS;
    }
    assert_int_equal(path_to(d)->late_longest_ns, 0);
}

/* It tells of each time, and of the first when it had come for the last time: no Ack was lost. */
static void tcp_answers_each(void **state)
{
    int64_t sent_ns, answered_ns;

    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    sent_ns = now;
    times_out(3);
    says_twice(1100, 1000, 1100);
    answered_ns = now;
    for (int i = 0; i < 2; i++) {
        now += 2 * MS;
        says_twice(1100, 1000, 1100);
    }
    expect_timeouts(0, 3, 0);
    assert_int_equal(path_to(d)->spurious, 3);
    assert_int_equal(path_to(d)->late_longest_ns, answered_ns - sent_ns);
}

/* The same D-SACK captured thrice is one. */
static void tcp_says_twice_once(void **state)
{
    (void)state;
    segment(d, back, 900, 100, 1, 500);
    segment(d, back, 1000, 100, 1, 500);
    now += 5 * MS;
    segment(d, back, 900, 100, 1, 500);
    for (int i = 0; i < 3; i++)
        says_twice(1100, 900, 1000);
    assert_int_equal(path_to(d)->spurious, 1);
}

/* It passed, and did not arrive; or it came late. */
static void tcp_answers_passed(void **state)
{
    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    segment(back, d, 1, 0, 1100, 500);
    times_out(2);
    says_twice(1100, 1000, 1100);
    expect_timeouts(2, 0, 0);
}

static void tcp_answers_late(void **state)
{
    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    times_out(2);
    segment(back, d, 1, 0, 1100, 500);
    says_twice(1100, 1000, 1100);
    expect_timeouts(0, 2, 0);
}

/* It was on its way when the timer ended: it passed nearer to that than to the first. */
static void tcp_answers_nearly_in_time(void **state)
{
    (void)state;
    segment(d, back, 1000, 100, 1, 500);
    now += 290 * MS;
    segment(back, d, 1, 0, 1100, 500);
    now += 10 * MS;
    segment(d, back, 1000, 100, 1, 500);
    says_twice(1100, 1000, 1100);
    expect_timeouts(0, 1, 0);
}

/* What the network doubles was not retransmitted; nor does it say anything of other bytes. */
static void tcp_copies_are_not_spurious(void **state)
{
    (void)state;
    segment(d, back, 900, 100, 1, 500);
    segment(d, back, 1000, 100, 1, 500);
    says_twice(1100, 900, 1000);
    assert_int_equal(path_to(d)->spurious, 0);
    segment(d, back, 1100, 100, 1, 500);
    now += 300 * MS;
    segment(d, back, 1100, 100, 1, 500);
    says_twice(1200, 1000, 1100);
    assert_int_equal(path_to(d)->spurious, 0);
    assert_int_equal(path_to(d)->timeouts, 1);
    assert_int_equal(path_to(d)->served_timeouts, 0);
}

/* Bytes 1000 to 1099 are sent again after 300 ms. Those before were answered after 10 us. */
static int64_t sent_again(void)
{
    int64_t first;

    segment(d, back, 900, 100, 1, 500);
    segment(back, d, 1, 0, 1000, 500);
    segment(d, back, 1000, 100, 1, 500);
    first = now;
    times_out(1);
    return first;
}

/* They had arrived the first time, as a D-SACK says with their acknowledgement, or behind it. */
static void tcp_arrived_the_first_time(void **state)
{
    int64_t first = sent_again();

    (void)state;
    now += 50 * MS;
    says_twice(1100, 1000, 1100);
    assert_int_equal(find_bytes(1000, 1099).state, RPCRDMA_DELIVERED);
    assert_int_equal(find_bytes(1000, 1099).time_ns, first + 10 * US);
}

static void tcp_arrived_the_first_time_behind(void **state)
{
    int64_t first = sent_again(), other = now + 10 * US;

    (void)state;
    segment(d, back, 1100, 100, 1, 500);
    now += 50 * MS;
    segment(back, d, 1, 0, 1200, 500);
    assert_true(find_bytes(1000, 1099).time_ns > first + 300 * MS);
    assert_true(flow_delivery_may_be_first(d, 1099));
    assert_true(flow_delivery_may_be_first(d, 1199)); /* it waited for those */
    assert_false(flow_delivery_may_be_first(d, 999));
    assert_true(says_twice(1200, 1000, 1100));
    assert_int_equal(find_bytes(1000, 1099).time_ns, first + 10 * US);
    assert_int_equal(find_bytes(1100, 1199).time_ns, other + 10 * US);
}

/* No D-SACK follows: the first may have been lost. And one of two copies says as little. */
static void tcp_arrived_last(void **state)
{
    int64_t first = sent_again();

    (void)state;
    segment(back, d, 1, 0, 1100, 500);
    assert_true(flow_delivery_may_be_first(d, 1099));
    assert_true(segment(back, d, 1, 10, 1100, 500)); /* is known now */
    assert_false(flow_delivery_may_be_first(d, 1099));
    assert_true(find_bytes(1000, 1099).time_ns > first + 300 * MS);
    segment(d, back, 1100, 100, 11, 500);
    first = now;
    now += 300 * MS;
    segment(d, back, 1100, 100, 11, 500);
    now += 300 * MS;
    segment(d, back, 1100, 100, 11, 500);
    says_twice(1200, 1100, 1200);
    assert_true(find_bytes(1100, 1199).time_ns > first + 600 * MS);
    now += 2 * MS;
    says_twice(1200, 1100, 1200);
    assert_int_equal(find_bytes(1100, 1199).time_ns, first + 10 * US);
}

/* The acknowledgement before it did not have it. */
static void tcp_arrived_after_others(void **state)
{
    int64_t before;

    (void)state;
    segment(d, back, 900, 100, 1, 500);
    segment(back, d, 1, 0, 1000, 500);
    segment(d, back, 1000, 100, 1, 500);
    segment(d, back, 1100, 100, 1, 500);
    now += 100 * MS;
    segment(back, d, 1, 0, 1100, 500);
    before = now;
    now += 300 * MS;
    segment(d, back, 1100, 100, 1, 500);
    now += 50 * MS;
    segment(back, d, 1, 0, 1200, 500);
    says_twice(1200, 1100, 1200);
    assert_int_equal(find_bytes(1100, 1199).time_ns, before);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, delivery_end)
    const struct CMUnitTest tests[] = {
        TEST(tcp_acknowledges_bytes),
        TEST(tcp_sends_again),
        TEST(tcp_captured_late),
        TEST(tcp_keeps_alive),
        TEST(tcp_lacks_bytes),
        TEST(tcp_sends_much_again),
        TEST(tcp_acknowledges_late),
        TEST(tcp_acknowledges_late_behind_gap),
        TEST(tcp_acknowledges_at_once),
        TEST(tcp_acknowledges_in_order),
        TEST(tcp_lacks_segments),
        TEST(tcp_acknowledges_nothing),
        TEST(tcp_answers_lost),
        TEST(tcp_answers_passed),
        TEST(tcp_answers_late),
        TEST(tcp_answers_nearly_in_time),
        TEST(tcp_copies_are_not_spurious),
        TEST(tcp_answers_each),
        TEST(tcp_says_twice_once),
        TEST(tcp_arrived_the_first_time),
        TEST(tcp_arrived_the_first_time_behind),
        TEST(tcp_arrived_last),
        TEST(tcp_arrived_after_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
