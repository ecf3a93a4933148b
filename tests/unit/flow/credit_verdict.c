/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "flow/credit.h"

static const struct rpcrdma_credit_result base = {
    .requested = {true, 128, 128, 128, 0},
    .granted = {true, 64, 64, 64, 0},
    .limit = {true, 64, 64, 64, 0},
    .in_flight = {.known = true, .max = 64},
    .measured_ns = 1000000000,
    .busy_ns = 1000000000,
    .settled = true,
};

static void expect(const struct rpcrdma_credit_result *result, const char *text)
{
    char buf[300], cut[10];
    size_t n = rpcrdma_credit_verdict(result, "client", "server", buf, sizeof(buf));

    assert_string_equal(buf, text);
    assert_int_equal(n, strlen(text));
    assert_int_equal(rpcrdma_credit_verdict(result, "client", "server", cut, sizeof(cut)), n);
    assert_int_equal(strlen(cut), sizeof(cut) - 1);
    assert_int_equal(rpcrdma_credit_verdict(result, "client", "server", NULL, 0), n);
}

static void test_calls(void **state)
{
    struct rpcrdma_credit_result result = base;

    (void)state;
    result.in_flight.max = 22;
    expect(&result,
           "client asks for 128, server grants 64, never at the limit; at most 22 in flight");

    result = base;
    result.at_limit_ns = 370000000;
    result.bound_by = RPCRDMA_BOUND_GRANTED;
    result.stalls.count = 20;
    result.stalls.longer = 12;
    result.stalls.kept = 1;
    result.stalls.longest[0].duration_ns = 8400000;
    expect(&result,
           "client asks for 128, server grants 64, at the limit 37 % of the time, bound by "
           "the grant; 12 stalls over 1 ms, longest 8.4 ms");

    result.busy_ns = 500000000;
    result.stalls.longer = 0;
    result.stalls.longest[0].duration_ns = 900000;
    result.bound_by = RPCRDMA_BOUND_REQUESTED;
    result.requested = (struct rpcrdma_credit_range){true, 8, 32, 16, 2};
    result.violations = 1;
    result.rnr_naks = 3;
    result.settled = true;
    result.unsettled_ns = 1500000;
    expect(&result,
           "client asks for 16 (8 to 32), server grants 64, at the limit 37 % of the time (74 % of "
           "the busy time), bound by the request; 20 stalls, none over 1 ms, longest 900 us; "
           "1 violation; 3 RNR NAKs; in flight is a lower bound for 1.5 ms");
}

static void test_one_direction(void **state)
{
    struct rpcrdma_credit_result result = {.requested = {true, 32, 32, 32, 0}};

    (void)state;
    expect(&result, "client asks for 32, no grant of the server was seen; only one direction was "
                    "captured, so what is in flight is not known");
}

static void test_counting(void **state)
{
    struct rpcrdma_credit_result result = {
        .counting = true,
        .messages = 1024,
        .remaining_known = true,
        .reading = RPCRDMA_READING_RECEIVED,
        .sent = {true, 5, 900, 900, 800, 0},
        .received = {true, 32, 32, 32, 0, 0},
        .limit = {true, 33, 1056, 1056, 1000},
        .in_flight = {.known = true, .max = 20},
        .measured_ns = 1000,
        .busy_ns = 1000,
        .settled = true,
    };

    (void)state;
    expect(&result, "client sends 1024 messages, server takes 32 ahead, counting from the messages "
                    "it has received, never at the limit; at most 20 in flight");
    result.reading = RPCRDMA_READING_UNDECIDED;
    result.sent = (struct rpcrdma_credit_advertised){true, 33, 33, 33, 0, 0};
    expect(&result, "client sends 1024 messages, server takes 32 or 33 ahead, by either reading of "
                    "its credits, never at the limit; at most 20 in flight");
    result.sent.known = result.received.known = result.remaining_known = false;
    expect(&result, "client sends 1024 messages, how many more the server takes is not known; at "
                    "most 20 in flight");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_one_direction),
        cmocka_unit_test(test_counting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
