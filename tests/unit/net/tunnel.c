/* SPDX-License-Identifier: BSD-2-Clause */
/* InfiniBand, ERF and encapsulations, cut at every byte and with every byte wrong. */
#include "packet.h"

enum { TRANSPORT = 12 + 8 + 4, INNER = 14 + 20 + 8 + TRANSPORT };

static struct bytes b;

static void put_transport(void)
{
    put_bth(&b, 0x04, 0, 0x11, 0x100);
    put(&b, 0x0102030405060708, 8);
    put(&b, 0, 4);
}

static void put_ip(void)
{
    put_ipv4(&b, 17, 8 + TRANSPORT);
    put_udp(&b, 4791, TRANSPORT);
    put_transport();
}

static void put_frame(void)
{
    put_ethernet(&b, 0x0800);
    put_ip();
}

static void outer_udp(uint16_t port, size_t n)
{
    b.n = 0;
    put_ethernet(&b, 0x0800);
    put_ipv4(&b, 17, 8 + n);
    put_udp(&b, port, n);
}

static void outer_gre(uint16_t flags, uint16_t protocol, size_t n)
{
    b.n = 0;
    put_ethernet(&b, 0x0800);
    put_ipv4(&b, 47, 4 + n);
    put(&b, flags, 2);
    put(&b, protocol, 2);
}

static void put_lrh(uint8_t next, size_t n)
{
    put(&b, 0x10, 1);
    put(&b, next, 1);
    put(&b, 0x0022, 2);
    put(&b, (8 + n) / 4, 2);
    put(&b, 0x0011, 2);
}

static void put_erf(uint8_t type, size_t n)
{
    put(&b, 0, 8);
    put(&b, type, 1);
    put(&b, 4, 1);
    put(&b, 16 + n, 2);
    put(&b, 0, 2);
    put(&b, n, 2);
}

/* The packet in b gives the one Send; cut anywhere, it gives it too or counts as truncated; with
 * any byte wrong it is counted once, and nothing outside of it is read. */
static void expect_send(uint32_t linktype, unsigned carrier, unsigned family)
{
    static const uint8_t values[] = {0x00, 0x01, 0x08, 0x45, 0x60, 0x80, 0xff};
    struct seen *s = seen_new(NULL);
    size_t ops = 0;

    assert_true(rpcrdma_net_link_known(linktype));
    give(s, linktype, &b);
    assert_int_equal(s->n, 1);
    assert_int_equal(s->n_findings, 0);
    assert_int_equal(s->op[0].carrier, carrier);
    assert_int_equal(s->op[0].src.family, family);
    assert_int_equal(s->op[0].dst.family, family);
    assert_int_equal(s->op[0].seq, 0x100);
    assert_int_equal(s->op[0].len, 8);
    assert_int_equal(get(s->data[0], 8), 0x0102030405060708);
    for (size_t caplen = 0; caplen < b.n; caplen++) {
        s->n = 0;
        give_cut(s, linktype, b.at, caplen, b.n);
        ops += s->n;
    }
    assert_between(ops, 12, 14); /* BTH is whole from here on; a VCRC may follow */
    assert_int_equal(rpcrdma_net_stats(s->net)->truncated, b.n - ops);
    for (size_t off = 0; off < b.n; off++)
        for (size_t v = 0; v < sizeof(values); v++) {
            uint8_t before = b.at[off];

            b.at[off] = values[v];
            give(s, linktype, &b);
            give_cut(s, linktype, b.at, b.n - 9, b.n);
            b.at[off] = before;
        }
    seen_free(s);
}

static void infiniband(void **state)
{
    static const uint8_t src[16] = {0x00, 0x11}, dst[16] = {0x00, 0x22};
    struct seen *s;

    (void)state;
    b.n = 0;
    put_lrh(2, TRANSPORT);
    put_transport();
    put(&b, 0xabcd, 2); /* VCRC */
    expect_send(247, RPCRDMA_CARRIER_INFINIBAND, RPCRDMA_ADDRESS_LID);
    s = seen_new(NULL);
    give(s, 247, &b);
    assert_memory_equal(s->op[0].src.bytes, src, 16);
    assert_memory_equal(s->op[0].dst.bytes, dst, 16);
    /* raw packets carry no transport */
    for (uint8_t next = 0; next < 2; next++) {
        b.at[1] = next;
        give(s, 247, &b);
    }
    assert_int_equal(s->n, 1);
    assert_int_equal(rpcrdma_net_stats(s->net)->other, 2);
    b.at[1] = 2;
    set(&b, 4, 1, 2); /* shorter than its own header */
    give(s, 247, &b);
    assert_int_equal(s->finding[0].rule, RPCRDMA_RULE_MALFORMED);
    seen_free(s);

    b.n = 0;
    put_lrh(3, 40 + TRANSPORT);
    put_ipv6(&b, 27, TRANSPORT);
    put_transport();
    put(&b, 0xabcd, 2);
    expect_send(247, RPCRDMA_CARRIER_INFINIBAND, RPCRDMA_ADDRESS_IPV6);
}

