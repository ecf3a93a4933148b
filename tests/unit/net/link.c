/* SPDX-License-Identifier: BSD-2-Clause */
/* Links and IP: one RC SEND Only of 8 bytes behind every way to get there. */
#include "packet.h"

enum { TRANSPORT = 12 + 8 + 4 };

static void put_transport(struct bytes *b)
{
    put_bth(b, 0x04, 0, 0x11, 0x100);
    put(b, 0x0102030405060708, 8);
    put(b, 0, 4);
}

static void put_roce4(struct bytes *b)
{
    put_ipv4(b, 17, 8 + TRANSPORT);
    put_udp(b, 4791, TRANSPORT);
    put_transport(b);
}

static void put_roce6(struct bytes *b)
{
    put_ipv6(b, 17, 8 + TRANSPORT);
    put_udp(b, 4791, TRANSPORT);
    put_transport(b);
}

static void check_send(const struct seen *s, unsigned carrier, unsigned family)
{
    assert_int_equal(s->n, 1);
    assert_int_equal(s->op[0].carrier, carrier);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_SEND);
    assert_int_equal(s->op[0].src.family, family);
    assert_int_equal(s->op[0].dst.family, family);
    assert_int_equal(s->op[0].dst_qpn, 0x11);
    assert_int_equal(s->op[0].len, 8);
    assert_int_equal(s->op[0].caplen, 8);
    assert_int_equal(get(s->data[0], 8), 0x0102030405060708);
}

/* The packet gives the Send, whole or followed by padding; cut anywhere before the BTH's end it
 * gives nothing and is counted as truncated. */
static void expect_send(uint32_t linktype, const struct bytes *b, unsigned carrier, unsigned family)
{
    struct seen *s = seen_new(NULL);
    struct bytes padded = *b;

    assert_true(rpcrdma_net_link_known(linktype));
    give(s, linktype, b);
    check_send(s, carrier, family);
    s->n = 0;
    put_fill(&padded, 0xee, 22);
    give(s, linktype, &padded);
    check_send(s, carrier, family);
    assert_int_equal(s->n_findings, 0);
    s->n = 0;
    for (size_t caplen = 0; caplen < b->n - 12; caplen++)
        give_cut(s, linktype, b->at, caplen, b->n);
    assert_int_equal(s->n, 0);
    assert_int_equal(rpcrdma_net_stats(s->net)->truncated, b->n - 12);
    seen_free(s);
}

