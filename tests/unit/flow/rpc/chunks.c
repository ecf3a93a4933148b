/* SPDX-License-Identifier: BSD-2-Clause */
/* Every way to take an RPC message apart, and back. */
#include "rpc_items.h"

enum { NOMSG = 1 };

static uint32_t padded(uint32_t n)
{
    return (n + 3) & ~3u;
}

static void answer(uint32_t xid)
{
    rig_send_reply(&rig.rig, &rig.b, &rig.a, xid);
}

static void read_chunks_at_positions(void **state)
{
    struct rpc_header h;
    uint32_t first, second;

    (void)state;
    /* padding in the chunk, absent, or inline; list in order or not */
    for (uint32_t variant = 0; variant < 6; variant++) {
        uint32_t xid = 100 + variant, n = 5001, m = 130;
        uint32_t len1 = variant % 3 == 0 ? padded(n) : n, len2 = variant % 3 == 0 ? padded(m) : m;

        two_items(xid, n, m, &first, &second);
        part = whole;
        if (variant % 3 == 2) { /* the pads stay */
            take_out(&part, second, second + m);
            take_out(&part, first, first + n);
        } else {
            take_out(&part, second, second + padded(m));
            take_out(&part, first, first + padded(n));
        }
        rpc_header_init(&h, xid, MSG);
        if (variant >= 3) /* not in order of positions */
            rpc_add_read(&h, second, 21, 0x5000, len2);
        rpc_add_read(&h, first, 11, 0x1000, 3000); /* two segments */
        rpc_add_read(&h, first, 12, 0x9000, len1 - 3000);
        if (variant < 3)
            rpc_add_read(&h, second, 21, 0x5000, len2);
        rpc_send(&rig, true, &h, part.data, part.n);
        rpc_read(&rig, false, 12, 0x9000, whole.data + first + 3000, len1 - 3000);
        rpc_read(&rig, false, 21, 0x5000, whole.data + second, len2);
        assert_int_equal(rig.messages, variant * 2); /* not before all is there */
        rpc_read(&rig, false, 11, 0x1000, whole.data + first, 3000);
        assert_int_equal(rig.messages, variant * 2 + 1);
        rpc_check_bytes(rpc_find(&rig, xid, RPCRDMA_DIRECTION_CALL), &whole);
        answer(xid);
        assert_int_equal(rpc_transaction(&rig, xid)->t.call_length, whole.n);
        assert_int_equal(rpc_transaction(&rig, xid)->t.read_chunk_length, len1 + len2);
        assert_true(rpc_transaction(&rig, xid)->t.complete);
        assert_int_equal(rpc_has_rule(rpc_transaction(&rig, xid)->rules,
                                      rpc_transaction(&rig, xid)->n_rules,
                                      RPCRDMA_RULE_RPC_PAD_INLINE),
                         variant % 3 == 2);
    }
}

static void position_zero_alone_and_with_others(void **state)
{
    struct rpc_header h;
    uint32_t first, second;

    (void)state;
    for (uint32_t variant = 0; variant < 2; variant++) {
        uint32_t xid = 200 + variant;

        two_items(xid, 2000, 3001, &first, &second);
        part = whole;
        rpc_header_init(&h, xid, NOMSG);
        if (variant == 1)
            take_out(&part, second, second + padded(3001));
        rpc_add_read(&h, 0, 31, 0, 1500);
        rpc_add_read(&h, 0, 32, 0x100000000, part.n - 1500);
        if (variant == 1)
            rpc_add_read(&h, second, 33, 0x7777, 3001);
        rpc_send(&rig, true, &h, NULL, 0);
        rpc_read(&rig, false, 31, 0, part.data, 1500);
        rpc_read(&rig, false, 32, 0x100000000, part.data + 1500, part.n - 1500);
        if (variant == 1)
            rpc_read(&rig, false, 33, 0x7777, whole.data + second, 3001);
        rpc_check_bytes(rpc_find(&rig, xid, RPCRDMA_DIRECTION_CALL), &whole);
        answer(xid);
        assert_true(rpc_transaction(&rig, xid)->t.complete);
        assert_int_equal(rpc_transaction(&rig, xid)->t.program, OTHER);
    }
}

/* READ of NFSv3 with a write chunk; `in_chunk` bytes of padding travel in it. */
static void send_read_call(uint32_t xid, uint32_t offered, uint32_t segments)
{
    struct rpc_header h;
    struct rpc_bytes call;

    rpc_call_header(&call, xid, NFS, 3, READ);
    rpc_put(&call, 4);
    rpc_put(&call, 0x12345678);
    rpc_put(&call, 0);
    rpc_put(&call, 0);
    rpc_put(&call, offered);
    rpc_header_init(&h, xid, MSG);
    for (uint32_t i = 0; i < segments; i++)
        rpc_add_write(&h, i == 0, 51 + i, 0x10000 * i + 8, offered / segments);
    rpc_send(&rig, true, &h, call.data, call.n);
}

