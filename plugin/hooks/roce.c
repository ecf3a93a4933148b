/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hooks/hooks.h"

#include <epan/conversation.h>
#include <epan/proto_data.h>
#include <epan/tap.h>

/*
 * For each payload UDP asks four times which conversation it is of that has a dissector, and then
 * goes by the port, which costs more than the plugin adds to a packet. So once a packet turned out
 * to be RPC-over-RDMA on RoCE its conversation records who dissected it. What comes out is the
 * same: Decode As makes Wireshark forget its conversations; and where payloads of UDP are exported,
 * which say how they came to their dissector, UDP goes by the port still.
 */

static dissector_handle_t noted; /* what conversations record: hands over to */
static dissector_handle_t roce;  /* the InfiniBand dissector's own, for UDP; NULL: not met yet */
static int proto_infiniband, proto_udp, hf_srcport, hf_dstport, export_tap;
static uint32_t came; /* the frame in hand came by its conversation */

static int dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    (void)data;
    if (!roce || have_tap_listener(export_tap))
        return 0;
    came = pinfo->num;
    return call_dissector_only(roce, tvb, pinfo, tree, NULL);
}

void roce_register(void)
{
    /* of no protocol: it is no layer */
    noted = create_dissector_handle_with_name(dissect, -1, "rpcrdma.roce");
    proto_infiniband = proto_get_id_by_filter_name("infiniband");
    proto_udp = proto_get_id_by_filter_name("udp");
    hf_srcport = proto_registrar_get_id_byname("udp.srcport");
    hf_dstport = proto_registrar_get_id_byname("udp.dstport");
    export_tap = find_tap_id("OSI layer 4");
}

void roce_file(void)
{
    roce = NULL;
    came = 0;
}

/* "udp", "infiniband", and the heuristic in hand: the number of the first among the layers. */
static int udp_layer(const packet_info *pinfo)
{
    wmem_list_frame_t *layer = wmem_list_tail(pinfo->layers);

    layer = layer ? wmem_list_frame_prev(layer) : NULL;
    if (!layer || GPOINTER_TO_INT(wmem_list_frame_data(layer)) != proto_infiniband)
        return -1;
    layer = wmem_list_frame_prev(layer);
    if (!layer || GPOINTER_TO_INT(wmem_list_frame_data(layer)) != proto_udp)
        return -1;
    return pinfo->curr_layer_num - 2;
}

static uint32_t port(packet_info *pinfo, int hf, int layer)
{
    return GPOINTER_TO_UINT(p_get_proto_data(pinfo->pool, pinfo, hf, (uint32_t)layer));
}

void roce_claimed(packet_info *pinfo)
{
    int layer = pinfo->fd->visited || came == pinfo->num ? -1 : udp_layer(pinfo);
    uint32_t srcport, dstport;
    dissector_handle_t by_port;
    conversation_t *conversation;

    if (layer < 0)
        return;
    srcport = port(pinfo, hf_srcport, layer);
    dstport = port(pinfo, hf_dstport, layer);
    by_port = dissector_get_uint_handle(find_dissector_table("udp.port"), dstport);
    if (!by_port || dissector_handle_get_protocol_index(by_port) != proto_infiniband ||
        (roce && by_port != roce))
        return;
    conversation = find_conversation(pinfo->num, &pinfo->net_src, &pinfo->net_dst, CONVERSATION_UDP,
                                     srcport, dstport, 0);
    if (!conversation || conversation_get_dissector(conversation, pinfo->num))
        return;
    roce = by_port;
    conversation_set_dissector(conversation, noted);
}
