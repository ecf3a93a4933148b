/* SPDX-License-Identifier: BSD-2-Clause */
/* What a packet carries behind its IP header, whatever is before and after it. */
#include "net/packet/payload.h"

#include "packet.h"

enum { TCP = 6, UDP = 17, IBA = 27, GRE = 47, BYTES = 24 };

/* 24 bytes that tell their place. */
static void put_carried(struct bytes *b)
{
    for (unsigned i = 0; i < BYTES; i++)
        put(b, 0xc0 + i, 1);
}

static bool payload_of(uint32_t linktype, const uint8_t *bytes, size_t caplen, size_t len,
                       struct rpcrdma_net_payload *out, uint8_t *data)
{
    uint8_t *copy = heap_copy(bytes, caplen);
    struct rpcrdma_packet packet = {
        .linktype = linktype, .caplen = (uint32_t)caplen, .len = (uint32_t)len, .data = copy};
    bool found;

    memset(out, 0, sizeof(*out));
    found = rpcrdma_net_payload(&packet, out);
    if (found)
        memcpy(data, out->data, out->caplen);
    free(copy);
    return found;
}

static void check_address(const struct rpcrdma_address *address, uint8_t family, uint8_t last)
{
    static const size_t bytes[] = {
        [RPCRDMA_ADDRESS_IPV4] = 4, [RPCRDMA_ADDRESS_IPV6] = 16, [RPCRDMA_ADDRESS_LID] = 2};

    assert_int_equal(address->family, family);
    assert_int_equal(address->bytes[bytes[family] - 1], last);
}

/* The 24 bytes are found, also with padding behind them and cut short; cut before them, nothing is.
 */
static void expect(uint32_t linktype, const struct bytes *b, uint8_t family, uint32_t checksum)
{
    struct bytes padded = *b;
    struct rpcrdma_net_payload p;
    uint8_t data[BYTES + 64];

    /* an InfiniBand link has no padding, and no length but the packet's own */
    put_fill(&padded, 0xee, linktype == 247 ? 0 : 18);
    assert_true(payload_of(linktype, padded.at, padded.n, padded.n, &p, data));
    assert_int_equal(p.len, BYTES);
    assert_int_equal(p.caplen, BYTES);
    assert_int_equal(data[0], 0xc0);
    assert_int_equal(data[BYTES - 1], 0xc0 + BYTES - 1);
    assert_int_equal(p.checksum, checksum);
    check_address(&p.src, family, 1);
    check_address(&p.dst, family, 2);
    for (size_t caplen = 0; caplen < b->n; caplen++) {
        size_t captured = caplen > b->n - BYTES ? caplen - (b->n - BYTES) : 0;

        assert_int_equal(payload_of(linktype, b->at, caplen, b->n, &p, data), captured > 0);
        if (captured == 0)
            continue;
        assert_int_equal(p.len, BYTES);
        assert_int_equal(p.caplen, captured);
    }
}

static void expect_none(uint32_t linktype, const struct bytes *b)
{
    struct rpcrdma_net_payload p;
    uint8_t data[256];

    assert_false(payload_of(linktype, b->at, b->n, b->n, &p, data));
}

static void put_ip(struct bytes *b, bool six, uint8_t protocol)
{
    if (six)
        put_ipv6(b, protocol, BYTES);
    else
        put_ipv4(b, protocol, BYTES);
    put_carried(b);
}

/* Where the sender's capture may have no checksum yet: RFC 768, RFC 9293 section 3.1. */
static uint32_t checksum_of(uint8_t protocol)
{
    return protocol == TCP ? 16 : protocol == UDP ? 6 : UINT32_MAX;
}

static void links(void **state)
{
    static const uint32_t raw[] = {12, 14, 101, 228, 229};
    static const uint8_t protocols[] = {TCP, UDP, GRE};

    (void)state;
    for (int six = 0; six < 2; six++) {
        uint8_t family = six ? RPCRDMA_ADDRESS_IPV6 : RPCRDMA_ADDRESS_IPV4;
        uint16_t type = six ? 0x86dd : 0x0800;
        struct bytes b = {.n = 0};

        for (size_t i = 0; i < sizeof(protocols); i++) {
            b.n = 0;
            put_ethernet(&b, type);
            put_ip(&b, six, protocols[i]);
            expect(1, &b, family, checksum_of(protocols[i]));
        }
        for (size_t i = 0; i < sizeof(raw) / sizeof(raw[0]); i++) {
            b.n = 0;
            put_ip(&b, six, UDP);
            expect(raw[i], &b, family, 6);
        }
        b.n = 0;
        put(&b, 0x0000000100065254, 8); /* Linux cooked */
        put(&b, 0x007700010000, 6);
        put(&b, type, 2);
        put_ip(&b, six, UDP);
        expect(113, &b, family, 6);
        b.n = 0;
        put(&b, type, 2); /* Linux cooked, version 2 */
        put_fill(&b, 0, 18);
        put_ip(&b, six, UDP);
        expect(276, &b, family, 6);
    }
}

