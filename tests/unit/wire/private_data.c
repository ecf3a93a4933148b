/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/private_data.h"

#include "test.h"

#define MAGIC 0xf6, 0xab, 0x0e, 0x18

/* RFC 8797 section 4: Remote Invalidation, 4096 bytes to send, 1024 to receive. */
static const uint8_t plain[] = {MAGIC, 1, 1, 3, 0};

static enum rpcrdma_status find(const uint8_t *bytes, size_t caplen, size_t len,
                                struct rpcrdma_private_data *pd)
{
    uint8_t *copy = heap_copy(bytes, caplen);
    enum rpcrdma_status status = rpcrdma_private_data_find(copy, caplen, len, pd);

    free(copy);
    return status;
}

static void both_ways(void **state)
{
    struct rpcrdma_private_data pd;
    uint8_t out[RPCRDMA_PRIVATE_DATA_SIZE];

    (void)state;
    assert_int_equal(find(plain, sizeof(plain), sizeof(plain), &pd), RPCRDMA_OK);
    assert_int_equal(pd.off, 0);
    assert_int_equal(pd.format, RPCRDMA_PRIVATE_DATA_FORMAT);
    assert_int_equal(pd.version, 1);
    assert_int_equal(pd.flags, RPCRDMA_PRIVATE_DATA_F_INVALIDATE);
    assert_int_equal(pd.send_size, 4096);
    assert_int_equal(pd.receive_size, 1024);
    rpcrdma_private_data_encode(&pd, out);
    assert_memory_equal(out, plain, sizeof(plain));
}

static void every_size_code(void **state)
{
    (void)state;
    for (unsigned code = 0; code < 256; code++) {
        const uint8_t bytes[] = {MAGIC, 1, 0, (uint8_t)code, (uint8_t)(255 - code)};
        struct rpcrdma_private_data pd;

        assert_int_equal(find(bytes, sizeof(bytes), sizeof(bytes), &pd), RPCRDMA_OK);
        assert_int_equal(pd.send_size, (code + 1) * 1024);
        assert_int_equal(pd.receive_size, (256 - code) * 1024);
    }
}

/* Behind a CM REQ's 36 bytes of IP header, and behind MPA revision 2's word. */
static void behind_others(void **state)
{
    static const size_t before[] = {4, 36, 48};
    uint8_t bytes[64];
    struct rpcrdma_private_data pd;

    (void)state;
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        memset(bytes, 0x5a, sizeof(bytes));
        memcpy(bytes + before[i], plain, sizeof(plain));
        assert_int_equal(find(bytes, sizeof(bytes), sizeof(bytes), &pd), RPCRDMA_OK);
        assert_int_equal(pd.off, before[i]);
        assert_int_equal(pd.send_size, 4096);
    }
    /* only whole words count */
    memset(bytes, 0x5a, sizeof(bytes));
    memcpy(bytes + 6, plain, sizeof(plain));
    assert_int_equal(find(bytes, sizeof(bytes), sizeof(bytes), &pd), RPCRDMA_MALFORMED);
    assert_int_equal(pd.format, 0);
}

static void cut_at_every_byte(void **state)
{
    uint8_t bytes[12] = {0x11, 0x22, 0x33, 0x44};
    struct rpcrdma_private_data pd;

    (void)state;
    memcpy(bytes + 4, plain, sizeof(plain));
    for (size_t n = 0; n < sizeof(bytes); n++) {
        /* on the wire, not captured: it may be there */
        assert_int_equal(find(bytes, n, sizeof(bytes), &pd), RPCRDMA_TRUNCATED);
        assert_int_equal(pd.format, n < 8 ? 0 : RPCRDMA_PRIVATE_DATA_FORMAT);
        assert_int_equal(pd.version, n < 9 ? 0 : 1);
        assert_int_equal(pd.send_size, 0);
        /* not on the wire: it is not there */
        assert_int_equal(find(bytes, n, n, &pd), RPCRDMA_MALFORMED);
        assert_int_equal(pd.format, 0);
    }
}

static void other_version_keeps_only_that(void **state)
{
    static const uint8_t bytes[] = {MAGIC, 2, 0xff, 0xff, 0xff};
    struct rpcrdma_private_data pd;

    (void)state;
    assert_int_equal(find(bytes, sizeof(bytes), sizeof(bytes), &pd), RPCRDMA_OK);
    assert_int_equal(pd.version, 2);
    assert_int_equal(pd.flags, 0);
    assert_int_equal(pd.send_size, 0);
    assert_int_equal(pd.receive_size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways),
        cmocka_unit_test(every_size_code),
        cmocka_unit_test(behind_others),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(other_version_keeps_only_that),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
