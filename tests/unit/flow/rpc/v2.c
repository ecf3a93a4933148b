/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole RPCs of version 2: external and continued messages, in both directions, in several
 * dialects. */
#include "rpc_rig.h"

enum { NFS = 100003, READ = 6, CALLBACK = 0x40000000 };

static struct rpc_rig rig;
static struct rpc_bytes whole, part;

static int teardown(void **state)
{
    (void)state;
    rpc_rig_free(&rig);
    return 0;
}

static void begin(enum rpcrdma_dialect_id id)
{
    struct rpcrdma_flow_config config = {.dialect = rpcrdma_dialect(id)};

    rpc_rig_begin(&rig, &config, true);
}

static uint32_t type_of(const struct rpcrdma_dialect *dialect, enum rpcrdma_kind kind)
{
    for (size_t i = 0; i < dialect->n_types; i++)
        if (dialect->types[i].kind == kind)
            return dialect->types[i].value;
    fail_msg("%s has no such type", dialect->name);
    return 0;
}

static void header(struct rpc_header *h, enum rpcrdma_dialect_id id, uint32_t xid,
                   enum rpcrdma_kind kind, bool reply)
{
    rpc_header_init(h, xid, 0);
    h->message.dialect = rpcrdma_dialect(id);
    h->message.version = 2;
    h->message.type = type_of(h->message.dialect, kind);
    h->message.direction = reply;
    h->message.flags = reply ? h->message.dialect->flag_response : 0;
}

static void long_call(uint32_t xid, uint32_t program, uint32_t n)
{
    rpc_call_header(&whole, xid, program, 3, 1);
    rpc_put(&whole, n);
    rpc_fill(&whole, n, (uint8_t)xid);
    rpc_pad(&whole);
}

static void long_reply(uint32_t xid, uint32_t n)
{
    rpc_reply_header(&whole, xid);
    rpc_put(&whole, n);
    rpc_fill(&whole, n, (uint8_t)(xid * 3));
    rpc_pad(&whole);
}

static void external_both_ways(void **state)
{
    struct rpc_header h;

    (void)state;
    begin(RPCRDMA_IETF_07);
    for (uint32_t reverse = 0; reverse < 2; reverse++) {
        uint32_t xid = 10; /* the same in both directions */
        bool from_a = !reverse;

        long_call(xid, reverse ? CALLBACK : NFS, 5000);
        part = whole;
        header(&h, RPCRDMA_IETF_07, xid, RPCRDMA_KIND_CALL_EXTERNAL, false);
        rpc_add_call(&h, 11, 0x1000, 3000);
        rpc_add_call(&h, 12, 0x2000, whole.n - 3000);
        rpc_add_reply(&h, 13, 0x3000, 8000);
        rpc_send(&rig, from_a, &h, NULL, 0);
        rpc_read(&rig, !from_a, 11, 0x1000, whole.data, 3000);
        rpc_read(&rig, !from_a, 12, 0x2000, whole.data + 3000, whole.n - 3000);
        assert_int_equal(rig.messages, reverse * 2 + 1);
        rpc_check_bytes(&rig.message[reverse * 2], &whole);
        long_reply(xid, 4001);
        rpc_write(&rig, !from_a, 13, 0x3000, whole.data, whole.n, RIG_PMTU, UINT32_MAX);
        header(&h, RPCRDMA_IETF_07, xid, RPCRDMA_KIND_REPLY_EXTERNAL, true);
        rpc_add_reply(&h, 13, 0x3000, whole.n);
        rpc_send(&rig, !from_a, &h, NULL, 0);
        assert_int_equal(rig.transactions, reverse + 1);
        rpc_check_bytes(&rig.message[reverse * 2 + 1], &whole);
        assert_true(rig.transaction[reverse].t.complete);
        assert_int_equal(rig.transaction[reverse].t.reverse, reverse);
        assert_int_equal(rig.transaction[reverse].t.program, reverse ? CALLBACK : NFS);
        assert_int_equal(rig.transaction[reverse].t.call_length, part.n);
        assert_int_equal(rig.transaction[reverse].t.reply_chunk_length, whole.n);
    }
}

