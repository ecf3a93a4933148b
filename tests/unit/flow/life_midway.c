/* SPDX-License-Identifier: BSD-2-Clause */
/* Which connection takes the place of which in a capture without set-ups. */
#include "rpc_rig.h"

#include "flow/life.h"

#define SECOND INT64_C(1000000000)

static struct rpc_rig rig;
static struct rpcrdma_connection told[4];

static void on_connection(void *context, const struct rpcrdma_connection *c)
{
    (void)context;
    assert_true(c->number < 4);
    told[c->number] = *c;
}

static struct rpcrdma_connection last;

static void on_first_and_last(void *context, const struct rpcrdma_connection *c)
{
    (void)context;
    if (c->number == 1)
        told[1] = *c;
    if (c->number > last.number)
        last = *c;
}

static void begin(void)
{
    static const struct rpcrdma_flow_config follow = {.delivery = true};

    rpc_rig_begin_late(&rig, &follow, true);
    rig.rig.flow->context.sink.connection = on_connection;
    memset(told, 0, sizeof(told));
    memset(&last, 0, sizeof(last));
}

static void call(uint32_t xid)
{
    rpc_send_read_call(&rig, xid);
}

static void reply(uint32_t xid)
{
    rig_send_reply(&rig.rig, &rig.b, &rig.a, xid);
}

/* The same hosts, with other QPs, after `ns`. */
static void another(int64_t ns)
{
    rig.a = (struct rig_end){1, rig.a.qpn + 1, 77};
    rig.b = (struct rig_end){2, rig.b.qpn + 1, 4000};
    rig.rig.time_ns += ns;
}

/* The connection is let go, and comes again. */
static void let_go(int64_t ns)
{
    rig.rig.time_ns += ns;
    flow_finish(rig.rig.flow, flow_conns_oldest(rig.rig.flow->conns), false);
}

static void finish(void)
{
    rpcrdma_flow_end(rig.rig.flow);
    rpc_rig_free(&rig);
}

/* A capture without set-ups. Another connection of the same hosts goes on with the XIDs 47 s later:
 * it takes the place of the first, whoever sent first. Not where its queue pairs are those of the
 * first, which was let go only; nor where Calls were sent on that later; after 300 s the client may
 * have closed it as idle. */
static void without_set_ups(void **state)
{
    static const struct {
        int64_t silent;
        bool server_first, same, goes_on, took_its_place, down;
    } cases[] = {
        {47, false, false, false, true, true},   {47, true, false, false, true, true},
        {47, false, true, false, false, false},  {47, false, false, true, false, false},
        {300, false, false, false, true, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig_end a, b;

        begin();
        if (cases[i].server_first)
            reply(0x11f33cd2);
        call(0x12f33cd2);
        reply(0x12f33cd2);
        a = rig.a;
        b = rig.b;
        if (cases[i].same)
            let_go(cases[i].silent * SECOND);
        else
            another(cases[i].silent * SECOND);
        call(0x13f33cd2);
        reply(0x13f33cd2);
        if (cases[i].goes_on)
            rig_send_call(&rig.rig, &a, &b, 0x14f33cd2);
        call(0x15f33cd2);
        finish();
        assert_int_equal(told[1].service_port, 0);
        assert_int_equal(told[1].life.next, cases[i].took_its_place ? 2 : 0);
        assert_int_equal(told[2].life.previous, cases[i].took_its_place ? 1 : 0);
        assert_int_equal(told[2].life.has_down, cases[i].down);
        if (cases[i].down)
            assert_between(told[2].life.down_ns, 47 * SECOND, 47 * SECOND + 1000000);
    }
}

/* A single Call to other QPs, of which a bit may be wrong, takes no place, and none takes its. */
static void one_message_alone(void **state)
{
    (void)state;
    begin();
    call(0x11f33cd2);
    reply(0x11f33cd2);
    another(SECOND / 10);
    call(0x12f33cd2);
    another(47 * SECOND);
    call(0x13f33cd2);
    reply(0x13f33cd2);
    call(0x14f33cd2);
    finish();
    assert_int_equal(told[1].life.next, 3);
    assert_int_equal(told[2].life.previous, 0);
    assert_int_equal(told[3].life.previous, 1);
}

/* Its client's packets and its server's are two connections at first: which place it took is known
 * of the one that stays, and none took theirs. */
static void told_as_two(void **state)
{
    (void)state;
    begin();
    call(0x11f33cd2);
    reply(0x11f33cd2);
    another(20 * SECOND);
    reply(0x01f33cd2); /* of a Call before the capture */
    rig.rig.time_ns += 2 * SECOND;
    reply(0x02f33cd2);
    call(0x12f33cd2);
    rig.rig.time_ns += 2 * SECOND;
    call(0x13f33cd2);
    reply(0x13f33cd2);
    call(0x14f33cd2);
    finish();
    assert_int_equal(told[1].life.next, 2);
    assert_int_equal(told[2].life.previous, 1);
    assert_true(told[2].life.has_down);
    assert_int_equal(told[3].life.previous, 0);
    assert_int_equal(told[3].life.next, 0);
}

/* Of the first one the capture has a Reply, and its end: it is not known who closed it, and nothing
 * says that it was lost. */
static void ended_by_whom(void **state)
{
    (void)state;
    begin();
    reply(0x11f33cd2);
    rig_ack(&rig.rig, &rig.a, &rig.b, rig.b.psn - 1);
    rig_disconnect(&rig.rig, &rig.a, &rig.b);
    another(8 * SECOND);
    rig_connect(&rig.rig, &rig.a, &rig.b, 20049);
    call(0x42f33cd3);
    finish();
    assert_int_equal(told[1].role[0], RPCRDMA_ROLE_UNKNOWN);
    assert_int_equal(told[1].life.ended, RPCRDMA_ENDED_DISCONNECTED);
    assert_int_equal(told[1].life.next, 0);
    assert_int_equal(told[2].life.previous, 0);
}

/* The server has many clients: what they do between the end of one of a client's connections and
 * its next one, or while it is silent, does not hide that. Likewise where all had ended and were
 * reported. */
static void among_many(void **state)
{
    enum { OTHERS = 150 };

    (void)state;
    for (int reported = 0; reported < 2; reported++) {
        struct rig_end b;

        begin();
        rig.rig.flow->context.sink.connection = on_first_and_last;
        call(0x11f33cd2);
        reply(0x11f33cd2);
        call(0x12f33cd2);
        if (reported)
            let_go(0);
        b = rig.b;
        for (int i = 0; i < OTHERS; i++) {
            struct rig_end client = {(uint8_t)(3 + i), 500, 9};

            b.qpn++;
            rig_send_call(&rig.rig, &client, &b, 0x77000000U + (uint32_t)i);
            rig_send_reply(&rig.rig, &b, &client, 0x77000000U + (uint32_t)i);
            rig_send_call(&rig.rig, &client, &b, 0x78000000U + (uint32_t)i);
            if (reported)
                let_go(0);
        }
        rig.b.qpn += OTHERS;
        another(40 * SECOND);
        call(0x13f33cd2);
        reply(0x13f33cd2);
        call(0x14f33cd2);
        finish();
        assert_int_equal(last.life.previous, 1);
        assert_true(last.life.has_down);
        assert_between(last.life.down_ns, 40 * SECOND, 41 * SECOND);
        if (!reported)
            assert_int_equal(told[1].life.next, last.number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_set_ups), cmocka_unit_test(one_message_alone),
        cmocka_unit_test(told_as_two),     cmocka_unit_test(ended_by_whom),
        cmocka_unit_test(among_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
