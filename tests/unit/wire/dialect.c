/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"
#include "vectors.h"
#include "wire/message.h"
#include "wire/writer.h"

/* Which rules a message is read by: dialects' names and tables, versions and types nobody knows,
 * ERR_VERS, and what a header says of its RPC's direction. */

static char difference[1024];

static const struct rpcrdma_dialect *dialect_of(const struct vector *v)
{
    return rpcrdma_dialect(v->dialect);
}

static void test_names(void **state)
{
    static const struct {
        const char *name;
        enum rpcrdma_dialect_id id;
    } names[] = {
        {"v1", RPCRDMA_V1},           {"cel-00", RPCRDMA_CEL_00},   {"cel-01", RPCRDMA_CEL_01},
        {"cel-02", RPCRDMA_CEL_02},   {"cel-03", RPCRDMA_CEL_03},   {"cel-04", RPCRDMA_CEL_04},
        {"cel-05", RPCRDMA_CEL_04},   {"cel-06", RPCRDMA_CEL_04},   {"cel-07", RPCRDMA_CEL_04},
        {"cel-08", RPCRDMA_CEL_08},   {"cel-09", RPCRDMA_CEL_08},   {"ietf-00", RPCRDMA_IETF_00},
        {"ietf-01", RPCRDMA_IETF_01}, {"ietf-02", RPCRDMA_IETF_02}, {"ietf-03", RPCRDMA_IETF_07},
        {"ietf-04", RPCRDMA_IETF_07}, {"ietf-05", RPCRDMA_IETF_07}, {"ietf-06", RPCRDMA_IETF_07},
        {"ietf-07", RPCRDMA_IETF_07},
    };
    static const char *const nobody[] = {"", "v2", "cel-10", "ietf-08", "ietf-7", "IETF-07"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_ptr_equal(rpcrdma_dialect_by_name(names[i].name), rpcrdma_dialect(names[i].id));
    for (size_t i = 0; i < sizeof(nobody) / sizeof(nobody[0]); i++)
        assert_null(rpcrdma_dialect_by_name(nobody[i]));
}

static void test_tables(void **state)
{
    (void)state;
    for (int id = 0; id < RPCRDMA_DIALECT_COUNT; id++) {
        const struct rpcrdma_dialect *d = rpcrdma_dialect((enum rpcrdma_dialect_id)id);

        assert_int_equal(d->id, id);
        assert_non_null(d->source);
        assert_int_equal(d->version, d->family == RPCRDMA_FAMILY_V1 ? 1 : 2);
        for (size_t i = 0; i < d->n_types; i++) {
            assert_true(i == 0 || d->types[i].value > d->types[i - 1].value);
            assert_ptr_equal(rpcrdma_dialect_type(d, d->types[i].value), &d->types[i]);
            assert_int_equal(!!(d->types[i].parts & RPCRDMA_HAS_FLAGS),
                             d->family == RPCRDMA_FAMILY_FLAGS);
        }
        for (size_t i = 0; i < d->n_errors; i++) {
            assert_true(i == 0 || d->errors[i].value > d->errors[i - 1].value);
            assert_ptr_equal(rpcrdma_dialect_error(d, d->errors[i].value), &d->errors[i]);
        }
        for (size_t i = 0; i < d->n_properties; i++)
            assert_ptr_equal(rpcrdma_dialect_property(d, d->properties[i].value),
                             &d->properties[i]);
        assert_null(rpcrdma_dialect_property(d, 0));
        assert_null(rpcrdma_dialect_error(d, UINT32_MAX));
    }
}

static void test_unknown_version(void **state)
{
    static const uint32_t versions[] = {0, 3, 4, 0x01000000, UINT32_MAX};
    size_t len;
    unsigned char *bytes = unhex("11223344 00000003 00000080 00000000 00000000 00000000", &len);
    struct rpcrdma_message m;

    (void)state;
    for (int id = -1; id < RPCRDMA_DIALECT_COUNT; id++)
        for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
            rpcrdma_put_be32(bytes + 4, versions[i]);
            assert_int_equal(
                rpcrdma_message_decode(id < 0 ? NULL : rpcrdma_dialect((enum rpcrdma_dialect_id)id),
                                       bytes, len, len, &m),
                RPCRDMA_MALFORMED);
            assert_int_equal(m.error_off, 4);
            assert_int_equal(m.present, RPCRDMA_HAS_XID | RPCRDMA_HAS_VERSION |
                                            RPCRDMA_HAS_CREDITS | RPCRDMA_HAS_TYPE);
            assert_int_equal(m.version, versions[i]);
            assert_int_equal(m.credits, 128);
            assert_non_null(m.dialect);
            /* cut behind the version: the version is still what is wrong first */
            rpcrdma_message_decode(NULL, bytes, 10, len, &m);
            assert_int_equal(m.status, RPCRDMA_MALFORMED);
            assert_int_equal(m.error_off, 4);
        }
    free(bytes);
}

