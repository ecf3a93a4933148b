/* SPDX-License-Identifier: BSD-2-Clause */
/* A Call's Read chunks held against its arguments: which of them may not be what it is. */
#include "rpc_bytes.h"

#include "upper/ddp.h"

/* A COMPOUND of NFSv4.0 that has two operations, up to these. */
static void compound_of_two(struct bytes *b)
{
    call_header(b, 100003, 4, 1);
    put(b, 0); /* tag */
    put(b, 0);
    put(b, 2);
}

/* WRITE of n bytes, which a chunk carries. Gives the place of the data. */
static size_t put_write(struct bytes *b, uint32_t n)
{
    put(b, 38);
    put_words(b, 4, 0); /* stateid */
    put_words(b, 2, 0); /* offset */
    put(b, 2);
    put(b, n);
    return b->n;
}

static struct rpcrdma_ddp eligible(const struct bytes *b, const struct rpcrdma_gap *gaps, size_t n)
{
    const struct rpcrdma_reduction reduction = {.gaps = gaps, .n_gaps = n};
    struct rpcrdma_compound it;
    struct rpcrdma_operation op;
    struct rpcrdma_ddp ddp = {0};
    struct rpcrdma_rpc rpc = decoded(b);

    assert_true(rpcrdma_compound_begin(
        &it, &(struct rpcrdma_rpc_stream){&rpc, &rpc, false, b->data, b->n, b->n}, &reduction,
        NULL));
    while (rpcrdma_compound_next(&it, &op))
        rpcrdma_ddp_operation(&it, &op, &ddp);
    rpcrdma_ddp_compound(&it, &ddp);
    return ddp;
}

/* Of two WRITEs in chunks, one chunk is longer than its item. */
static void the_chunk_that_is_too_long_is_named(void **state)
{
    (void)state;
    for (size_t wrong = 0; wrong < 3; wrong++) {
        struct rpcrdma_gap gaps[2];
        struct rpcrdma_ddp ddp;
        struct bytes b;

        compound_of_two(&b);
        for (size_t i = 0; i < 2; i++)
            gaps[i] = (struct rpcrdma_gap){.position = (uint32_t)(put_write(&b, 8) + i * 8),
                                           .length = i == wrong ? 64 : 8};
        ddp = eligible(&b, gaps, 2);
        assert_true(ddp.known);
        assert_int_equal(ddp.ineligible, wrong < 2);
        if (wrong < 2)
            assert_int_equal(ddp.which, wrong);
    }
}

/* What READ and READDIR of version 3 may return: with integrity behind what wraps them (RFC 2203
 * section 5.3.2.2), with privacy not known. */
static void counts_are_found_where_integrity_wraps_them(void **state)
{
    static const struct {
        uint32_t procedure, behind_handle;
    } calls[] = {{6, 2}, {16, 4}, {17, 5}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (uint32_t service = 0; service <= 3; service++) {
            struct rpcrdma_ddp ddp;
            struct rpcrdma_rpc call;
            struct bytes b;
            size_t at;

            call_header(&b, 100003, 3, calls[i].procedure);
            if (service >= 2) {
                put(&b, 4 + 4 + 28 + 4 * calls[i].behind_handle + 4); /* databody_integ */
                put(&b, 77);
            }
            put_opaque(&b, 28);
            put_words(&b, calls[i].behind_handle, 0x21212121);
            at = b.n;
            put(&b, 8192);
            if (service >= 2)
                put_opaque(&b, 28); /* checksum */
            call = decoded(&b);
            call.gss_service = service;
            rpcrdma_ddp_call(
                &(struct rpcrdma_rpc_stream){
                    .rpc = &call, .call = &call, .data = b.data, .caplen = b.n, .len = b.n},
                NULL, &ddp);
            assert_int_equal(ddp.read_bytes, service < 3 ? 8192 : 0);
            assert_int_equal(ddp.count_off, service < 3 ? at : 0);
        }
    }
}

/* A file handle has 64 bytes at most (RFC 1813 section 2.4): what claims more is none, and what
 * stands behind it is no count. */
static void no_count_behind_what_is_no_handle(void **state)
{
    (void)state;
    for (uint32_t bytes = 64; bytes <= 68; bytes += 4) {
        struct rpcrdma_ddp ddp;
        struct rpcrdma_rpc call;
        struct bytes b;

        call_header(&b, 100003, 3, 6);
        put_opaque(&b, bytes);
        put_words(&b, 2, 0);
        put(&b, 8192);
        call = decoded(&b);
        rpcrdma_ddp_call(
            &(struct rpcrdma_rpc_stream){
                .rpc = &call, .call = &call, .data = b.data, .caplen = b.n, .len = b.n},
            NULL, &ddp);
        assert_int_equal(ddp.read_bytes, bytes == 64 ? 8192 : 0);
    }
}

/* Positions count the padding of what stands before them, also where it is in no chunk (RFC 8166
 * section 3.4.5.2). */
static void a_position_behind_padding_that_is_nowhere(void **state)
{
    struct rpcrdma_gap gaps[2];
    struct bytes b;

    (void)state;
    compound_of_two(&b);
    gaps[0] = (struct rpcrdma_gap){.position = (uint32_t)put_write(&b, 6), .length = 6};
    gaps[1] = (struct rpcrdma_gap){.position = (uint32_t)put_write(&b, 8) + 8, .length = 8};
    assert_false(eligible(&b, gaps, 2).ineligible);
    gaps[1].position -= 2;
    assert_true(eligible(&b, gaps, 2).ineligible);
}

/* Of several READs both count, and the place is the first's. */
static void the_place_of_the_first_count(void **state)
{
    struct rpcrdma_ddp ddp;
    size_t first = 0;
    struct bytes b;

    (void)state;
    compound_of_two(&b);
    for (uint32_t i = 0; i < 2; i++) {
        put(&b, 25);
        put_words(&b, 4, 0); /* stateid */
        put_words(&b, 2, 0); /* offset */
        if (i == 0)
            first = b.n;
        put(&b, 4096 << i);
    }
    ddp = eligible(&b, NULL, 0);
    assert_int_equal(ddp.read_bytes, 3 * 4096);
    assert_int_equal(ddp.count_off, first);
}

/* Arguments that cannot be read up to the chunk say nothing in its favour. */
static void a_chunk_behind_what_cannot_be_read(void **state)
{
    const struct rpcrdma_gap gap = {.position = 4096, .length = 8};
    const struct rpcrdma_reduction reduction = {.gaps = &gap, .n_gaps = 1};
    struct rpcrdma_ddp ddp;
    struct rpcrdma_rpc call;
    struct bytes b;

    (void)state;
    call_header(&b, 100003, 3, 7);
    put(&b, 512); /* the handle would end behind the message */
    put_words(&b, 4, 0);
    call = decoded(&b);
    rpcrdma_ddp_call(
        &(struct rpcrdma_rpc_stream){
            .rpc = &call, .call = &call, .data = b.data, .caplen = b.n, .len = b.n},
        &reduction, &ddp);
    assert_true(ddp.ineligible);
    assert_int_equal(ddp.which, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_chunk_that_is_too_long_is_named),
        cmocka_unit_test(counts_are_found_where_integrity_wraps_them),
        cmocka_unit_test(no_count_behind_what_is_no_handle),
        cmocka_unit_test(a_position_behind_padding_that_is_nowhere),
        cmocka_unit_test(the_place_of_the_first_count),
        cmocka_unit_test(a_chunk_behind_what_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
