/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/show.h"

#include <epan/column-utils.h>

#include "each.h"
#include "wireshark/numbers.h"

/* Packets that were sent before, or late, as the store has them: feed/keep_repeats.c. */

static const char *name(enum rpcrdma_repeat repeat)
{
    static const char *const names[] = {
        [RPCRDMA_REPEAT_RETRANSMISSION] = "retransmission",
        [RPCRDMA_REPEAT_DUPLICATE] = "duplicate",
        [RPCRDMA_REPEAT_OUT_OF_ORDER] = "out of order",
        [RPCRDMA_REPEAT_ELSEWHERE] = "copy at another place",
    };
    RPCRDMA_EACH(names, RPCRDMA_REPEAT_COUNT);

    return names[repeat];
}

static void put_frame(proto_tree *tree, enum beside which, tvbuff_t *raw, uint32_t frame)
{
    if (frame != 0)
        proto_item_set_generated(proto_tree_add_uint(tree, beside_hf(which), raw, 0, 0, frame));
}

void show_repeats(const struct repeats *repeats, tvbuff_t *raw, packet_info *pinfo,
                  proto_tree *tree)
{
    const char *what = name((enum rpcrdma_repeat)repeats->repeat);
    uint32_t original = numbers_shown(repeats->original);
    proto_item *item;

    if (repeats->set && original != 0)
        col_append_fstr(pinfo->cinfo, COL_INFO, " [%s of frame %u]", what, original);
    else if (repeats->set)
        col_append_fstr(pinfo->cinfo, COL_INFO, " [%s]", what);
    item = proto_tree_add_protocol_format(tree, proto_rpcrdma, raw, 0, 0, "RPC-over-RDMA, %s",
                                          repeats->set ? what : "retransmitted later");
    proto_item_set_generated(item);
    if (repeats->set)
        repeat_expert(pinfo, item, (enum rpcrdma_repeat)repeats->repeat);
    tree = proto_item_add_subtree(item, record_ett(RPCRDMA_RECORD_RPCS_PHASES));
    put_frame(tree, BESIDE_ORIGINAL_FRAME, raw, original);
    put_frame(tree, BESIDE_AGAIN_FRAME, raw, numbers_shown(repeats->again));
}
