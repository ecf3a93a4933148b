/* SPDX-License-Identifier: BSD-2-Clause */
/* SipHash against the vectors of its authors: key 00 01 ... 0f, message 00 01 ... of n bytes. */
#include "test.h"

#include "base/siphash.h"
#include "base/table.h"

static const struct siphash_key key = {
    {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};

static uint64_t hash(unsigned n, int c, int d)
{
    uint8_t message[64];

    for (unsigned i = 0; i < sizeof(message); i++)
        message[i] = (uint8_t)i;
    return siphash_bytes(&key, message, n, c, d);
}

/* vectors.h of the reference code; the one of 15 bytes is in the paper's appendix, too */
static void two_four(void **state)
{
    static const struct {
        unsigned n;
        uint64_t hash;
    } vector[] = {
        {0, UINT64_C(0x726fdb47dd0e0e31)},  {1, UINT64_C(0x74f839c593dc67fd)},
        {7, UINT64_C(0xab0200f58b01d137)},  {8, UINT64_C(0x93f5f5799a932462)},
        {15, UINT64_C(0xa129ca6149be45e5)}, {16, UINT64_C(0x3f2acc7f57c29bdb)},
        {24, UINT64_C(0xb8ad50c6f649af94)}, {40, UINT64_C(0x0e3ea96b5304a7d0)},
        {63, UINT64_C(0x958a324ceb064572)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vector) / sizeof(vector[0]); i++)
        assert_int_equal(hash(vector[i].n, 2, 4), vector[i].hash);
}

/* as OpenSSL 3.0.19 computes it (openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f
 * -macopt size:8 -macopt c-rounds:1 -macopt d-rounds:3 SIPHASH); then words against bytes */
static void one_three(void **state)
{
    static const struct {
        unsigned n;
        uint64_t hash;
    } vector[] = {
        {0, UINT64_C(0xabac0158050fc4dc)},  {1, UINT64_C(0xc9f49bf37d57ca93)},
        {7, UINT64_C(0xd3927d989bb11140)},  {8, UINT64_C(0x369095118d299a8e)},
        {15, UINT64_C(0xd320d86d2a519956)}, {16, UINT64_C(0xcc4fdd1a7d908b66)},
        {24, UINT64_C(0xf464aeb267349c8c)}, {40, UINT64_C(0xc1d2363299e41531)},
        {63, UINT64_C(0x9d199062b7bbb3a8)},
    };
    uint64_t words[5];

    (void)state;
    for (size_t i = 0; i < sizeof(vector) / sizeof(vector[0]); i++)
        assert_int_equal(hash(vector[i].n, 1, 3), vector[i].hash);
    for (unsigned n = 0; n <= 5; n++) {
        for (unsigned i = 0; i < n; i++)
            words[i] = UINT64_C(0x0706050403020100) + i * UINT64_C(0x0808080808080808);
        assert_int_equal(siphash_words(&key, words, n), hash(8 * n, 1, 3));
    }
}

static void the_key_is_one_for_the_process(void **state)
{
    struct siphash_key a = siphash_key(), b = siphash_key();

    (void)state;
    assert_memory_equal(&a, &b, sizeof(a));
    assert_true(a.k[0] != 0 || a.k[1] != 0);
    siphash_set_key(key);
    b = siphash_key();
    assert_memory_equal(&key, &b, sizeof(b));
}

#ifdef RPCRDMA_COUNT_STEPS
/* Keys of a table that are multiples of a power of two, and those whose places are next to each
 * other where the key is taken as the place: what someone would choose. */
static uint64_t cost(uint64_t factor, uint32_t n)
{
    struct flow_memory memory = {.limit = 1 << 30};
    struct flow_table table = {0};

    rpcrdma_steps = 0;
    for (uint64_t i = 0; i < n; i++)
        assert_true(flow_table_put(&table, &memory, i * factor, &memory));
    for (uint64_t i = 0; i < n; i++)
        assert_non_null(flow_table_get(&table, i * factor));
    for (uint64_t i = 0; i < n; i++)
        assert_non_null(flow_table_remove(&table, i * factor));
    flow_table_free(&table, &memory);
    return rpcrdma_steps;
}
#endif

static void chosen_keys_do_not_meet_in_a_table(void **state)
{
    (void)state;
#ifdef RPCRDMA_COUNT_STEPS
    for (int bits = 0; bits < 48; bits += 8)
        assert_true(cost(UINT64_C(1) << bits, 20000) < 20000 * 60);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_four),
        cmocka_unit_test(one_three),
        cmocka_unit_test(the_key_is_one_for_the_process),
        cmocka_unit_test(chosen_keys_do_not_meet_in_a_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
