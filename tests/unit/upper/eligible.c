/* SPDX-License-Identifier: BSD-2-Clause */
/* A Call's Read chunks held against its arguments: which of them may not be what it is. */
#include "rpc_bytes.h"

#include "upper/ddp.h"

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

    assert_true(
        rpcrdma_compound_begin(&it, &rpc, &rpc, false, b->data, b->n, b->n, &reduction, NULL));
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

        call_header(&b, 100003, 4, 1);
        put(&b, 0); /* tag */
        put(&b, 0);
        put(&b, 2);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_chunk_that_is_too_long_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