static void a_write_chunk_goes_where_the_binding_says(void **state)
{
    struct rpc_header h;
    const struct got_transaction *t;

    (void)state;
    /* variants: plain; padding in the chunk; padding inline; less than was offered */
    for (uint32_t variant = 0; variant < 4; variant++) {
        uint32_t xid = 400 + variant, n = variant == 3 ? 100 : 6001, at;
        uint32_t written = variant == 1 ? padded(n) : n;
        uint32_t first = written < 4096 ? written : 4096;

        send_read_call(xid, 8192, 2);
        at = put_padded_read_reply(&whole, xid, n);
        part = whole;
        take_out(&part, at, at + (variant == 2 ? n : padded(n)));
        rpc_write(&rig, false, 51, 8, whole.data + at, first, RIG_PMTU, UINT32_MAX);
        if (written > 4096)
            rpc_write(&rig, false, 52, 0x10008, whole.data + at + 4096, written - 4096, RIG_PMTU,
                      UINT32_MAX);
        rpc_header_init(&h, xid, MSG);
        rpc_add_write(&h, true, 51, 8, first);
        rpc_add_write(&h, false, 52, 0x10008, written - first);
        rpc_send(&rig, false, &h, part.data, part.n);
        rpc_check_bytes(rpc_find(&rig, xid, RPCRDMA_DIRECTION_REPLY), &whole);
        t = rpc_transaction(&rig, xid);
        assert_true(t->t.complete);
        assert_int_equal(t->t.write_chunk_length, written);
        assert_int_equal(t->t.reply_length, whole.n);
        assert_true(t->t.has_rdma);
        assert_string_equal(t->name, "READ");
    }
}

static void an_unused_chunk_and_a_shorter_write_list(void **state)
{
    struct rpc_header h;

    (void)state;
    for (uint32_t returned = 0; returned < 2; returned++) {
        uint32_t xid = 500 + returned;

        send_read_call(xid, 8192, 1);
        put_padded_read_reply(&whole, xid, 40);
        rpc_header_init(&h, xid, MSG);
        if (returned)
            rpc_add_write(&h, true, 51, 8, 0);
        rpc_send(&rig, false, &h, whole.data, whole.n);
        rpc_check_bytes(rpc_find(&rig, xid, RPCRDMA_DIRECTION_REPLY), &whole);
        assert_int_equal(rpc_has_rule(rpc_transaction(&rig, xid)->rules,
                                      rpc_transaction(&rig, xid)->n_rules,
                                      RPCRDMA_RULE_RPC_WRITE_LIST),
                         !returned);
    }
}

static void what_is_returned_wrongly_is_named(void **state)
{
    struct rpc_header h;
    const struct got_transaction *t;
    uint32_t at;

    (void)state;
    send_read_call(550, 4096, 1);
    at = put_padded_read_reply(&whole, 550, 64);
    part = whole;
    take_out(&part, at, at + 64);
    rpc_write(&rig, false, 51, 8, whole.data + at, 64, RIG_PMTU, UINT32_MAX);
    rpc_header_init(&h, 550, MSG);
    rpc_add_write(&h, true, 52, 8, 64); /* another handle than was offered */
    rpc_send(&rig, false, &h, part.data, part.n);
    t = rpc_transaction(&rig, 550);
    assert_true(rpc_has_rule(t->rules, t->n_rules, RPCRDMA_RULE_RPC_RETURNED_OTHER));
    assert_false(rpc_find(&rig, 550, RPCRDMA_DIRECTION_REPLY)->whole);

    send_read_call(551, 4096, 1);
    rpc_write(&rig, false, 51, 8, whole.data + at, 64, RIG_PMTU, UINT32_MAX);
    rpc_header_init(&h, 551, MSG);
    rpc_add_write(&h, true, 51, 8, 5000);
    part.data[3] = 551 & 0xff;
    part.data[2] = 551 >> 8;
    rpc_send(&rig, false, &h, part.data, part.n);
    t = rpc_transaction(&rig, 551);
    assert_true(rpc_has_rule(t->rules, t->n_rules, RPCRDMA_RULE_RPC_RETURNED_LONGER));
    assert_true(rpc_has_rule(t->rules, t->n_rules, RPCRDMA_RULE_RPC_CHUNK_LENGTH));
    assert_false(t->t.complete);
}

/* A COMPOUND with three READs: one in a chunk, one inline because its chunk came back unused, one
 * in a chunk again. */
