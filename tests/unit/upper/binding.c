/* SPDX-License-Identifier: BSD-2-Clause */
/* Where write chunks belong: each case is a reduced Reply, the chunks as returned, and the offsets
 * known from how the Reply was built. */
#include "rpc_bytes.h"

#include "upper/binding.h"

enum { MAX = 4 };

struct outcome {
    enum rpcrdma_binding_verdict verdict;
    struct rpcrdma_insertion places[MAX];
    bool pad_inline;
};

static struct outcome place(const struct bytes *b, size_t caplen, size_t len,
                            const struct rpcrdma_rpc *call, const uint32_t *chunks, size_t n)
{
    struct outcome out = {.verdict = RPCRDMA_BINDING_UNKNOWN};
    struct rpcrdma_reduction reduction = {.chunks = chunks, .n_chunks = n};
    uint8_t *copy = heap_copy(b->data, caplen);
    struct rpcrdma_rpc reply;

    memset(out.places, 0xee, sizeof(out.places));
    rpcrdma_rpc_decode(copy, caplen, len, &reply);
    out.verdict = rpcrdma_binding_place(
        &(struct rpcrdma_rpc_stream){
            .rpc = &reply, .call = call, .data = copy, .caplen = caplen, .len = len},
        &reduction, out.places);
    out.pad_inline = reduction.pad_inline;
    free(copy);
    return out;
}

static void check_place(const struct rpcrdma_insertion *p, size_t offset, uint32_t length)
{
    assert_true(p->placed);
    assert_false(p->misfit);
    assert_int_equal(p->offset, offset);
    assert_int_equal(p->length, length);
}

static void put_attr3(struct bytes *b)
{
    put(b, 1);
    put_words(b, 21, 0x33);
}

static size_t read3(struct bytes *b, uint32_t count)
{
    reply_header(b);
    put(b, 0);
    put_attr3(b);
    put(b, count);
    put(b, 1);
    put(b, count);
    return b->n;
}

static void nfs3_read_and_readlink(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 3, 6);
    const uint32_t lengths[] = {4096, 17, 20};
    struct bytes b;
    struct outcome o;
    size_t at;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        at = read3(&b, i == 2 ? 17 : lengths[i]); /* the last with its padding in the chunk */
        o = place(&b, b.n, b.n, &call, &lengths[i], 1);
        assert_int_equal(o.verdict, RPCRDMA_BINDING_FITS);
        check_place(&o.places[0], at, i == 2 ? 17 : lengths[i]);
        assert_false(o.places[0].pad_inline);
    }
    call = call_of(100003, 3, 5);
    reply_header(&b);
    put(&b, 0);
    put(&b, 0);
    put(&b, 17);
    o = place(&b, b.n, b.n, &call, &lengths[1], 1);
    assert_int_equal(o.verdict, RPCRDMA_BINDING_FITS);
    check_place(&o.places[0], b.n, 17);
}

static void nfs2_read_and_readlink(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 2, 6);
    const uint32_t length = 8192;
    struct bytes b;
    struct outcome o;

    (void)state;
    reply_header(&b);
    put(&b, 0);
    put_words(&b, 17, 0x22);
    put(&b, length);
    o = place(&b, b.n, b.n, &call, &length, 1);
    assert_int_equal(o.verdict, RPCRDMA_BINDING_FITS);
    check_place(&o.places[0], b.n, length);
    call = call_of(100003, 2, 5);
    reply_header(&b);
    put(&b, 0);
    put(&b, length);
    o = place(&b, b.n, b.n, &call, &length, 1);
    assert_int_equal(o.verdict, RPCRDMA_BINDING_FITS);
    check_place(&o.places[0], b.n, length);
}

static void a_failed_read_leaves_its_chunk_unused(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 3, 6);
    uint32_t length = 0;
    struct bytes b;
    struct outcome o;

    (void)state;
    reply_header(&b);
    put(&b, 70); /* NFS3ERR_STALE */
    put(&b, 0);
    o = place(&b, b.n, b.n, &call, &length, 1);
    assert_int_equal(o.verdict, RPCRDMA_BINDING_FITS);
    assert_false(o.places[0].placed);
    /* A chunk with bytes and a failed READ: nothing those bytes could be. */
    length = 100;
    o = place(&b, b.n, b.n, &call, &length, 1);
    assert_false(o.places[0].placed);
}

