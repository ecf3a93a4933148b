/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hooks/hooks.h"

#include <epan/dissectors/packet-iwarp-ddp-rdmap.h>

#include "connections/connections.h"
#include "wire/message.h"
#include "wire/rpc.h"
#include "wireshark/prefs.h"

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
    bool on_iwarp;
    heur_dissector_t dissector; /* Wireshark's */
    const heur_dtbl_entry_t *our_entry;
};

static struct builtin builtin[] = {
    {.list = "infiniband.payload",
     .name = "rpcrdma_infiniband",
     .ours = "rpc_over_rdma_infiniband"},
    {.list = "iwarp_ddp_rdmap",
     .name = "rpcrdma_iwarp",
     .ours = "rpc_over_rdma_iwarp",
     .on_iwarp = true},
};

static int proto_rpcordma;

enum { BUILTINS = sizeof(builtin) / sizeof(builtin[0]) };

/* XIDs that the built-in has seen, but for Replies. */
static wmem_map_t *asked;

void builtin_file(void)
{
    asked = wmem_map_new(wmem_file_scope(), g_direct_hash, g_direct_equal);
}

/* Not a Write, whose bytes look like anything. */
static bool is_send(const void *data)
{
    enum { SENDS = 0 }; /* RFC 5040 section 5.1: the queue number */
    const rdmap_info_t *info = data;

    return info && !info->is_tagged && info->queue_number == SENDS;
}

/* Whether its Call was ours, and "rpc" would make one up, of program 0. In one pass the built-in is
 * asked for what is held back. */
static bool is_stray_reply(tvbuff_t *tvb)
{
    uint32_t caplen = tvb_captured_length(tvb);
    struct rpcrdma_message m;
    struct rpcrdma_rpc rpc;

    rpcrdma_message_decode(NULL, caplen > 0 ? tvb_get_ptr(tvb, 0, (int)caplen) : NULL, caplen,
                           MAX(caplen, tvb_reported_length(tvb)), &m);
    if (m.status != RPCRDMA_OK)
        return false;
    if (!m.payload.data) { /* all is in chunks */
        wmem_map_insert(asked, GUINT_TO_POINTER(m.xid), GUINT_TO_POINTER(1));
        return false;
    }
    rpcrdma_rpc_decode(m.payload.data, m.payload.caplen, m.payload.len, &rpc);
    if (!(rpc.present & RPCRDMA_RPC_HAS_TYPE))
        return false;
    if (rpc.type == RPCRDMA_RPC_REPLY)
        return !wmem_map_contains(asked, GUINT_TO_POINTER(rpc.xid));
    wmem_map_insert(asked, GUINT_TO_POINTER(rpc.xid), GUINT_TO_POINTER(1));
    return false;
}

static ws_bool ask(const struct builtin *one, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                   void *data)
{
    if (one->our_entry->enabled && proto_is_protocol_enabled(one->our_entry->protocol)) {
        if (!dissect_leaves(pinfo))
            return FALSE;
        if (one->on_iwarp && !settings.leave_version1 && !pinfo->fd->visited && is_send(data) &&
            is_stray_reply(tvb) && connections_tcp(pinfo))
            return FALSE;
    }
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
