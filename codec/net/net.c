/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/net.h"

#include <stdlib.h>
#include <string.h>

#include "net/layer.h"
#include "net/tcp.h"

struct rpcrdma_net *rpcrdma_net_new(const struct rpcrdma_net_config *config,
                                    const struct rpcrdma_net_sink *sink)
{
    struct rpcrdma_net *net = calloc(1, sizeof(*net));

    if (!net)
        return NULL;
    net->sink = *sink;
    if (!rpcrdma_tcp_init(net, config ? config->max_memory : 0)) {
        rpcrdma_net_free(net);
        return NULL;
    }
    if (config && config->check_icrc) {
        net->check_crc = true;
        net->icrc = malloc(sizeof(*net->icrc));
        if (!net->icrc) {
            rpcrdma_net_free(net);
            return NULL;
        }
        rpcrdma_crc_init(net->icrc, RPCRDMA_CRC_ETHERNET);
    }
    return net;
}

void rpcrdma_net_free(struct rpcrdma_net *net)
{
    if (!net)
        return;
    rpcrdma_tcp_free(net->tcp);
    free(net->icrc);
    free(net);
}

/*
 * What nearly every packet of a RoCEv2 capture is: Ethernet, IPv4 without options, whole, and UDP
 * to RoCE's port, with lengths that agree. Seen at one glance, it does without link.c's and ip.c's
 * questions. False: anything else, or anything odd; nothing was done.
 */
static inline bool plain_roce(struct rpcrdma_layer *l)
{
    enum { IP = 14, UDP = IP + 20, BTH = UDP + 8, PROTOCOL_UDP = 17, PORT = 4791 };
    const uint8_t *p = l->c.base;
    size_t total, bytes;

    if (l->packet->linktype != RPCRDMA_LINK_ETHERNET || l->c.caplen < BTH ||
        rpcrdma_get_be16(p + 12) != RPCRDMA_ETHERTYPE_IPV4 || p[IP] != 0x45 ||
        (rpcrdma_get_be16(p + IP + 6) & 0x3fff) != 0 || p[IP + 9] != PROTOCOL_UDP ||
        rpcrdma_get_be16(p + UDP + 2) != PORT)
        return false;
    total = rpcrdma_get_be16(p + IP + 2);
    bytes = rpcrdma_get_be16(p + UDP + 4);
    if (bytes < BTH - UDP || UDP + bytes > IP + total || IP + total > l->c.len)
        return false;
    l->c.off = BTH;
    l->c.len = UDP + bytes;
    if (l->c.caplen > l->c.len)
        l->c.caplen = l->c.len;
    l->network = p + IP;
    l->udp = p + UDP;
    l->src = p + IP + 12;
    l->dst = p + IP + 16;
    l->family = RPCRDMA_ADDRESS_IPV4;
    l->carrier = RPCRDMA_CARRIER_ROCEV2;
    return true;
}

void rpcrdma_net_packet(struct rpcrdma_net *net, const struct rpcrdma_packet *packet)
{
    struct rpcrdma_layer l;

    assert(packet->caplen <= packet->len);
    l.net = net;
    l.packet = packet;
    /* Field by field: copying a whole cursor right after it was stored stalls for 15 ns. */
    l.c.base = packet->data;
    l.c.off = 0;
    l.c.caplen = packet->caplen;
    l.c.len = packet->len;
    l.c.status = RPCRDMA_OK;
    l.network = l.lrh = l.udp = NULL;
    l.depth = 0;
    net->stats.packets++;
    switch (plain_roce(&l) ? rpcrdma_layer_bth(&l) : rpcrdma_layer_link(&l)) {
    case RPCRDMA_IS_RDMA:
        net->stats.rdma++;
        break;
    case RPCRDMA_IS_FRAGMENT:
        net->stats.fragments++;
        break;
    case RPCRDMA_IS_TRUNCATED:
        net->stats.truncated++;
        break;
    case RPCRDMA_IS_UNKNOWN_LINK:
        net->stats.unknown_link++;
        break;
    case RPCRDMA_IS_OTHER:
        net->stats.other++;
        break;
    }
}

void rpcrdma_net_end(struct rpcrdma_net *net)
{
    rpcrdma_tcp_end(net->tcp);
}

const struct rpcrdma_net_stats *rpcrdma_net_stats(const struct rpcrdma_net *net)
{
    return &net->stats;
}

void rpcrdma_layer_finding(struct rpcrdma_layer *l, enum rpcrdma_rule_id rule, const char *what,
                           uint64_t arg0, uint64_t arg1)
{
    struct rpcrdma_finding finding = {
        .rule = rule,
        .frame = l->packet->frame,
        .offset = -1,
        .arg = {arg0, arg1},
        .what = what,
    };

    if (l->net->sink.finding)
        l->net->sink.finding(l->net->sink.context, &finding);
}

enum rpcrdma_verdict rpcrdma_layer_failed(struct rpcrdma_layer *l, bool rdma)
{
    if (l->c.status == RPCRDMA_TRUNCATED) {
        /* A small snap length cuts every packet here: said once, counted each time. */
        if (!l->net->told_truncated)
            rpcrdma_layer_finding(l, RPCRDMA_RULE_TRUNCATED, l->c.what, 0, 0);
        l->net->told_truncated = true;
        return RPCRDMA_IS_TRUNCATED;
    }
    if (!rdma)
        return RPCRDMA_IS_OTHER;
    rpcrdma_layer_finding(l, RPCRDMA_RULE_MALFORMED, l->c.what, 0, 0);
    return RPCRDMA_IS_RDMA;
}

bool rpcrdma_layer_mapped(const uint8_t *bytes)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(bytes, mapped, sizeof(mapped)) == 0;
}
