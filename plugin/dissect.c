/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin.h"

#include "connections.h"
#include "feed.h"
#include "message.h"

dissector_handle_t rpcrdma_handle;

static bool left_alone(const struct frame_note *note)
{
    if (!settings.leave_version1)
        return false;
    for (const struct told *told = note->messages; told; told = told->next)
        if (told->dialect->version != 1)
            return false;
    return true;
}

/* The frame in hand: all of it is shown by whichever hook comes first. */
static uint32_t shown;

static void show(packet_info *pinfo, proto_tree *tree)
{
    const struct frame_note *note = store_find(pinfo->num);

    if (!note || shown == pinfo->num)
        return;
    shown = pinfo->num;
    show_frame(note, feed_raw(pinfo), pinfo, tree);
}

/* Every frame, after all else: what no dissector below could hand over, because it was cut short,
 * or begins in the middle. */
static int post_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    (void)data;
    feed_frame(pinfo);
    builtin_restore();
    if (shown != pinfo->num && store_find(pinfo->num) && !builtin_claimed(pinfo))
        show(pinfo, tree);
    feed_frame_done();
    shown = 0;
    return (int)tvb_captured_length(tvb);
}

/* The payload of an InfiniBand packet or DDP segment: ours; or not, and not for the built-in
 * dissector either. */
static ws_bool claim(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct frame_note *note;

    (void)tvb;
    (void)data;
    feed_frame(pinfo);
    note = store_find(pinfo->num);
    if (note && note->ours && !left_alone(note)) {
        show(pinfo, tree);
        return TRUE;
    }
    if (!settings.leave_version1)
        builtin_hush();
    return FALSE;
}

/* Chosen by Decode As. */
static int dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    (void)data;
    feed_frame(pinfo);
    show(pinfo, tree);
    return (int)tvb_captured_length(tvb);
}

static void open_file(void)
{
    shown = 0;
    feed_begin();
}

static void close_file(void)
{
    builtin_restore();
    feed_end();
}

void dissect_register(void)
{
    rpcrdma_handle = register_dissector("rpcrdma", dissect, proto_rpcrdma);
    register_postdissector(create_dissector_handle(post_dissect, proto_rpcrdma));
    register_init_routine(open_file);
    register_cleanup_routine(close_file);
    register_postseq_cleanup_routine(feed_finish);
}

void dissect_handoff(void)
{
    heur_dissector_add("infiniband.payload", claim, "RPC-over-RDMA (plugin) on InfiniBand",
                       "rpc_over_rdma_infiniband", proto_rpcrdma, HEURISTIC_ENABLE);
    heur_dissector_add("iwarp_ddp_rdmap", claim, "RPC-over-RDMA (plugin) on iWARP",
                       "rpc_over_rdma_iwarp", proto_rpcrdma, HEURISTIC_ENABLE);
    dissector_add_for_decode_as("infiniband", rpcrdma_handle);
    builtin_find();
    handover_register();
    connections_register();
}
