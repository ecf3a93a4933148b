/* SPDX-License-Identifier: BSD-2-Clause */
/* What RFC 5666 had and RFC 8166 has not: RDMA_MSGP, Read-Read Replies, and a Position-Zero chunk
 * beside what is inline. */
#include "rpc_items.h"

enum { NOMSG = 1, MSGP = 2, DONE = 3 };

static void answer(uint32_t xid)
{
    rig_send_reply(&rig.rig, &rig.b, &rig.a, xid);
}

/* RFC 5666 leaves open what RDMA_MSG with a Position-Zero Read chunk means. Both are named. */
static void msg_with_a_position_zero_chunk(void **state)
{
    struct rpc_header h;
    uint32_t first, second;

    (void)state;
    for (uint32_t inline_first = 0; inline_first < 2; inline_first++) {
        uint32_t xid = 300 + inline_first, cut = 60;
        const struct got_message *m;

        two_items(xid, 400, 12, &first, &second);
        rpc_header_init(&h, xid, MSG);
        if (inline_first) {
            rpc_add_read(&h, 0, 41, 0x40, whole.n - cut);
            rpc_send(&rig, true, &h, whole.data, cut);
            rpc_read(&rig, false, 41, 0x40, whole.data + cut, whole.n - cut);
        } else {
            rpc_add_read(&h, 0, 41, 0x40, cut);
            rpc_send(&rig, true, &h, whole.data + cut, whole.n - cut);
            rpc_read(&rig, false, 41, 0x40, whole.data, cut);
        }
        m = rpc_find(&rig, xid, RPCRDMA_DIRECTION_CALL);
        rpc_check_bytes(m, &whole);
        assert_true(rpc_has_rule(m->rules, m->n_rules, RPCRDMA_RULE_RPC_MSG_PZRC));
    }
}

/* RFC 5666's Read-Read model: the Reply offers a read chunk, the Requester pulls it, RDMA_DONE. */
static void read_read_replies(void **state)
{
    struct rpc_header h;
    uint32_t at;

    (void)state;
    for (uint32_t variant = 0; variant < 3; variant++) {
        uint32_t xid = 900 + variant;
        struct rpc_bytes call;

        rpc_call_header(&call, xid, OTHER, 1, 1);
        rpc_header_init(&h, xid, MSG);
        rpc_send(&rig, true, &h, call.data, call.n);
        at = put_padded_read_reply(&whole, xid, 3000);
        part = whole;
        take_out(&part, at, at + 3000);
        rpc_header_init(&h, xid, MSG);
        rpc_add_read(&h, at, 91, 0x9100, 3000);
        rpc_send(&rig, false, &h, part.data, part.n);
        assert_int_equal(rig.transactions, variant);
        if (variant < 2)
            rpc_read(&rig, true, 91, 0x9100, whole.data + at, 3000);
        rpc_header_init(&h, xid, DONE);
        if (variant > 0)
            rpc_send(&rig, true, &h, NULL, 0);
        assert_int_equal(rig.transactions, variant + 1);
        if (variant < 2)
            rpc_check_bytes(rpc_find(&rig, xid, RPCRDMA_DIRECTION_REPLY), &whole);
        else
            assert_false(rpc_find(&rig, xid, RPCRDMA_DIRECTION_REPLY)->complete);
    }
}

