/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of delivery alone: Acks that pass before what they acknowledge. */

#include "talk.h"

/* The two directions are milliseconds apart: what was lost comes again just behind its Ack. It was
 * not missing from the capture. */
static void lost_and_acked_before_it_passes(void **state)
{
    (void)state;
    send_one(PSN - 1);
    ack(PSN);
    send_one(PSN);
    for (uint32_t late = 0; late < 2; late++) {
        uint32_t lost = PSN + 1 + 2 * late;

        send_one(lost + 1);
        answer(RPCRDMA_OP_NAK, lost, RPCRDMA_NAK_PSN_SEQUENCE);
        now += 2 * MS;
        ack(lost + 1);
        now += late ? 60 * MS : 5 * MS;
        send_one(lost);
        path_is(1 + late, 1, 0, 0, late);
    }
    assert_true(find(PSN + 1, PSN + 1).lost);
}

/* Likewise what passed, and whose last packet was lost: all of it comes again after a timer, just
 * behind the Ack. */
static void timed_out_and_acked_before_it_passes(void **state)
{
    int64_t sent;

    (void)state;
    send_one(PSN - 1);
    ack(PSN);
    send_one(PSN);
    send_part(PSN + 1, RPCRDMA_OP_FIRST);
    now += 700 * MS;
    ack(PSN + 2);
    now += 2 * MS;
    send_part(PSN + 1, RPCRDMA_OP_FIRST);
    sent = now;
    send_part(PSN + 2, RPCRDMA_OP_LAST | RPCRDMA_OP_ACK_REQUEST);
    assert_int_equal(path_to(d)->timeouts, 1);
    assert_int_equal(path_to(d)->late_timeouts, 0);
    assert_int_equal(find(PSN + 1, PSN + 2).transmissions, 2);
    assert_int_equal(find(PSN + 1, PSN + 2).last_time_ns, sent + 10 * US);
}

/* 200 packets pass behind their Ack, 8 ms after it. By the clock of the end that answers they had
 * arrived when it did. So far are the two directions apart, at least. */
static void acked_long_before_it_passes(void **state)
{
    enum { N = 200 };
    int64_t answered;

    (void)state;
    send_one(PSN);
    ack(PSN);
    assert_int_equal(path_to(d)->early_acks, 0);
    ack(PSN + N);
    answered = now;
    now += 6 * MS;
    for (uint32_t i = 1; i < N; i++)
        send_part(PSN + i, i == 1 ? RPCRDMA_OP_FIRST : 0);
    send_part(PSN + N, RPCRDMA_OP_LAST | RPCRDMA_OP_ACK_REQUEST);
    assert_int_equal(find(PSN + 1, PSN + N).state, RPCRDMA_DELIVERED);
    assert_int_equal(find(PSN + 1, PSN + N).time_ns, answered);
    assert_int_equal(path_to(d)->early_acks, 1);
    assert_int_equal(path_to(d)->early_ns, now - answered);
    path_is(0, 0, 0, 0, 0);
}

/* The Acks of several pass before the first of them: each has its own, though responses pass
 * between them. */
static void acked_early_one_by_one(void **state)
{
    enum { N = 8, RESPONSES = 40 };
    int64_t answered[N];

    (void)state;
    send_one(PSN);
    ack(PSN);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t psn = PSN + 1 + i * (RESPONSES + 1);

        ack(psn);
        answered[i] = now;
        for (uint32_t k = 1; k <= RESPONSES; k++)
            answer(RPCRDMA_OP_READ_RESPONSE, psn + k, 0);
    }
    now += 5 * MS;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t psn = PSN + 1 + i * (RESPONSES + 1);

        send_one(psn);
        read_request(psn + 1, RESPONSES);
        assert_int_equal(find(psn, psn).time_ns, answered[i]);
        assert_int_equal(find(psn + 1, psn + RESPONSES).time_ns, answered[i] + 10 * US);
    }
    assert_int_equal(path_to(d)->early_acks, 2 * N);
}

/* An Ack of what is never sent is over a moment later: those that are early then have their times.
 */
static void acked_early_behind_an_ack_of_nothing(void **state)
{
    enum { NEVER = 100000, N = 4 };
    int64_t answered;

    (void)state;
    send_one(PSN);
    ack(PSN);
    ack(PSN + NEVER);
    now += 60 * MS;
    send_one(PSN + 1);
    for (uint32_t i = 2; i <= N; i++) {
        ack(PSN + i);
        answered = now;
        now += 5 * MS;
        send_one(PSN + i);
        assert_int_equal(find(PSN + i, PSN + i).state, RPCRDMA_DELIVERED);
        assert_int_equal(find(PSN + i, PSN + i).time_ns, answered);
    }
    assert_int_equal(path_to(d)->early_acks, N - 1);
}

/* In the file an Ack stands before what it acknowledges, by the times it does not. */
static void acked_early_in_the_file(void **state)
{
    int64_t sent = START + 5 * US;

    (void)state;
    send_one(PSN);
    ack(PSN);
    now = START + 90 * US;
    ack(PSN + 1);
    now = sent - 10 * US;
    send_one(PSN + 1);
    assert_int_equal(find(PSN + 1, PSN + 1).time_ns, START + 100 * US);
    assert_int_equal(path_to(d)->early_acks, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, delivery_end)
    const struct CMUnitTest tests[] = {
        TEST(lost_and_acked_before_it_passes),      TEST(timed_out_and_acked_before_it_passes),
        TEST(acked_long_before_it_passes),          TEST(acked_early_one_by_one),
        TEST(acked_early_behind_an_ack_of_nothing), TEST(acked_early_in_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