static void compound_with_several_chunks(void **state)
{
    const uint32_t lengths[3] = {3001, 16, 777};
    struct rpc_header h;
    uint32_t at[3];
    const struct got_transaction *t;

    (void)state;
    rpc_call_header(&part, 600, NFS, 4, 1);
    rpc_put(&part, 0);
    rpc_put(&part, 1);
    rpc_put(&part, 3);
    for (int i = 0; i < 3; i++) {
        rpc_put(&part, 25);
        for (int k = 0; k < 7; k++)
            rpc_put(&part, 0);
    }
    rpc_header_init(&h, 600, MSG);
    for (uint32_t i = 0; i < 3; i++)
        rpc_add_write(&h, true, 61 + i, 0x1000, 4096);
    rpc_send(&rig, true, &h, part.data, part.n);

    rpc_reply_header(&whole, 600);
    rpc_put(&whole, 0);
    rpc_put(&whole, 0);
    rpc_put(&whole, 3);
    for (int i = 0; i < 3; i++) {
        rpc_put(&whole, 25);
        rpc_put(&whole, 0);
        rpc_put(&whole, 0);
        rpc_put(&whole, lengths[i]);
        at[i] = whole.n;
        rpc_fill(&whole, lengths[i], (uint8_t)(i * 90));
        rpc_pad(&whole);
    }
    part = whole;
    take_out(&part, at[2], at[2] + padded(lengths[2]));
    take_out(&part, at[0], at[0] + padded(lengths[0]));
    rpc_write(&rig, false, 63, 0x1000, whole.data + at[2], lengths[2], RIG_PMTU, UINT32_MAX);
    rpc_write(&rig, false, 61, 0x1000, whole.data + at[0], lengths[0], RIG_PMTU, UINT32_MAX);
    rpc_header_init(&h, 600, MSG);
    rpc_add_write(&h, true, 61, 0x1000, lengths[0]);
    rpc_add_write(&h, true, 62, 0x1000, 0);
    rpc_add_write(&h, true, 63, 0x1000, lengths[2]);
    rpc_send(&rig, false, &h, part.data, part.n);
    rpc_check_bytes(rpc_find(&rig, 600, RPCRDMA_DIRECTION_REPLY), &whole);
    t = rpc_transaction(&rig, 600);
    assert_string_equal(t->name, "READ+READ+READ");
    /* minor version 1 has no COMPOUND without SEQUENCE; one result did not use its chunk */
    assert_int_equal(t->n_rules, 2);
    assert_int_equal(t->rules[0], RPCRDMA_RULE_COMPOUND_NO_SEQUENCE);
    assert_int_equal(t->rules[1], RPCRDMA_RULE_ITEM_INLINE);
}

static void a_reply_chunk_alone_and_with_a_write_chunk(void **state)
{
    struct rpc_header h;

    (void)state;
    for (uint32_t with_write = 0; with_write < 2; with_write++) {
        uint32_t xid = 700 + with_write, at;
        struct rpc_bytes call;

        rpc_call_header(&call, xid, NFS, 3, READ);
        rpc_header_init(&h, xid, MSG);
        rpc_add_write(&h, true, 71, 0, 4096);
        rpc_add_reply(&h, 72, 0x100, 64);
        rpc_add_reply(&h, 73, 0x200, 5000);
        rpc_send(&rig, true, &h, call.data, call.n);
        at = put_padded_read_reply(&whole, xid, 1001);
        part = whole;
        if (with_write) {
            take_out(&part, at, at + 1004);
            rpc_write(&rig, false, 71, 0, whole.data + at, 1001, RIG_PMTU, UINT32_MAX);
        }
        {
            uint32_t first = part.n < 64 ? part.n : 64;

            rpc_write(&rig, false, 72, 0x100, part.data, first, RIG_PMTU, UINT32_MAX);
            if (part.n > first)
                rpc_write(&rig, false, 73, 0x200, part.data + first, part.n - first, 512,
                          UINT32_MAX);
            rpc_header_init(&h, xid, NOMSG);
            rpc_add_write(&h, true, 71, 0, with_write ? 1001 : 0);
            rpc_add_reply(&h, 72, 0x100, first);
            rpc_add_reply(&h, 73, 0x200, part.n - first);
        }
        rpc_send(&rig, false, &h, NULL, 0);
        rpc_check_bytes(rpc_find(&rig, xid, RPCRDMA_DIRECTION_REPLY), &whole);
        assert_int_equal(rpc_transaction(&rig, xid)->t.reply_chunk_length, part.n);
    }
}

