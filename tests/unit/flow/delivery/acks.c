/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of delivery alone, as stage.c: what an Ack says, one that was cut, one that
 * came again, one that a mirror copied. */

#include "flow/life.h"
#include "talk.h"

static void an_ack_covers_all_before_it(void **state)
{
    struct rpcrdma_delivery sent;

    (void)state;
    for (uint32_t i = 0; i < 4; i++) /* across the wrap of PSNs */
        send_one(WRAP + i);
    assert_int_equal(find(WRAP, WRAP).state, RPCRDMA_DELIVERY_UNKNOWN);
    assert_true(ack(WRAP + 2));
    for (uint32_t i = 0; i < 4; i++) {
        sent = find(WRAP + i, WRAP + i);
        assert_int_equal(sent.state, i < 3 ? RPCRDMA_DELIVERED : RPCRDMA_DELIVERY_UNKNOWN);
        assert_int_equal(sent.transmissions, 1);
        assert_int_equal(sent.first_frame, i + 1);
        assert_int_equal(sent.frame, i < 3 ? frame : 0);
    }
    assert_false(ack(WRAP + 2)); /* nothing new */
    path_is(0, 0, 0, 0, 0);
}

/* An Ack of what was never sent, of an earlier connection or forged: its receiver ignores it, and
 * it hides no Ack behind it. One that was only captured early is one of what follows. */
static void an_ack_of_nothing(void **state)
{
    enum { EARLY = 3, NEVER = 5000 };

    (void)state;
    send_one(PSN);
    ack(PSN + EARLY);
    for (uint32_t i = 1; i <= EARLY; i++)
        send_one(PSN + i);
    assert_false(ack(PSN + EARLY));
    ack(PSN + NEVER);
    for (uint32_t i = EARLY + 1; i < 2 * EARLY; i++) {
        send_one(PSN + i);
        assert_true(ack(PSN + i));
        assert_int_equal(find(PSN + i, PSN + i).state, RPCRDMA_DELIVERED);
        assert_int_equal(find(PSN + i, PSN + i).frame, frame);
    }
    path_is(0, 0, 0, 0, 0);
}

/* Neither the Ack of a message was captured nor the next message, which the next Ack acknowledges
 * long after: it does not say how long the first one took. One that was sent last does. */
static void an_ack_of_what_was_not_captured(void **state)
{
    int64_t sent;

    (void)state;
    send_one(PSN);
    ack(PSN);
    send_one(PSN + 1);
    sent = now;
    now += 1500 * MS;
    assert_true(ack(PSN + 2));
    assert_between(find(PSN + 1, PSN + 1).time_ns, sent, sent + 10 * US);
    send_one(PSN + 3);
    now += 1500 * MS;
    assert_true(ack(PSN + 3));
    assert_int_equal(find(PSN + 3, PSN + 3).time_ns, now);
}

/* Whether it is an Ack or a Nak was not captured: what is before its PSN arrived in any case. */
static void an_ack_that_may_be_a_nak(void **state)
{
    struct rpcrdma_op packet;

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        send_one(WRAP + i);
    packet = op(RPCRDMA_OP_ACK, WRAP + 2, RPCRDMA_OP_TRUNCATED | RPCRDMA_OP_ACK_OR_NAK);
    assert_true(flow_delivery_answer(&memory, d, back, &packet));
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(find(WRAP + i, WRAP + i).state,
                         i < 2 ? RPCRDMA_DELIVERED : RPCRDMA_DELIVERY_UNKNOWN);
    now += 10 * MS;
    assert_true(ack(WRAP + 2));
    assert_int_equal(find(WRAP + 2, WRAP + 2).state, RPCRDMA_DELIVERED);
}

/* It was an Ack if what it names arrived, as a later answer shows, and was not sent again. */
static void an_ack_after_all(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        struct rpcrdma_op packet;
        uint64_t cut;
        int64_t cut_ns;

        begin_again();
        send_one(PSN);
        ack(PSN);
        send_one(PSN + 1);
        packet = op(RPCRDMA_OP_ACK, PSN + 1, RPCRDMA_OP_ACK_OR_NAK);
        cut = frame;
        cut_ns = now;
        assert_false(flow_delivery_answer(&memory, d, back, &packet));
        assert_int_equal(find(PSN + 1, PSN + 1).state, RPCRDMA_DELIVERY_UNKNOWN);
        now += 300 * MS;
        if (again)
            send_one(PSN + 1);
        send_one(PSN + 2);
        assert_true(ack(PSN + 2));
        assert_int_equal(find(PSN + 1, PSN + 1).state, RPCRDMA_DELIVERED);
        assert_int_equal(find(PSN + 1, PSN + 1).frame, again ? frame : cut);
        assert_int_equal(find(PSN + 1, PSN + 1).named, !again);
        if (!again)
            assert_int_equal(find(PSN + 1, PSN + 1).time_ns, cut_ns);
    }
}

