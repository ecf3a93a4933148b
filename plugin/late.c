/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "late.h"

#include <epan/column-utils.h>

#include "dissect_message.h"
#include "numbers.h"

/* Of one frame, and bytes of them: a tree may have a million items, and lists make five of 16
 * bytes. */
enum { LATE = 1024, LATE_BYTES = 1 << 20 };

/* The latest frames that Wireshark's own dissector took, which shows its fields of them. */
enum { CLAIMED = 4096 };
static uint32_t claimed[CLAIMED];

static struct {
    uint32_t n, left_out;
    uint64_t bytes;
    const struct message_note *messages[LATE];
} late;

void late_file(void)
{
    late_clear();
    memset(claimed, 0, sizeof(claimed));
}

void late_claimed(uint32_t frame)
{
    claimed[frame % CLAIMED] = frame;
}

void late_clear(void)
{
    late.n = late.left_out = 0;
    late.bytes = 0;
}

void late_add(const struct message_note *message_note)
{
    late.bytes += message_note->place.caplen;
    if (late.n == LATE || (late.n > 0 && late.bytes > LATE_BYTES)) {
        late.left_out++;
        return;
    }
    late.messages[late.n++] = message_note;
}

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
    const struct message_note *one = NULL;
    uint32_t n = late.left_out;

    for (uint32_t i = 0; i < late.n; i++) {
        if (store_left_alone(late.messages[i]))
            continue;
        one = late.messages[i];
        show_earlier(one, store_find(one->frame), claimed[one->frame % CLAIMED] != one->frame, raw,
                     pinfo, tree);
        n++;
    }
    mention(one, n, pinfo);
    if (late.left_out > 0)
        proto_tree_add_protocol_format(tree, proto_rpcrdma, raw, 0, 0,
                                       "RPC-over-RDMA, %u more messages of earlier frames",
                                       late.left_out);
    late_clear();
}
