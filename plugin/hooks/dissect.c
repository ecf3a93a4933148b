/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hooks/hooks.h"

#include <epan/column-utils.h>

#include "connections/connections.h"
#include "connections/decode_as.h"
#include "feed/feed.h"
#include "feed/late.h"
#include "objects/export.h"
#include "rpc/handover.h"
#include "show/show.h"
#include "stats/stats.h"
#include "wireshark/numbers.h"
#include "wireshark/prefs.h"

static bool left_alone(const struct frame_note *note)
{
    if (!settings.leave_version1)
        return false;
    for (const struct message_note *message_note = note->messages; message_note;
         message_note = message_note->next)
        if (!store_left_alone(message_note))
            return false;
    for (const struct carried *carried = note_more(note)->carried; carried; carried = carried->next)
        if (!carried->left_alone)
            return false;
    return true;
}

/* The frame in hand: all of it is shown by whichever hook comes first. */
static uint32_t shown;

/* Every frame of a connection says which, so that it can be filtered for. */
static void show_connection(const struct frame_note *note, packet_info *pinfo, proto_tree *tree)
{
    uint32_t number;

    if (!proto_field_is_referenced(tree, proto_rpcrdma))
        return;
    number = connections_of(numbers_fed(pinfo));
    for (const struct message_note *message_note = note && shown == pinfo->num ? note->messages
                                                                               : NULL;
         message_note; message_note = message_note->next)
        if (!store_left_alone(message_note) && message_note->path->connection == number)
            return;
    if (number != 0)
        proto_item_set_generated(proto_tree_add_uint(tree, field_hf(RPCRDMA_FIELD_CONNECTION),
                                                     feed_raw(pinfo), 0, 0, number));
}

static void show(const struct frame_note *note, packet_info *pinfo, proto_tree *tree)
{
    if (!note || shown == pinfo->num)
        return;
    shown = pinfo->num;
    show_frame(note, feed_raw(pinfo), pinfo, tree);
}

/* What the built-in dissector shows. It was asked as nothing in the frame could be read, and why is
 * in the findings. */
static void show_claimed(const struct frame_note *note, packet_info *pinfo, proto_tree *tree)
{
    if (!pinfo->fd->visited)
        late_claimed(numbers_fed(pinfo));
    if (note && !settings.leave_version1)
        show_findings(note, feed_raw(pinfo), pinfo, tree);
}

/* Of a ConnectRequest over IP the InfiniBand dissector leaves a LID as the packet's source. */
static void restore_source(const struct frame_note *note, packet_info *pinfo)
{
    if (note && note->kind == RPCRDMA_OP_CONNECT && pinfo->src.type == AT_IB &&
        (pinfo->net_src.type == AT_IPv4 || pinfo->net_src.type == AT_IPv6))
        copy_address_shallow(&pinfo->src, &pinfo->net_src);
}

/* As they were when a heuristic had shown the frame: of a further FPDU in it Wireshark sets them
 * anew. */
struct columns {
    uint32_t frame; /* 0: none */
    const char *protocol, *info;
};
static struct columns columns;

static const char *column(const packet_info *pinfo, int which)
{
    const char *text = col_get_text(pinfo->cinfo, which);

    return wmem_strdup(pinfo->pool, text ? text : "");
}

static void keep_columns(const packet_info *pinfo)
{
    if (pinfo->ptype != PT_IWARP_MPA || !col_get_writable(pinfo->cinfo, COL_INFO))
        return;
    columns.frame = pinfo->num;
    columns.protocol = column(pinfo, COL_PROTOCOL);
    columns.info = column(pinfo, COL_INFO);
}

static void restore_columns(const packet_info *pinfo)
{
    const struct columns were = columns;
    const char *info = col_get_text(pinfo->cinfo, COL_INFO);

    columns.frame = 0;
    if (were.frame != pinfo->num || (info && g_str_has_prefix(info, were.info)))
        return;
    col_clear_fence(pinfo->cinfo, COL_PROTOCOL);
    col_add_str(pinfo->cinfo, COL_PROTOCOL, were.protocol);
    col_clear_fence(pinfo->cinfo, COL_INFO);
    col_add_str(pinfo->cinfo, COL_INFO, were.info);
}

