/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpc_bytes.h"

#include "upper/private.h"

enum { CALLBACK = 0x40000000 };

/* "SEQUENCE+PUTFH+READ", and how reading ended. */
struct told {
    char names[256];
    uint32_t last_status;
    bool begun, exact;
    enum rpcrdma_status status;
};

static struct told tell(const struct bytes *b, size_t caplen, size_t len,
                        const struct rpcrdma_rpc *call, bool reverse,
                        const struct rpcrdma_reduction *reduction)
{
    struct told told = {.status = RPCRDMA_OK};
    uint8_t *copy = heap_copy(b->data, caplen);
    struct rpcrdma_compound it;
    struct rpcrdma_operation op;
    struct rpcrdma_rpc rpc;

    rpcrdma_rpc_decode(copy, caplen, len, &rpc);
    told.begun = rpcrdma_compound_begin(
        &it, &(struct rpcrdma_rpc_stream){&rpc, call ? call : &rpc, reverse, copy, caplen, len},
        reduction, NULL);
    while (told.begun && rpcrdma_compound_next(&it, &op)) {
        if (told.names[0])
            strcat(told.names, "+");
        strcat(told.names, op.name ? op.name : "?");
        assert_true(op.off + 4 <= caplen);
        if (op.has_status)
            told.last_status = op.status;
    }
    if (told.begun) {
        told.exact = rpcrdma_compound_exact(&it);
        told.status = it.xdr.in.status;
    }
    free(copy);
    return told;
}

static void put_sequence(struct bytes *b)
{
    put(b, 53);
    put_words(b, 8, 7);
}

/* SEQUENCE, PUTFH, READ of 10 bytes, GETATTR. Gives the offset of the READ's data. */
static size_t read_reply(struct bytes *b, bool reduced)
{
    size_t at;

    reply_header(b);
    put(b, 0);
    put_opaque(b, 3); /* tag */
    put(b, 4);
    put(b, 53);
    put(b, 0);
    put_words(b, 9, 7);
    put(b, 22);
    put(b, 0);
    put(b, 25);
    put(b, 0);
    put(b, 1);
    put(b, 10);
    at = b->n;
    if (!reduced) {
        b->n -= 4;
        put_opaque(b, 10);
    }
    put(b, 9);
    put(b, 0);
    put(b, 1);
    put(b, 0x18);
    put_opaque(b, 12);
    return at;
}

static void a_reply_is_told_operation_by_operation(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 4, 1);
    struct bytes b;
    struct told told;

    (void)state;
    read_reply(&b, false);
    told = tell(&b, b.n, b.n, &call, false, NULL);
    assert_string_equal(told.names, "SEQUENCE+PUTFH+READ+GETATTR");
    assert_true(told.exact);
    for (size_t cut = 0; cut < b.n; cut++) {
        told = tell(&b, cut, b.n, &call, false, NULL);
        assert_false(told.exact);
        if (told.begun)
            assert_int_equal(told.status, RPCRDMA_TRUNCATED);
        told = tell(&b, cut, cut, &call, false, NULL);
        assert_false(told.exact);
        if (told.begun)
            assert_int_equal(told.status, RPCRDMA_MALFORMED);
    }
}

static void a_reduced_reply_is_read_past_its_chunk(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 4, 1);
    uint32_t chunk = 10;
    struct rpcrdma_reduction reduction = {.chunks = &chunk, .n_chunks = 1};
    struct bytes b;
    struct told told;

    (void)state;
    read_reply(&b, true);
    told = tell(&b, b.n, b.n, &call, false, &reduction);
    assert_string_equal(told.names, "SEQUENCE+PUTFH+READ+GETATTR");
    assert_true(told.exact);
    assert_false(tell(&b, b.n, b.n, &call, false, NULL).exact);
}

static void a_failed_operation_ends_the_results(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 4, 1);
    struct bytes b;
    struct told told;

    (void)state;
    reply_header(&b);
    put(&b, 2);
    put_opaque(&b, 0);
    put(&b, 1);
    put(&b, 15);
    put(&b, 2); /* NFS4ERR_NOENT */
    told = tell(&b, b.n, b.n, &call, false, NULL);
    assert_string_equal(told.names, "LOOKUP");
    assert_int_equal(told.last_status, 2);
    assert_true(told.exact);
}

/* The count says two, one is there: the stream cannot be right, the first is still told. */
static void missing_operations_are_malformed(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 4, 1);
    struct bytes b;
    struct told told;

    (void)state;
    reply_header(&b);
    put(&b, 0);
    put_opaque(&b, 0);
    put(&b, 2);
    put(&b, 24);
    put(&b, 0);
    told = tell(&b, b.n, b.n, &call, false, NULL);
    assert_string_equal(told.names, "PUTROOTFH");
    assert_int_equal(told.status, RPCRDMA_MALFORMED);
    assert_false(told.exact);
}

static void an_unknown_operation_is_named_unknown(void **state)
{
    struct bytes b;
    struct told told;

    (void)state;
    call_header(&b, 100003, 4, 1);
    put_opaque(&b, 0);
    put(&b, 2);
    put(&b, 3);
    put(&b, 24);
    put(&b, 4711);
    put(&b, 24);
    told = tell(&b, b.n, b.n, NULL, false, NULL);
    assert_string_equal(told.names, "PUTROOTFH+?");
    assert_false(told.exact);
}

