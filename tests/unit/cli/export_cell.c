/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of a cell as SQL and CSV have it, also where char has no sign, as on ARM. */
#include "test.h"

#include "export/tables.h"

static void shows(const char *text, const char *want)
{
    const struct cell cell = {.kind = CELL_TEXT, .n = (uint32_t)strlen(text), .is.text = text};
    char buffer[CELL_SHOWN];
    size_t n;
    const char *shown = cell_shown(&cell, buffer, &n);

    assert_int_equal(n, strlen(want));
    assert_memory_equal(shown, want, n);
}

static void test_plain(void **state)
{
    (void)state;
    shows("", "");
    shows("/export/a file~", "/export/a file~");
    shows("/export/\xc3\xa9", "/export/\xc3\xa9");
}

static void test_not_shown(void **state)
{
    (void)state;
    shows("a\x1b[2J", "a\\x1b[2J");
    shows("a\x7f", "a\\x7f");
    shows("a\x9b", "a\\x9b");          /* no UTF-8 */
    shows("a\xc2\x9b", "a\\xc2\\x9b"); /* C1's CSI */
    shows("a\xe2\x80\xae"
          "b",
          "a\\xe2\\x80\\xaeb"); /* turns the direction of writing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_not_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
