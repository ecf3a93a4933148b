/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts of several VLANs and VNIs: which network packets are said to be of (net/packet/vnet.h). */
#include "packet.h"

static struct bytes b;

enum { TRANSPORT = 12 + 4, LABELS = 256, PAIRS = 8192 };

/* A packet of the n-th two hosts, up to what n bytes of the protocol follow. vlan 0: it has no tag.
 */
static void put_ip_of(uint16_t vlan, uint32_t hosts, bool back, uint8_t protocol, size_t n)
{
    size_t ip;

    b.n = 0;
    put_ethernet(&b, vlan ? 0x8100 : 0x0800);
    if (vlan) {
        put(&b, 0x6000 | vlan, 2);
        put(&b, 0x0800, 2);
    }
    ip = b.n;
    put_ipv4(&b, protocol, n);
    set(&b, ip + (back ? 16 : 12), 0x0a000000 + hosts, 4);
    set(&b, ip + (back ? 12 : 16), 0x0b000000 + hosts, 4);
}

static void put_tagged(uint16_t vlan, uint32_t hosts, bool back, uint32_t psn)
{
    put_ip_of(vlan, hosts, back, 17, 8 + TRANSPORT);
    put_udp(&b, 4791, TRANSPORT);
    put_bth(&b, 0x04, 0, 0x11, psn);
    put(&b, 0, 4);
}

static uint32_t psn;

static unsigned network_of(const struct rpcrdma_address *address)
{
    for (size_t i = 6; i < sizeof(address->bytes); i++)
        assert_int_equal(address->bytes[i], 0);
    return (unsigned)address->bytes[4] << 8 | address->bytes[5];
}

/* Its network's number. */
static unsigned given(struct seen *s)
{
    size_t at = s->n < 64 ? s->n : 0;

    s->n = at;
    give(s, 1, &b);
    assert_int_equal(s->n, at + 1);
    assert_int_equal(network_of(&s->op[at].src), network_of(&s->op[at].dst));
    return network_of(&s->op[at].src);
}

static unsigned sent(struct seen *s, uint16_t vlan, uint32_t hosts, bool back)
{
    put_tagged(vlan, hosts, back, psn += 7);
    return given(s);
}

/* TCP of any kind of a second network passes between the first packets of the one before: what is
 * known of the first stays with its number. */
static void tcp_between(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    assert_int_equal(sent(s, 10, 1, false), 0);
    put_ip_of(20, 1, true, 6, 20 + 32);
    put(&b, 111 << 16 | 900, 4);
    put(&b, 1, 4);
    put(&b, 1, 4);
    put(&b, 0x50100000, 4);
    for (int i = 0; i < 1 + 8; i++)
        put(&b, 0, 4);
    give(s, 1, &b);
    assert_int_equal(s->n, 1); /* of no interest by itself */
    assert_int_equal(sent(s, 10, 1, true), 0);
    assert_int_equal(sent(s, 20, 1, false), 1);
    assert_int_equal(sent(s, 20, 1, true), 1);
    assert_int_equal(sent(s, 10, 1, false), 0);
    seen_free(s);
}

static void numbered(void **state)
{
    struct seen *s = seen_new(NULL);
    struct rpcrdma_network network;

    (void)state;
    assert_int_equal(sent(s, 0, 1, false), 0);
    assert_int_equal(sent(s, 10, 1, false), 0);
    assert_false(rpcrdma_net_network(s->net, &s->op[1].src, &s->op[1].dst, &network));
    assert_int_equal(sent(s, 10, 1, true), 0);
    assert_int_equal(sent(s, 20, 1, true), 1);
    assert_int_equal(sent(s, 20, 1, false), 1);
    assert_int_equal(sent(s, 0, 1, false), 0);
    assert_int_equal(sent(s, 30, 1, false), 2);
    assert_int_equal(sent(s, 20, 2, false), 0); /* of other hosts */
    assert_true(rpcrdma_net_network(s->net, &s->op[3].src, &s->op[3].dst, &network));
    assert_int_equal(network.vlan, 20);
    assert_true(rpcrdma_net_network(s->net, &s->op[0].dst, &s->op[0].src, &network));
    assert_int_equal(network.vlan, 10);
    assert_int_equal(network.outer_vlan, 0);
    assert_false(network.has_vni);
    assert_false(rpcrdma_net_network(s->net, &s->op[7].src, &s->op[7].dst, &network));
    seen_free(s);
}

/* Taken for two, until a packet shows that they are one. */
static void joined(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    assert_int_equal(sent(s, 10, 1, false), 0);
    assert_int_equal(sent(s, 20, 1, false), 1);
    put_tagged(10, 1, false, 1234);
    assert_int_equal(given(s), 0);
    put_tagged(20, 1, false, 1234);
    assert_int_equal(given(s), 0);
    assert_int_equal(sent(s, 20, 1, false), 0);
    assert_int_equal(sent(s, 20, 1, true), 0); /* in the other direction, too */
    assert_int_equal(sent(s, 10, 1, true), 0);
    put_tagged(30, 1, false, 1234);
    assert_int_equal(given(s), 0); /* whose first packet shows it */
    put_tagged(40, 1, false, 1234);
    s->frame += 20000; /* 20 ms later: another packet */
    give(s, 1, &b);
    assert_int_equal(network_of(&s->op[s->n - 1].src), 2);
    rpcrdma_net_free(s->net);
    free(s);
}

/* Of more labels than are remembered nothing is told apart; nor of more hosts. */
static void bounded(void **state)
{
    struct seen *s = seen_new(NULL);
    unsigned apart = 0;

    (void)state;
    for (uint16_t vlan = 1; vlan <= LABELS + 10; vlan++)
        assert_int_equal(sent(s, vlan, 1, false), vlan <= LABELS ? vlan - 1 : 0);
    for (uint32_t hosts = 2; hosts < PAIRS; hosts++)
        for (uint16_t vlan = 1; vlan <= 2; vlan++)
            apart += sent(s, vlan, hosts, false);
    assert_true(apart > 4000 && apart < PAIRS - 2);
    assert_int_equal(sent(s, 77, 1, false), 76);
    seen_free(s);
}

/* Behind an address of IPv6 there is no room for a number. */
static void ipv6(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        b.n = 0;
        put_ethernet(&b, 0x8100);
        put(&b, 10 + 10 * i, 2);
        put(&b, 0x86dd, 2);
        put_ipv6(&b, 17, 8 + TRANSPORT);
        put_udp(&b, 4791, TRANSPORT);
        put_bth(&b, 0x04, 0, 0x11, psn += 7);
        put(&b, 0, 4);
        give(s, 1, &b);
    }
    assert_int_equal(s->n, 2);
    assert_memory_equal(&s->op[0].src, &s->op[1].src, sizeof(s->op[0].src));
    seen_free(s);
}

/* Cut at every byte, with every byte wrong. */
static void cut(void **state)
{
    (void)state;
    put_tagged(10, 1, false, 5);
    for (size_t n = 0; n <= b.n; n++) {
        struct seen *s = seen_new(NULL);

        put_tagged(10, 1, false, 5);
        give(s, 1, &b);
        put_tagged(20, 1, false, 5);
        give_cut(s, 1, b.at, n, b.n);
        if (n < b.n)
            b.at[n] ^= 0xff;
        give(s, 1, &b);
        seen_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbered), cmocka_unit_test(joined), cmocka_unit_test(bounded),
        cmocka_unit_test(ipv6),     cmocka_unit_test(cut),    cmocka_unit_test(tcp_between),
    };

    return cmocka_run_group_tests_name("vnet", tests, NULL, NULL);
}