static void an_unused_chunk_means_the_item_is_inline(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 3, 6);
    const uint32_t lengths[] = {0, 0};
    struct bytes b;

    (void)state;
    read3(&b, 42);
    b.n -= 4;
    put_opaque(&b, 42);
    for (size_t n = 0; n <= 2; n++) { /* also: the write list came back shorter, or longer */
        struct outcome o = place(&b, b.n, b.n, &call, lengths, n);

        assert_int_equal(o.verdict, RPCRDMA_BINDING_FITS);
        for (size_t i = 0; i < n; i++)
            assert_false(o.places[i].placed);
    }
}

static void padding_inline_is_recognised(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 3, 6);
    const uint32_t length = 17;
    struct bytes b;
    struct outcome o;
    size_t at;

    (void)state;
    at = read3(&b, 17);
    memset(b.data + b.n, 0, 3);
    b.n += 3;
    o = place(&b, b.n, b.n, &call, &length, 1);
    assert_int_equal(o.verdict, RPCRDMA_BINDING_FITS);
    check_place(&o.places[0], at, 17);
    assert_true(o.places[0].pad_inline);
    assert_true(o.pad_inline);
    b.n++; /* one byte that is nothing's */
    o = place(&b, b.n, b.n, &call, &length, 1);
    assert_int_equal(o.verdict, RPCRDMA_BINDING_MISFIT);
    assert_false(o.pad_inline);
    check_place(&o.places[0], at, 17);
}

static void a_chunk_of_another_length_is_a_misfit(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 3, 6);
    const uint32_t length = 1000;
    struct bytes b;
    struct outcome o;

    (void)state;
    read3(&b, 2000);
    o = place(&b, b.n, b.n, &call, &length, 1);
    assert_true(o.places[0].placed);
    assert_true(o.places[0].misfit);
    assert_int_equal(o.places[0].length, 2000);
}

static void begin4(struct bytes *b, uint32_t n)
{
    reply_header(b);
    put(b, 0);
    put_opaque(b, 0);
    put(b, n);
}

static size_t put_read4(struct bytes *b, uint32_t n, bool inlined)
{
    put(b, 25);
    put(b, 0);
    put(b, 0);
    if (inlined)
        put_opaque(b, n);
    else
        put(b, n);
    return b->n;
}

static void put_getattr4(struct bytes *b)
{
    put(b, 9);
    put(b, 0);
    put(b, 2);
    put_words(b, 2, 0x10);
    put_opaque(b, 9);
}

static void compound_operations_take_chunks_in_order(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 4, 1);
    const uint32_t lengths[] = {1001, 0, 30};
    struct bytes b;
    struct outcome o;
    size_t first, last;

    (void)state;
    begin4(&b, 6);
    put(&b, 22);
    put(&b, 0);
    first = put_read4(&b, 1001, false);
    put_getattr4(&b);
    put_read4(&b, 200, true); /* its chunk came back unused */
    put_getattr4(&b);
    put(&b, 27);
    put(&b, 0);
    put(&b, 30);
    last = b.n;
    o = place(&b, b.n, b.n, &call, lengths, 3);
    assert_int_equal(o.verdict, RPCRDMA_BINDING_FITS);
    check_place(&o.places[0], first, 1001);
    assert_int_equal(o.places[0].operation, 1);
    assert_false(o.places[1].placed);
    check_place(&o.places[2], last, 30);
    assert_int_equal(o.places[2].operation, 5);
}

/* To RFC 8166 an empty READ has a chunk that comes back unused; a server that keeps the chunk for
 * the next READ is understood as well. */
static void an_empty_read_with_and_without_a_chunk(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 4, 1);
    const uint32_t of_its_own[] = {0, 64}, kept[] = {64, 0};
    struct bytes b;
    struct outcome o;
    size_t at;

    (void)state;
    begin4(&b, 2);
    put_read4(&b, 0, false);
    at = put_read4(&b, 64, false);
    o = place(&b, b.n, b.n, &call, of_its_own, 2);
    assert_int_equal(o.verdict, RPCRDMA_BINDING_FITS);
    assert_false(o.places[0].placed);
    check_place(&o.places[1], at, 64);
    o = place(&b, b.n, b.n, &call, kept, 2);
    assert_int_equal(o.verdict, RPCRDMA_BINDING_FITS);
    check_place(&o.places[0], at, 64);
    assert_false(o.places[1].placed);
}

