/* SPDX-License-Identifier: BSD-2-Clause */
/* Which chunk, and where in it, the bytes of an RDMA Read or Write packet belong. */
#include "rpc_rig.h"

enum { MSG = 0, NOMSG = 1, PROGRAM = 200123, XID = 77 };

static struct rpc_rig rig;
static uint8_t bytes[4096];

static int setup(void **state)
{
    (void)state;
    rpc_rig_begin(&rig, NULL, false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rpc_rig_free(&rig);
    return 0;
}

/* The i-th: an operation's kind, chunk, index in its list, offset and length. */
static void check(size_t i, enum rpcrdma_op_kind kind, enum rpcrdma_chunk_kind chunk,
                  uint32_t index, uint64_t offset, uint32_t length, uint64_t chunk_length)
{
    const struct rpcrdma_data_transfer *m = &rig.data_transfer[i];

    assert_true(i < rig.moves && i < RPC_RIG_MAX);
    assert_int_equal(m->kind, kind);
    assert_int_equal(m->chunk, chunk);
    assert_int_equal(m->index, index);
    assert_int_equal(m->offset, offset);
    assert_int_equal(m->length, length);
    assert_int_equal(m->chunk_length, chunk_length);
    assert_int_equal(m->xid, XID);
}

/* Two write chunks, the first of two segments, and a reply chunk. */
static uint64_t offer_writes(void)
{
    struct rpc_header h;
    struct rpc_bytes call;

    rpc_call_header(&call, XID, PROGRAM, 1, 1);
    rpc_header_init(&h, XID, MSG);
    rpc_add_write(&h, true, 11, 0x1000, 1500);
    rpc_add_write(&h, false, 12, 0x9000, 500);
    rpc_add_write(&h, true, 13, 0x40, 3000);
    rpc_add_reply(&h, 14, 0x80, 100);
    rpc_add_reply(&h, 15, 0x100, 900);
    rpc_send(&rig, true, &h, call.data, call.n);
    return rig.rig.frame;
}

static void writes(void **state)
{
    uint64_t call;

    (void)state;
    call = offer_writes();
    rpc_write(&rig, false, 11, 0x1000, bytes, 1500, RIG_PMTU, UINT32_MAX);
    rpc_write(&rig, false, 12, 0x9000 + 8, bytes, 40, RIG_PMTU, UINT32_MAX);
    rpc_write(&rig, false, 13, 0x40, bytes, 2000, RIG_PMTU, UINT32_MAX);
    rpc_write(&rig, false, 15, 0x100, bytes, 10, RIG_PMTU, UINT32_MAX);
    assert_int_equal(rig.moves, 6);
    check(0, RPCRDMA_OP_WRITE, RPCRDMA_CHUNK_WRITE, 0, 0, 1024, 2000);
    check(1, RPCRDMA_OP_WRITE, RPCRDMA_CHUNK_WRITE, 0, 1024, 476, 2000);
    check(2, RPCRDMA_OP_WRITE, RPCRDMA_CHUNK_WRITE, 0, 1508, 40, 2000);
    check(3, RPCRDMA_OP_WRITE, RPCRDMA_CHUNK_WRITE, 1, 0, 1024, 3000);
    check(4, RPCRDMA_OP_WRITE, RPCRDMA_CHUNK_WRITE, 1, 1024, 976, 3000);
    check(5, RPCRDMA_OP_WRITE, RPCRDMA_CHUNK_REPLY, 0, 100, 10, 1000);
    for (size_t i = 0; i < rig.moves; i++) {
        assert_int_equal(rig.data_transfer[i].call_frame, call);
        assert_int_equal(rig.data_transfer[i].frame, call + 1 + i);
    }
}

/* Requests say what is wanted, responses what came; what is read again is told again. */
static void reads(void **state)
{
    struct rpc_header h;
    uint32_t psn;

    (void)state;
    rpc_header_init(&h, XID, NOMSG);
    rpc_add_read(&h, 0, 21, 0, 300);
    rpc_add_read(&h, 0, 22, 0x5000, 1200);
    rpc_add_read(&h, 64, 23, 0x7000, 100);
    rpc_add_read(&h, 200, 24, 0x8000, 50);
    rpc_send(&rig, true, &h, NULL, 0);
    psn = rpc_read_request(&rig, false, 22, 0x5000, 1200);
    rpc_read_response(&rig, true, psn, 0, bytes, 1024, false);
    rpc_read_response(&rig, true, psn, 1, bytes + 1024, 176, true);
    rpc_read(&rig, false, 24, 0x8000 + 10, bytes, 40);
    check(0, RPCRDMA_OP_READ_REQUEST, RPCRDMA_CHUNK_CALL, 0, 300, 1200, 1500);
    check(1, RPCRDMA_OP_READ_RESPONSE, RPCRDMA_CHUNK_CALL, 0, 300, 1024, 1500);
    check(2, RPCRDMA_OP_READ_RESPONSE, RPCRDMA_CHUNK_CALL, 0, 1324, 176, 1500);
    check(3, RPCRDMA_OP_READ_REQUEST, RPCRDMA_CHUNK_READ, 1, 10, 40, 50);
    check(4, RPCRDMA_OP_READ_RESPONSE, RPCRDMA_CHUNK_READ, 1, 10, 40, 50);
    assert_int_equal(rig.data_transfer[3].position, 200);
    rpc_read_response(&rig, true, psn, 1, bytes + 1024, 176, true);
    check(5, RPCRDMA_OP_READ_RESPONSE, RPCRDMA_CHUNK_CALL, 0, 1324, 176, 1500);
    assert_int_equal(rig.moves, 6);
}

/* Nothing is said of what no Call advertised, and of a Call that was answered. */
static void nobody_knows(void **state)
{
    struct rpc_header h;
    struct rpc_bytes reply;

    (void)state;
    offer_writes();
    rpc_write(&rig, false, 99, 0x1000, bytes, 10, RIG_PMTU, UINT32_MAX);
    rpc_write(&rig, false, 11, 0, bytes, 10, RIG_PMTU, UINT32_MAX);
    rpc_write(&rig, true, 11, 0x1000, bytes, 10, RIG_PMTU, UINT32_MAX);
    rpc_reply_header(&reply, XID);
    rpc_header_init(&h, XID, MSG);
    rpc_send(&rig, false, &h, reply.data, reply.n);
    rpc_write(&rig, false, 11, 0x1000, bytes, 10, RIG_PMTU, UINT32_MAX);
    assert_int_equal(rig.moves, 0);
}

/* Times count from where the capturer began: the first packet with data may have time 0. */
static void at_time_zero(void **state)
{
    struct rpc_header h;
    struct rpc_bytes reply;
    uint64_t call;
    int64_t begin;

    (void)state;
    begin = rig.rig.time_ns = -20000; /* each packet is 10 us later */
    call = offer_writes();
    rpc_write(&rig, false, 11, 0x1000, bytes, 1500, 512, UINT32_MAX);
    assert_int_equal(rig.rig.time_ns, begin + 40000);
    rpc_reply_header(&reply, XID);
    rpc_header_init(&h, XID, MSG);
    rpc_send(&rig, false, &h, reply.data, reply.n);
    rpc_rig_end(&rig);
    assert_int_equal(rig.transactions, 1);
    assert_true(rig.transaction[0].t.has_rdma);
    assert_int_equal(rig.transaction[0].t.rdma_ns, 20000);
    assert_int_equal(rig.transaction[0].t.rdma_first_frame, call + 1);
    assert_int_equal(rig.transaction[0].t.rdma_last_frame, call + 3);
}

/* A response that is there twice, as in a mirror's copy, was sent once: RDMA ended before. One that
 * is sent again, later, belongs to it. */
static void a_response_twice(void **state)
{
    const struct rpcrdma_flow_config config = {.delivery = true};

    for (int again = 0; again < 2; again++) {
        struct rpc_header h;
        struct rpc_bytes reply;
        uint32_t psn;
        uint64_t last;

        teardown(state);
        rpc_rig_begin(&rig, &config, false);
        rpc_header_init(&h, XID, NOMSG);
        rpc_add_read(&h, 0, 21, 0, 1200);
        rpc_send(&rig, true, &h, NULL, 0);
        psn = rpc_read_request(&rig, false, 21, 0, 1200);
        rpc_read_response(&rig, true, psn, 0, bytes, 1024, false);
        rpc_read_response(&rig, true, psn, 1, bytes + 1024, 176, true);
        last = rig.rig.frame;
        rig.rig.time_ns += again ? 2000000 : 500000;
        rpc_read_response(&rig, true, psn, 1, bytes + 1024, 176, true);
        rpc_reply_header(&reply, XID);
        rpc_header_init(&h, XID, MSG);
        rpc_send(&rig, false, &h, reply.data, reply.n);
        rpc_rig_end(&rig);
        assert_int_equal(rig.transactions, 1);
        assert_int_equal(rig.transaction[0].t.rdma_ns, again ? 2030000 : 20000);
        assert_int_equal(rig.transaction[0].t.rdma_last_frame, again ? last + 1 : last);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(writes), TEST(reads), TEST(nobody_knows),
                                       TEST(at_time_zero), TEST(a_response_twice)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
