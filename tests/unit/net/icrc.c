/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksums: against the standards' check values, and against packets that real stacks sent. */
#include "base/crc.h"
#include "packet.h"

static const struct rpcrdma_net_config checked = {.check_icrc = true};

static uint32_t crc_of(uint32_t polynomial, const void *data, size_t n)
{
    struct rpcrdma_crc crc;

    rpcrdma_crc_init(&crc, polynomial);
    return ~rpcrdma_crc_add(&crc, UINT32_C(0xffffffff), data, n);
}

static void check_values(void **state)
{
    uint8_t ascending[32];

    (void)state;
    assert_int_equal(crc_of(RPCRDMA_CRC_ETHERNET, "123456789", 9), 0xcbf43926);
    assert_int_equal(crc_of(RPCRDMA_CRC_CASTAGNOLI, "123456789", 9), 0xe3069283);
    for (uint8_t i = 0; i < 32; i++) /* RFC 3720 B.4 */
        ascending[i] = i;
    assert_int_equal(crc_of(RPCRDMA_CRC_CASTAGNOLI, ascending, 32), 0x46dd794e);
    assert_int_equal(crc_of(RPCRDMA_CRC_CASTAGNOLI, "", 0), 0);
}

/* Any way to cut the data gives the same sum: the eight-byte steps agree with the single ones. */
static void in_pieces(void **state)
{
    struct rpcrdma_crc crc;
    uint8_t data[67];

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 37 + 11);
    rpcrdma_crc_init(&crc, RPCRDMA_CRC_ETHERNET);
    for (size_t cut = 0; cut <= sizeof(data); cut++) {
        uint32_t whole = rpcrdma_crc_add(&crc, 7, data, sizeof(data)), parts = 7;

        parts = rpcrdma_crc_add(&crc, parts, data, cut);
        parts = rpcrdma_crc_add(&crc, parts, data + cut, sizeof(data) - cut);
        assert_int_equal(parts, whole);
        parts = 7;
        for (size_t i = 0; i < sizeof(data); i++)
            parts = rpcrdma_crc_add(&crc, parts, data + i, 1);
        assert_int_equal(parts, whole);
    }
}

/* Frame 44 of captures/roce-nfs3-mini: an Ack that Linux's rxe sent. */
static const uint8_t ack[] = {
    0x52, 0x54, 0x00, 0x77, 0x00, 0x11, 0x52, 0x54, 0x00, 0x77, 0x00, 0x01, 0x08, 0x00, 0x45, 0x00,
    0x00, 0x30, 0x69, 0x9c, 0x40, 0x00, 0x40, 0x11, 0xb5, 0xc3, 0xc0, 0xa8, 0x4d, 0x01, 0xc0, 0xa8,
    0x4d, 0x0b, 0xee, 0xec, 0x12, 0xb7, 0x00, 0x1c, 0x00, 0x00, 0x11, 0x00, 0xff, 0xff, 0x00, 0x00,
    0x00, 0x11, 0x00, 0x50, 0x31, 0xc8, 0x1f, 0x00, 0x00, 0x01, 0xbb, 0x53, 0x30, 0xd1,
};

static size_t bad(const struct bytes *b, size_t caplen)
{
    struct seen *s = seen_new(&checked);
    size_t n;

    give_cut(s, 1, b->at, caplen, b->n);
    n = s->n_findings;
    if (n > 0) {
        assert_int_equal(n, 1);
        assert_int_equal(s->finding[0].rule, RPCRDMA_RULE_ICRC);
    }
    assert_int_equal(rpcrdma_net_stats(s->net)->bad_icrc, n);
    seen_free(s);
    return n;
}