/* RDMA_MSGP aligns the data of a WRITE; what it puts in between is no part of the RPC message. */
static void msgp_aligns_and_is_undone(void **state)
{
    struct rpc_header h;

    (void)state;
    for (uint32_t variant = 0; variant < 4; variant++) {
        uint32_t xid = 1300 + variant, n = variant == 1 ? 3 : 301, align = 512, at, pad;
        const struct got_message *m;
        bool known = variant < 3;

        rpc_call_header(&whole, xid, known ? NFS : OTHER, variant == 2 ? 2 : 3,
                        variant == 2 ? 8 : WRITE);
        if (variant == 2) {
            rpc_fill(&whole, 32 + 12, 1);
        } else {
            rpc_put(&whole, 8);
            rpc_fill(&whole, 8 + 8 + 8, 1);
        }
        rpc_put(&whole, n);
        at = whole.n;
        rpc_fill(&whole, n, 9);
        rpc_pad(&whole);
        part = whole;
        pad = align - (36 + at) % align;
        if (variant != 1) { /* one is too small to be worth it */
            memmove(part.data + at + pad, part.data + at, part.n - at);
            memset(part.data + at, 0, pad);
            part.n += pad;
        }
        rpc_header_init(&h, xid, MSGP);
        h.message.align = align;
        h.message.thresh = 100;
        rpc_send(&rig, true, &h, part.data, part.n);
        m = rpc_find(&rig, xid, RPCRDMA_DIRECTION_CALL);
        if (known)
            rpc_check_bytes(m, &whole);
        else
            assert_false(m->whole);
        assert_int_equal(rpc_has_rule(m->rules, m->n_rules, RPCRDMA_RULE_RPC_ALIGNED),
                         variant == 0 || variant == 2);
        assert_int_equal(rpc_has_rule(m->rules, m->n_rules, RPCRDMA_RULE_RPC_ALIGNED_UNKNOWN),
                         !known);
        answer(xid);
    }
}

/* NFSv4's WRITE of n bytes in `whole`; gives where they are. */
static uint32_t put_write(uint32_t n, uint8_t seed)
{
    uint32_t at;

    rpc_put(&whole, 38);
    for (uint32_t i = 0; i < 7; i++) /* stateid, offset, stable */
        rpc_put(&whole, 0);
    rpc_put(&whole, n);
    at = whole.n;
    rpc_fill(&whole, n, seed);
    rpc_pad(&whole);
    return at;
}

/* Padding of two items in Read chunks, of 3 bytes and of 1: whole words together, so that the
 * length of what is inline does not tell whether it is. */
static void padding_that_adds_up_to_words(void **state)
{
    enum { N = 1001, M = 1003, OF_N = 3, OF_M = 1 };

    (void)state;
    for (uint32_t variant = 0; variant < 4; variant++) {
        const uint32_t xid = 400 + variant, is_inline = variant % 2;
        const bool kept =
            variant < 2; /* the bytes of chunks, and of the Call that waits for them */
        struct rpc_header h;
        uint32_t first, second;

        rpc_rig_free(&rig);
        rpc_rig_begin(&rig, NULL, kept);
        rpc_call_header(&whole, xid, NFS, 4, 1);
        rpc_put(&whole, 0); /* tag, minor version */
        rpc_put(&whole, 0);
        rpc_put(&whole, 3);
        first = put_write(N, 1);
        second = put_write(M, 50);
        rpc_put(&whole, 24); /* PUTROOTFH */
        part = whole;
        take_out(&part, second, second + M + (is_inline ? 0 : OF_M));
        take_out(&part, first, first + N + (is_inline ? 0 : OF_N));
        assert_int_equal(part.n % 4, 0);
        rpc_header_init(&h, xid, MSG);
        rpc_add_read(&h, first, 61, 0, N);
        rpc_add_read(&h, second, 62, 0, M);
        rpc_send(&rig, true, &h, part.data, part.n);
        rpc_read(&rig, false, 61, 0, whole.data + first, N);
        rpc_read(&rig, false, 62, 0, whole.data + second, M);
        if (kept)
            rpc_check_bytes(rpc_find(&rig, xid, RPCRDMA_DIRECTION_CALL), &whole);
        answer(xid);
        assert_int_equal(rpc_transaction(&rig, xid)->t.call_length, whole.n);
        assert_string_equal(rpc_transaction(&rig, xid)->name, "WRITE+WRITE+PUTROOTFH");
        assert_int_equal(rpc_transaction(&rig, xid)->n_rules, is_inline);
        if (is_inline)
            assert_int_equal(rpc_transaction(&rig, xid)->rules[0], RPCRDMA_RULE_RPC_PAD_INLINE);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(msg_with_a_position_zero_chunk),
        TEST(read_read_replies),
        TEST(msgp_aligns_and_is_undone),
        TEST(padding_that_adds_up_to_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