/* An answer to a version that its sender does not know, in that version. */
static void test_err_vers_of_any_version(void **state)
{
    size_t len, written;
    unsigned char *bytes =
        unhex("11223344 00000003 00000080 00000004 00000001 00000001 00000002", &len);
    unsigned char again[28];
    struct rpcrdma_message m;

    (void)state;
    for (int id = -1; id < RPCRDMA_DIALECT_COUNT; id++) {
        const struct rpcrdma_dialect *dialect =
            id < 0 ? NULL : rpcrdma_dialect((enum rpcrdma_dialect_id)id);

        assert_int_equal(rpcrdma_message_decode(dialect, bytes, len, len, &m), RPCRDMA_OK);
        assert_int_equal(m.kind, RPCRDMA_KIND_ERROR);
        assert_int_equal(m.version, 3);
        assert_int_equal(m.error.low, 1);
        assert_int_equal(m.error.high, 2);
        assert_int_equal(rpcrdma_message_encode(&m, again, sizeof(again), &written), RPCRDMA_OK);
        assert_memory_equal(again, bytes, len);
    }
    free(bytes);
}

static void test_unknown_type(void **state)
{
    size_t len;
    unsigned char *bytes = unhex("11223344 00000001 00000080 00000000 00000000 00000000", &len);

    (void)state;
    for (int id = 0; id < RPCRDMA_DIALECT_COUNT; id++) {
        const struct rpcrdma_dialect *dialect = rpcrdma_dialect((enum rpcrdma_dialect_id)id);

        for (uint32_t i = 0; i < 24; i++) {
            uint32_t type = i < 20 ? i : UINT32_MAX << (i - 20) * 8;
            struct rpcrdma_message m;
            size_t written;

            if (rpcrdma_dialect_type(dialect, type))
                continue;
            rpcrdma_put_be32(bytes + 4, dialect->version);
            rpcrdma_put_be32(bytes + 12, type);
            assert_int_equal(rpcrdma_message_decode(dialect, bytes, len, len, &m),
                             RPCRDMA_MALFORMED);
            assert_int_equal(m.error_off, 12);
            assert_int_equal(m.kind, RPCRDMA_KIND_UNKNOWN);
            assert_int_equal(m.type, type);
            assert_ptr_equal(m.dialect, dialect);
            assert_int_equal(rpcrdma_message_encode(&m, bytes, len, &written), RPCRDMA_MALFORMED);
        }
    }
    free(bytes);
}

/* The version word decides over the dialect asked for. */
static void check_version_decides(const struct vector *v, unsigned char *bytes, size_t len)
{
    struct rpcrdma_message by_own, by_other;
    const struct rpcrdma_dialect *own = dialect_of(v);

    if (v->dialect != RPCRDMA_V1 && v->dialect != RPCRDMA_IETF_07)
        return;
    rpcrdma_message_decode(own, bytes, len, len, &by_own);
    for (int id = -1; id < RPCRDMA_DIALECT_COUNT; id++) {
        const struct rpcrdma_dialect *other =
            id < 0 ? NULL : rpcrdma_dialect((enum rpcrdma_dialect_id)id);

        if (other && other->version == own->version)
            continue;
        rpcrdma_message_decode(other, bytes, len, len, &by_other);
        assert_ptr_equal(by_other.dialect, own);
        assert_false(messages_differ(&by_other, &by_own, difference, sizeof(difference)));
    }
}

static void test_version_decides(void **state)
{
    (void)state;
    for_each_vector_bytes(check_version_decides);
}

static void test_direction(void **state)
{
    /* RDMA2_MSG and RDMA2_OPTIONAL of cel-01: msg_type is an enum, 2 is not in it */
    static const char *const bad[] = {
        "11223344 00000002 00000080 00000000 00000002 00000000 00000000 00000000",
        "11223344 00000002 00000080 00000005 ffffffff 00000001 00000000",
    };
    struct rpcrdma_message m;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        size_t len;
        unsigned char *bytes = unhex(bad[i], &len);

        assert_int_equal(
            rpcrdma_message_decode(rpcrdma_dialect(RPCRDMA_CEL_01), bytes, len, len, &m),
            RPCRDMA_MALFORMED);
        assert_int_equal(m.error_off, 16);
        assert_string_equal(m.what, "direction");
        assert_int_equal(rpcrdma_message_direction(&m), -1);
        free(bytes);
    }
}

static void check_direction_told(const struct vector *v, unsigned char *bytes, size_t len)
{
    struct rpcrdma_message m;
    int want = strstr(v->name, "RDMA2_CALL") ? 0 : strstr(v->name, "RDMA2_REPLY_") ? 1 : -1;

    rpcrdma_message_decode(dialect_of(v), bytes, len, len, &m);
    if (m.present & RPCRDMA_HAS_DIRECTION)
        want = (int)v->want.direction;
    else if (m.present & RPCRDMA_HAS_FLAGS && m.kind <= RPCRDMA_KIND_ERROR)
        want = v->want.flags & 1;
    assert_int_equal(rpcrdma_message_direction(&m), want);
}

static void test_direction_told(void **state)
{
    (void)state;
    for_each_vector_bytes(check_direction_told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),           cmocka_unit_test(test_tables),
        cmocka_unit_test(test_unknown_version), cmocka_unit_test(test_err_vers_of_any_version),
        cmocka_unit_test(test_unknown_type),    cmocka_unit_test(test_version_decides),
        cmocka_unit_test(test_direction),       cmocka_unit_test(test_direction_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
