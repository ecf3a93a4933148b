/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/plain.h"

#include "random.h"
#include "test.h"
#include "wire/writer.h"

/* What is seen at one glance is what decoding word by word gives, byte for byte, also where the
 * structs hold another message of the kind. */

enum { ROUNDS = 200000, MAX_WORDS = 32, HEADER = 28 };

static const uint32_t call[] = {7, 1, 32, 0, 0, 0, 0, 7, 0, 2, 100003, 3, 1, 1, 8, 1, 2, 0, 0, 5};
static const uint32_t reply[] = {7, 1, 32, 0, 0, 0, 0, 7, 1, 0, 0, 0, 0, 9, 9};

struct input {
    uint8_t bytes[MAX_WORDS * 4];
    size_t caplen, len;
};

/* A Call or a Reply of which one word may be another, and an end may be missing. */
static struct input input(void)
{
    static const uint32_t values[] = {0, 1, 2, 3, 4, 6, 16, 400, 404, 0x80000000, UINT32_MAX};
    bool is_call = random_below(2);
    const uint32_t *words = is_call ? call : reply;
    uint32_t n = is_call ? sizeof(call) / sizeof(call[0]) : sizeof(reply) / sizeof(reply[0]);
    struct input in = {.len = n * 4};

    for (uint32_t i = 0; i < n; i++)
        rpcrdma_put_be32(in.bytes + 4 * i, words[i]);
    if (random_below(2))
        rpcrdma_put_be32(in.bytes + 4 * random_below(n),
                         values[random_below(sizeof(values) / sizeof(values[0]))]);
    if (random_below(4) == 0)
        in.len = random_below(n * 4 + 1);
    in.caplen = random_below(4) ? in.len : random_below((uint32_t)in.len + 1);
    return in;
}

static void test_message(void **state)
{
    static struct rpcrdma_message kept, any; /* padding, too, is zero at first */
    unsigned plain = 0;
    bool again = false;

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct input in = input();
        uint8_t *exact = heap_copy(in.bytes, in.caplen);

        if (rpcrdma_message_plain(&kept, again, exact, in.caplen, in.len)) {
            rpcrdma_message_decode_any(rpcrdma_dialect(RPCRDMA_V1), exact, in.caplen, in.len, &any);
            assert_memory_equal(&kept, &any, sizeof(any));
            again = true;
            plain++;
        }
        free(exact);
    }
    assert_true(plain > ROUNDS / 4 && plain < ROUNDS - ROUNDS / 10);
}

static void test_rpc(void **state)
{
    static struct rpcrdma_rpc kept, any;
    unsigned plain = 0;
    bool again = false;

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct input in = input();
        size_t skip = in.caplen < HEADER ? in.caplen : HEADER;
        uint8_t *exact = heap_copy(in.bytes + skip, in.caplen - skip);

        if (rpcrdma_rpc_plain(&kept, again, exact, in.caplen - skip, in.len - skip)) {
            rpcrdma_rpc_decode_any(exact, in.caplen - skip, in.len - skip, &any);
            assert_memory_equal(&kept, &any, sizeof(any));
            again = true;
            plain++;
        }
        free(exact);
    }
    assert_true(plain > ROUNDS / 4 && plain < ROUNDS - ROUNDS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message),
        cmocka_unit_test(test_rpc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