/* Every frame, after all else: what no dissector below could hand over, because it was cut short,
 * or begins in the middle. */
static int post_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct frame_note *note;

    (void)data;
    restore_columns(pinfo);
    feed_frame(pinfo);
    note = store_find(numbers_fed(pinfo));
    if (shown != pinfo->num && (note || !pinfo->fd->visited)) {
        if (!builtin_claimed(pinfo))
            show(note, pinfo, tree);
        else
            show_claimed(note, pinfo, tree);
    }
    show_connection(note, pinfo, tree);
    taps_frame(pinfo, note);
    if (!pinfo->fd->visited)
        show_late(feed_raw(pinfo), pinfo, tree);
    restore_source(note, pinfo);
    feed_frame_done();
    shown = 0;
    return (int)tvb_captured_length(tvb);
}

/* Its receiver drops it, and what it says comes again as it was. */
static bool damaged(const struct frame_note *note)
{
    for (const struct found *found = note ? note_more(note)->findings : NULL; found;
         found = found->next)
        if (found->finding.rule == RPCRDMA_RULE_TCP_DAMAGED)
            return true;
    return false;
}

/* Of what net/ and flow/ could read, ours is said to be ours, and the rest is not RPC-over-RDMA. A
 * DDP segment that overtook another in TCP was read in the frame that filled the gap. */
bool dissect_leaves(packet_info *pinfo)
{
    const struct frame_note *note;

    feed_frame(pinfo);
    note = store_find(numbers_fed(pinfo));
    if (settings.leave_version1 && (!note || !note->ours || left_alone(note)))
        return true;
    return store_stream(numbers_fed(pinfo)) == 0 && !(note && note->ours) &&
           !decode_as_all_given() && !damaged(note) &&
           !(pinfo->fd->visited && connections_tcp(pinfo));
}

/* The payload of an InfiniBand packet or DDP segment. */
static ws_bool claim(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct frame_note *note;
    dissector_handle_t other;

    feed_frame(pinfo);
    if (decode_as_qpn(pinfo, &other) && other && call_dissector_only(other, tvb, pinfo, tree, data))
        return TRUE;
    note = store_find(numbers_fed(pinfo));
    if (!note || !note->ours || left_alone(note))
        return FALSE;
    roce_claimed(pinfo);
    if (shown != pinfo->num) {
        show(note, pinfo, tree);
        keep_columns(pinfo);
    }
    return TRUE;
}

/* Chosen by Decode As for every payload: of those, what is no part of a connection is not ours. */
static int dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    return claim(tvb, pinfo, tree, data) ? (int)tvb_captured_length(tvb) : 0;
}

static void open_file(void)
{
    shown = 0;
    columns.frame = 0;
    roce_file();
    builtin_file();
    feed_begin();
}

static void close_file(void)
{
    feed_end();
}

void dissect_register(void)
{
    taps_register(export_register());
    rpcrdma_handle = register_dissector("rpcrdma", dissect, proto_rpcrdma);
    decode_as_register();
    register_postdissector(create_dissector_handle(post_dissect, proto_rpcrdma));
    register_init_routine(open_file);
    register_cleanup_routine(close_file);
    register_postseq_cleanup_routine(feed_read);
}

void dissect_handoff(void)
{
    heur_dissector_add("infiniband.payload", claim, "RPC-over-RDMA (plugin) on InfiniBand",
                       "rpc_over_rdma_infiniband", proto_rpcrdma, HEURISTIC_ENABLE);
    heur_dissector_add("iwarp_ddp_rdmap", claim, "RPC-over-RDMA (plugin) on iWARP",
                       "rpc_over_rdma_iwarp", proto_rpcrdma, HEURISTIC_ENABLE);
    builtin_register();
    old_names_find();
    decode_as_handoff();
    roce_register();
    handover_register();
    connections_register();
    stats_register();
}