/* What the first answer that is captured acknowledges beside its own message may have been answered
 * before: nothing of that end was captured then. */
static void what_was_sent_before_any_answer(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5; i++)
        send_one(PSN + i);
    ack(PSN + 2);
    ack(PSN + 4);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(find(PSN + i, PSN + i).unheard, i < 2);
}

/* The rest of a Read is asked for again in vain, until a response of it passes. */
static void a_read_answered_in_part(void **state)
{
    struct rpcrdma_silence silence;
    int64_t sent_ns, heard_ns;

    (void)state;
    send_one(PSN - 1);
    sent_ns = now;
    now += 900 * MS;
    read_request(PSN, 4);
    answer(RPCRDMA_OP_READ_RESPONSE, PSN, 0);
    heard_ns = now;
    /* as long after it as the response after the Read, for its Ack is not in the capture */
    assert_between(find(PSN - 1, PSN - 1).time_ns, sent_ns, sent_ns + 20 * US);
    for (int i = 0; i < 3; i++) {
        now += 2000 * MS;
        read_request(PSN + 1, 3);
    }
    flow_delivery_silence(d, &silence);
    assert_int_equal(silence.heard_ns, heard_ns);
    assert_int_equal(silence.since_ns, heard_ns);
    assert_int_equal(silence.in_vain, 2); /* of its rest, after the first time */
    answer(RPCRDMA_OP_READ_RESPONSE, PSN + 1, 0);
    flow_delivery_silence(d, &silence);
    assert_int_equal(silence.heard_ns, now);
    assert_int_equal(silence.in_vain, 0);
}

/* What an Ack names is none of those before that, and a Nak names nothing that arrived. */
static void which_message_an_ack_names(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        send_one(PSN + i);
    ack(PSN + 1);
    assert_false(find(PSN, PSN).named);
    assert_true(find(PSN + 1, PSN + 1).named);
    answer(RPCRDMA_OP_NAK, PSN + 3, RPCRDMA_NAK_PSN_SEQUENCE);
    assert_int_equal(find(PSN + 2, PSN + 2).state, RPCRDMA_DELIVERED);
    assert_false(find(PSN + 2, PSN + 2).named);
}

/* Nor is it one of the Acks that show that nothing was lost. */
static void acks_that_may_be_naks_prove_nothing(void **state)
{
    (void)state;
    id = 1;
    for (int i = 0; i < 2; i++) {
        send_one(PSN);
        send_one(PSN + 1);
        now += i == 0 ? 300 * MS : 0;
    }
    for (int i = 0; i < 4; i++) {
        struct rpcrdma_op packet = op(RPCRDMA_OP_ACK, PSN + 2, RPCRDMA_OP_ACK_OR_NAK);

        flow_delivery_answer(&memory, d, back, &packet);
    }
    assert_int_equal(path_to(d)->timeouts, 1);
    assert_int_equal(path_to(d)->late_timeouts, 0);
}

/* Nor does the lack of Acks prove that what came again did not arrive, where none was captured
 * whole: neither one that may be a Nak nor a response shows that they would have been. */
static void no_ack_that_is_whole(void **state)
{
    static const struct {
        enum rpcrdma_op_kind kind;
        uint32_t psn;
        uint16_t flags;
        bool whole;
    } before[] = {{RPCRDMA_OP_ACK, PSN, RPCRDMA_OP_ACK_OR_NAK, false},
                  {RPCRDMA_OP_READ_RESPONSE, PSN, RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST, false},
                  {RPCRDMA_OP_ACK, PSN, 0, true},
                  {RPCRDMA_OP_NAK, PSN + 1, 0, true}};

    (void)state;
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        struct rpcrdma_silence silence;
        struct rpcrdma_op packet = op(before[i].kind, before[i].psn, before[i].flags);

        begin_again();
        send_one(PSN);
        packet.frame = ++frame;
        flow_delivery_answer(&memory, d, back, &packet);
        for (int again = 0; again < 2; again++) {
            now += 300 * MS;
            send_one(PSN + 1);
        }
        flow_delivery_silence(d, &silence);
        assert_int_equal(silence.transmissions, before[i].whole ? 2 : 0);
        flow_delivery_end(d);
        assert_int_equal(find(PSN + 1, PSN + 1).state,
                         before[i].whole ? RPCRDMA_NOT_DELIVERED : RPCRDMA_DELIVERY_UNKNOWN);
    }
}

