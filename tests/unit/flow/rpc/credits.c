/* SPDX-License-Identifier: BSD-2-Clause */
/* Version 2: the parts of one message need a credit each (draft-ietf-nfsv4-rpcrdma-version-two-07
 * section 4.2.1). What they wait for is part of the RPC's time, and is told. */
#include "rpc_rig.h"

enum { NFS = 100003, PART = 700, STEP = 10000 /* between two packets, as the rig has it */ };
#define MS INT64_C(1000000)

static struct rpc_rig rig;
static struct rpc_bytes whole;

static void begin(void)
{
    const struct rpcrdma_flow_config config = {.dialect = rpcrdma_dialect(RPCRDMA_IETF_07),
                                               .delivery = true};

    rpc_rig_begin(&rig, &config, true);
}

static int teardown(void **state)
{
    (void)state;
    rpc_rig_free(&rig);
    return 0;
}

/* Sends one part of `whole`, acknowledged; its frame. */
static uint64_t send_part(bool from_a, uint32_t xid, uint32_t type, uint32_t at, uint32_t n,
                          uint32_t credits)
{
    struct rpc_header h;
    uint64_t frame;

    rpc_header_init(&h, xid, type);
    h.message.dialect = rpcrdma_dialect(RPCRDMA_IETF_07);
    h.message.version = 2;
    h.message.credits = credits;
    h.message.remaining = whole.n - at - n;
    rpc_send(&rig, from_a, &h, whole.data + at, n);
    frame = rig.rig.frame;
    rig_ack(&rig.rig, from_a ? &rig.b : &rig.a, from_a ? &rig.a : &rig.b,
            (from_a ? &rig.a : &rig.b)->psn - 1);
    return frame;
}

enum { GRANT = 5, CALL_MIDDLE = 9, CALL_INLINE = 10, REPLY_MIDDLE = 12, REPLY_INLINE = 13 };

static void call(uint32_t xid, uint32_t n)
{
    rpc_call_header(&whole, xid, NFS, 3, 1);
    rpc_put(&whole, n);
    rpc_fill(&whole, n, (uint8_t)xid);
    rpc_pad(&whole);
}

static void reply(uint32_t xid, uint32_t n)
{
    rpc_reply_header(&whole, xid);
    rpc_put(&whole, n);
    rpc_fill(&whole, n, (uint8_t)xid);
    rpc_pad(&whole);
}

/* One Call, whose Reply brings credits up to message `limit`. */
static void first(uint32_t limit)
{
    call(1, 8);
    send_part(true, 1, CALL_INLINE, 0, whole.n, 3);
    reply(1, 8);
    send_part(false, 1, REPLY_INLINE, 0, whole.n, limit);
}

static void a_call_in_parts(void **state)
{
    const struct rpcrdma_transaction *t;
    int64_t began;
    uint64_t from, to;

    (void)state;
    begin();
    first(2);
    call(2, 3 * PART - 100);
    send_part(true, 2, CALL_MIDDLE, 0, PART, 4);
    began = rig.rig.time_ns - STEP;
    rig.rig.time_ns += 3 * MS;
    send_part(false, 0, GRANT, whole.n, 0, 3);
    rig.rig.time_ns += 1 * MS; /* it could go on, and does not at once: not for credits */
    from = send_part(true, 2, CALL_MIDDLE, PART, PART, 4);
    rig.rig.time_ns += 5 * MS;
    to = send_part(false, 0, GRANT, whole.n, 0, 20);
    send_part(true, 2, CALL_INLINE, 2 * PART, whole.n - 2 * PART, 4);
    reply(2, 8);
    send_part(false, 2, REPLY_INLINE, 0, whole.n, 20);
    t = &rpc_transaction(&rig, 2)->t;
    assert_int_equal(t->call_time_ns, began);
    assert_int_equal(t->phases.call_ns, 9 * MS + 9 * STEP);
    assert_int_equal(t->stalled_by, RPCRDMA_STALL_CREDITS);
    assert_int_equal(t->stalled_ns, 8 * MS + 4 * STEP);
    assert_int_equal(t->stalled_from_frame, from);
    assert_int_equal(t->stalled_to_frame, to);
}

static void a_reply_in_parts(void **state)
{
    const struct rpcrdma_transaction *t;
    uint64_t from, to;

    (void)state;
    begin();
    first(20);
    call(2, 8);
    send_part(true, 2, CALL_INLINE, 0, whole.n, 2);
    reply(2, PART);
    from = send_part(false, 2, REPLY_MIDDLE, 0, PART, 20);
    rig.rig.time_ns += 7 * MS;
    to = send_part(true, 0, GRANT, whole.n, 0, 9);
    send_part(false, 2, REPLY_INLINE, PART, whole.n - PART, 20);
    t = &rpc_transaction(&rig, 2)->t;
    assert_int_equal(t->stalled_by, RPCRDMA_STALL_CREDITS);
    assert_int_equal(t->stalled_ns, 7 * MS + 2 * STEP);
    assert_int_equal(t->stalled_from_frame, from);
    assert_int_equal(t->stalled_to_frame, to);
    assert_int_equal(t->phases.reply_ns, 7 * MS + 5 * STEP);
}

/* There were credits: a sender that takes its time waits for none. */
static void with_credits_left(void **state)
{
    const struct rpcrdma_transaction *t;

    (void)state;
    begin();
    first(20);
    call(2, PART);
    send_part(true, 2, CALL_MIDDLE, 0, PART, 20);
    rig.rig.time_ns += 3 * MS;
    send_part(false, 0, GRANT, whole.n, 0, 21);
    send_part(true, 2, CALL_INLINE, PART, whole.n - PART, 20);
    reply(2, 8);
    send_part(false, 2, REPLY_INLINE, 0, whole.n, 20);
    t = &rpc_transaction(&rig, 2)->t;
    assert_true(t->phases.call_ns > 3 * MS);
    assert_int_equal(t->stalled_ns, 0);
}

/* The counters did not begin here: how many may be sent is not known, and is not guessed. */
static void captured_late(void **state)
{
    const struct rpcrdma_flow_config config = {.dialect = rpcrdma_dialect(RPCRDMA_IETF_07),
                                               .delivery = true};

    (void)state;
    rpc_rig_begin_late(&rig, &config, true);
    first(2);
    call(2, PART);
    send_part(true, 2, CALL_MIDDLE, 0, PART, 4);
    rig.rig.time_ns += 3 * MS;
    send_part(false, 0, GRANT, whole.n, 0, 3);
    send_part(true, 2, CALL_INLINE, PART, whole.n - PART, 4);
    reply(2, 8);
    send_part(false, 2, REPLY_INLINE, 0, whole.n, 20);
    assert_int_equal(rpc_transaction(&rig, 2)->t.stalled_ns, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_call_in_parts),
        TEST(a_reply_in_parts),
        TEST(with_credits_left),
        TEST(captured_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
