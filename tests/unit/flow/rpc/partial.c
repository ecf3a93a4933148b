/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sink's `partial` is given of RPC messages: everything is where it will be, but for the
 * bytes of chunks (RFC 8166 sections 3.4.4 to 3.4.6). */
#include "rpc_fixture.h"

enum { HANDLE = 0x77, SIZE = 3999, HOLE = 0xee };
static const uint64_t ADDRESS = 0x10000;

static uint32_t at; /* of the data in `whole` */

static int setup_without_rpc(void **state)
{
    (void)state;
    rpc_rig_begin(&rig, NULL, false);
    return 0;
}

/* Its data is not known, and padded. */
static void make_hole(void)
{
    memset(whole.data + at, HOLE, SIZE);
    rpc_pad(&whole);
}

/* An NFSv3 WRITE, its data in a Read chunk. */
static void send_write(uint32_t xid, uint32_t position)
{
    struct rpc_header h;

    at = put_write_call(xid, SIZE);
    make_hole();
    rpc_header_init(&h, xid, MSG);
    rpc_add_read(&h, position ? position : at, HANDLE, ADDRESS, SIZE);
    rpc_send(&rig, true, &h, part.data, part.n);
}

/* An NFSv3 READ, and the Reply that says that a Write chunk has its data. */
static void send_read_call(uint32_t xid)
{
    struct rpc_header h;

    rpc_call_header(&part, xid, NFS, 3, READ);
    rpc_put(&part, 4);
    rpc_put(&part, 0);
    rpc_put(&part, 0);
    rpc_put(&part, 0);
    rpc_put(&part, SIZE);
    rpc_header_init(&h, xid, MSG);
    rpc_add_write(&h, true, HANDLE, ADDRESS, SIZE);
    rpc_send(&rig, true, &h, part.data, part.n);
}

static void send_read_reply(uint32_t xid)
{
    struct rpc_header h;

    at = put_read_reply(xid, SIZE, 1);
    make_hole();
    rpc_header_init(&h, xid, MSG);
    rpc_add_write(&h, true, HANDLE, ADDRESS, SIZE);
    rpc_send(&rig, false, &h, part.data, part.n);
}

static void check(size_t i, uint32_t xid, enum rpcrdma_rpc_direction direction, bool held_back)
{
    const struct got_message *m = &rig.partial[i];

    assert_true(i < rig.partials);
    assert_int_equal(m->xid, xid);
    assert_int_equal(m->direction, direction);
    assert_int_equal(m->held_back, held_back);
    assert_false(m->whole || m->complete);
    assert_int_equal(m->n_rules, 0);
    assert_int_equal(m->n_unplaced_chunks, 0);
    assert_int_equal(m->length, whole.n);
    assert_memory_equal(m->bytes, whole.data, whole.n);
}

/* The Responder has yet to read it. Then it is given whole, and no finding was made before. */
static void call_to_be_read(void **state)
{
    (void)state;
    send_write(1, 0);
    assert_int_equal(rig.partials, 1);
    check(0, 1, RPCRDMA_DIRECTION_CALL, false);
    assert_int_equal(rig.messages, 0);
    memset(whole.data + at, 0x5a, SIZE);
    rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 1);
    rpc_check_bytes(rpc_find(&rig, 1, RPCRDMA_DIRECTION_CALL), &whole);
    assert_int_equal(rpc_transaction(&rig, 1)->n_rules, 0);
    assert_int_equal(rig.partials, 1);
}

/* The Writes were captured after it, or not at all. */
static void reply_to_be_written(void **state)
{
    (void)state;
    send_read_call(1);
    assert_int_equal(rig.partials, 0); /* given whole at once */
    send_read_reply(1);
    assert_int_equal(rig.partials, 1);
    check(0, 1, RPCRDMA_DIRECTION_REPLY, false);
}

/* Packets are missing before both: what the Reply's chunk carries, the Call that waits tells. */
static void held_back(void **state)
{
    (void)state;
    rig_send_call(&rig.rig, &rig.a, &rig.b, 7);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 7);
    rig.a.psn++;
    rig.b.psn++;
    send_write(1, 0);
    assert_int_equal(rig.partials, 1);
    check(0, 1, RPCRDMA_DIRECTION_CALL, true);
    send_read_call(2);
    assert_int_equal(rig.partials, 2);
    send_read_reply(2);
    assert_int_equal(rig.partials, 3);
    check(2, 2, RPCRDMA_DIRECTION_REPLY, true);
    send_read_reply(3); /* of which nothing is known: the chunk is behind it */
    assert_int_equal(rig.partials, 4);
    assert_int_equal(rig.partial[3].n_unplaced_chunks, 1);
    assert_int_equal(rig.partial[3].length, part.n + ((SIZE + 3) & ~3));
    assert_memory_equal(rig.partial[3].bytes, part.data, part.n);
    assert_int_equal(rig.messages, 2);
}

/* A chunk that begins behind the end of the message, or that begins it, cannot be laid out. */
static void not_laid_out(void **state)
{
    struct rpc_header h;

    (void)state;
    send_write(1, 4000);
    rpc_header_init(&h, 2, MSG);
    rpc_add_read(&h, 0, HANDLE, ADDRESS + SIZE, SIZE);
    rpc_call_header(&part, 2, NFS, 3, WRITE);
    rpc_send(&rig, true, &h, part.data, part.n);
    assert_int_equal(rig.partials, 0);
}

/* Where nothing whole is given it is all there is, of each message. */
static void without_rpc(void **state)
{
    (void)state;
    send_write(1, 0);
    check(0, 1, RPCRDMA_DIRECTION_CALL, false);
    rpc_read(&rig, false, HANDLE, ADDRESS, whole.data + at, SIZE);
    rig_send_reply(&rig.rig, &rig.b, &rig.a, 1);
    assert_int_equal(rig.partials, 2);
    assert_int_equal(rig.partial[1].direction, RPCRDMA_DIRECTION_REPLY);
    assert_int_equal(rig.messages, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(call_to_be_read, setup, teardown),
        cmocka_unit_test_setup_teardown(reply_to_be_written, setup, teardown),
        cmocka_unit_test_setup_teardown(held_back, setup, teardown),
        cmocka_unit_test_setup_teardown(not_laid_out, setup, teardown),
        cmocka_unit_test_setup_teardown(without_rpc, setup_without_rpc, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
