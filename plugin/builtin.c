/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin.h"

#include "connections.h"
#include "feed.h"

/*
 * Wireshark brings a dissector for version 1 along. It claims whatever has 1, 3 or 4 in the fourth
 * word, and an InfiniBand payload is offered first to who had the one before; so it is asked behind
 * ours, by way of us, and only for what ours could not read: in the handoff its heuristics are
 * taken off the list and put there again under their own names, with a function before them that
 * declines the rest. They are in Wireshark's dialogs and options as before; who disables ours has
 * them back.
 */

struct builtin {
    const char *list, *name, *ours;
    heur_dissector_t dissector; /* Wireshark's */
    const heur_dtbl_entry_t *our_entry;
};

static struct builtin builtin[] = {
    {.list = "infiniband.payload",
     .name = "rpcrdma_infiniband",
     .ours = "rpc_over_rdma_infiniband"},
    {.list = "iwarp_ddp_rdmap", .name = "rpcrdma_iwarp", .ours = "rpc_over_rdma_iwarp"},
};

static int proto_rpcordma;

enum { BUILTINS = sizeof(builtin) / sizeof(builtin[0]) };

static ws_bool ask(const struct builtin *one, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                   void *data)
{
    if (one->our_entry->enabled && proto_is_protocol_enabled(one->our_entry->protocol) &&
        !dissect_leaves(pinfo))
        return FALSE;
    return one->dissector(tvb, pinfo, tree, data);
}

static ws_bool ask_infiniband(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    return ask(&builtin[0], tvb, pinfo, tree, data);
}

static ws_bool ask_iwarp(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    return ask(&builtin[1], tvb, pinfo, tree, data);
}

void builtin_register(void)
{
    static const heur_dissector_t instead[BUILTINS] = {ask_infiniband, ask_iwarp};

    proto_rpcordma = proto_get_id_by_filter_name("rpcordma");
    for (int i = 0; i < BUILTINS; i++) {
        struct builtin *one = &builtin[i];
        const heur_dtbl_entry_t *entry = find_heur_dissector_by_unique_short_name(one->name);
        const char *title;
        heuristic_enable_e enable;
        int proto;

        one->our_entry = find_heur_dissector_by_unique_short_name(one->ours);
        if (!entry || !one->our_entry || strcmp(entry->list_name, one->list) != 0)
            continue;
        one->dissector = entry->dissector;
        proto = proto_get_id(entry->protocol);
        title = wmem_strdup(wmem_epan_scope(), entry->display_name);
        enable = entry->enabled ? HEURISTIC_ENABLE : HEURISTIC_DISABLE;
        heur_dissector_delete(one->list, one->dissector, proto);
        heur_dissector_add(one->list, instead[i], title, one->name, proto, enable);
    }
}

/* Where the user disabled our heuristic and not the protocol. */
bool builtin_claimed(const packet_info *pinfo)
{
    /* by number: proto_is_frame_protocol() compares names */
    for (wmem_list_frame_t *layer = wmem_list_head(pinfo->layers); layer;
         layer = wmem_list_frame_next(layer))
        if (GPOINTER_TO_INT(wmem_list_frame_data(layer)) == proto_rpcordma)
            return true;
    return false;
}
