/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is offered as several segments, and moved by one Read or Write (RFC 8166 section
 * 3.4.3); and a Call whose list of segments the capture cut. */
#include "rpc_fixture.h"

enum { HANDLE = 0x77, SIZE = 4000 };
static const uint64_t ADDRESS = 0x10000;

static uint32_t at; /* of the data in `whole` */

static void prepare_call(uint32_t xid)
{
    at = put_write_call(xid, SIZE);
}

static void check_call(uint32_t xid, bool right)
{
    const struct got_message *m = rpc_find(&rig, xid, RPCRDMA_DIRECTION_CALL);
    const struct got_transaction *t = rpc_transaction(&rig, xid);

    assert_non_null(m);
    assert_non_null(t);
    assert_int_equal(m->complete, right);
    assert_int_equal(rpc_has_rule(t->rules, t->n_rules, RPCRDMA_RULE_RPC_OUTSIDE), !right);
    if (right)
        rpc_check_bytes(m, &whole);
}

/* The boundaries of segments lie within packets, at their ends, and several in one. */
static void one_read_of_several_segments(void **state)
{
    static const uint32_t cuts[][4] = {
        {2000, 4000}, {RIG_PMTU, 4000}, {10, 20, 30, 4000}, {3999, 4000}, {1, 3999, 4000}};

    (void)state;
    for (uint32_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        struct rpc_header h;

        prepare_call(i + 1);
        rpc_header_init(&h, i + 1, MSG);
        for (uint32_t from = 0, k = 0; from < SIZE; from = cuts[i][k++])
            rpc_add_read(&h, at, HANDLE, ADDRESS + from, cuts[i][k] - from);
        rpc_send(&rig, true, &h, part.data, part.n);
        rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE);
        rig_send_reply(&rig.rig, &rig.b, &rig.a, i + 1);
        check_call(i + 1, true);
    }
}

/* A gap between two segments is nobody's: what is read of it is outside. */
static void not_over_a_gap(void **state)
{
    struct rpc_header h;

    (void)state;
    prepare_call(1);
    rpc_header_init(&h, 1, MSG);
    rpc_add_read(&h, at, HANDLE, ADDRESS, 2000);
    rpc_add_read(&h, at, HANDLE, ADDRESS + 2004, 2000);
    rpc_send(&rig, true, &h, part.data, part.n);
    rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 1);
    rpc_rig_end(&rig); /* nothing else ends the wait for the rest */
    check_call(1, false);
}

/* What another Call offers behind it is not its memory. */
static void not_into_another_call(void **state)
{
    struct rpc_header h;

    (void)state;
    prepare_call(2);
    rpc_header_init(&h, 2, MSG);
    rpc_add_read(&h, at, HANDLE, ADDRESS + 2000, SIZE);
    rpc_send(&rig, true, &h, part.data, part.n);
    prepare_call(1);
    rpc_header_init(&h, 1, MSG);
    rpc_add_read(&h, at, HANDLE, ADDRESS, 2000);
    rpc_send(&rig, true, &h, part.data, part.n);
    rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 1);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 2);
    rpc_rig_end(&rig);
    assert_true(rpc_has_rule(rpc_transaction(&rig, 1)->rules, rpc_transaction(&rig, 1)->n_rules,
                             RPCRDMA_RULE_RPC_OUTSIDE));
    assert_false(rpc_find(&rig, 2, RPCRDMA_DIRECTION_CALL)->complete);
}

/* The second segment came before, in a Read of its own: the first ends what is awaited. */
static void last_one_first(void **state)
{
    struct rpc_header h;

    (void)state;
    prepare_call(1);
    rpc_header_init(&h, 1, MSG);
    rpc_add_read(&h, at, HANDLE, ADDRESS, 2000);
    rpc_add_read(&h, at, HANDLE, ADDRESS + 2000, 2000);
    rpc_send(&rig, true, &h, part.data, part.n);
    rpc_read(&rig, false, HANDLE, ADDRESS + 2000, whole.data + at + 2000, 2000);
    rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE);
    rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 1);
    check_call(1, true);
}

