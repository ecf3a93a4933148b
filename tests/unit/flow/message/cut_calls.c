/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that were cut before their RPC message's type, where others are not in the capture. */
#include "rig.h"

static struct rig rig;
static struct rig_end a, b;

enum {
    A_CALLS = 128, /* credits that an end says */
    A_REPLIES = 16,
    B_CALLS = 2,
    B_REPLIES = 64,
    TO_LISTS = 28, /* bytes of a header without chunks */
};

static void send_words(bool from_a, const uint32_t *words, size_t n, uint32_t caplen)
{
    uint8_t buf[256];
    uint8_t *p = buf;
    uint32_t len;

    while (n-- > 0)
        p = rig_word(p, *words++);
    len = (uint32_t)(p - buf);
    rig_send_cut(&rig, from_a ? &a : &b, from_a ? &b : &a, buf, caplen < len ? caplen : len, len);
}

/* A Call or Reply of either end, of which so many bytes are in the capture. */
static void message(bool from_a, bool call, uint32_t xid, uint32_t credits, uint32_t caplen)
{
    const uint32_t words[] = {xid,
                              1,
                              credits,
                              0,
                              0,
                              0,
                              0,
                              xid,
                              call ? 0 : 1,
                              call ? 2 : 0,
                              call ? (from_a ? 100003 : 0x40000000) : 0,
                              4,
                              1,
                              0,
                              0,
                              0,
                              0};

    send_words(from_a, words, sizeof(words) / sizeof(words[0]), caplen);
}

/* With a Write list, cut in the middle of it. */
static void writes(bool from_a, uint32_t xid, uint32_t credits)
{
    const uint32_t words[] = {xid, 1, credits, 0, 0, 1, 1, 0x1234, 4096, 0, 0, 0, 0, xid, 0, 2};

    send_words(from_a, words, sizeof(words) / sizeof(words[0]), 36);
}

static void lose(struct rig_end *end)
{
    end->psn++;
}

static void begin(void)
{
    a = RIG_A;
    b = RIG_B;
    rig_begin_connected(&rig, &a, &b);
    message(true, true, 1, A_CALLS, 256);
    message(false, false, 1, B_REPLIES, 256);
}

/* A Call and its Reply are missing: both ends have gaps, which show with what comes behind. */
static void lose_both(void)
{
    lose(&a);
    lose(&b);
    message(true, true, 3, A_CALLS, 256);
    message(false, false, 3, B_REPLIES, 256);
}

static void expect(size_t at, enum rpcrdma_rpc_direction direction)
{
    assert_true(at < rig.messages);
    assert_int_equal(rig.message[at].direction, direction);
}

/* A Call has the credits that its sender's Calls have, or offers chunks. */
static void calls_behind_a_gap(void **state)
{
    (void)state;
    begin();
    lose_both();
    message(true, true, 4, A_CALLS, TO_LISTS);
    message(false, false, 4, B_REPLIES, TO_LISTS);
    writes(true, 5, 77);
    message(false, false, 6, B_REPLIES, TO_LISTS); /* its Call is missing */
    writes(false, 7, 77);                          /* likewise */
    rig_end(&rig);
    assert_int_equal(rig.messages, 9);
    expect(4, RPCRDMA_DIRECTION_CALL);
    expect(5, RPCRDMA_DIRECTION_REPLY);
    expect(6, RPCRDMA_DIRECTION_CALL);
    expect(7, RPCRDMA_DIRECTION_REPLY);
    expect(8, RPCRDMA_DIRECTION_REPLY);
}

/* What may be the Reply to a Call of the server that is missing is not called a Call. */
static void other_credits(void **state)
{
    (void)state;
    begin();
    lose_both();
    message(true, false, 4, A_REPLIES, TO_LISTS);
    message(false, true, 5, B_CALLS, TO_LISTS);
    message(true, false, 5, A_REPLIES, TO_LISTS);
    rig_end(&rig);
    assert_int_equal(rig.messages, 7);
    expect(4, RPCRDMA_DIRECTION_UNKNOWN);
    expect(5, RPCRDMA_DIRECTION_UNKNOWN);
    expect(6, RPCRDMA_DIRECTION_REPLY);
}

/* Where both directions of RPC were seen, each end's credits tell them apart. */
static void both_directions(void **state)
{
    (void)state;
    begin();
    message(false, true, 90, B_CALLS, 256);
    message(true, false, 90, A_REPLIES, 256);
    lose_both();
    message(true, true, 4, A_CALLS, TO_LISTS);
    message(true, false, 91, A_REPLIES, TO_LISTS); /* its Call is missing */
    message(false, true, 92, B_CALLS, TO_LISTS);
    message(true, false, 92, A_REPLIES, TO_LISTS);
    message(false, false, 4, B_REPLIES, TO_LISTS);
    rig_end(&rig);
    assert_int_equal(rig.messages, 11);
    expect(6, RPCRDMA_DIRECTION_CALL);
    expect(7, RPCRDMA_DIRECTION_REPLY);
    expect(8, RPCRDMA_DIRECTION_CALL);
    expect(9, RPCRDMA_DIRECTION_REPLY);
    expect(10, RPCRDMA_DIRECTION_REPLY);
}

/* They do not where they are the same. */
static void one_number(void **state)
{
    (void)state;
    begin();
    message(false, true, 90, B_REPLIES, 256);
    message(true, false, 90, A_CALLS, 256);
    lose_both();
    message(true, true, 4, A_CALLS, TO_LISTS);
    message(false, true, 91, B_REPLIES, TO_LISTS);
    writes(true, 5, A_CALLS);
    rig_end(&rig);
    assert_int_equal(rig.messages, 9);
    expect(6, RPCRDMA_DIRECTION_UNKNOWN);
    expect(7, RPCRDMA_DIRECTION_UNKNOWN);
    expect(8, RPCRDMA_DIRECTION_CALL);
}

/* An RDMA Write, in one packet. */
static void write_data(bool from_a)
{
    struct rig_end *from = from_a ? &a : &b;
    struct rpcrdma_op op = rig_op(&rig, RPCRDMA_OP_WRITE, from, from_a ? &b : &a, from->psn++);

    op.flags |= RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST | RPCRDMA_OP_RETH;
    op.rkey = 0x1234;
    op.length = op.len = 512;
    op.caplen = 0;
    rig_feed(&rig, &op);
}

/* No program was captured, nor the set-up: who writes to the other end's memory is the server. */
static void server_by_its_writes(void **state)
{
    (void)state;
    a = RIG_A;
    b = RIG_B;
    rig_begin(&rig, NULL);
    writes(true, 10, A_CALLS);
    write_data(false);
    writes(false, 10, B_REPLIES);
    writes(true, 11, A_CALLS);
    write_data(false);
    writes(false, 11, B_REPLIES);
    lose(&a);
    lose(&b);
    writes(true, 13, A_CALLS);
    writes(false, 14, B_REPLIES); /* its Call is missing */
    rig_end(&rig);
    assert_int_equal(rig.messages, 6);
    expect(1, RPCRDMA_DIRECTION_REPLY);
    expect(2, RPCRDMA_DIRECTION_CALL);
    expect(3, RPCRDMA_DIRECTION_REPLY);
    expect(4, RPCRDMA_DIRECTION_CALL);
    expect(5, RPCRDMA_DIRECTION_REPLY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_behind_a_gap),   cmocka_unit_test(other_credits),
        cmocka_unit_test(both_directions),      cmocka_unit_test(one_number),
        cmocka_unit_test(server_by_its_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
