/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/message.h"
#include "test.h"
#include "vectors.h"

/* Every vector is decoded and encoded: bytes to struct, struct to bytes, bytes to bytes. */

static char difference[1024];

static struct rpcrdma_message wanted(const struct vector *v)
{
    struct rpcrdma_message want = v->want;

    want.dialect = rpcrdma_dialect(v->dialect);
    if (v->without_flags)
        want.present = RPCRDMA_HAS_XID;
    return want;
}

static void check_decode(const struct vector *v)
{
    struct rpcrdma_message got, want = wanted(v);
    size_t len;
    unsigned char *bytes = unhex(v->hex, &len);

    assert_int_equal(rpcrdma_message_decode(want.dialect, bytes, len, len, &got), RPCRDMA_OK);
    if (messages_differ(&got, &want, difference, sizeof(difference)))
        fail_msg("%s: %s", v->name, difference);
    assert_int_equal(got.header_length + got.payload.len, len);
    assert_false(got.noncanonical);
    free(bytes);
}

static void check_encode(const struct vector *v, const struct rpcrdma_message *msg)
{
    size_t len, written;
    unsigned char *bytes = unhex(v->hex, &len), *buf = malloc(len);

    /* too small by one byte, and nothing at all: the size needed */
    assert_int_equal(rpcrdma_message_encode(msg, buf, len - 1, &written), RPCRDMA_NO_SPACE);
    assert_int_equal(written, len);
    assert_int_equal(rpcrdma_message_encode(msg, NULL, 0, &written), RPCRDMA_NO_SPACE);
    assert_int_equal(written, len);
    assert_int_equal(rpcrdma_message_encode(msg, buf, len, &written), RPCRDMA_OK);
    assert_int_equal(written, len);
    if (memcmp(bytes, buf, len))
        fail_msg("%s: encoded differently", v->name);
    free(bytes);
    free(buf);
}

static void for_each_vector(void (*check)(const struct vector *))
{
    for (const struct vector_table *const *t = vector_tables(); *t; t++)
        for (size_t i = 0; i < (*t)->count; i++)
            check(&(*t)->vectors[i]);
}

static void test_decode(void **state)
{
    (void)state;
    for_each_vector(check_decode);
}

static void check_built(const struct vector *v)
{
    struct rpcrdma_message want = wanted(v);

    check_encode(v, &want);
}

static void test_encode_built(void **state)
{
    (void)state;
    for_each_vector(check_built);
}

static void check_decoded(const struct vector *v)
{
    struct rpcrdma_message got;
    size_t len;
    unsigned char *bytes = unhex(v->hex, &len);

    rpcrdma_message_decode(rpcrdma_dialect(v->dialect), bytes, len, len, &got);
    check_encode(v, &got);
    free(bytes);
}

static void test_encode_decoded(void **state)
{
    (void)state;
    for_each_vector(check_decoded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_encode_built),
        cmocka_unit_test(test_encode_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