/* Sends `whole` in parts of at most `size`; the lists of h go with the last one. */
static void send_parts(enum rpcrdma_dialect_id id, bool from_a, uint32_t xid, uint32_t size,
                       bool reply, struct rpc_header *last, uint32_t drop)
{
    const struct rpcrdma_dialect *dialect = rpcrdma_dialect(id);
    bool htype = dialect->family == RPCRDMA_FAMILY_HTYPE;
    uint32_t n = 0;

    for (uint32_t at = 0; at < whole.n; at += size, n++) {
        uint32_t some = whole.n - at < size ? whole.n - at : size;
        bool more = at + some < whole.n;
        struct rpc_header h;

        if (more) {
            header(&h, id, xid,
                   !htype  ? RPCRDMA_KIND_MSG
                   : reply ? RPCRDMA_KIND_REPLY_MIDDLE
                           : RPCRDMA_KIND_CALL_MIDDLE,
                   reply);
            h.message.remaining = whole.n - at - some;
            h.message.flags |= dialect->flag_more;
        } else {
            h = *last;
            h.message.read.segments = h.reads;
            h.message.write.chunks = h.chunks;
            for (uint32_t i = 0; i < h.message.write.count; i++)
                h.chunks[i].segments = &h.segments[last->chunks[i].segments - last->segments];
        }
        if (n == drop) /* not captured */
            (from_a ? &rig.a : &rig.b)->psn = rpcrdma_psn_add((from_a ? &rig.a : &rig.b)->psn, 1);
        else
            rpc_send(&rig, from_a, &h, whole.data + at, some);
    }
}

static void continued_in_several_sends(void **state)
{
    static const enum rpcrdma_dialect_id ids[] = {RPCRDMA_IETF_07, RPCRDMA_IETF_02,
                                                  RPCRDMA_IETF_00};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        bool htype = ids[i] == RPCRDMA_IETF_07;
        struct rpc_header last;

        begin(ids[i]);
        long_call(20, NFS, 2500);
        header(&last, ids[i], 20, htype ? RPCRDMA_KIND_CALL_INLINE : RPCRDMA_KIND_MSG, false);
        rpc_add_write(&last, true, 21, 0x1000, 4096);
        send_parts(ids[i], true, 20, 700, false, &last, UINT32_MAX);
        assert_int_equal(rig.messages, 1);
        rpc_check_bytes(rpc_find(&rig, 20, RPCRDMA_DIRECTION_CALL), &whole);
        long_reply(20, 1999);
        header(&last, ids[i], 20, htype ? RPCRDMA_KIND_REPLY_INLINE : RPCRDMA_KIND_MSG, true);
        rpc_add_write(&last, true, 21, 0x1000, 0);
        send_parts(ids[i], false, 20, 512, true, &last, UINT32_MAX);
        rpc_check_bytes(rpc_find(&rig, 20, RPCRDMA_DIRECTION_REPLY), &whole);
        assert_true(rpc_transaction(&rig, 20)->t.complete);
        assert_int_equal(rpc_transaction(&rig, 20)->t.reply_length, whole.n);
        rpc_rig_free(&rig);
    }
    begin(RPCRDMA_IETF_07);
}

/* An error after the first part of a continued Call, or after any, answers it; parts that were on
 * their way are no other Call, and another Call with that XID is. */
static void an_error_answers_a_part(void **state)
{
    static const enum rpcrdma_dialect_id ids[] = {RPCRDMA_IETF_07, RPCRDMA_IETF_02,
                                                  RPCRDMA_IETF_00};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        enum rpcrdma_dialect_id id = ids[i / 2];
        const struct rpcrdma_dialect *dialect = rpcrdma_dialect(id);
        bool htype = dialect->family == RPCRDMA_FAMILY_HTYPE, rest = i % 2;
        struct rpc_header h, last;

        begin(id);
        long_call(20, NFS, 1200);
        header(&h, id, 20, htype ? RPCRDMA_KIND_CALL_MIDDLE : RPCRDMA_KIND_MSG, false);
        h.message.remaining = whole.n - 700;
        h.message.flags |= dialect->flag_more;
        rpc_send(&rig, true, &h, whole.data, 700);
        header(&h, id, 20, RPCRDMA_KIND_ERROR, true);
        h.message.error.code = htype ? 3 : 2;
        h.message.error.body = RPCRDMA_ERROR_CANT_REPLY;
        rpc_send(&rig, false, &h, NULL, 0);
        if (rest) {
            header(&last, id, 20, htype ? RPCRDMA_KIND_CALL_INLINE : RPCRDMA_KIND_MSG, false);
            rpc_send(&rig, true, &last, whole.data + 700, whole.n - 700);
        }
        assert_int_equal(rig.transactions, 1);
        assert_true(rig.transaction[0].t.error);
        assert_int_equal(rig.transaction[0].rules[0], RPCRDMA_RULE_RPC_ERROR_2);
        assert_int_equal(rig.transaction[0].offset[0], htype ? 16 : 20); /* flags before it */
        rpc_rig_end(&rig);
        assert_int_equal(rig.transactions, 1);
        rpc_rig_free(&rig);
    }
    begin(RPCRDMA_IETF_07);
}

