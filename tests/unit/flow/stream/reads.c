/* SPDX-License-Identifier: BSD-2-Clause */
/* Which Read Request a Read Response answers, and whether one asks for as much. */
#include "rig.h"

enum { SIZE = 5000, PACKETS = 5 };

static struct rig rig;

/* The server asks for SIZE bytes; `cut`: for how many was not captured. Returns the PSN. */
static uint32_t ask(const struct rig_end *a, struct rig_end *b, bool cut)
{
    struct rpcrdma_op op = rig_op(&rig, RPCRDMA_OP_READ_REQUEST, b, a, b->psn);
    uint32_t psn = b->psn;

    op.flags |= cut ? RPCRDMA_OP_TRUNCATED : RPCRDMA_OP_RETH;
    op.length = cut ? 0 : SIZE;
    rig_feed(&rig, &op);
    b->psn = rpcrdma_psn_add(psn, PACKETS);
    return psn;
}

/* A packet of a Response. */
static void respond(const struct rig_end *a, const struct rig_end *b, uint32_t psn, uint32_t flags,
                    uint32_t length)
{
    static const uint8_t bytes[2 * RIG_PMTU];
    struct rpcrdma_op op = rig_op(&rig, RPCRDMA_OP_READ_RESPONSE, a, b, psn);

    op.flags = (uint16_t)flags;
    op.data = bytes;
    op.caplen = op.len = length;
    rig_feed(&rig, &op);
}

/* Responses [first, n) of as many as there are to be; the last one has `last` bytes. */
static void answer(const struct rig_end *a, const struct rig_end *b, uint32_t psn, uint32_t first,
                   uint32_t n, uint32_t last)
{
    for (uint32_t i = first; i < n; i++)
        respond(a, b, rpcrdma_psn_add(psn, i),
                (i == 0 ? RPCRDMA_OP_FIRST : 0u) | (i + 1 == n ? RPCRDMA_OP_LAST : 0u),
                i + 1 == n ? last : RIG_PMTU);
}

static void begin(struct rig_end *a, struct rig_end *b)
{
    rig_begin_connected(&rig, a, b);
    rig_send_call(&rig, a, b, 1);
}

static size_t too_long(void)
{
    return rig_count(&rig, RPCRDMA_RULE_READ_RESPONSE_LONG);
}

static void longer_than_asked_for(void **state)
{
    enum { LAST = SIZE - (PACKETS - 1) * RIG_PMTU };
    struct rig_end a = RIG_A, b = RIG_B;
    uint32_t psn;

    (void)state;
    begin(&a, &b);
    psn = ask(&a, &b, false);
    answer(&a, &b, psn, 0, PACKETS, LAST);
    assert_int_equal(too_long(), 0);
    psn = ask(&a, &b, false);
    answer(&a, &b, psn, 0, PACKETS, LAST + 1);
    assert_int_equal(too_long(), 1);
    rig_end(&rig);
}

/* How much a Request asks for that was cut nobody knows; nor has the one before asked for more than
 * it did, nor has the one after. */
static void asked_for_unknown(void **state)
{
    enum { LAST = SIZE - (PACKETS - 1) * RIG_PMTU };
    struct rig_end a = RIG_A, b = RIG_B;
    uint32_t before, cut, after;

    (void)state;
    begin(&a, &b);
    before = ask(&a, &b, false);
    answer(&a, &b, before, 0, PACKETS, LAST);
    cut = ask(&a, &b, true);
    answer(&a, &b, cut, 0, PACKETS, RIG_PMTU);
    assert_int_equal(too_long(), 0);

    cut = ask(&a, &b, true);
    after = ask(&a, &b, false);
    answer(&a, &b, before, 0, PACKETS, LAST); /* once more */
    answer(&a, &b, cut, 0, PACKETS, RIG_PMTU);
    answer(&a, &b, after, 0, PACKETS, LAST);
    assert_int_equal(too_long(), 0);

    /* what is known is held to it, before and after */
    answer(&a, &b, after, PACKETS - 1, PACKETS + 1, 1);
    assert_int_equal(too_long(), 1);
    rig_end(&rig);
}

