/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/show.h"

#include <epan/column-utils.h>

#include "feed/late.h"
#include "wireshark/numbers.h"

/* Behind what the frame itself is about. one: the last of them; NULL: none was shown. */
static void mention(const struct message_note *one, uint32_t n, packet_info *pinfo)
{
    if (one && n == 1)
        col_append_fstr(pinfo->cinfo, COL_INFO, " [XID 0x%08x of frame %u]", one->xid,
                        numbers_shown(one->frame));
    else if (n > 1)
        col_append_fstr(pinfo->cinfo, COL_INFO, " [%u messages of earlier frames]", n);
}

/* Their RPC messages are not handed over: "rpc" would take this frame for the Call's ever after. */
void show_late(tvbuff_t *raw, packet_info *pinfo, proto_tree *tree)
{
    const struct late *late = late_messages();
    const struct message_note *one = NULL;
    uint32_t n = late->left_out;

    for (uint32_t i = 0; i < late->n; i++) {
        if (store_left_alone(late->messages[i]))
            continue;
        one = late->messages[i];
        show_earlier(one, store_find(one->frame), !late_was_claimed(one->frame), raw, pinfo, tree);
        n++;
    }
    mention(one, n, pinfo);
    if (late->left_out > 0)
        proto_tree_add_protocol_format(tree, proto_rpcrdma, raw, 0, 0,
                                       "RPC-over-RDMA, %u more messages of earlier frames",
                                       late->left_out);
    late_clear();
}
