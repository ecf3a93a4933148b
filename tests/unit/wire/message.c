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

/* The vectors' names say which identifier of the XDR they are of. */
static void check_name(const struct vector *v)
{
    const struct rpcrdma_dialect *dialect = rpcrdma_dialect(v->dialect);
    const struct rpcrdma_type_desc *type = rpcrdma_dialect_type(dialect, v->want.type);
    const struct rpcrdma_error_desc *error =
        v->want.kind == RPCRDMA_KIND_ERROR ? rpcrdma_dialect_error(dialect, v->want.error.code)
                                           : NULL;

    assert_non_null(type);
    assert_int_equal(type->kind, v->want.kind);
    if (v->want.kind != RPCRDMA_KIND_ERROR)
        assert_non_null(strstr(v->name, type->name));
    else if (error)
        assert_non_null(strstr(v->name, v->without_flags ? "ERR_VERS" : error->name));
    else
        assert_non_null(strstr(v->name, "nobody knows"));
}

static void test_names(void **state)
{
    (void)state;
    for_each_vector(check_name);
}

static bool has_vector(const struct rpcrdma_dialect *dialect, uint32_t type, const uint32_t *code)
{
    for (const struct vector_table *const *t = vector_tables(); *t; t++)
        for (size_t i = 0; i < (*t)->count; i++) {
            const struct vector *v = &(*t)->vectors[i];

            if (v->dialect == dialect->id && v->want.type == type &&
                (!code || v->want.error.code == *code))
                return true;
        }
    return false;
}

static void test_every_type_and_error_has_a_vector(void **state)
{
    (void)state;
    for (int id = 0; id < RPCRDMA_DIALECT_COUNT; id++) {
        const struct rpcrdma_dialect *dialect = rpcrdma_dialect((enum rpcrdma_dialect_id)id);

        for (size_t i = 0; i < dialect->n_types; i++)
            if (!has_vector(dialect, dialect->types[i].value, NULL))
                fail_msg("%s %s has no vector", dialect->name, dialect->types[i].name);
        for (size_t i = 0; i < dialect->n_errors; i++)
            if (!has_vector(dialect, 4, &dialect->errors[i].value))
                fail_msg("%s %s has no vector", dialect->name, dialect->errors[i].name);
    }
}

/* RFC 8166 section 3.4.4: segments with one position, one after the other, are a chunk. */
static void test_read_list_in_numbers(void **state)
{
    static const struct rpcrdma_read_segment segments[] = {
        {0, {1, 100, 0}}, {0, {2, UINT32_MAX, 0}}, {44, {3, 1, 0}},
        {44, {4, 2, 0}},  {8, {5, UINT32_MAX, 0}}, {44, {6, 0, 0}},
    };
    static const struct {
        uint32_t count, chunks, position;
        uint64_t bytes;
    } expected[] = {
        {0, 0, 0, 0},
        {1, 1, 0, 100},
        {2, 1, 0, UINT64_C(0x100000063)},
        {4, 2, 44, UINT64_C(0x100000066)},
        {6, 4, 44, UINT64_C(0x200000065)}, /* not by position: as many chunks as there are runs */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct rpcrdma_read_list list = {.segments = segments, .count = expected[i].count};
        struct rpcrdma_read_totals sum = rpcrdma_read_sum(&list);

        assert_int_equal(sum.segments, expected[i].count);
        assert_int_equal(sum.chunks, expected[i].chunks);
        assert_int_equal(sum.position, expected[i].position);
        assert_int_equal(sum.bytes, expected[i].bytes);
    }
}

/* RFC 8166 section 3.5.3: the Position-Zero chunk need not be the first. */
static void test_position_zero(void **state)
{
    static const struct rpcrdma_read_segment segments[] = {
        {44, {1, 100, 0}}, {8, {2, 1, 0}}, {0, {3, 1, 0}}};

    (void)state;
    for (uint32_t n = 0; n <= 3; n++) {
        const struct rpcrdma_read_list list = {.segments = segments, .count = n};

        assert_int_equal(rpcrdma_read_position_zero(&list), n == 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_encode_built),
        cmocka_unit_test(test_encode_decoded),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_every_type_and_error_has_a_vector),
        cmocka_unit_test(test_read_list_in_numbers),
        cmocka_unit_test(test_position_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