static void links(void **state)
{
    static const uint32_t raw[] = {12, 14, 101};
    struct bytes b = {.n = 0};

    (void)state;
    put_ethernet(&b, 0x0800);
    put_roce4(&b);
    expect_send(1, &b, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);

    b.n = 0;
    put_ethernet(&b, 0x86dd);
    put_roce6(&b);
    expect_send(1, &b, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV6);

    for (size_t i = 0; i < 3; i++) {
        b.n = 0;
        put_roce4(&b);
        expect_send(raw[i], &b, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
        b.n = 0;
        put_roce6(&b);
        expect_send(raw[i], &b, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV6);
    }
    b.n = 0;
    put_roce4(&b);
    expect_send(228, &b, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    b.n = 0;
    put_roce6(&b);
    expect_send(229, &b, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV6);

    b.n = 0;
    put(&b, 0x000000010006, 6); /* to us, ARPHRD_ETHER, 6 bytes of address */
    put(&b, 0x5254007700110000, 8);
    put(&b, 0x0800, 2);
    put_roce4(&b);
    expect_send(113, &b, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    set(&b, 2, 824, 2); /* netlink: the protocol is no Ethertype */
    struct seen *s = seen_new(NULL);
    give(s, 113, &b);
    assert_int_equal(s->n, 0);
    assert_int_equal(rpcrdma_net_stats(s->net)->other, 1);
    seen_free(s);

    b.n = 0;
    put(&b, 0x86dd0000, 4);
    put(&b, 2, 4);
    put(&b, 0x00010006, 4);
    put(&b, 0x5254007700110000, 8);
    put_roce6(&b);
    expect_send(276, &b, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV6);
}

/* Per-packet information before the packet; fields of any length, and of any link but its own. */
static void ppi(void **state)
{
    static const uint32_t inner[] = {1, 101};
    struct bytes b;

    (void)state;
    for (size_t fields = 0; fields <= 12; fields += 12)
        for (size_t i = 0; i < 2; i++) {
            b.n = 0;
            put(&b, 0, 2);
            put(&b, (8 + fields) << 8, 2); /* little-endian */
            put(&b, (uint64_t)inner[i] << 24, 4);
            put_fill(&b, 0xee, fields);
            if (inner[i] == 1)
                put_ethernet(&b, 0x0800);
            put_roce4(&b);
            expect_send(192, &b, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
        }
    for (size_t i = 2; i <= 4; i++) { /* in itself; of a link nobody knows; shorter than it is */
        struct seen *s = seen_new(NULL);

        b.n = 0;
        put(&b, 0, 2);
        put(&b, (i == 4 ? 7u : 8u) << 8, 2);
        put(&b, i == 3 ? 0x39300000 : i == 2 ? 0xc0000000 : 0x65000000, 4);
        put_roce4(&b);
        give(s, 192, &b);
        assert_int_equal(s->n, 0);
        assert_int_equal(rpcrdma_net_stats(s->net)->unknown_link, i == 3);
        assert_int_equal(rpcrdma_net_stats(s->net)->other, i != 3);
        seen_free(s);
    }
}

static void tags(void **state)
{
    static const uint16_t stacks[][5] = {
        {0x8100}, {0x88a8, 0x8100}, {0x9100, 0x8100}, {0x88a8, 0x88a8, 0x8100, 0x8100}};
    struct bytes b;

    (void)state;
    for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
        const uint16_t *tag = stacks[i];

        b.n = 0;
        put_ethernet(&b, *tag);
        for (; *tag; tag++) {
            put(&b, 0x6064, 2);
            put(&b, tag[1] ? tag[1] : 0x0800, 2);
        }
        put_roce4(&b);
        expect_send(1, &b, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    }
}

/* RoCEv1: GIDs, of which those that map an IPv4 address are given as that. */
static void rocev1(void **state)
{
    static const uint8_t expected[16] = {192, 168, 77, 1};
    struct bytes b = {.n = 0};
    struct seen *s;

    (void)state;
    put_ethernet(&b, 0x8915);
    put_ipv6(&b, 27, TRANSPORT);
    put_transport(&b);
    expect_send(1, &b, RPCRDMA_CARRIER_ROCEV1, RPCRDMA_ADDRESS_IPV6);
    for (size_t i = 0; i < 2; i++) {
        set(&b, 22 + 16 * i, 0, 8);
        set(&b, 30 + 16 * i, 0x0000ffffc0a84d01, 8);
    }
    expect_send(1, &b, RPCRDMA_CARRIER_ROCEV1, RPCRDMA_ADDRESS_IPV4);
    s = seen_new(NULL);
    give(s, 1, &b);
    assert_memory_equal(s->op[0].src.bytes, expected, 16);
    b.at[20] = 17; /* a GRH without a BTH behind it */
    s->n = 0;
    give(s, 1, &b);
    assert_int_equal(s->n, 0);
    seen_free(s);
}

static void ipv4_options(void **state)
{
    (void)state;
    for (unsigned words = 6; words <= 15; words++) {
        struct bytes b = {.n = 0};

        put_ethernet(&b, 0x0800);
        put_ipv4(&b, 17, (words - 5) * 4 + 8 + TRANSPORT);
        b.at[14] = (uint8_t)(0x40 | words);
        put_fill(&b, 1, (words - 5) * 4);
        put_udp(&b, 4791, TRANSPORT);
        put_transport(&b);
        expect_send(1, &b, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV4);
    }
}

static void ipv6_extensions(void **state)
{
    static const uint8_t chain[] = {0, 60, 43, 135, 139, 140};
    struct bytes b = {.n = 0};

    (void)state;
    put_ethernet(&b, 0x86dd);
    put_ipv6(&b, chain[0], sizeof(chain) * 16 + 8 + 16 + 8 + TRANSPORT);
    for (size_t i = 0; i < sizeof(chain); i++) { /* 16 bytes each */
        put(&b, i + 1 < sizeof(chain) ? chain[i + 1] : 44, 1);
        put(&b, 1, 1);
        put_fill(&b, 0, 14);
    }
    put(&b, 51, 1); /* an atomic fragment: offset 0, no more */
    put(&b, 0, 7);
    put(&b, 17, 1); /* authentication header: 4 words */
    put(&b, 2, 1);
    put_fill(&b, 0, 14);
    put_udp(&b, 4791, TRANSPORT);
    put_transport(&b);
    expect_send(1, &b, RPCRDMA_CARRIER_ROCEV2, RPCRDMA_ADDRESS_IPV6);
}

static void one(const struct bytes *b, size_t ops, enum rpcrdma_rule_id rule, bool finding,
                const char *counter)
{
    struct seen *s = seen_new(NULL);
    const struct rpcrdma_net_stats *t = rpcrdma_net_stats(s->net);

    give(s, 1, b);
    assert_int_equal(s->n, ops);
    assert_int_equal(s->n_findings, finding);
    if (finding)
        assert_int_equal(s->finding[0].rule, rule);
    if (strcmp(counter, "fragments") == 0)
        assert_int_equal(t->fragments, 1);
    else if (strcmp(counter, "other") == 0)
        assert_int_equal(t->other, 1);
    else
        assert_int_equal(t->rdma, 1);
    seen_free(s);
}

static void fragments(void **state)
{
    struct bytes b = {.n = 0};

    (void)state;
    put_ethernet(&b, 0x0800);
    put_roce4(&b);
    set(&b, 20, 0x2000, 2); /* the first of several */
    one(&b, 0, RPCRDMA_RULE_IP_FRAGMENT, true, "fragments");
    set(&b, 20, 0x2010, 2); /* a later one, whoever's it is */
    one(&b, 0, 0, false, "fragments");
    set(&b, 20, 0x0010, 2); /* the last */
    one(&b, 0, 0, false, "fragments");
    set(&b, 20, 0x2000, 2);
    set(&b, 36, 53, 2); /* not RoCE */
    one(&b, 0, 0, false, "fragments");

    b.n = 0;
    put_ethernet(&b, 0x86dd);
    put_ipv6(&b, 44, 8 + 8 + TRANSPORT);
    put(&b, 0x1100000100000000, 8);
    put_udp(&b, 4791, TRANSPORT);
    put_transport(&b);
    one(&b, 0, RPCRDMA_RULE_IP_FRAGMENT, true, "fragments");
    set(&b, 56, 0x0008, 2);
    one(&b, 0, 0, false, "fragments");
}

static void lengths(void **state)
{
    struct bytes b = {.n = 0};

    (void)state;
    put_ethernet(&b, 0x0800);
    put_roce4(&b);
    set(&b, 16, 0, 2); /* the sender's own view of a packet that its adapter will cut up */
    one(&b, 1, 0, false, "rdma");
    set(&b, 16, 19, 2);
    one(&b, 0, 0, false, "other");
    set(&b, 16, 21, 2); /* no room for UDP */
    one(&b, 0, 0, false, "other");
    set(&b, 16, 28 + TRANSPORT, 2);
    set(&b, 38, 7, 2);
    one(&b, 0, RPCRDMA_RULE_MALFORMED, true, "rdma");
    set(&b, 38, 9 + TRANSPORT, 2);
    one(&b, 0, RPCRDMA_RULE_MALFORMED, true, "rdma");
    set(&b, 38, 65535, 2);
    one(&b, 0, RPCRDMA_RULE_MALFORMED, true, "rdma");
    set(&b, 38, 8 + TRANSPORT, 2);
    b.at[14] = 0x44;
    one(&b, 0, 0, false, "other");
    b.at[14] = 0x4f; /* options beyond the packet's end */
    set(&b, 16, 20, 2);
    one(&b, 0, 0, false, "other");
    b.at[14] = 0x55;
    one(&b, 0, 0, false, "other");
}

/* IP says more than the frame held: a mirror or a tool cut the packet. Its lengths are IP's. */
static void longer_than_the_frame(void **state)
{
    struct bytes b = {.n = 0};
    struct seen *s = seen_new(NULL);

    (void)state;
    put_ethernet(&b, 0x0800);
    put_ipv4(&b, 17, 8 + TRANSPORT + 1000);
    put_udp(&b, 4791, TRANSPORT + 1000);
    put_transport(&b);
    give(s, 1, &b);
    assert_int_equal(s->n, 1);
    assert_int_equal(s->op[0].len, 1008);
    assert_int_equal(s->op[0].caplen, 12); /* what would be the ICRC is data here */
    assert_int_equal(s->n_findings, 1);
    assert_int_equal(s->finding[0].rule, RPCRDMA_RULE_IP_LENGTH);
    give(s, 1, &b);
    assert_int_equal(s->n_findings, 1);
    seen_free(s);
}

/* Nothing of one packet's operation is left in the next one's: addresses of every kind, headers. */
static void one_after_the_other(void **state)
{
    struct bytes kinds[5] = {{.n = 0}};
    struct seen *alone[5], *s = seen_new(NULL);

    (void)state;
    put_ethernet(&kinds[0], 0x0800);
    put_roce4(&kinds[0]);
    put_ethernet(&kinds[1], 0x86dd);
    put_roce6(&kinds[1]);
    for (size_t i = 2; i < 4; i++) { /* only the source, only the destination maps IPv4 */
        kinds[i] = kinds[1];
        set(&kinds[i], i == 2 ? 22 : 38, 0, 8);
        set(&kinds[i], i == 2 ? 30 : 46, 0x0000ffffc0a84d01, 8);
    }
    put_ethernet(&kinds[4], 0x0800);
    put_ipv4(&kinds[4], 17, 8 + 12 + 20 + 8 + 4);
    put_udp(&kinds[4], 4791, 12 + 20 + 8 + 4);
    put_bth(&kinds[4], 0x0b, 0, 0x11, 0x100); /* Write with RETH and ImmDt */
    put_fill(&kinds[4], 0xee, 20 + 8 + 4);
    for (size_t i = 0; i < 5; i++) {
        alone[i] = seen_new(NULL);
        give(alone[i], 1, &kinds[i]);
    }
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 5; k++) {
            struct rpcrdma_op op = alone[k]->op[0];

            s->n = 0;
            give(s, 1, &kinds[i]);
            give(s, 1, &kinds[k]);
            op.frame = s->op[1].frame;
            op.time_ns = s->op[1].time_ns;
            op.data = s->op[1].data;
            assert_memory_equal(&s->op[1], &op, sizeof(op));
        }
    for (size_t i = 0; i < 5; i++)
        seen_free(alone[i]);
    seen_free(s);
}

static void not_ours(void **state)
{
    static const uint32_t unknown[] = {2, 9, 105, 127, 193, 220, 12345, UINT32_MAX};
    struct seen *s = seen_new(NULL);
    struct bytes b = {.n = 0};

    (void)state;
    put_ethernet(&b, 0x0800);
    put_roce4(&b);
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        assert_false(rpcrdma_net_link_known(unknown[i]));
        give(s, unknown[i], &b);
    }
    assert_int_equal(rpcrdma_net_stats(s->net)->unknown_link, 8);
    set(&b, 36, 4790, 2); /* another UDP port */
    give(s, 1, &b);
    set(&b, 12, 0x0806, 2); /* ARP */
    give(s, 1, &b);
    set(&b, 12, 0x0010, 2); /* 802.3 length */
    give(s, 1, &b);
    assert_int_equal(rpcrdma_net_stats(s->net)->other, 3);
    assert_int_equal(s->n, 0);
    assert_int_equal(s->n_findings, 0);
    seen_free(s);
}

/* What net.c sees at one glance is what the layers make of it, whatever byte is other: the same
 * packet without its Ethernet header goes the long way. */
static void at_one_glance(void **state)
{
    static const uint8_t values[] = {0, 1, 2, 4, 0x10, 0x20, 0x40, 0x7f, 0x80, 0xff};
    struct bytes b = {.n = 0};

    (void)state;
    put_ethernet(&b, 0x0800);
    put_roce4(&b);
    for (size_t at = 14; at < b.n; at++) {
        for (size_t i = 0; i < 2 * sizeof(values); i++) {
            struct seen *s = seen_new(NULL), *t = seen_new(NULL);
            uint8_t before = b.at[at];

            b.at[at] = i % 2 ? (uint8_t)(before + values[i / 2]) : values[i / 2];
            for (size_t caplen = 15; caplen <= b.n; caplen += caplen < 40 ? 5 : 1) {
                const struct rpcrdma_net_stats *x = rpcrdma_net_stats(s->net);
                const struct rpcrdma_net_stats *y = rpcrdma_net_stats(t->net);

                s->n = t->n = 0;
                give_cut(s, 1, b.at, caplen, b.n);
                give_cut(t, 101, b.at + 14, caplen - 14, b.n - 14);
                assert_memory_equal(x, y, sizeof(*x));
                assert_int_equal(s->n_findings, t->n_findings);
                assert_int_equal(s->n, t->n);
                s->op[0].data = t->op[0].data = NULL;
                assert_memory_equal(&s->op[0], &t->op[0], sizeof(s->op[0]));
                assert_memory_equal(s->data[0], t->data[0], sizeof(s->data[0]));
            }
            for (size_t k = 0; k < s->n_findings && k < 64; k++)
                assert_int_equal(s->finding[k].rule, t->finding[k].rule);
            b.at[at] = before;
            seen_free(s);
            seen_free(t);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links),
        cmocka_unit_test(ppi),
        cmocka_unit_test(tags),
        cmocka_unit_test(rocev1),
        cmocka_unit_test(ipv4_options),
        cmocka_unit_test(ipv6_extensions),
        cmocka_unit_test(fragments),
        cmocka_unit_test(lengths),
        cmocka_unit_test(longer_than_the_frame),
        cmocka_unit_test(not_ours),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(at_one_glance),
    };

    return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