/* A continued Call with a read chunk: its position counts from the beginning of the whole. */
static void continued_and_chunked(void **state)
{
    struct rpc_header last;
    struct rpc_bytes full;
    uint32_t at;

    (void)state;
    begin(RPCRDMA_IETF_07);
    long_call(30, 200123, 1500);
    rpc_put(&whole, 3001);
    at = whole.n;
    rpc_fill(&whole, 3001, 4);
    rpc_pad(&whole);
    rpc_put(&whole, 5);
    full = whole;
    memmove(whole.data + at, whole.data + at + 3004, whole.n - at - 3004);
    whole.n -= 3004;
    header(&last, RPCRDMA_IETF_07, 30, RPCRDMA_KIND_CALL_INLINE, false);
    rpc_add_read(&last, at, 31, 0x1000, 3001);
    send_parts(RPCRDMA_IETF_07, true, 30, 600, false, &last, UINT32_MAX);
    assert_int_equal(rig.messages, 0);
    rpc_read(&rig, false, 31, 0x1000, full.data + at, 3001);
    rpc_check_bytes(rpc_find(&rig, 30, RPCRDMA_DIRECTION_CALL), &full);
}

static void a_part_that_was_not_captured(void **state)
{
    struct rpc_header last;
    const struct got_message *m;

    (void)state;
    begin(RPCRDMA_IETF_07);
    rpc_header_init(&last, 0, 0);
    {
        struct rpc_header h;

        long_call(39, NFS, 8);
        header(&h, RPCRDMA_IETF_07, 39, RPCRDMA_KIND_CALL_INLINE, false);
        rpc_send(&rig, true, &h, whole.data, whole.n);
    }
    long_call(40, NFS, 2500);
    header(&last, RPCRDMA_IETF_07, 40, RPCRDMA_KIND_CALL_INLINE, false);
    send_parts(RPCRDMA_IETF_07, true, 40, 700, false, &last, 1);
    rpcrdma_flow_end(rig.rig.flow);
    m = rpc_find(&rig, 40, RPCRDMA_DIRECTION_CALL);
    assert_false(m->whole);
    for (size_t i = 0; i < m->n_rules; i++)
        if (m->rules[i] == RPCRDMA_RULE_RPC_LOST) {
            assert_int_equal(m->arg[i][0], 700);
            assert_int_equal(m->arg[i][1], 1399);
        }
    assert_true(rpc_has_rule(m->rules, m->n_rules, RPCRDMA_RULE_RPC_LOST));
    assert_int_equal(m->length, whole.n);
}

/* The part that ends it never came: told when the connection ends, with what there was. */
static void parts_without_an_end(void **state)
{
    (void)state;
    for (int reply = 0; reply < 2; reply++) {
        const struct got_transaction *t;
        struct rpc_header last;

        begin(RPCRDMA_IETF_07);
        long_call(70, NFS, 2500);
        rpc_header_init(&last, 0, 0);
        header(&last, RPCRDMA_IETF_07, 70,
               reply ? RPCRDMA_KIND_REPLY_INLINE : RPCRDMA_KIND_CALL_INLINE, reply);
        if (reply) {
            struct rpc_header h;

            header(&h, RPCRDMA_IETF_07, 70, RPCRDMA_KIND_CALL_INLINE, false);
            rpc_send(&rig, true, &h, whole.data, whole.n);
            long_reply(70, 2500);
        }
        send_parts(RPCRDMA_IETF_07, !reply, 70, 1000, reply, &last, 2); /* the third of three */
        rpc_rig_end(&rig);
        t = rpc_transaction(&rig, 70);
        assert_true(rpc_has_rule(t->rules, t->n_rules, RPCRDMA_RULE_RPC_PARTS));
        for (size_t i = 0; i < t->n_rules; i++)
            if (t->rules[i] == RPCRDMA_RULE_RPC_PARTS)
                assert_int_equal(t->frame[i], reply ? t->t.reply_frame : t->t.call_frame);
        assert_false(t->t.complete);
        rpc_rig_free(&rig);
    }
}

