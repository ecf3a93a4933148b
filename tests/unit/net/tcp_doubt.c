/* SPDX-License-Identifier: BSD-2-Clause */
/* Which segments are checked: those that do not fit in where they stand, as long as that shows
 * something, and few others. */
#include "iwarp.h"

enum { TIMES = 1000, FPDU = 124, WITH_LENGTH = 4 }; /* FPDU: of 104 bytes that are written */

static struct bytes b;
static struct seen *s;

static void put_write(void)
{
    static struct bytes u;

    put_tagged(&u, 0, true, 7, 0);
    put_payload(&u, 1, 104);
    put_fpdu(&b, false, false, &u);
}

static struct rpcrdma_tcp_taken one_at(uint32_t seq)
{
    return (struct rpcrdma_tcp_taken){
        .ack = NEXT1,
        .flags = ACK,
        .piece = {.bytes = b.at, .caplen = (uint32_t)b.n, .len = (uint32_t)b.n, .seq = seq},
    };
}

static struct rpcrdma_tcp_connection *connection(void)
{
    return TAILQ_FIRST(&s->net->tcp->holding_nothing);
}

static bool asked(const struct rpcrdma_tcp_taken *t, bool disagrees)
{
    return rpcrdma_tcp_to_check(s->net->tcp, connection(), 0, t, disagrees);
}

static unsigned times_of(const struct rpcrdma_tcp_taken *t, unsigned n)
{
    unsigned times = 0;

    while (n-- > 0)
        times += asked(t, false);
    return times;
}

/* A conversation of which segments that fit were checked for long enough that few are now. */
static void begin(void)
{
    struct rpcrdma_tcp_taken fits;

    s = seen_new(NULL);
    talk_start(s, 0, 0);
    b.n = 0;
    put_write();
    assert_int_equal(b.n, FPDU);
    fits = one_at(NEXT0);
    times_of(&fits, 20 * TIMES);
}

/* Few of a million: the first ones, then one in 4,096. */
static void what_fits(void **state)
{
    struct rpcrdma_tcp_taken fits;
    unsigned times;

    (void)state;
    begin();
    fits = one_at(NEXT0);
    times = times_of(&fits, 1 << 20);
    assert_true(times >= 200 && times <= 300);
    seen_free(s);
    begin();
    s->net->tcp->n_samples = s->net->tcp->samples_left = s->net->tcp->samples_step = 0;
    assert_int_equal(times_of(&fits, 32), 32);
    seen_free(s);
}

static void expect(const struct rpcrdma_tcp_taken *t, bool disagrees, bool expected)
{
    /* the samples are all done: one is not due within a few */
    s->net->tcp->samples_left = TIMES;
    assert_int_equal(asked(t, disagrees), expected);
}

static void what_does_not_fit(void **state)
{
    static const uint8_t flags[] = {SYN | ACK, FIN | ACK, RST | ACK, SYN, 0};
    struct rpcrdma_tcp_taken t;

    (void)state;
    begin();
    t = one_at(NEXT0);
    expect(&t, false, false);
    connection()->stream[0].phase = RPCRDMA_STREAM_START; /* all rests on what is its first */
    expect(&t, false, true);
    connection()->stream[0].phase = RPCRDMA_STREAM_FPDU;
    tcp(s, 0, NEXT0, NEXT1, ACK, b.at, b.n);
    t = one_at(NEXT0 + FPDU);
    expect(&t, false, false);
    expect(&t, true, true);
    for (size_t i = 0; i < sizeof(flags); i++) {
        t.flags = flags[i];
        expect(&t, false, true);
    }
    t.flags = ACK | 8; /* PSH */
    expect(&t, false, false);
    t.ack = NEXT1 + 1;
    expect(&t, false, true);
    t.piece.len = t.piece.caplen = 0;
    expect(&t, false, true);
    t.ack = NEXT1 - 1;
    expect(&t, false, false);
    t = one_at(NEXT0 + FPDU + 1);
    expect(&t, false, true);
    t = one_at(NEXT0);
    expect(&t, false, true);
    seen_free(s);
}

static void lengths_of_fpdus(void **state)
{
    struct rpcrdma_tcp_taken t;

    (void)state;
    begin();
    tcp(s, 0, NEXT0, NEXT1, ACK, b.at, b.n);
    set(&b, 0, 0, 2); /* an FPDU of less than a header */
    t = one_at(NEXT0 + FPDU);
    expect(&t, false, true);
    set(&b, 0, 1000, 2); /* as one that goes on in the segment behind */
    t = one_at(NEXT0 + FPDU);
    expect(&t, false, true);
    expect(&t, false, false); /* one so long was there */
    set(&b, 0, 1004, 2);
    expect(&t, false, true);
    t.piece.caplen = WITH_LENGTH - 1; /* it was not captured what it is */
    expect(&t, false, false);
    /* the second of two */
    b.n = 0;
    put_write();
    put_write();
    t = one_at(NEXT0 + FPDU);
    expect(&t, false, false);
    set(&b, FPDU + 2, 0xff, 1);
    expect(&t, false, true);
    seen_free(s);
}

/* A message that is damaged and fits in is read wrongly. */
static void short_messages(void **state)
{
    struct rpcrdma_tcp_taken t;

    (void)state;
    begin();
    tcp(s, 0, NEXT0, NEXT1, ACK, b.at, b.n);
    b.n = 0;
    put_send(&b, false, 2, 100);
    t = one_at(NEXT0 + FPDU);
    expect(&t, false, true);
    t.piece.caplen = WITH_LENGTH - 1;
    expect(&t, false, false);
    b.n = 0;
    put_send(&b, false, 2, 500);
    t = one_at(NEXT0 + FPDU);
    s->net->tcp->samples_left = TIMES;
    connection()->stream[0].largest = 1000;
    expect(&t, false, false);
    seen_free(s);
}

/* Where nothing fits and all is right, as in a capture of which half is missing, one of five
 * would be too many. */
static void what_never_fits(void **state)
{
    struct rpcrdma_tcp_taken fits, other;
    unsigned times;

    (void)state;
    begin();
    tcp(s, 0, NEXT0, NEXT1, ACK, b.at, b.n);
    fits = one_at(NEXT0 + FPDU);
    other = one_at(NEXT0 + 2 * FPDU);
    s->net->tcp->samples_left = TIMES * TIMES;
    times = times_of(&other, TIMES);
    assert_true(times >= 10 && times <= 20);
    assert_int_equal(times_of(&other, TIMES), 0);
    assert_int_equal(times_of(&fits, 4), 0); /* as often as four fit */
    assert_int_equal(times_of(&other, TIMES), 1);
    assert_int_equal(times_of(&fits, TIMES), 0);
    assert_int_equal(times_of(&other, TIMES), times);
    seen_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits),        cmocka_unit_test(what_does_not_fit),
        cmocka_unit_test(lengths_of_fpdus), cmocka_unit_test(short_messages),
        cmocka_unit_test(what_never_fits),
    };

    return cmocka_run_group_tests_name("tcp_doubt", tests, NULL, NULL);
}