/* As many Acks as packets that came again: those of the first transmission were lost. One more,
 * and nothing was. */
static void acks_of_what_came_again(void **state)
{
    (void)state;
    id = 1;
    for (int i = 0; i < 2; i++) {
        send_part(PSN, RPCRDMA_OP_FIRST);
        send_part(PSN + 1, RPCRDMA_OP_LAST);
        now += i == 0 ? 300 * MS : 0;
    }
    for (int i = 0; i < 2; i++)
        ack(PSN + 1);
    assert_int_equal(path_to(d)->timeouts, 1);
    assert_int_equal(path_to(d)->late_timeouts, 0);
    ack(PSN + 1);
    assert_int_equal(path_to(d)->late_timeouts, 1);
}

/* Three messages come again, and each is acknowledged, then the last one once more for each that
 * came again, at once and without IP IDs to tell it from a copy: nothing was lost, nothing doubled.
 * Or what is acknowledged later was sent later. */
static void acks_of_several_that_came_again(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        if (more > 0)
            begin_again();
        for (int i = 0; i < 2; i++) {
            for (uint32_t n = 0; n < 3; n++)
                send_one(PSN + n);
            now += i == 0 ? 15 * MS : 0;
        }
        for (uint32_t n = 0; n < 3; n++)
            ack(PSN + n);
        assert_int_equal(path_to(d)->late_timeouts, 0);
        if (more > 0) {
            send_one(PSN + 3);
            ack(PSN + 3);
            ack(PSN + 3);
        } else {
            for (int i = 0; i < 3; i++)
                ack(PSN + 2);
        }
        assert_int_equal(path_to(d)->timeouts, 1);
        assert_int_equal(path_to(d)->late_timeouts, more > 0 ? 0 : 1);
        assert_int_equal(path_to(d)->retransmitted, 3);
        assert_int_equal(path_to(back)->duplicated, more > 0 ? 1 : 0);
    }
}

/* A mirror copies every packet, and no IP ID tells a copy: the copy of an Ack is none. */
static void acks_of_a_mirror(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        send_one(PSN);
        send_one(PSN);
        now += i == 0 ? 300 * MS : 0;
    }
    ack(PSN);
    ack(PSN);
    assert_int_equal(path_to(d)->retransmitted, 1);
    assert_int_equal(path_to(d)->duplicated, 2);
    assert_int_equal(path_to(d)->timeouts, 1);
    assert_int_equal(path_to(d)->late_timeouts, 0);
    assert_int_equal(path_to(back)->duplicated, 1);
}

/* The set-up says where requests begin, and the last Ack where they ended. More than FEW at either
 * end is another connection's set-up, or an Ack of what was never sent. */