static void a_failed_read_in_a_compound_keeps_its_chunk(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 4, 1);
    const uint32_t lengths[] = {500, 0};
    struct bytes b;
    struct outcome o;
    size_t at;

    (void)state;
    begin4(&b, 2);
    at = put_read4(&b, 500, false);
    put(&b, 25);
    put(&b, 70);
    o = place(&b, b.n, b.n, &call, lengths, 2);
    assert_int_equal(o.verdict, RPCRDMA_BINDING_FITS);
    check_place(&o.places[0], at, 500);
    assert_false(o.places[1].placed);
}

static void read_plus_with_holes_and_data(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 4, 1);
    const uint32_t both[] = {100, 51}, one[] = {100};
    struct bytes b;
    struct outcome o;
    size_t first, second;

    (void)state;
    for (int inlined = 0; inlined < 2; inlined++) {
        begin4(&b, 2);
        put(&b, 68);
        put(&b, 0);
        put(&b, 1);
        put(&b, 3);
        put(&b, 1); /* hole */
        put_words(&b, 4, 0);
        put(&b, 0); /* data */
        put_words(&b, 2, 0);
        put(&b, 100);
        first = b.n;
        put(&b, 0);
        put_words(&b, 2, 0);
        if (inlined)
            put_opaque(&b, 51);
        else
            put(&b, 51);
        second = b.n;
        put_getattr4(&b);
        o = place(&b, b.n, b.n, &call, inlined ? one : both, inlined ? 1 : 2);
        assert_int_equal(o.verdict, RPCRDMA_BINDING_FITS);
        check_place(&o.places[0], first, 100);
        if (!inlined)
            check_place(&o.places[1], second, 51);
    }
}

static void what_has_no_binding_is_named(void **state)
{
    const uint32_t length = 100;
    struct rpcrdma_rpc call = call_of(200000, 1, 6);
    struct bytes b;
    struct outcome o;

    (void)state;
    read3(&b, 100);
    assert_int_equal(place(&b, b.n, b.n, &call, &length, 1).verdict, RPCRDMA_BINDING_UNKNOWN);
    assert_int_equal(place(&b, b.n, b.n, NULL, &length, 1).verdict, RPCRDMA_BINDING_UNKNOWN);
    call = call_of(100003, 3, 16); /* READDIR: a program with a binding, no item of this one */
    o = place(&b, b.n, b.n, &call, &length, 1);
    assert_int_equal(o.verdict, RPCRDMA_BINDING_NONE);
    assert_false(o.places[0].placed);
    call = call_of(100003, 3, 6);
    for (uint32_t service = 2; service <= 3; service++) {
        call.gss_service = service;
        o = place(&b, b.n, b.n, &call, &length, 1);
        assert_int_equal(o.verdict, RPCRDMA_BINDING_PROTECTED);
        assert_false(o.places[0].placed);
    }
    for (int v = RPCRDMA_BINDING_FITS; v <= RPCRDMA_BINDING_MISFIT; v++)
        assert_non_null(rpcrdma_binding_verdict_text((enum rpcrdma_binding_verdict)v));
}

static void a_cut_reply_places_what_it_can(void **state)
{
    struct rpcrdma_rpc call = call_of(100003, 4, 1);
    const uint32_t lengths[] = {1001, 30};
    struct bytes b;
    size_t first, second;

    (void)state;
    begin4(&b, 2);
    first = put_read4(&b, 1001, false);
    second = put_read4(&b, 30, false);
    for (size_t cut = 0; cut < b.n; cut++) {
        struct outcome o = place(&b, cut, b.n, &call, lengths, 2);

        assert_int_equal(o.verdict, RPCRDMA_BINDING_TRUNCATED);
        assert_int_equal(o.places[0].placed, cut >= first);
        assert_int_equal(o.places[1].placed, cut >= second);
        place(&b, cut, cut, &call, lengths, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nfs3_read_and_readlink),
        cmocka_unit_test(nfs2_read_and_readlink),
        cmocka_unit_test(a_failed_read_leaves_its_chunk_unused),
        cmocka_unit_test(an_unused_chunk_means_the_item_is_inline),
        cmocka_unit_test(padding_inline_is_recognised),
        cmocka_unit_test(a_chunk_of_another_length_is_a_misfit),
        cmocka_unit_test(compound_operations_take_chunks_in_order),
        cmocka_unit_test(an_empty_read_with_and_without_a_chunk),
        cmocka_unit_test(a_failed_read_in_a_compound_keeps_its_chunk),
        cmocka_unit_test(read_plus_with_holes_and_data),
        cmocka_unit_test(what_has_no_binding_is_named),
        cmocka_unit_test(a_cut_reply_places_what_it_can),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