/* A Write fills the segments of a Write chunk, too. */
static void one_write_of_several_segments(void **state)
{
    const struct got_message *m;
    struct rpc_header h;
    struct rpc_bytes call;

    (void)state;
    rpc_call_header(&call, 1, NFS, 3, READ);
    rpc_header_init(&h, 1, MSG);
    rpc_add_write(&h, true, HANDLE, ADDRESS, 1500);
    rpc_add_write(&h, false, HANDLE, ADDRESS + 1500, 2500);
    rpc_send(&rig, true, &h, call.data, call.n);
    rpc_reply_header(&whole, 1);
    rpc_put(&whole, 0);
    rpc_put(&whole, 0);
    rpc_put(&whole, SIZE);
    rpc_put(&whole, 1);
    rpc_put(&whole, SIZE);
    part = whole;
    at = whole.n;
    rpc_fill(&whole, SIZE, 9);
    rpc_write(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE, RIG_PMTU, UINT32_MAX);
    rpc_header_init(&h, 1, MSG);
    rpc_add_write(&h, true, HANDLE, ADDRESS, 1500);
    rpc_add_write(&h, false, HANDLE, ADDRESS + 1500, 2500);
    rpc_send(&rig, false, &h, part.data, part.n);
    m = rpc_find(&rig, 1, RPCRDMA_DIRECTION_REPLY);
    assert_true(m->whole);
    rpc_check_bytes(m, &whole);
    assert_false(rpc_has_rule(rpc_transaction(&rig, 1)->rules, rpc_transaction(&rig, 1)->n_rules,
                              RPCRDMA_RULE_RPC_OUTSIDE));
}

/* A snap length that ends within the lists: how long the message around a chunk is, nobody saw. */
static void cut_within_the_lists(void **state)
{
    enum { ONE_SEGMENT = 40, HEADER = 52 }; /* where the first segment ends, and the header */
    (void)state;
    for (uint32_t caplen = ONE_SEGMENT, xid = 1; caplen <= HEADER; caplen += 4, xid++) {
        const struct got_transaction *t;
        struct rpc_header h;

        prepare_call(xid);
        rpc_header_init(&h, xid, MSG);
        rpc_add_read(&h, at, HANDLE, ADDRESS, SIZE);
        rpc_send_cut(&rig, true, &h, &part, caplen);
        rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE);
        rig_send_reply(&rig.rig, &rig.b, &rig.a, xid);
        t = rpc_transaction(&rig, xid);
        assert_non_null(t);
        assert_false(rpc_has_rule(t->rules, t->n_rules, RPCRDMA_RULE_RPC_POSITION));
        assert_int_equal(t->t.complete, caplen == HEADER);
    }
}

static uint32_t told;

static void on_finding(void *context, const struct rpcrdma_connection *c,
                       const struct rpcrdma_finding *finding)
{
    (void)context;
    (void)c;
    (void)finding;
    told++;
}

/* A Read of no bytes touches no memory, and its R_key is not validated (IBTA volume 1, C9-88): of a
 * segment without bytes, behind one, and of one whose Call was answered. */
static void read_of_nothing(void **state)
{
    struct rpc_header h;

    (void)state;
    rig.rig.flow->context.sink.finding = on_finding;
    told = 0;
    prepare_call(1);
    rpc_header_init(&h, 1, MSG);
    rpc_add_read(&h, at, HANDLE, ADDRESS, SIZE);
    rpc_add_read(&h, at, HANDLE + 1, ADDRESS, 0);
    rpc_send(&rig, true, &h, part.data, part.n);
    rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE);
    rpc_read(&rig, false, HANDLE + 1, ADDRESS, NULL, 0);
    rpc_read(&rig, false, HANDLE, ADDRESS + SIZE, NULL, 0);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 1);
    rpc_read(&rig, false, HANDLE, ADDRESS, NULL, 0);
    rpc_rig_end(&rig);
    check_call(1, true);
    assert_int_equal(told, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_read_of_several_segments),
        TEST(not_over_a_gap),
        TEST(not_into_another_call),
        TEST(last_one_first),
        TEST(one_write_of_several_segments),
        TEST(cut_within_the_lists),
        TEST(read_of_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
