/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/net.h"

#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "net/iwarp/tcp.h"
#include "net/packet/damage.h"
#include "net/packet/layer.h"
#include "net/packet/vnet.h"

struct rpcrdma_net *rpcrdma_net_new(const struct rpcrdma_net_config *config,
                                    const struct rpcrdma_net_sink *sink)
{
    struct rpcrdma_net *net = calloc(1, sizeof(*net));
    struct rpcrdma_net_config own = {0};

    if (!net)
        return NULL;
    if (config)
        rpcrdma_copy_sized(&own, sizeof(own), config, sizeof(own));
    rpcrdma_copy_sized(&net->sink, sizeof(net->sink), sink, sizeof(net->sink));
    if (!rpcrdma_tcp_init(net, own.max_memory)) {
        rpcrdma_net_free(net);
        return NULL;
    }
    net->check_crc = own.check_icrc;
    net->give_icrc = own.give_icrc;
    net->icrc_on_request = own.icrc_on_request;
    net->headers_only = own.headers_only;
    net->icrc_step = 1;
    if (own.check_icrc || own.give_icrc || own.icrc_on_request) {
        net->icrc = malloc(sizeof(*net->icrc));
        if (!net->icrc) {
            rpcrdma_net_free(net);
            return NULL;
        }
        rpcrdma_crc_init(net->icrc, RPCRDMA_CRC_ETHERNET);
    }
    net->checksums = rpcrdma_checksums_new();
    if (!net->checksums) {
        rpcrdma_net_free(net);
        return NULL;
    }
    return net;
}

void rpcrdma_net_free(struct rpcrdma_net *net)
{
    if (!net)
        return;
    rpcrdma_tcp_free(net->tcp);
    rpcrdma_vnets_free(net->vnets);
    free(net->icrc);
    free(net->checksums);
    free(net);
}

/* Layer by layer. */
RPCRDMA_RARE static void packet_by_layers(struct rpcrdma_net *net,
                                          const struct rpcrdma_packet *packet)
{
    enum rpcrdma_verdict verdict;
    struct rpcrdma_layer l;

    l.net = net;
    l.packet = packet;
    l.c = rpcrdma_cursor_init(packet->data, packet->caplen, packet->len);
    l.network = l.lrh = l.udp = NULL;
    l.depth = 0;
    l.other = RPCRDMA_OTHER_HEADER;
    l.other_value = 0;
    l.vlan = l.outer_vlan = 0;
    l.vni = 0;
    verdict = rpcrdma_layer_link(&l);
    if (verdict == RPCRDMA_IS_TCP) {
        rpcrdma_layer_ports(&l, RPCRDMA_OTHER_TCP_PORT);
        verdict = rpcrdma_layer_tcp(&l);
    }
    switch (verdict) {
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
        rpcrdma_census_count(&net->census, RPCRDMA_OTHER_LINK, packet->linktype);
        break;
    case RPCRDMA_IS_OTHER:
    case RPCRDMA_IS_TCP: /* which says what it is */
        net->stats.other++;
        rpcrdma_census_count(&net->census, l.other, l.other_value);
        net->stats.rare = net->census.rest;
        break;
    }
}

RPCRDMA_HOT bool rpcrdma_net_packet(struct rpcrdma_net *net, const struct rpcrdma_packet *packet)
{
    assert(packet->caplen <= packet->len);
    net->stats.packets++;
    if (rpcrdma_plain_roce(net, packet))
        net->stats.rdma++;
    else
        packet_by_layers(net, packet);
    return !net->failed;
}

bool rpcrdma_net_damaged(struct rpcrdma_net *net, const struct rpcrdma_packet *packet)
{
    return rpcrdma_packet_damaged(net, packet);
}

bool rpcrdma_net_peek(const struct rpcrdma_packet *packet, struct rpcrdma_op *op)
{
    return rpcrdma_plain_peek(packet, op);
}

size_t rpcrdma_net_plain(const struct rpcrdma_net *net, const struct rpcrdma_packet *first,
                         size_t size, size_t n, struct rpcrdma_op *ops)
{
    return rpcrdma_plain_many(net, first, size, n, ops);
}

void rpcrdma_net_taken(struct rpcrdma_net *net, size_t n)
{
    net->stats.packets += n;
    net->stats.rdma += n;
    if (net->icrc)
        net->icrc_left -= (uint32_t)n;
}

bool rpcrdma_net_replay(struct rpcrdma_net *net, const struct rpcrdma_packet *packet)
{
    bool good;

    net->replays = true;
    good = rpcrdma_net_packet(net, packet);
    net->replays = false;
    return good;
}

bool rpcrdma_net_end(struct rpcrdma_net *net)
{
    rpcrdma_tcp_end(net->tcp);
    return !net->failed;
}

const struct rpcrdma_net_stats *rpcrdma_net_stats(const struct rpcrdma_net *net)
{
    return &net->stats;
}

size_t rpcrdma_net_unreachables(const struct rpcrdma_net *net, struct rpcrdma_net_unreachable *out,
                                size_t max)
{
    size_t n = net->unreachables.n < max ? net->unreachables.n : max;

    memcpy(out, net->unreachables.entry, n * sizeof(*out));
    return n;
}

size_t rpcrdma_net_unresolved(const struct rpcrdma_net *net, struct rpcrdma_net_unresolved *out,
                              size_t max)
{
    return rpcrdma_neighbours_asked(&net->neighbours, out, max);
}

size_t rpcrdma_net_claimed(const struct rpcrdma_net *net, struct rpcrdma_net_claimed *out,
                           size_t max)
{
    size_t n = net->claims.n_changes < max ? net->claims.n_changes : max;

    memcpy(out, net->claims.change, n * sizeof(*out));
    return n;
}

size_t rpcrdma_net_others(const struct rpcrdma_net *net, struct rpcrdma_net_other *out, size_t max)
{
    return rpcrdma_census_entries(&net->census, out, max);
}
