/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

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

    /* no more than 64 can be in flight: else that is a violation */
    result.in_flight.max = result.unanswered = 65;
    result.at_limit_ns = 370000000;
    result.stalls.count = 1;
    expect(&result, "client asks for 128, server grants 64; Replies were not captured, as Calls "
                    "beyond the limit show: what is in flight is not known");
    result.in_flight.max = 64;
    result.stalls.count = 0;
    expect(&result,
           "client asks for 128, server grants 64, never at the limit; at most 64 in flight");

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
           "1 violation; 3 RNR Naks; in flight is a lower bound for 1.5 ms");
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

/* Durations have three digits and the unit that suits them; shares say when they are next to
 * nothing.
 */
static void test_units(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } times[] = {
        {1, "1 ns"},           {999, "999 ns"},      {1000, "1 us"},
        {12345, "12.3 us"},    {999400, "999 us"},   {999600, "1 ms"},
        {999400000, "999 ms"}, {999600000, "1.0 s"}, {61500000000, "61.5 s"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct rpcrdma_credit_result result = base;
        char text[512];

        result.measured_ns = result.busy_ns = UINT64_C(1000000000000);
        result.at_limit_ns = 1000000; /* a millionth */
        result.stalls.count = 1;
        result.stalls.kept = 1;
        result.stalls.longest[0].duration_ns = times[i].ns;
        snprintf(text, sizeof(text),
                 "client asks for 128, server grants 64, at the limit under 0.1 %% of the time; "
                 "1 stall, none over 1 ms, longest %s",
                 times[i].text);
        expect(&result, text);
    }
}

/* What makes the numbers doubtful is said. */
static void test_doubts(void **state)
{
    struct rpcrdma_credit_result result = base;

    (void)state;
    result.in_flight.max = 3;
    result.settled = false;
    result.unsettled_ns = 1000;
    result.clock = result.memory = true;
    expect(&result, "client asks for 128, server grants 64, never at the limit; at most 3 in "
                    "flight; in flight is a lower bound: the capture began with the connection "
                    "open; the capture's clock went backwards; too much in flight to follow "
                    "exactly");
    /* Calls without any Reply are no fewer than what is in flight */
    result.unanswered = 3;
    result.clock = result.memory = false;
    expect(&result,
           "client asks for 128, server grants 64, never at the limit; at most 3 in flight");
}

/* The words of the JSON output. */
static void test_names(void **state)
{
    (void)state;
    assert_string_equal(rpcrdma_credit_bound_name(RPCRDMA_BOUND_NEITHER), "neither");
    assert_string_equal(rpcrdma_credit_bound_name(RPCRDMA_BOUND_REQUESTED), "requested");
    assert_string_equal(rpcrdma_credit_bound_name(RPCRDMA_BOUND_GRANTED), "granted");
    assert_string_equal(rpcrdma_credit_cause_name(RPCRDMA_ENDED_BY_REPLY), "reply");
    assert_string_equal(rpcrdma_credit_cause_name(RPCRDMA_ENDED_BY_GRANT), "grant");
    assert_string_equal(rpcrdma_credit_cause_name(RPCRDMA_ENDED_BY_REQUEST), "request");
    assert_string_equal(rpcrdma_credit_cause_name(RPCRDMA_ENDED_BY_DISCONNECT), "disconnect");
    assert_string_equal(rpcrdma_credit_cause_name(RPCRDMA_ENDED_BY_CAPTURE), "capture");
    assert_string_equal(rpcrdma_credit_reading_name(RPCRDMA_READING_UNDECIDED), "undecided");
    assert_string_equal(rpcrdma_credit_reading_name(RPCRDMA_READING_SENT), "sent");
    assert_string_equal(rpcrdma_credit_reading_name(RPCRDMA_READING_RECEIVED), "received");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),    cmocka_unit_test(test_one_direction),
        cmocka_unit_test(test_counting), cmocka_unit_test(test_units),
        cmocka_unit_test(test_doubts),   cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
