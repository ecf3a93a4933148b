/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of delivery alone, of TCP: what came twice, as its receiver says (RFC 2883), and when
 * it came first. */

#include "segment_rig.h"

#include "base/step.h"

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

/* Its acknowledgement had passed, and what is sent again acknowledges nothing that came with it.
 * What does later says that this had arrived, and was taken late, unless it came just before, or
 * was sent again since. */
static void tcp_took_the_answer_late(void **state)
{
    static const struct {
        int64_t before_ns;
        bool again;
    } cases[] = {{300 * MS, false}, {5 * MS, false}, {300 * MS, true}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        delivery_end(state);
        assert_int_equal(begin(state), 0);
        segment(d, back, 1000, 100, 1, 500);
        segment(back, d, 1, 0, 1100, 500);
        now += 300 * MS - cases[i].before_ns;
        segment(back, d, 1, 100, 1100, 500);
        now += cases[i].before_ns;
        segment(d, back, 1000, 100, 1, 500);
        says_twice(1100, 1000, 1100);
        expect_timeouts(1, 0, 0);
        if (cases[i].again) {
            now += 300 * MS;
            segment(back, d, 1, 100, 1100, 500);
        }
        segment(d, back, 1100, 100, 101, 500);
        expect_timeouts(i > 0, i == 0, 0);
    }
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

/* Bytes 1000 to 1099 come `ns` behind those after them, and once more, soon, before any Ack. */
static void behind_others(int64_t ns)
{
    segment(d, back, 900, 100, 1, 500);
    segment(d, back, 1100, 100, 1, 500);
    now += ns;
    for (int i = 0; i < 2; i++) {
        segment(d, back, 1000, 100, 1, 500);
        now += 2 * MS;
    }
}

/* They passed out of order: their receiver asked for them before it had them. It may say so. */
static void tcp_late_and_again(void **state)
{
    (void)state;
    behind_others(0);
    assert_int_equal(path_to(d)->reordered, 1);
    assert_int_equal(path_to(d)->retransmitted, 1);
    assert_int_equal(path_to(d)->spurious, 1);
    says_twice(1200, 1000, 1100);
    assert_int_equal(path_to(d)->spurious, 1);
}

/* They were lost, and sent again twice. */
static void tcp_lost_and_again(void **state)
{
    (void)state;
    behind_others(5 * MS);
    assert_int_equal(path_to(d)->lost, 1);
    assert_int_equal(path_to(d)->retransmitted, 2);
    assert_int_equal(path_to(d)->spurious, 0);
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

/* A D-SACK costs no walk over all that was acknowledged together, and what is said ever again is no
 * more than was sent again. */
static void tcp_says_twice_without_end(void **state)
{
    enum { SENT = 2000, SAID = 3, STEPS = 600 };

    (void)state;
    segment(d, back, 900, 100, 1, 500);
    segment(back, d, 1, 0, 1000, 500);
    for (int times = 0; times < 2; times++, now += 300 * MS)
        for (uint32_t i = 0; i < SENT; i++)
            segment(d, back, 1000 + i * 100, 100, 1, 500);
    segment(back, d, 1, 0, 1000 + SENT * 100, 500);
#ifdef RPCRDMA_COUNT_STEPS
    rpcrdma_steps = 0;
#endif
    for (int times = 0; times < SAID; times++, now += 2 * MS)
        for (uint32_t i = 0; i < SENT; i++)
            says_twice(1000 + SENT * 100, 1000 + i * 100, 1100 + i * 100);
#ifdef RPCRDMA_COUNT_STEPS
    assert_true(rpcrdma_steps < SENT * STEPS * SAID);
#endif
    assert_true(path_to(d)->spurious <= path_to(d)->retransmitted);
    assert_int_equal(path_to(d)->retransmitted, SENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, delivery_end)
    const struct CMUnitTest tests[] = {
        TEST(tcp_answers_lost),           TEST(tcp_answers_each),
        TEST(tcp_says_twice_once),        TEST(tcp_answers_passed),
        TEST(tcp_answers_late),           TEST(tcp_answers_nearly_in_time),
        TEST(tcp_took_the_answer_late),   TEST(tcp_copies_are_not_spurious),
        TEST(tcp_arrived_the_first_time), TEST(tcp_arrived_the_first_time_behind),
        TEST(tcp_arrived_last),           TEST(tcp_arrived_after_others),
        TEST(tcp_late_and_again),         TEST(tcp_lost_and_again),
        TEST(tcp_says_twice_without_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
