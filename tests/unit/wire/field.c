/* SPDX-License-Identifier: BSD-2-Clause */
/* The table by itself: complete, well formed, and no name twice. */
#include "wire/field.h"

#include "test.h"

#include <ctype.h>
#include <stdbool.h>

/* What Wireshark takes as a filter name: words of [a-z0-9_], separated by single dots. */
static bool well_formed(const char *abbrev)
{
    char before = '.';

    for (const char *p = abbrev; *p; before = *p++) {
        if (*p == '.' && before == '.')
            return false;
        if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '.' && *p != '_')
            return false;
    }
    return before != '.' && strncmp(abbrev, "rpcrdma.", 8) == 0;
}

/* A sentence in one line: 60 columns or so, no full stop. */
static void check_help(const char *help)
{
    assert_non_null(help);
    assert_between(strlen(help), 3, 100);
    assert_null(strchr(help, '\n'));
    assert_int_not_equal(help[strlen(help) - 1], '.');
}

static const char *last_part(const char *abbrev)
{
    return strrchr(abbrev, '.') + 1;
}

static void records_are_complete(void **state)
{
    (void)state;
    for (int i = 0; i < RPCRDMA_RECORD_COUNT; i++) {
        const struct rpcrdma_record *r = rpcrdma_record((enum rpcrdma_record_id)i);

        assert_int_equal(r->id, i);
        assert_true(strlen(r->name) > 0 && strlen(r->section) > 0);
        check_help(r->help);
        assert_string_equal(r->key, last_part(r->abbrev));
        if (r->key[0] == '\0')
            assert_string_equal(r->abbrev, "rpcrdma.");
        else
            assert_true(well_formed(r->abbrev));
        for (int j = 0; j < i && r->key[0]; j++)
            assert_string_not_equal(r->abbrev, rpcrdma_record((enum rpcrdma_record_id)j)->abbrev);
    }
}

static void fields_are_complete(void **state)
{
    (void)state;
    for (int i = 0; i < RPCRDMA_FIELD_COUNT; i++) {
        const struct rpcrdma_field *f = rpcrdma_field((enum rpcrdma_field_id)i);

        assert_int_equal(f->id, i);
        assert_true(f->record < RPCRDMA_RECORD_COUNT);
        assert_true(strlen(f->name) > 0 && strlen(f->section) > 0);
        check_help(f->help);
        assert_true(well_formed(f->abbrev));
        assert_string_equal(f->key, last_part(f->abbrev));
        assert_true(f->offset >= -1);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(f->abbrev, rpcrdma_field((enum rpcrdma_field_id)j)->abbrev);
    }
}

static void widths_fit_bases(void **state)
{
    (void)state;
    for (int i = 0; i < RPCRDMA_FIELD_COUNT; i++) {
        const struct rpcrdma_field *f = rpcrdma_field((enum rpcrdma_field_id)i);

        switch (f->base) {
        case RPCRDMA_BASE_TEXT:
            assert_int_equal(f->width, 0);
            break;
        case RPCRDMA_BASE_BYTES:
            assert_int_equal(f->width % 8, 0);
            break;
        case RPCRDMA_BASE_REAL:
            assert_int_equal(f->width, 64);
            break;
        case RPCRDMA_BASE_HEX: /* printed to its width: xid and handle 8 digits, offset 16 */
            assert_true(f->width == 8 || f->width == 32 || f->width == 64);
            break;
        default:
            assert_true(f->width == 8 || f->width == 16 || f->width == 24 || f->width == 32 ||
                        f->width == 64);
        }
        if (f->names)
            assert_int_equal(f->base, RPCRDMA_BASE_NAME);
    }
}

/* Two fields of one record never share a key: their JSON would have it twice. */
static void keys_are_unique_in_a_record(void **state)
{
    (void)state;
    for (int i = 0; i < RPCRDMA_FIELD_COUNT; i++)
        for (int j = 0; j < i; j++) {
            const struct rpcrdma_field *a = rpcrdma_field((enum rpcrdma_field_id)i);
            const struct rpcrdma_field *b = rpcrdma_field((enum rpcrdma_field_id)j);

            if (a->record == b->record)
                assert_string_not_equal(a->key, b->key);
        }
}

static void value_names(void **state)
{
    const struct rpcrdma_value_name *names = rpcrdma_field(RPCRDMA_FIELD_DIRECTION)->names;

    (void)state;
    assert_string_equal(rpcrdma_value_name(names, 0), "call");
    assert_string_equal(rpcrdma_value_name(names, 1), "reply");
    assert_null(rpcrdma_value_name(names, 2));
    assert_null(rpcrdma_value_name(NULL, 0));
    for (int i = 0; i < RPCRDMA_FIELD_COUNT; i++) {
        const struct rpcrdma_value_name *n = rpcrdma_field((enum rpcrdma_field_id)i)->names;

        for (; n && n->name; n++)
            assert_ptr_equal(
                rpcrdma_value_name(rpcrdma_field((enum rpcrdma_field_id)i)->names, n->value),
                n->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_complete),
        cmocka_unit_test(fields_are_complete),
        cmocka_unit_test(widths_fit_bases),
        cmocka_unit_test(value_names),
        cmocka_unit_test(keys_are_unique_in_a_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
