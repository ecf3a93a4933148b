/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/show.h"

#include <epan/column-utils.h>
#include <epan/column.h>

/*
 * The InfiniBand dissector refuses a payload that was not captured whole, and says "Invalid Packet
 * Length" for all there is to say, behind a fence. The packet is all right: it was cut short.
 */

static const char refusal[] = "Invalid Packet Length from LRH!";

static const char *name(const struct frame_note *note)
{
    switch (note->kind) {
    case RPCRDMA_OP_SEND:
        return "Send";
    case RPCRDMA_OP_WRITE:
        return "RDMA Write";
    case RPCRDMA_OP_READ_REQUEST:
        return "RDMA Read Request";
    case RPCRDMA_OP_READ_RESPONSE:
        return "RDMA Read Response";
    case RPCRDMA_OP_CONNECT:
        return "CM: ConnectRequest";
    case RPCRDMA_OP_ACCEPT:
        return "CM: ConnectReply";
    case RPCRDMA_OP_ESTABLISHED:
        return "CM: ReadyToUse";
    case RPCRDMA_OP_REJECT:
        return "CM: ConnectReject";
    case RPCRDMA_OP_DISCONNECT:
        return "CM: Disconnect";
    default:
        return NULL;
    }
}

void show_sliced(const struct frame_note *note, packet_info *pinfo)
{
    const char *info = col_get_text(pinfo->cinfo, COL_INFO);

    if (!info || !g_str_has_prefix(info, refusal) || !name(note) ||
        (!note->ours && note->kind == RPCRDMA_OP_SEND))
        return;
    col_clear_fence(pinfo->cinfo, COL_INFO);
    col_add_fstr(pinfo->cinfo, COL_INFO, "%s QP=0x%06x [Packet size limited during capture]",
                 name(note), note->dst_qpn);
}
