/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "message.h"

#include <epan/exceptions.h>
#include <epan/show_exception.h>

/*
 * The dissector "rpc" pairs Calls and Replies by conversation and XID. It is given a conversation
 * of our own: one per stream of Calls. So Calls pair although their sender's QP number is not known
 * yet, Calls of both directions of RPC may have the same XID, and a QP number used again, or in a
 * capture of several hosts at once, is another conversation.
 */

static dissector_handle_t rpc_handle;

void handover_register(void)
{
    rpc_handle = find_dissector_add_dependency("rpc", proto_rpcrdma);
}

static void call_rpc(tvbuff_t *rpc, packet_info *pinfo, proto_tree *tree)
{
    TRY
    {
        call_dissector_only(rpc_handle, rpc, pinfo, tree, NULL);
    }
    CATCH_NONFATAL_ERRORS
    {
        show_exception(rpc, pinfo, tree, EXCEPT_CODE, GET_MESSAGE);
    }
    ENDTRY;
}

static void set_empty(field_info *info)
{
#if WIRESHARK_AT_LEAST(4, 2)
    fvalue_set_byte_array(info->value, g_byte_array_new());
#else
    /* without data, not just without length: what prints fields would fall over it */
    g_byte_array_free(info->value.value.bytes, TRUE);
    info->value.value.bytes = g_byte_array_new();
#endif
    info->length = 0;
}

static void blank_item(proto_node *node, void *context)
{
    const struct rpc_bytes *rpc = context;
    field_info *info = PNODE_FINFO(node);

    for (unsigned i = 0; info && info->hfinfo && i < rpc->n_blanks; i++) {
        uint32_t from = (uint32_t)info->start, to = from + (uint32_t)info->length;

        if (info->ds_tvb != rpc->tvb || info->hfinfo->type != FT_BYTES || info->length <= 0 ||
            from < rpc->blanks[i].from || to > ((rpc->blanks[i].to + 3) & ~3u))
            continue;
        set_empty(info);
        proto_item_set_text(node, "%s: <%s>", info->hfinfo->name,
                            rpc->later ? "in later frames" : "not known");
        break;
    }
    proto_tree_children_foreach(node, blank_item, context);
}

void handover(const struct told *told, const struct rpc_bytes *rpc, packet_info *pinfo,
              proto_tree *tree)
{
    uint32_t callee = (uint32_t)told->stream * 2 + 1, caller = callee - 1;
    bool call = told->direction == RPCRDMA_DIRECTION_CALL;
    port_type ptype = pinfo->ptype;
    uint32_t srcport = pinfo->srcport, destport = pinfo->destport;
    ws_bool use_endpoints = pinfo->use_conv_addr_port_endpoints;
    struct conversation_element *elements = pinfo->conv_elements;
    const char *proto = pinfo->current_proto;

    if (!rpc_handle)
        return;
    pinfo->ptype = PT_IBQP;
    pinfo->srcport = call ? caller : callee;
    pinfo->destport = call ? callee : caller;
    pinfo->use_conv_addr_port_endpoints = FALSE;
    pinfo->conv_elements = NULL;
    call_rpc(rpc->tvb, pinfo, tree);
    if (tree && rpc->n_blanks > 0)
        proto_tree_children_foreach(tree, blank_item, (void *)(uintptr_t)rpc);
    pinfo->ptype = ptype;
    pinfo->srcport = srcport;
    pinfo->destport = destport;
    pinfo->use_conv_addr_port_endpoints = use_endpoints;
    pinfo->conv_elements = elements;
    pinfo->current_proto = proto;
}
