/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksums by source: each source is judged by its own packets, whatever others there are, and
 * however many. */
#include "net/packet/damage.h"

#include "base/siphash.h"
#include "base/step.h"
#include "net/packet/layer.h"
#include "random.h"
#include "test.h"

static struct rpcrdma_net net;

static void begin(void)
{
    net.checksums = rpcrdma_checksums_new();
    assert_non_null(net.checksums);
}

static void end(void)
{
    free(net.checksums);
}

static bool judge(uint8_t family, const uint8_t *address, enum rpcrdma_carrier carrier, bool right)
{
    struct rpcrdma_layer l = {.net = &net, .family = family, .src = address};

    return rpcrdma_layer_damaged(&l, carrier, right);
}

/* Of a source by its number: an address of either kind. */
static bool sends(uint32_t number, bool right)
{
    uint8_t address[16] = {0xfd};

    for (int i = 0; i < 4; i++)
        address[12 + i] = (uint8_t)(number >> 8 * (3 - i));
    return number % 2 ? judge(RPCRDMA_ADDRESS_IPV6, address, RPCRDMA_CARRIER_ROCEV2, right)
                      : judge(RPCRDMA_ADDRESS_IPV4, address + 12, RPCRDMA_CARRIER_ROCEV2, right);
}

static void becomes_known(uint32_t number)
{
    for (int i = 0; i < 8; i++)
        assert_false(sends(number, true));
}

/* Half of them leave checksums wrong. So many share every place there may be. */
static void each_by_its_own(void **state)
{
    enum { MANY = 4000 };

    (void)state;
    begin();
    for (uint32_t i = 0; i < MANY / 2; i++)
        becomes_known(i);
    for (int round = 0; round < 3; round++)
        for (uint32_t i = MANY / 2; i < MANY; i++)
            assert_false(sends(i, false));
    for (uint32_t i = 0; i < MANY / 2; i++)
        assert_true(sends(i, false));
    end();
}

/* What begins with the same bytes, or has the same address and sends by another carrier. */
static void alike(void **state)
{
    static const uint8_t address[16] = {10, 0, 0, 1};
    static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
    static const uint8_t lid[2] = {10, 0};

    (void)state;
    begin();
    for (int i = 0; i < 8; i++)
        assert_false(judge(RPCRDMA_ADDRESS_IPV4, address, RPCRDMA_CARRIER_ROCEV2, true));
    assert_false(judge(RPCRDMA_ADDRESS_IPV4, address, RPCRDMA_CARRIER_IWARP, false));
    assert_false(judge(RPCRDMA_ADDRESS_IPV6, address, RPCRDMA_CARRIER_ROCEV2, false));
    assert_false(judge(RPCRDMA_ADDRESS_LID, lid, RPCRDMA_CARRIER_INFINIBAND, false));
    assert_true(judge(RPCRDMA_ADDRESS_IPV6, mapped, RPCRDMA_CARRIER_ROCEV2, false));
    assert_true(judge(RPCRDMA_ADDRESS_IPV4, address, RPCRDMA_CARRIER_ROCEV2, false));
    end();
}

/* A flood of sources of one packet each pushes out who is silent, not who sends on; the cost of
 * each is bounded. */
static void flood(void **state)
{
    enum { SILENT = 1, SENDS_ON = 2, FIRST = 10, MANY = 200000 };

    (void)state;
    begin();
    becomes_known(SILENT);
    becomes_known(SENDS_ON);
#ifdef RPCRDMA_COUNT_STEPS
    rpcrdma_steps = 0;
#endif
    for (uint32_t i = 0; i < MANY; i++) {
        assert_false(sends(FIRST + i, i % 3));
        if (i % 1000 == 0)
            assert_false(sends(SENDS_ON, true));
    }
#ifdef RPCRDMA_COUNT_STEPS
    assert_true(rpcrdma_steps < UINT64_C(5) * MANY);
#endif
    assert_true(sends(SENDS_ON, false));
    assert_false(sends(SILENT, false));
    becomes_known(SILENT); /* and is so again */
    assert_true(sends(SILENT, false));
    end();
}

/* Far more sources than places, some of many packets: the key says nothing about the answers. */
static void any_key(void **state)
{
    enum { PACKETS = 300000, SOURCES = 9000 };
    uint64_t first = 0, damaged = 0;

    (void)state;
    for (uint64_t key = 0; key < 5; key++) {
        uint64_t answers = 0;

        siphash_set_key((struct siphash_key){{key, ~key}});
        random_again();
        begin();
        damaged = 0;
        for (int i = 0; i < PACKETS; i++) {
            uint32_t most = random_below(2) ? SOURCES : SOURCES / 9;
            bool is = sends(random_below(most), random_below(16));

            damaged += is;
            answers = (answers ^ is) * UINT64_C(0x9e3779b97f4a7c15) + 1;
        }
        end();
        if (key == 0)
            first = answers;
        assert_int_equal(answers, first);
    }
    assert_true(damaged > 1000 && damaged < PACKETS / 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_by_its_own),
        cmocka_unit_test(alike),
        cmocka_unit_test(flood),
        cmocka_unit_test(any_key),
    };

    return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}