/* Where nothing says how much is missing, that is said; and never is the rest given out as whole.
 */
static void parts_without_a_place(void **state)
{
    (void)state;
    for (uint32_t variant = 0; variant < 2; variant++) {
        enum rpcrdma_dialect_id id = variant ? RPCRDMA_IETF_00 : RPCRDMA_IETF_07;
        enum rpcrdma_kind kind = variant ? RPCRDMA_KIND_MSG : RPCRDMA_KIND_CALL_INLINE;
        struct rpc_header last, h;
        bool told = false;

        begin(id);
        long_call(59, NFS, 8);
        header(&h, id, 59, kind, false);
        rpc_send(&rig, true, &h, whole.data, whole.n);
        long_call(60, NFS, 2500);
        header(&last, id, 60, kind, false);
        send_parts(id, true, 60, 700, false, &last, variant); /* the first; one in between */
        rpcrdma_flow_end(rig.rig.flow);
        for (size_t i = 0; i < rig.messages; i++) {
            assert_true(rig.message[i].xid == 59 || !rig.message[i].whole);
            told = told || rpc_has_rule(rig.message[i].rules, rig.message[i].n_rules,
                                        RPCRDMA_RULE_RPC_PART_LOST);
        }
        assert_true(told);
        rpc_rig_free(&rig);
    }
    begin(RPCRDMA_IETF_07);
}

/* Version 1: what does not begin with the XID of its header is no RPC message to be handed on. */
static void another_xid_is_not_whole(void **state)
{
    struct rpc_header h;

    (void)state;
    rpc_rig_begin(&rig, NULL, true);
    long_call(70, NFS, 8);
    rpc_header_init(&h, 71, 0);
    rpc_send(&rig, true, &h, whole.data, whole.n);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(rig.messages, 1);
    assert_false(rig.message[0].whole);
}

static void every_dialect_moves_chunks(void **state)
{
    (void)state;
    for (int id = RPCRDMA_CEL_00; id <= RPCRDMA_IETF_07; id++) {
        enum rpcrdma_dialect_id dialect = (enum rpcrdma_dialect_id)id;
        bool htype = dialect == RPCRDMA_IETF_07;
        struct rpc_header h;
        uint32_t at;

        begin(dialect);
        rpc_call_header(&part, 50, NFS, 3, READ);
        header(&h, dialect, 50, htype ? RPCRDMA_KIND_CALL_INLINE : RPCRDMA_KIND_MSG, false);
        rpc_add_write(&h, true, 51, 0x1000, 4096);
        rpc_send(&rig, true, &h, part.data, part.n);
        rpc_reply_header(&whole, 50);
        rpc_put(&whole, 0);
        rpc_put(&whole, 0);
        rpc_put(&whole, 3000);
        rpc_put(&whole, 1);
        rpc_put(&whole, 3000);
        at = whole.n;
        rpc_fill(&whole, 3000, 8);
        rpc_write(&rig, false, 51, 0x1000, whole.data + at, 3000, RIG_PMTU, UINT32_MAX);
        header(&h, dialect, 50, htype ? RPCRDMA_KIND_REPLY_INLINE : RPCRDMA_KIND_MSG, true);
        rpc_add_write(&h, true, 51, 0x1000, 3000);
        rpc_send(&rig, false, &h, whole.data, at);
        rpc_check_bytes(rpc_find(&rig, 50, RPCRDMA_DIRECTION_REPLY), &whole);
        assert_true(rpc_transaction(&rig, 50)->t.complete);
        rpc_rig_free(&rig);
    }
    begin(RPCRDMA_IETF_07);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
    const struct CMUnitTest tests[] = {
        TEST(external_both_ways),           TEST(continued_in_several_sends),
        TEST(an_error_answers_a_part),      TEST(continued_and_chunked),
        TEST(a_part_that_was_not_captured), TEST(parts_without_an_end),
        TEST(parts_without_a_place),        TEST(another_xid_is_not_whole),
        TEST(every_dialect_moves_chunks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