/* Requests that were cut are no reason to keep more of them. */
static void none_is_kept_for_ever(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    struct flow_direction *asks;

    (void)state;
    begin(&a, &b);
    for (int i = 0; i < 1000; i++)
        answer(&a, &b, ask(&a, &b, true), 0, PACKETS, 1);
    asks = flow_direction_seen(rig.flow->streams,
                               &(struct rpcrdma_op){
                                   .src = {RPCRDMA_ADDRESS_IPV4, {10, 0, 0, b.address}},
                                   .dst = {RPCRDMA_ADDRESS_IPV4, {10, 0, 0, a.address}},
                                   .dst_qpn = a.qpn,
                               });
    assert_non_null(asks);
    assert_true(flow_read_capacity(asks) <= 16);
    rig_end(&rig);
}

/* Two packets of a Write, of which the first is `first` bytes long. */
static void write_two(const struct rig_end *a, struct rig_end *b, uint32_t first)
{
    static const uint8_t bytes[2 * RIG_PMTU];

    for (int i = 0; i < 2; i++) {
        struct rpcrdma_op op = rig_op(&rig, RPCRDMA_OP_WRITE, b, a, b->psn);

        op.flags = i == 0 ? RPCRDMA_OP_FIRST | RPCRDMA_OP_RETH : RPCRDMA_OP_LAST;
        op.length = i == 0 ? RIG_PMTU + 8 : 0;
        op.data = bytes;
        op.caplen = op.len = i == 0 ? first : 8;
        rig_feed(&rig, &op);
        b->psn = rpcrdma_psn_add(b->psn, 1);
    }
}

/* A packet whose length is no path MTU, damaged or of a faulty sender, says nothing of others: what
 * is read after it is as long as was asked for, and takes as many PSNs. */
static void length_that_is_no_mtu(void **state)
{
    enum { LAST = SIZE - (PACKETS - 1) * RIG_PMTU };
    static const uint32_t lengths[] = {4, RIG_PMTU - 1, RIG_PMTU + 1, 1500};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct rig_end a = RIG_A, b = RIG_B;

        begin(&a, &b);
        write_two(&a, &b, RIG_PMTU);
        write_two(&a, &b, lengths[i]);
        answer(&a, &b, ask(&a, &b, false), 0, PACKETS, LAST);
        rig_send_reply(&rig, &b, &a, 1);
        rig_end(&rig);
        assert_int_equal(too_long(), 0);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_PACKETS_LOST), 0);
        assert_int_equal(rig.messages, 2);
    }
}

/* Nor of a Read and its Response that came before it and are held back, for a Call is missing. */
static void length_that_comes_while_held_back(void **state)
{
    enum { LAST = SIZE - (PACKETS - 1) * RIG_PMTU };
    struct rig_end a = RIG_A, b = RIG_B, missing;

    (void)state;
    begin(&a, &b);
    write_two(&a, &b, RIG_PMTU);
    missing = a;
    a.psn++;
    rig_send_call(&rig, &a, &b, 3);
    answer(&a, &b, ask(&a, &b, false), 0, PACKETS, LAST);
    assert_true(flow_admission_any(rig.flow->conns));
    write_two(&a, &b, 1500);
    rig_send_call(&rig, &missing, &b, 2);
    rig_end(&rig);
    assert_int_equal(rig.messages, 3);
    assert_int_equal(too_long(), 0);
}

/* The same of the first packet of a Read Response, where nothing else showed the path MTU yet. */
static void first_response_has_no_mtu(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint32_t psn;

    (void)state;
    rig_begin(&rig, NULL);
    rig_connect_cut(&rig, &a, &b, 20049);
    rig_send_call(&rig, &a, &b, 1);
    psn = ask(&a, &b, false);
    respond(&a, &b, psn, RPCRDMA_OP_FIRST, RIG_PMTU + 1);
    answer(&a, &b, psn, 1, PACKETS, SIZE - (PACKETS - 1) * RIG_PMTU);
    assert_int_equal(too_long(), 0);
    /* and one that is too long is still told, with where it ends */
    psn = ask(&a, &b, false);
    answer(&a, &b, psn, 0, PACKETS, RIG_PMTU);
    assert_int_equal(too_long(), 1);
    assert_int_equal(rig.finding[rig.findings - 1].arg[0], PACKETS * RIG_PMTU);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longer_than_asked_for),
        cmocka_unit_test(asked_for_unknown),
        cmocka_unit_test(none_is_kept_for_ever),
        cmocka_unit_test(length_that_is_no_mtu),
        cmocka_unit_test(length_that_comes_while_held_back),
        cmocka_unit_test(first_response_has_no_mtu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