static void not_captured_at_the_ends(void **state)
{
    enum { FEW = 64 };
    static const struct {
        uint32_t before, behind, counted;
    } ends[] = {{2, 0, 2},     {0, 3, 3},       {2, 3, 5},       {FEW, 0, FEW},
                {0, FEW, FEW}, {FEW + 1, 0, 0}, {0, FEW + 1, 0}, {FEW + 1, 3, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const uint32_t first = WRAP + ends[i].before;

        begin_again();
        flow_delivery_begins(d, WRAP, first & 0xffffff);
        send_one(first);
        ack(first + ends[i].behind);
        path_is(0, 0, 0, 0, ends[i].before <= FEW ? ends[i].before : 0);
        for (int again = 0; again < 2; again++)
            flow_delivery_tail(&memory, d);
        path_is(0, 0, 0, 0, ends[i].counted);
    }
}

/* The Ack passed before what it acknowledges, which shows then that something before it is missing;
 * and no Ack comes any more. But where that comes late it is there. */
static void not_captured_behind_the_last_ack(void **state)
{
    (void)state;
    for (uint64_t late = 0; late < 2; late++) {
        begin_again();
        id = 1;
        send_one(PSN);
        ack(PSN + 2);
        id++;
        send_one(PSN + 2);
        if (late) {
            id = 3;
            send_one(PSN + 1);
        }
        for (int again = 0; again < 2; again++)
            flow_delivery_tail(&memory, d);
        path_is(0, 0, 0, late, 1 - late);
    }
}

/* A capture without any Ack: what later packets passed over was not captured, unless it comes yet,
 * late or once more. However many gaps there are. */
static void no_acks_at_all(void **state)
{
    enum { GAPS = 100 };

    (void)state;
    send_one(PSN);
    send_one(PSN + 3);
    path_is(0, 0, 0, 0, 2);
    send_one(PSN + 2);
    path_is(0, 0, 0, 1, 1);
    now += 600 * MS;
    send_one(PSN + 1);
    path_is(1, 1, 0, 1, 0);
    for (uint32_t i = 1; i <= GAPS; i++)
        send_one(PSN + 3 + 2 * i);
    flow_delivery_tail(&memory, d);
    path_is(1, 1, 0, 1, GAPS);
}

/* The first Ack or Nak says that they are captured: what none acknowledges may have been lost. */
static void acks_begin_later(void **state)
{
    (void)state;
    for (uint64_t nak = 0; nak < 2; nak++) {
        begin_again();
        send_one(PSN);
        send_one(PSN + 2);
        path_is(0, 0, 0, 0, 1);
        if (nak)
            answer(RPCRDMA_OP_NAK, PSN + 1, RPCRDMA_NAK_PSN_SEQUENCE);
        else
            ack(PSN);
        path_is(0, nak, 0, 0, 0);
        send_one(PSN + 4);
        path_is(0, nak, 0, 0, 0);
        ack(PSN + 2); /* it came, whether sent again or not */
        path_is(0, 0, 0, 0, 1);
        flow_delivery_tail(&memory, d);
        path_is(0, 0, 0, 0, 1);
    }
}

/* Without Acks, of four that are missing three are of a Read request, as its responses show: they
 * pass before what follows it, or behind, or on both sides. */
static void no_acks_but_responses(void **state)
{
    enum { RESPONSES = 3 };

    (void)state;
    for (uint32_t before = 0; before <= RESPONSES; before++) {
        begin_again();
        send_one(PSN);
        for (uint32_t i = 1; i <= before; i++)
            answer(RPCRDMA_OP_READ_RESPONSE, PSN + i, 0);
        send_one(PSN + RESPONSES + 2);
        path_is(0, 0, 0, 0, RESPONSES + 1);
        assert_int_equal(path_to(d)->uncaptured_reads, before);
        for (uint32_t i = before + 1; i <= RESPONSES; i++)
            answer(RPCRDMA_OP_READ_RESPONSE, PSN + i, 0);
        flow_delivery_tail(&memory, d);
        path_is(0, 0, 0, 0, RESPONSES + 1);
        assert_int_equal(path_to(d)->uncaptured_reads, RESPONSES);
    }
}

/* Responses to what was no Read, as it came late, are of none of what is missing still. */
static void responses_to_no_read(void **state)
{
    (void)state;
    id = 1;
    send_one(PSN);
    send_one(PSN + 5);
    for (uint32_t i = 1; i <= 3; i++)
        answer(RPCRDMA_OP_READ_RESPONSE, PSN + i, 0);
    path_is(0, 0, 0, 0, 4);
    assert_int_equal(path_to(d)->uncaptured_reads, 3);
    id = 0;
    send_one(PSN + 1);
    send_one(PSN + 4);
    path_is(0, 0, 0, 2, 2);
    assert_int_equal(path_to(d)->uncaptured_reads, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, delivery_end)
    const struct CMUnitTest tests[] = {
        TEST(an_ack_covers_all_before_it),
        TEST(an_ack_of_nothing),
        TEST(an_ack_of_what_was_not_captured),
        TEST(an_ack_that_may_be_a_nak),
        TEST(an_ack_after_all),
        TEST(what_was_sent_before_any_answer),
        TEST(a_read_answered_in_part),
        TEST(which_message_an_ack_names),
        TEST(acks_that_may_be_naks_prove_nothing),
        TEST(no_ack_that_is_whole),
        TEST(acks_of_what_came_again),
        TEST(acks_of_several_that_came_again),
        TEST(acks_of_a_mirror),
        TEST(not_captured_at_the_ends),
        TEST(not_captured_behind_the_last_ack),
        TEST(no_acks_at_all),
        TEST(acks_begin_later),
        TEST(no_acks_but_responses),
        TEST(responses_to_no_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