static void an_unknown_program_keeps_its_chunk_apart(void **state)
{
    struct rpc_header h;
    const struct got_message *m;

    (void)state;
    rpc_call_header(&part, 800, OTHER, 1, 5);
    rpc_header_init(&h, 800, MSG);
    rpc_add_write(&h, true, 81, 0, 4096);
    rpc_send(&rig, true, &h, part.data, part.n);
    rpc_reply_header(&whole, 800);
    rpc_put(&whole, 100);
    part.n = 0;
    rpc_fill(&part, 100, 3);
    rpc_write(&rig, false, 81, 0, part.data, 100, RIG_PMTU, UINT32_MAX);
    rpc_header_init(&h, 800, MSG);
    rpc_add_write(&h, true, 81, 0, 100);
    rpc_send(&rig, false, &h, whole.data, whole.n);
    m = rpc_find(&rig, 800, RPCRDMA_DIRECTION_REPLY);
    assert_false(m->whole);
    assert_true(m->complete);
    assert_int_equal(m->n_unplaced_chunks, 1);
    assert_int_equal(m->loose_length, 100);
    assert_memory_equal(m->unplaced_chunks, part.data, 100);
    assert_memory_equal(m->bytes, whole.data, whole.n);
    assert_int_equal(m->length, whole.n + 100);
    assert_true(rpc_has_rule(m->rules, m->n_rules, RPCRDMA_RULE_RPC_UNPLACED_CHUNK));
    assert_string_equal(rpc_transaction(&rig, 800)->name, "PROC_5");
}

static void forward_and_reverse_with_one_xid(void **state)
{
    struct rpc_header h;

    (void)state;
    rpc_call_header(&part, 1000, NFS, 3, 0);
    rpc_header_init(&h, 1000, MSG);
    rpc_send(&rig, true, &h, part.data, part.n);
    rpc_call_header(&part, 1000, 0x40000000, 1, 0);
    rpc_send(&rig, false, &h, part.data, part.n);
    rpc_reply_header(&part, 1000);
    rpc_send(&rig, false, &h, part.data, part.n);
    rpc_send(&rig, true, &h, part.data, part.n);
    assert_int_equal(rig.transactions, 2);
    assert_false(rig.transaction[0].t.reverse);
    assert_string_equal(rig.transaction[0].name, "NULL");
    assert_true(rig.transaction[1].t.reverse);
    assert_string_equal(rig.transaction[1].name, "CB_NULL");
    for (size_t i = 0; i < 2; i++) {
        assert_true(rig.transaction[i].t.complete);
        assert_int_equal(rig.transaction[i].t.latency_ns, 20000);
    }
}

static void an_rdma_error_ends_its_call(void **state)
{
    struct rpc_header h;

    (void)state;
    send_read_call(1100, 4096, 1);
    rpc_header_init(&h, 1100, 4);
    h.message.error.code = 2; /* ERR_CHUNK */
    rpc_send(&rig, false, &h, NULL, 0);
    assert_int_equal(rig.transactions, 1);
    assert_true(rig.transaction[0].t.error);
    assert_false(rig.transaction[0].t.complete);
    assert_true(rig.transaction[0].t.has_latency);
    assert_int_equal(rig.transaction[0].rules[0], RPCRDMA_RULE_RPC_ERROR);
}

static void positions_that_fit_nowhere_are_named(void **state)
{
    const uint32_t positions[] = {4000000000u, 45};
    struct rpc_header h;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t xid = 1200 + i, first, second;
        const struct got_message *m;

        two_items(xid, 40, 40, &first, &second);
        rpc_header_init(&h, xid, MSG);
        rpc_add_read(&h, 44, 11, 0x1000, 40);
        rpc_add_read(&h, positions[i], 12, 0x2000, 40); /* beyond the end; within the first */
        rpc_send(&rig, true, &h, whole.data, whole.n);
        rpc_read(&rig, false, 11, 0x1000, whole.data, 40);
        rpc_read(&rig, false, 12, 0x2000, whole.data, 40);
        m = rpc_find(&rig, xid, RPCRDMA_DIRECTION_CALL);
        assert_false(m->whole);
        assert_true(rpc_has_rule(m->rules, m->n_rules, RPCRDMA_RULE_RPC_POSITION));
        answer(xid);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(read_chunks_at_positions),
        TEST(position_zero_alone_and_with_others),
        TEST(a_write_chunk_goes_where_the_binding_says),
        TEST(an_unused_chunk_and_a_shorter_write_list),
        TEST(what_is_returned_wrongly_is_named),
        TEST(compound_with_several_chunks),
        TEST(a_reply_chunk_alone_and_with_a_write_chunk),
        TEST(an_unknown_program_keeps_its_chunk_apart),
        TEST(forward_and_reverse_with_one_xid),
        TEST(an_rdma_error_ends_its_call),
        TEST(positions_that_fit_nowhere_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
