/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/conversations.h"

#include <epan/conversation_table.h>

#include "taps/taps.h"
#include "wireshark/address.h"
#include "wireshark/protocol.h"

/* Statistics, Conversations and Endpoints: tabs "RPC-over-RDMA", whose packets are messages and
 * whose ports are QP numbers, or TCP's. */

/* Of LIDs Wireshark makes text that no filter takes. */
static const char *filter_of(conv_filter_type_e type, const address *at, bool tcp)
{
    bool ipv6 = at->type == AT_IPv6;

    switch (type) {
    case CONV_FT_SRC_ADDRESS:
        return ipv6 ? "rpcrdma.src_ipv6" : "rpcrdma.src";
    case CONV_FT_DST_ADDRESS:
        return ipv6 ? "rpcrdma.dst_ipv6" : "rpcrdma.dst";
    case CONV_FT_ANY_ADDRESS:
        return ipv6 ? "rpcrdma.addr_ipv6" : "rpcrdma.addr";
    case CONV_FT_SRC_PORT:
        return tcp ? "rpcrdma.src_port" : "rpcrdma.src_qpn";
    case CONV_FT_DST_PORT:
        return tcp ? "rpcrdma.dst_port" : "rpcrdma.dst_qpn";
    case CONV_FT_ANY_PORT:
        return tcp ? "rpcrdma.port" : CONV_FILTER_INVALID; /* Wireshark asks for TCP's only */
    default:
        return CONV_FILTER_INVALID;
    }
}

static const char *conversation_filter(conv_item_t *item, conv_filter_type_e type)
{
    return filter_of(type, &item->src_address, item->ctype == CONVERSATION_TCP);
}

static const char *endpoint_filter(endpoint_item_t *item, conv_filter_type_e type)
{
    return filter_of(type, &item->myaddress, item->etype == ENDPOINT_TCP);
}

static uint32_t port_of(const struct rpcrdma_endpoint *end, bool tcp)
{
    return tcp ? end->port : end->qpn;
}

static tap_packet_status conversation(void *table, packet_info *pinfo, epan_dissect_t *edt,
                                      const void *data, tap_flags_t flags)
{
    static ct_dissector_info_t info = {conversation_filter};
    const struct message_note *message_note = data;
    const struct path *path = message_note->path;
    bool tcp = path->carrier == RPCRDMA_CARRIER_IWARP;
    conv_hash_t *hash = table;
    address src = ADDRESS_INIT_NONE, dst = ADDRESS_INIT_NONE;

    (void)edt;
    hash->flags = flags;
    address_set(&src, &path->src->address);
    address_set(&dst, &path->dst->address);
    add_conversation_table_data(hash, &src, &dst, port_of(path->src, tcp), port_of(path->dst, tcp),
                                1, (int)MIN(message_note->place.len, INT_MAX), &pinfo->rel_ts,
                                &pinfo->abs_ts, &info, tcp ? CONVERSATION_TCP : CONVERSATION_IBQP);
    return TAP_PACKET_REDRAW;
}

static tap_packet_status endpoint(void *table, packet_info *pinfo, epan_dissect_t *edt,
                                  const void *data, tap_flags_t flags)
{
    static et_dissector_info_t info = {endpoint_filter};
    const struct message_note *message_note = data;
    const struct path *path = message_note->path;
    bool tcp = path->carrier == RPCRDMA_CARRIER_IWARP;
    conv_hash_t *hash = table;

    (void)pinfo;
    (void)edt;
    hash->flags = flags;
    for (int sender = 0; sender < 2; sender++) {
        const struct rpcrdma_endpoint *end = sender ? path->src : path->dst;
        address at = ADDRESS_INIT_NONE;

        address_set(&at, &end->address);
        add_endpoint_table_data(hash, &at, port_of(end, tcp), sender, 1,
                                (int)MIN(message_note->place.len, INT_MAX), &info,
                                tcp ? ENDPOINT_TCP : ENDPOINT_IBQP);
    }
    return TAP_PACKET_REDRAW;
}

void conversations_register(void)
{
    register_conversation_table(proto_rpcrdma, FALSE, conversation, endpoint);
}
