/* SPDX-License-Identifier: BSD-2-Clause */
/* Links the shared library only: what is used here must be exported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "finding.h"

static void findings_have_text(void **state)
{
    (void)state;
    struct rpcrdma_finding finding = {
        .rule = RPCRDMA_RULE_TRUNCATED, .offset = -1, .what = "read list"};
    char text[64];

    size_t length = rpcrdma_finding_text(&finding, text, sizeof(text));
    assert_string_equal(text, "read list: not captured");
    assert_int_equal(length, strlen(text));
    assert_string_equal(rpcrdma_severity_name(rpcrdma_rule(finding.rule)->severity), "note");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_have_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
