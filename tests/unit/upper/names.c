/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "upper/names.h"

static void check(const char *want, uint32_t program, uint32_t version, uint32_t procedure)
{
    const char *name = rpcrdma_procedure_name(program, version, procedure, false);

    if (want) {
        assert_non_null(name);
        assert_string_equal(name, want);
    } else {
        assert_null(name);
    }
}

/* Numbers as the RFCs give them: 1094, 1813, 7530, 1833, 1813 appendix I, X/Open XNFS. */
static void procedures_have_the_numbers_of_their_rfcs(void **state)
{
    (void)state;
    check("NULL", 100003, 3, 0);
    check("READLINK", 100003, 3, 5);
    check("READ", 100003, 3, 6);
    check("WRITE", 100003, 3, 7);
    check("READDIRPLUS", 100003, 3, 17);
    check("COMMIT", 100003, 3, 21);
    check(NULL, 100003, 3, 22);
    check("READLINK", 100003, 2, 5);
    check("READ", 100003, 2, 6);
    check("WRITE", 100003, 2, 8);
    check("STATFS", 100003, 2, 17);
    check(NULL, 100003, 2, 18);
    check("COMPOUND", 100003, 4, 1);
    check(NULL, 100003, 4, 2);
    check(NULL, 100003, 5, 0);
    check("MNT", 100005, 3, 1);
    check(NULL, 100005, 3, 6);
    check("EXPORTALL", 100005, 1, 6);
    check("PATHCONF", 100005, 2, 7);
    check("GETPORT", 100000, 2, 3);
    check("GETADDR", 100000, 3, 3);
    check("TADDR2UADDR", 100000, 3, 8);
    check("GETVERSADDR", 100000, 4, 9);
    check("GETSTAT", 100000, 4, 12);
    check("GRANTED_RES", 100021, 1, 15);
    check(NULL, 100021, 1, 20);
    check(NULL, 100021, 4, 17);
    check("SHARE", 100021, 4, 20);
    check("FREE_ALL", 100021, 3, 23);
    check("NOTIFY", 100024, 1, 6);
    check("GETACL", 100227, 3, 1);
    check("ACCESS", 100227, 2, 4);
    check("CB_COMPOUND", 0x40000000, 1, 1);
    check(NULL, 99, 1, 0);
    assert_string_equal(rpcrdma_program_name(100227, 3, false), "NFSACL");
    assert_string_equal(rpcrdma_program_name(100003, 9, false), "NFS");
    assert_null(rpcrdma_program_name(200000, 1, false));
}

static void a_callback_program_has_the_number_its_client_chose(void **state)
{
    (void)state;
    assert_true(rpcrdma_program_is_callback(0x40000000, 1, false));
    assert_true(rpcrdma_program_is_callback(0x4abcdef0, 1, true));
    assert_false(rpcrdma_program_is_callback(0x4abcdef0, 1, false));
    assert_false(rpcrdma_program_is_callback(100021, 4, true));
    assert_false(rpcrdma_program_is_callback(100024, 1, true));
    assert_string_equal(rpcrdma_procedure_name(0x4abcdef0, 1, 0, true), "CB_NULL");
    assert_string_equal(rpcrdma_program_name(0x4abcdef0, 1, true), "NFS4_CALLBACK");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(procedures_have_the_numbers_of_their_rfcs),
        cmocka_unit_test(a_callback_program_has_the_number_its_client_chose),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