static void erf_records(void **state)
{
    (void)state;
    b.n = 0;
    put_erf(21, 8 + TRANSPORT + 2);
    put_lrh(2, TRANSPORT);
    put_transport();
    put(&b, 0xabcd, 2);
    expect_send(197, RPCRDMA_CARRIER_INFINIBAND, RPCRDMA_ADDRESS_LID);
    b.n = 0;
    put_erf(0x80 | 21, 8 + TRANSPORT + 2);
    put(&b, 0x8400000000000000, 8); /* two extension headers */
    put(&b, 0x0400000000000000, 8);
    put_lrh(2, TRANSPORT);
    put_transport();
    put(&b, 0xabcd, 2);
    expect_send(197, RPCRDMA_CARRIER_INFINIBAND, RPCRDMA_ADDRESS_LID);
    b.n = 0;
    put_erf(2, INNER);
    put(&b, 0, 2);
    put_frame();
    expect_send(197, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    b.n = 0;
    put_erf(5, INNER); /* ATM: not ours */
    put_frame();
    struct seen *s = seen_new(NULL);
    give(s, 197, &b);
    assert_int_equal(rpcrdma_net_stats(s->net)->other, 1);
    seen_free(s);
}

static void tunnels(void **state)
{
    (void)state;
    outer_udp(4789, 8 + INNER);
    put(&b, 0x0800000000004d00, 8);
    put_frame();
    expect_send(1, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    outer_udp(6081, 8 + 8 + INNER);
    put(&b, 0x0200655800004d00, 8);
    put(&b, 0, 8); /* two words of options */
    put_frame();
    expect_send(1, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    outer_gre(0, 0x0800, INNER - 14);
    put_ip();
    expect_send(1, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    outer_gre(0xb000, 0x6558, 12 + INNER);
    put_fill(&b, 0, 12);
    put_frame();
    expect_send(1, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    outer_gre(0x1000, 0x88be, 4 + 8 + INNER);
    put(&b, 1, 4);
    put(&b, 0x1064180100000001, 8);
    put_frame();
    expect_send(1, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    outer_gre(0x1000, 0x22eb, 4 + 12 + 8 + INNER - 14);
    put(&b, 1, 4);
    put(&b, 0x2064000100000007, 8);
    put(&b, 0x00000801, 4); /* a bare IP packet, and a platform header */
    put(&b, 0, 8);
    put_ip();
    expect_send(1, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    b.n = 0;
    put_ethernet(&b, 0x8847);
    put(&b, 0x0006404000064140, 8);
    put_ip();
    expect_send(1, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
}

/* What is below an MPLS label, or behind a cookie of L2TPv3, shows in itself alone: addresses may look like
 * an Ethertype. */
static void guessed(void **state)
{
    enum { LABEL = 14, IP = LABEL + 4 };
    struct seen *s = seen_new(NULL);

    (void)state;
    b.n = 0;
    put_ethernet(&b, 0x8847);
    put(&b, 0x00064140, 4);
    put_ip();
    set(&b, IP + 12, 0x08004501, 4); /* 8.0.69.1 */
    expect_send(1, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    set(&b, IP + 10, 0xd182, 2);
    put_fill(&b, 0, 2); /* padding of the link: the checksum is right */
    give(s, 1, &b);
    assert_int_equal(s->n, 1);

    b.n = 0;
    put_ethernet(&b, 0x8847);
    put(&b, 0x00064140, 4);
    put_ipv6(&b, 17, 8 + TRANSPORT);
    put_udp(&b, 4791, TRANSPORT);
    put_transport();
    set(&b, IP + 8, 0x20010db808004500, 8); /* 2001:db8:800:4500::1 */
    expect_send(1, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV6);

    for (unsigned control = 0; control < 2; control++)
        for (unsigned first = 0x40; first < 0x70; first += 0x20) { /* as an IP header begins */
            b.n = 0;
            put_ethernet(&b, 0x8847);
            put(&b, 0x00064140, 4);
            if (control)
                put(&b, 0, 4);
            put_frame();
            set(&b, IP + 4 * control, first, 1);
            expect_send(1, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
        }

    outer_udp(1701, 8 + 12 + INNER);
    put(&b, 0x0003000000000007, 8);
    put_fill(&b, 0, 12);
    put_frame();
    set(&b, b.n - INNER, 0x080027000001, 6); /* its first bytes look like IPv4's Ethertype */
    expect_send(1, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    seen_free(s);
}

/* A mirror that cuts packets says so by the inner length: headers count, payload is not there. */
static void cut_by_the_mirror(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    outer_gre(0x1000, 0x88be, 4 + 8 + INNER);
    put(&b, 1, 4);
    put(&b, 0x1064180100000001, 8);
    put_ethernet(&b, 0x0800);
    put_ipv4(&b, 17, 8 + TRANSPORT + 1000);
    put_udp(&b, 4791, TRANSPORT + 1000);
    put_transport();
    give(s, 1, &b);
    assert_int_equal(s->n, 1);
    assert_int_equal(s->op[0].len, 1008);
    assert_int_equal(s->op[0].caplen, 12);
    assert_int_equal(s->finding[0].rule, RPCRDMA_RULE_IP_LENGTH);
    seen_free(s);
}

/* PAUSE by priority, of the link, and a MAC control frame that is neither: IEEE 802.3 clause 31. */
static void paused(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    for (uint32_t opcode = 0; opcode < 0x200; opcode += 0x100) {
        b.n = 0;
        put_ethernet(&b, 0x8808);
        put(&b, opcode | 1, 2);
        put_fill(&b, 0, 44);
        give(s, 1, &b);
    }
    b.n = 0;
    put_ethernet(&b, 0x8808);
    put(&b, 2, 2);
    put_fill(&b, 0, 44);
    give(s, 1, &b);
    b.n = 0;
    put_ethernet(&b, 0x8808); /* cut before its opcode */
    give(s, 1, &b);
    assert_int_equal(rpcrdma_net_stats(s->net)->pauses, 2);
    assert_int_equal(rpcrdma_net_stats(s->net)->rdma, 0);
    seen_free(s);
}

/* Tunnels in tunnels: an end to it, and no deep stack. */
static void nested(void **state)
{
    struct seen *s = seen_new(NULL);
    int told = 0;

    (void)state;
    b.n = 0;
    for (int i = 0; i < 4000; i++)
        put_ethernet(&b, 0x6558);
    put_frame();
    give(s, 1, &b);
    b.n = 0;
    put_ethernet(&b, 0x0800);
    for (size_t i = 0; i < 2000; i++)
        put_ipv4(&b, 4, (2000 - i) * 20 + 100);
    put_fill(&b, 0, 100);
    give(s, 1, &b);
    b.n = 0;
    for (int i = 0; i < 5000; i++) { /* tags are a loop: as many as there are */
        if (i == 0)
            put_ethernet(&b, 0x8100);
        put(&b, 1, 2);
        put(&b, i < 4999 ? 0x8100 : 0x0800, 2);
    }
    put_ip();
    give(s, 1, &b);
    assert_int_equal(rpcrdma_net_stats(s->net)->other, 2);
    assert_int_equal(rpcrdma_net_stats(s->net)->too_deep, 2);
    assert_int_equal(s->n, 1);
    for (size_t i = 0; i < s->n_findings; i++)
        told += s->finding[i].rule == RPCRDMA_RULE_TUNNEL_DEPTH;
    assert_int_equal(told, 1); /* once; and counted */
    seen_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(infiniband), cmocka_unit_test(erf_records),
        cmocka_unit_test(tunnels),    cmocka_unit_test(guessed),
        cmocka_unit_test(cut_by_the_mirror), cmocka_unit_test(paused),
        cmocka_unit_test(nested),
    };

    return cmocka_run_group_tests_name("tunnel", tests, NULL, NULL);
}
