/* SPDX-License-Identifier: BSD-2-Clause */
/* A Call that waits for its Reply is known again when it is sent on the next connection, however
 * many Calls of others come before that. */
#include "rig.h"

#define MS INT64_C(1000000)
enum { MANY = 6000 }; /* more than places for Calls */

static struct rig rig;
static struct rig_end a, b, other, server;
static size_t again, limits;
static uint32_t sendings;

static void on_transaction(void *context, const struct rpcrdma_transaction *t)
{
    (void)context;
    for (size_t i = 0; i < t->n_findings; i++)
        again += t->findings[i].rule == RPCRDMA_RULE_RPC_AGAIN;
    if (t->transmissions > sendings)
        sendings = t->transmissions;
}

static void on_finding(void *context, const struct rpcrdma_connection *c,
                       const struct rpcrdma_finding *finding)
{
    (void)context;
    (void)c;
    limits += finding->rule == RPCRDMA_RULE_MEMORY_LIMIT;
}

static void begin(bool rpcs, bool credits, uint64_t max_memory)
{
    const struct rpcrdma_flow_config config = {.credits = credits,
                                               .delivery = rpcs,
                                               .max_memory = max_memory,
                                               .linger_ns = UINT64_C(1000000000)};
    const struct rpcrdma_flow_sink sink = {.credits = credits ? rig_credits : NULL,
                                           .transaction = rpcs ? on_transaction : NULL,
                                           .finding = on_finding,
                                           .context = &rig};

    memset(&rig, 0, sizeof(rig));
    again = limits = sendings = 0;
    a = RIG_A;
    b = RIG_B;
    other = (struct rig_end){3, 18, 7000};
    server = (struct rig_end){2, 34, 90000};
    rig.time_ns = INT64_C(1700000000000000000);
    rig.flow = rpcrdma_flow_new(&config, &sink);
    assert_non_null(rig.flow);
    rig_connect(&rig, &a, &b, 20049);
    rig_connect(&rig, &other, &server, 20049);
}

static void call(struct rig_end *from, struct rig_end *to, uint32_t xid)
{
    rig_send_call(&rig, from, to, xid);
    rig_ack(&rig, to, from, from->psn - 1);
}

static void reply(struct rig_end *from, struct rig_end *to, uint32_t xid)
{
    rig_send_reply(&rig, from, to, xid);
    rig_ack(&rig, to, from, from->psn - 1);
}

static void others(uint32_t first)
{
    for (uint32_t i = 0; i < MANY; i++) {
        call(&other, &server, first + i);
        reply(&server, &other, first + i);
        rig.time_ns += MS;
    }
}

static void next_connection(uint32_t i)
{
    a = (struct rig_end){1, 40 + i, 500};
    b = (struct rig_end){2, 60 + i, 9000};
    rig_connect(&rig, &a, &b, 20049);
}

/* On three connections; of the first two the Call is outstanding, and they are silent, or end. */
static void sent_three_times(void **state)
{
    (void)state;
    for (int ends = 0; ends < 2; ends++) {
        begin(true, false, 0);
        call(&a, &b, 1);
        reply(&b, &a, 1);
        call(&a, &b, 2);
        for (uint32_t i = 0; i < 2; i++) {
            if (ends)
                rig_disconnect(&rig, &a, &b);
            others(1000 + i * MANY);
            next_connection(i);
            call(&a, &b, 2);
        }
        reply(&b, &a, 2);
        call(&a, &b, 3);
        reply(&b, &a, 3);
        rig_end(&rig);
        assert_int_equal(again, 2);
        assert_int_equal(sendings, 3);
        assert_int_equal(limits, 0);
    }
}

/* Its Reply was lost on the way, again and again, and its connection ended: as one without. */
static void not_delivered(void **state)
{
    (void)state;
    begin(true, false, 0);
    call(&a, &b, 1);
    reply(&b, &a, 1);
    call(&a, &b, 2);
    for (int i = 0; i < 3; i++) {
        struct rig_end sender = b;

        rig_send_reply(&rig, i < 2 ? &sender : &b, &a, 2);
        rig.time_ns += 500 * MS;
    }
    rig_disconnect(&rig, &b, &a);
    rig.time_ns += 30000 * MS;
    others(1000);
    next_connection(0);
    call(&a, &b, 2);
    reply(&b, &a, 2);
    rig_end(&rig);
    assert_int_equal(again, 1);
    assert_int_equal(sendings, 2);
}

/* Where credits alone are counted the first connection gives it up: what comes there is no Reply.
 */
static void credits_alone(void **state)
{
    struct rig_end a1, b1;

    (void)state;
    begin(false, true, 0);
    call(&a, &b, 1);
    reply(&b, &a, 1);
    call(&a, &b, 2);
    a1 = a;
    b1 = b;
    others(1000);
    next_connection(0);
    call(&a, &b, 2);
    reply(&b, &a, 2);
    reply(&b1, &a1, 2);
    rig_end(&rig);
    assert_int_equal(rig.credits, 3);
    assert_int_equal(rig.credit_connection[0], 1);
    assert_int_equal(rig.credit[0].unanswered, 1);
}

/* Calls that are left without Reply for ever take a share of the memory, and no more: that the
 * oldest are forgotten is said. */
static void as_many_as_fit(void **state)
{
    enum { CONNECTIONS = 400, CALLS = 40, MEMORY = 4 << 20 };

    (void)state;
    for (int answered = 0; answered < 2; answered++) {
        begin(true, false, MEMORY);
        for (uint32_t i = 0; i < CONNECTIONS; i++) {
            next_connection(i * 100);
            for (uint32_t n = 0; n < CALLS; n++) {
                call(&a, &b, i * CALLS + n);
                if (answered)
                    reply(&b, &a, i * CALLS + n);
            }
            rig_disconnect(&rig, &a, &b);
            rig.time_ns += 2000 * MS;
            assert_true(rig.flow->context.memory.used < MEMORY / 2);
        }
        assert_int_equal(rig.flow->messages->awaited.table.count > 0, !answered);
        assert_int_equal(limits, !answered);
        rig_end(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sent_three_times),
        cmocka_unit_test(not_delivered),
        cmocka_unit_test(credits_alone),
        cmocka_unit_test(as_many_as_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