/* Every bit counts, but for those that a switch or router changes. */
static void every_bit(void **state)
{
    static const struct {
        size_t off;
        uint8_t mask;
    } variant[] = {{15, 0xff}, {22, 0xff}, {24, 0xff}, {25, 0xff},
                   {40, 0xff}, {41, 0xff}, {46, 0xff}};
    struct bytes b = {.n = 0};

    (void)state;
    put_bytes(&b, ack, sizeof(ack));
    assert_int_equal(bad(&b, b.n), 0);
    for (size_t off = 26; off < b.n; off++) { /* from the addresses on: it stays RoCE */
        uint8_t mask = 0;

        if (off >= 36 && off < 40) /* port and length decide what it is */
            continue;
        if (off == 42 || off == 43) /* so does the opcode's byte and the header version */
            continue;
        for (size_t i = 0; i < sizeof(variant) / sizeof(variant[0]); i++)
            if (variant[i].off == off)
                mask = variant[i].mask;
        for (int bit = 0; bit < 8; bit++) {
            b.at[off] ^= (uint8_t)(1 << bit);
            assert_int_equal(bad(&b, b.n), mask >> bit & 1 ? 0 : 1);
            b.at[off] ^= (uint8_t)(1 << bit);
        }
    }
    b.at[15] ^= 0x03; /* ECN */
    b.at[22]--;       /* time to live */
    b.at[24] ^= 0x55; /* checksum */
    assert_int_equal(bad(&b, b.n), 0);
}

static void not_captured_is_not_wrong(void **state)
{
    struct bytes b = {.n = 0};

    (void)state;
    put_bytes(&b, ack, sizeof(ack));
    b.at[b.n - 5] ^= 1;
    assert_int_equal(bad(&b, b.n), 1);
    for (size_t cut = 1; cut < 8; cut++)
        assert_int_equal(bad(&b, b.n - cut), 0);
}

/* Bit by bit, over the bytes as the architecture says them: apart from the code under test. */
static uint32_t slow_icrc(const uint8_t *p, size_t n)
{
    uint32_t value = UINT32_C(0xffffffff);

    for (size_t i = 0; i < n; i++) {
        value ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~value;
}

static void put_icrc(struct bytes *b, const struct bytes *masked)
{
    uint32_t value = slow_icrc(masked->at, masked->n);

    for (int i = 0; i < 4; i++)
        put(b, value >> 8 * i & 0xff, 1);
}

static void by_carrier(bool v1, bool extension)
{
    struct bytes b = {.n = 0}, masked = {.n = 0};
    size_t transport = 12 + 8 + 4, off = 14;

    put_ethernet(&b, v1 ? 0x8915 : 0x86dd);
    put_ipv6(&b, v1 ? 27 : extension ? 60 : 17, transport + (v1 ? 0 : 8) + (extension ? 8 : 0));
    b.at[14] = 0x6a; /* traffic class and flow label that are not zero */
    b.at[16] = 0x5a;
    if (extension)
        put(&b, 0x1100010400000000, 8);
    if (!v1)
        put_udp(&b, 4791, transport);
    put_bth(&b, 0x04, 0, 0x11, 0x100);
    put(&b, 0x0102030405060708, 8);

    put_fill(&masked, 0xff, 8);
    put_bytes(&masked, b.at + off, b.n - off);
    set(&masked, 8, 0x6fffffff, 4);
    masked.at[8 + 7] = 0xff;
    off = 8 + 40 + (extension ? 8 : 0);
    if (!v1) {
        set(&masked, off + 6, 0xffff, 2);
        off += 8;
    }
    masked.at[off + 4] = 0xff;
    put_icrc(&b, &masked);
    assert_int_equal(bad(&b, b.n), 0);
    b.at[b.n - 6] ^= 0x10;
    assert_int_equal(bad(&b, b.n), 1);
    b.at[b.n - 6] ^= 0x10;
    b.at[21]++; /* hop limit */
    assert_int_equal(bad(&b, b.n), 0);
}

static void other_carriers(void **state)
{
    (void)state;
    by_carrier(true, false);
    by_carrier(false, false);
    by_carrier(false, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_values),   cmocka_unit_test(in_pieces),
        cmocka_unit_test(every_bit),      cmocka_unit_test(not_captured_is_not_wrong),
        cmocka_unit_test(other_carriers),
    };

    return cmocka_run_group_tests_name("icrc", tests, NULL, NULL);
}