/* WRITE's data is in a read chunk at its position, padded or not. */
static void a_reduced_call_is_read_past_its_chunk(void **state)
{
    struct rpcrdma_gap gap = {0};
    struct rpcrdma_reduction reduction = {.gaps = &gap, .n_gaps = 1};
    struct bytes b;
    size_t tail;

    (void)state;
    call_header(&b, 100003, 4, 1);
    put_opaque(&b, 0);
    put(&b, 1);
    put(&b, 4);
    put_sequence(&b);
    put(&b, 22);
    put_opaque(&b, 17);
    put(&b, 38);
    put_words(&b, 4 + 2 + 1, 9);
    put(&b, 5001);
    gap.position = (uint32_t)b.n;
    tail = b.n;
    put(&b, 9);
    put(&b, 2);
    put_words(&b, 2, 0x18);
    for (uint32_t length = 5001; length <= 5004; length += 3) {
        struct told told;

        gap.length = length;
        told = tell(&b, b.n, b.n, NULL, false, &reduction);
        assert_string_equal(told.names, "SEQUENCE+PUTFH+WRITE+GETATTR");
        assert_true(told.exact);
    }
    gap.position -= 4; /* inside of what is in the stream */
    assert_false(tell(&b, b.n, b.n, NULL, false, &reduction).exact);
    gap.position += 4;
    gap.length = 5001;
    reduction.pad_inline = true;
    memmove(b.data + tail + 3, b.data + tail, b.n - tail);
    memset(b.data + tail, 0, 3);
    b.n += 3;
    assert_true(tell(&b, b.n, b.n, NULL, false, &reduction).exact);
}

static void callbacks_are_told_in_both_directions(void **state)
{
    struct rpcrdma_rpc call;
    struct bytes b;
    struct told told;

    (void)state;
    call_header(&b, CALLBACK + 5, 1, 1);
    put_opaque(&b, 0);
    put(&b, 1);
    put(&b, 0); /* callback_ident */
    put(&b, 2);
    put(&b, 11);
    put_words(&b, 8, 3);
    put(&b, 0);
    put(&b, 4);
    put_words(&b, 5, 3);
    put_opaque(&b, 20);
    told = tell(&b, b.n, b.n, NULL, true, NULL);
    assert_string_equal(told.names, "CB_SEQUENCE+CB_RECALL");
    assert_true(told.exact);
    assert_false(tell(&b, b.n, b.n, NULL, false, NULL).begun);

    call = call_of(CALLBACK, 1, 1);
    reply_header(&b);
    put(&b, 0);
    put_opaque(&b, 0);
    put(&b, 2);
    put(&b, 11);
    put(&b, 0);
    put_words(&b, 8, 3);
    put(&b, 4);
    put(&b, 0);
    told = tell(&b, b.n, b.n, &call, true, NULL);
    assert_string_equal(told.names, "CB_SEQUENCE+CB_RECALL");
    assert_true(told.exact);
}

static void integrity_is_looked_through_and_privacy_is_not(void **state)
{
    struct bytes b;
    struct told told;
    struct rpcrdma_rpc call;

    (void)state;
    call_header(&b, 100003, 4, 1);
    put(&b, 4 + 12 + 4); /* databody_integ */
    put(&b, 77);
    put_opaque(&b, 0);
    put(&b, 1);
    put(&b, 1);
    put(&b, 24);
    put_opaque(&b, 28); /* checksum */
    call = decoded(&b);
    call.gss_service = 2;
    told = tell(&b, b.n, b.n, &call, false, NULL);
    assert_string_equal(told.names, "PUTROOTFH");
    assert_true(told.exact);
    call.gss_service = 3;
    assert_false(tell(&b, b.n, b.n, &call, false, NULL).begun);
    call.gss_service = 0;
    call.gss_procedure = 1;
    assert_false(tell(&b, b.n, b.n, &call, false, NULL).begun);
}

static void other_messages_have_no_operations(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 4, 0);
    struct bytes b;

    (void)state;
    reply_header(&b);
    assert_false(tell(&b, b.n, b.n, &call, false, NULL).begun);
    call = call_of(100003, 3, 1);
    assert_false(tell(&b, b.n, b.n, &call, false, NULL).begun);
    call = call_of(100003, 4, 1);
    b.data[11] = 1; /* denied */
    assert_false(tell(&b, b.n, b.n, &call, false, NULL).begun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_is_told_operation_by_operation),
        cmocka_unit_test(a_reduced_reply_is_read_past_its_chunk),
        cmocka_unit_test(a_failed_operation_ends_the_results),
        cmocka_unit_test(missing_operations_are_malformed),
        cmocka_unit_test(an_unknown_operation_is_named_unknown),
        cmocka_unit_test(a_reduced_call_is_read_past_its_chunk),
        cmocka_unit_test(callbacks_are_told_in_both_directions),
        cmocka_unit_test(integrity_is_looked_through_and_privacy_is_not),
        cmocka_unit_test(other_messages_have_no_operations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
