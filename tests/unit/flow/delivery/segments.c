/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of delivery alone, of TCP: segments of one direction and their acknowledgements in;
 * what arrived, how often it was sent, and what was lost, out. RFC 9293; RFC 5681. */

#include "segment_rig.h"

#include "base/step.h"

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, delivery_end)
    const struct CMUnitTest tests[] = {
        TEST(tcp_acknowledges_bytes),   TEST(tcp_sends_again),
        TEST(tcp_captured_late),        TEST(tcp_keeps_alive),
        TEST(tcp_lacks_bytes),          TEST(tcp_sends_much_again),
        TEST(tcp_acknowledges_late),    TEST(tcp_acknowledges_late_behind_gap),
        TEST(tcp_acknowledges_at_once), TEST(tcp_acknowledges_in_order),
        TEST(tcp_lacks_segments),       TEST(tcp_acknowledges_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
