/* SPDX-License-Identifier: BSD-2-Clause */

/* Fingerprints are of the packet, and nobody can say beforehand which ones fall together. */

#include <string.h>

#include "source/merge/fingerprint.h"
#include "test.h"

enum { BUCKETS = 1 << 17 }; /* those of copies.c */

/* IPv4, protocol 99, with a payload of 16 bytes: `middle` are its bytes 8 to 10. */
static struct fingerprint of(uint8_t first, uint32_t middle)
{
    static const uint8_t head[34] = {
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 0x24, 0, 0, 0x40, 0, 0x40, 0x63,
        0, 0, 11, 0, 0, 1, 10, 1, 0, 1,
    };
    uint8_t bytes[50] = {0};
    struct rpcrdma_packet packet = {
        .frame = 1, .linktype = 1, .data = bytes, .caplen = sizeof(bytes), .len = sizeof(bytes)};
    struct fingerprint out;

    memcpy(bytes, head, sizeof(head));
    bytes[34] = first;
    bytes[42] = (uint8_t)(middle >> 16);
    bytes[43] = (uint8_t)(middle >> 8);
    bytes[44] = (uint8_t)middle;
    assert_true(fingerprint(&packet, FINGERPRINT_ALL, &out));
    return out;
}

static void equal_packets(void **state)
{
    struct fingerprint a = of(1, 2), b = of(1, 2), c = of(1, 3);

    (void)state;
    assert_true(a.low == b.low && a.high == b.high && a.forward == b.forward);
    assert_true(a.low != c.low && a.high != c.high);
}

/* Found for a hash without key: all of them in one of copies.c's buckets. */
static void chosen_packets(void **state)
{
    static const uint32_t chosen[] = {0xb7bd01, 0x462100, 0x714a01, 0xdacc00};
    unsigned same = 0;

    (void)state;
    for (uint8_t i = 1; i < 4; i++)
        same += of(i, chosen[i]).low % BUCKETS == of(0, chosen[0]).low % BUCKETS;
    assert_true(same < 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_packets),
        cmocka_unit_test(chosen_packets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
