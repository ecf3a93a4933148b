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

/* Responses [first, n) of as many as there are to be; the last one has `last` bytes. */
static void answer(const struct rig_end *a, const struct rig_end *b, uint32_t psn, uint32_t first,
                   uint32_t n, uint32_t last)
{
    static const uint8_t bytes[RIG_PMTU];

    for (uint32_t i = first; i < n; i++) {
        struct rpcrdma_op op =
            rig_op(&rig, RPCRDMA_OP_READ_RESPONSE, a, b, rpcrdma_psn_add(psn, i));

        op.flags =
            (uint16_t)((i == 0 ? RPCRDMA_OP_FIRST : 0u) | (i + 1 == n ? RPCRDMA_OP_LAST : 0u));
        op.data = bytes;
        op.caplen = op.len = i + 1 == n ? last : RIG_PMTU;
        rig_feed(&rig, &op);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longer_than_asked_for),
        cmocka_unit_test(asked_for_unknown),
        cmocka_unit_test(none_is_kept_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