static void tags(void **state)
{
    static const uint16_t types[] = {0x8100, 0x88a8, 0x9100};
    struct bytes b;

    (void)state;
    for (size_t n = 1; n <= 3; n++) {
        b.n = 0;
        put_ethernet(&b, types[n - 1]);
        for (size_t i = 1; i <= n; i++) {
            put(&b, 100 + i, 2);
            put(&b, i < n ? 0x8100 : 0x0800, 2);
        }
        put_ip(&b, false, UDP);
        expect(1, &b, RPCRDMA_ADDRESS_IPV4, 6);
    }
    b.n = 0;
    put_ethernet(&b, 0x8100);
    for (int i = 0; i < 1000; i++) /* tags and nothing else */
        put(&b, 0x00018100, 4);
    expect_none(1, &b);
}

static void infiniband(void **state)
{
    struct bytes b = {.n = 0};

    (void)state;
    put_ethernet(&b, 0x8915); /* RoCEv1: IBTA annex A16 */
    put_ip(&b, true, IBA);
    expect(1, &b, RPCRDMA_ADDRESS_IPV6, UINT32_MAX);
    b.n = 0;
    put(&b, 0x0003000200110001, 8); /* LRH, IBTA 7.7: LNH 3, a GRH follows; DLID 2, SLID 1 */
    put_ip(&b, true, IBA);
    expect(247, &b, RPCRDMA_ADDRESS_IPV6, UINT32_MAX);
    b.n = 0;
    put(&b, 0x0002000200110001, 8); /* LNH 2: a BTH */
    put_carried(&b);
    expect(247, &b, RPCRDMA_ADDRESS_LID, UINT32_MAX);
}

static void options(void **state)
{
    struct bytes b = {.n = 0};

    (void)state;
    put_ethernet(&b, 0x0800);
    put_ipv4(&b, TCP, 12 + BYTES);
    b.at[14] = 0x48; /* 8 words */
    put_fill(&b, 1, 12);
    put_carried(&b);
    expect(1, &b, RPCRDMA_ADDRESS_IPV4, 16);
    set(&b, 16, 32, 2); /* nothing behind the header */
    expect_none(1, &b);
    set(&b, 16, 30, 2); /* ends within the header */
    expect_none(1, &b);
    b.at[14] = 0x44;
    expect_none(1, &b);
    b.at[14] = 0x58; /* version 5 */
    expect_none(1, &b);
}

/* TCP's checksum is found behind IPv6's extension headers (RFC 8200 section 4). */
static void extensions(void **state)
{
    struct bytes b = {.n = 0};

    (void)state;
    put_ethernet(&b, 0x86dd);
    put_ipv6(&b, 0, 8 + 16 + 12 + BYTES); /* hop-by-hop options, */
    put(&b, 60, 1);                       /* destination options: 8 bytes and 8 more, */
    put_fill(&b, 0, 7);
    put(&b, 51, 1); /* authentication header: 3 words, */
    put(&b, 1, 1);
    put_fill(&b, 0, 14);
    put(&b, TCP, 1);
    put(&b, 1, 1);
    put_fill(&b, 0, 10);
    put_carried(&b);
    expect(1, &b, RPCRDMA_ADDRESS_IPV6, 16);
    set(&b, 18, 8 + 16 + 12, 2); /* nothing behind them */
    expect_none(1, &b);

    b.n = 0; /* a fragment: what it carries begins with its fragment header */
    put_ethernet(&b, 0x86dd);
    put_ipv6(&b, 60, 8 + BYTES);
    put(&b, 44, 1);
    put_fill(&b, 0, 7);
    put_carried(&b);
    expect(1, &b, RPCRDMA_ADDRESS_IPV6, UINT32_MAX);
}

/* Lengths that cannot be taken from the header: 0 where the adapter cuts the packet up, and more
 * than there is. */
static void lengths(void **state)
{
    static const uint16_t total[] = {0, 20 + BYTES + 500};
    static const uint16_t bytes[] = {0, BYTES + 500};
    struct rpcrdma_net_payload p;
    struct bytes four = {.n = 0}, six = {.n = 0};
    uint8_t data[256];

    (void)state;
    put_ethernet(&four, 0x0800);
    put_ip(&four, false, TCP);
    put_ethernet(&six, 0x86dd);
    put_ip(&six, true, TCP);
    for (size_t i = 0; i < 2; i++) {
        set(&four, 16, total[i], 2);
        assert_true(payload_of(1, four.at, four.n, four.n, &p, data));
        assert_int_equal(p.len, BYTES);
        set(&six, 18, bytes[i], 2);
        assert_true(payload_of(1, six.at, six.n, six.n, &p, data));
        assert_int_equal(p.len, BYTES);
    }
}

static void none(void **state)
{
    static const uint32_t others[] = {0, 9, 105, 127, 192, 197, 12345};
    struct bytes b = {.n = 0};

    (void)state;
    put_ip(&b, false, UDP);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        expect_none(others[i], &b);
    b.n = 0;
    put_ethernet(&b, 0x0806); /* ARP */
    put_fill(&b, 0x45, 46);
    expect_none(1, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links),      cmocka_unit_test(tags),    cmocka_unit_test(infiniband),
        cmocka_unit_test(extensions), cmocka_unit_test(options), cmocka_unit_test(lengths),
        cmocka_unit_test(none),
    };

    return cmocka_run_group_tests_name("payload", tests, NULL, NULL);
}
