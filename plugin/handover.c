/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "message.h"

#include <epan/epan.h>
#include <epan/epan_dissect.h>
#include <epan/exceptions.h>
#include <epan/show_exception.h>

/*
 * The dissector "rpc" pairs Calls and Replies by conversation and XID. It is given a conversation
 * of our own: one per stream of Calls. So Calls pair although their sender's QP number is not known
 * yet, Calls of both directions of RPC may have the same XID, and a QP number used again, or in a
 * capture of several hosts at once, is another conversation.
 */

enum { QPNS = 1 << 24 };

static dissector_handle_t rpc_handle;

void handover_register(void)
{
    rpc_handle = find_dissector_add_dependency("rpc", proto_rpcrdma);
}

static bool call_rpc(tvbuff_t *rpc, packet_info *pinfo, proto_tree *tree)
{
    volatile int taken = 1;

    TRY
    {
        taken = call_dissector_only(rpc_handle, rpc, pinfo, tree, NULL);
    }
    CATCH_BOUNDS_AND_DISSECTOR_ERRORS
    {
        show_exception(rpc, pinfo, tree, EXCEPT_CODE, GET_MESSAGE);
    }
    ENDTRY;
    return taken != 0;
}

/* Gives a field of bytes another value: the first `known` of its own. */
#if WIRESHARK_VERSION_MAJOR == 4 && WIRESHARK_VERSION_MINOR == 2
/* 4.2 has functions for that and keeps them to itself: the value changes places with that of a
 * field made for it, in a tree of its own. */
static void set_value(field_info *info, const uint8_t *data, uint32_t known, tvbuff_t *tvb,
                      const packet_info *pinfo)
{
    epan_dissect_t *aside = epan_dissect_new(pinfo->epan, TRUE, TRUE);
    field_info *other = PITEM_FINFO(proto_tree_add_bytes_with_length(
        aside->tree, info->hfinfo->id, tvb, info->start, (int)known, data, (int)known));
    fvalue_t *value = info->value;

    info->value = other->value;
    other->value = value;
    epan_dissect_free(aside);
}
#else
static void set_value(field_info *info, const uint8_t *data, uint32_t known,
                      tvbuff_t *tvb G_GNUC_UNUSED, const packet_info *pinfo G_GNUC_UNUSED)
{
    GByteArray *bytes = g_byte_array_new();

    /* where nothing is left it has no data either, not just no length: what prints fields would
     * fall over it */
    if (known > 0)
        g_byte_array_append(bytes, data, known);
#if WIRESHARK_AT_LEAST(4, 4)
    fvalue_set_byte_array(info->value, bytes);
#else
    g_byte_array_free(info->value.value.bytes, TRUE);
    info->value.value.bytes = bytes;
#endif
}
#endif

/* Cuts a value at its first byte that is not known. */
static void cut(field_info *info, uint32_t known, tvbuff_t *tvb, const packet_info *pinfo)
{
    const uint8_t *data = known > 0 ? tvb_get_ptr(tvb, info->start, (int)known) : NULL;

    set_value(info, data, known, tvb, pinfo);
    info->length = (int)known;
}

struct blanks {
    const struct rpc_bytes *rpc;
    const packet_info *pinfo;
};

static void blank_item(proto_node *node, void *context)
{
    const struct blanks *blanks = context;
    const struct rpc_bytes *rpc = blanks->rpc;
    field_info *info = PNODE_FINFO(node);
    uint32_t from, to;

    proto_tree_children_foreach(node, blank_item, context);
    if (!info || !info->hfinfo || info->hfinfo->type != FT_BYTES || info->ds_tvb != rpc->tvb ||
        info->length <= 0)
        return;
    from = (uint32_t)info->start;
    to = from + (uint32_t)info->length;
    for (unsigned i = 0; i < rpc->n_blanks; i++) {
        const struct blank *blank = &rpc->blanks[i];

        if (to <= blank->from || from >= ((blank->to + 3) & ~3u)) /* its padding is no more known */
            continue;
        cut(info, blank->from > from ? blank->from - from : 0, rpc->tvb, blanks->pinfo);
        proto_item_set_text(node, "%s: <%d bytes, then %s>", info->hfinfo->name, info->length,
                            rpc->later ? "in later frames" : "not known");
        return;
    }
}

bool handover(const struct told *told, const struct rpc_bytes *rpc, packet_info *pinfo,
              proto_tree *tree)
{
    /* beyond all QP numbers, of which the InfiniBand dissector has conversations, too */
    uint32_t caller = QPNS + (uint32_t)told->way->stream * 2, callee = caller + 1;
    bool call = told->sort->direction == RPCRDMA_DIRECTION_CALL;
    address src = pinfo->src, dst = pinfo->dst;
    port_type ptype = pinfo->ptype;
    uint32_t srcport = pinfo->srcport, destport = pinfo->destport;
    ws_bool use_endpoints = pinfo->use_conv_addr_port_endpoints;
    struct conversation_element *elements = pinfo->conv_elements;
    const char *proto = pinfo->current_proto;
    bool taken;

    if (!rpc_handle)
        return false;
    /* what the packet's own are worth depends on how far it was dissected */
    summary_set_address(&pinfo->src, &told->way->src->address);
    summary_set_address(&pinfo->dst, &told->way->dst->address);
    pinfo->ptype = PT_IBQP;
    pinfo->srcport = call ? caller : callee;
    pinfo->destport = call ? callee : caller;
    pinfo->use_conv_addr_port_endpoints = FALSE;
    pinfo->conv_elements = NULL;
    taken = call_rpc(rpc->tvb, pinfo, tree);
    if (tree && rpc->n_blanks > 0)
        proto_tree_children_foreach(tree, blank_item, &(struct blanks){rpc, pinfo});
    pinfo->src = src;
    pinfo->dst = dst;
    pinfo->ptype = ptype;
    pinfo->srcport = srcport;
    pinfo->destport = destport;
    pinfo->use_conv_addr_port_endpoints = use_endpoints;
    pinfo->conv_elements = elements;
    pinfo->current_proto = proto;
    return taken;
}
