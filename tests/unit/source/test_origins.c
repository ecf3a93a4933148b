/* SPDX-License-Identifier: BSD-2-Clause */

/* Which file gave a packet: of as many runs as are kept, each frame is found; of those before,
 * none.
 */

#include "source/merge/origins.h"
#include "test.h"

/* As the first `n` runs of three frames each, of one file after the other. */
static void look(const struct origins *origins, uint64_t n)
{
    uint64_t known = n > ORIGINS_MOST ? n - ORIGINS_MOST : 0;
    size_t file;

    for (uint64_t run = 0; run < n; run++) {
        for (uint64_t frame = 3 * run + 1; frame <= 3 * run + 3; frame++) {
            bool found = origins_find(origins, frame, &file);

            assert_int_equal(found, run >= known);
            if (found)
                assert_int_equal(file, run % 4096);
        }
    }
}

static void runs(void **state)
{
    const uint64_t most = ORIGINS_MOST;
    const uint64_t at[] = {1, 2, 64, 65, 129, most, most + 1, 2 * most + 77};
    struct origins origins = {0};
    uint64_t run = 0;
    size_t file;

    (void)state;
    assert_false(origins_find(&origins, 1, &file));
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        for (; run < at[i]; run++)
            for (uint64_t frame = 3 * run + 1; frame <= 3 * run + 3; frame++)
                origins_add(&origins, frame, (uint32_t)(run % 4096));
        look(&origins, run);
    }
    assert_int_equal(origins.room, ORIGINS_MOST);
    origins_free(&origins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
