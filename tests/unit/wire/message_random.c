/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"
#include "test.h"
#include "vectors.h"
#include "wire/cursor.h"
#include "wire/message.h"
#include "wire/writer.h"
#include "wire/xchar.h"

/* The vectors mutated, decoded by any dialect. The oracle: what decodes and is canonical encodes to
 * the same bytes, what is not canonical encodes to something canonical that means the same. */

enum { ROUNDS = 300000, MAX_LEN = 512 };

struct input {
    unsigned char *bytes;
    size_t len;
};

static struct input inputs[256];
static uint32_t n_inputs;

static int load(void **state)
{
    (void)state;
    for (const struct vector_table *const *t = vector_tables(); *t; t++)
        for (size_t i = 0; i < (*t)->count; i++) {
            struct input *in = &inputs[n_inputs++];

            assert_true(n_inputs < sizeof(inputs) / sizeof(inputs[0]));
            in->bytes = unhex((*t)->vectors[i].hex, &in->len);
            assert_true(in->len <= MAX_LEN - 64);
        }
    return 0;
}

static int unload(void **state)
{
    (void)state;
    while (n_inputs)
        free(inputs[--n_inputs].bytes);
    return 0;
}

/* A mutated message in buf; returns its length. */
static size_t mutate(unsigned char *buf)
{
    static const uint32_t words[] = {0, 1, 2, 3, 4, 8, 0x80000000, 0x0fffffff, UINT32_MAX};
    const struct input *in = &inputs[random_below(n_inputs)];
    size_t len = in->len;

    memcpy(buf, in->bytes, len);
    for (uint32_t n = random_below(4); n; n--) {
        uint32_t at = random_below((uint32_t)len);

        switch (random_below(5)) {
        case 0:
            buf[at] = (unsigned char)random_below(256);
            break;
        case 1:
            buf[at] ^= (unsigned char)(1u << random_below(8));
            break;
        case 2: /* a word of the header, to a number that matters */
            if (len >= 20)
                rpcrdma_put_be32(buf + 12 + at % (len - 16) / 4 * 4,
                                 words[random_below(sizeof(words) / sizeof(words[0]))]);
            break;
        case 3: /* shorter */
            len = at + 1;
            break;
        case 4: /* longer */
            for (uint32_t i = 4 + random_below(12); i && len < MAX_LEN; i--)
                buf[len++] = (unsigned char)random_below(3);
            break;
        }
    }
    return len;
}

static void check_round_trip(const struct rpcrdma_message *m)
{
    static char difference[1024];
    unsigned char again[MAX_LEN];
    struct rpcrdma_message second;
    size_t written;

    assert_int_equal(rpcrdma_message_encode(m, again, sizeof(again), &written), RPCRDMA_OK);
    assert_int_equal(written, m->len);
    if (!m->noncanonical) {
        assert_memory_equal(again, m->base, m->len);
        return;
    }
    assert_int_equal(rpcrdma_message_decode(m->dialect, again, written, written, &second),
                     RPCRDMA_OK);
    assert_false(second.noncanonical);
    if (messages_differ(&second, m, difference, sizeof(difference)))
        fail_msg("%s", difference);
}

static void check_xchar(const struct rpcrdma_message *m)
{
    unsigned char again[MAX_LEN];
    struct rpcrdma_xchar x;
    size_t written;

    if (!rpcrdma_xchar_decode(m, &x) || x.status != RPCRDMA_OK || x.trailing)
        return;
    assert_int_equal(rpcrdma_xchar_encode(&x, again, sizeof(again), &written), RPCRDMA_OK);
    assert_int_equal(written, m->optional.info.len);
    if (!x.noncanonical)
        assert_memory_equal(again, m->optional.info.data, written);
}

static void test_round_trip(void **state)
{
    unsigned char buf[MAX_LEN];
    unsigned counts[4] = {0}, noncanonical = 0;

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t len = mutate(buf), caplen = random_below(4) ? len : random_below((uint32_t)len + 1);
        unsigned char *exact = heap_copy(buf, caplen);
        struct rpcrdma_message m;

        rpcrdma_message_decode(
            rpcrdma_dialect((enum rpcrdma_dialect_id)random_below(RPCRDMA_DIALECT_COUNT)), exact,
            caplen, len, &m);
        counts[m.status]++;
        if (m.status == RPCRDMA_OK) {
            assert_null(m.what);
            assert_int_equal(m.header_length + m.payload.len, len);
            if (caplen == len) {
                noncanonical += m.noncanonical;
                check_round_trip(&m);
                check_xchar(&m);
            }
        } else {
            assert_non_null(m.what);
            assert_true(m.error_off <= len);
            assert_true(m.status == RPCRDMA_MALFORMED || caplen < len);
            if (i % 16 == 0) /* what is there can be walked */
                messages_differ(&m, &m, (char *)buf, 1);
        }
        free(exact);
    }
    /* the mutations reach every outcome */
    assert_true(counts[RPCRDMA_OK] > ROUNDS / 10);
    assert_true(counts[RPCRDMA_MALFORMED] > ROUNDS / 10);
    assert_true(counts[RPCRDMA_TRUNCATED] > ROUNDS / 100);
    assert_true(noncanonical > ROUNDS / 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
