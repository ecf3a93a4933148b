/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed/keep.h"

#include "connections/decode_as.h"
#include "wireshark/prefs.h"

/* What belongs together -> the store: a Call, and the packets that move its chunks. */

static void add_frame(struct message_note *call, uint32_t frame, uint32_t length)
{
    struct extra *extra = store_extra(call);
    struct frames *f = extra->data;

    if (!f)
        f = extra->data = store_new(sizeof(struct frames));
    f->bytes += length;
    if (f->n > 0 && f->at[f->n - 1] == frame)
        return;
    if (f->n == FRAMES_MAX) {
        f->left_out++;
        return;
    }
    if (f->n == f->size) {
        f->size = MAX(4, 2 * f->size);
        f->at = wmem_realloc(wmem_file_scope(), f->at, f->size * sizeof(*f->at));
    }
    f->at[f->n++] = frame;
}

void keep_moved(void *context, const struct rpcrdma_data_transfer *moved)
{
    struct frame_note *note, *call;
    struct carried **end;
    struct message_note *message_note;

    (void)context;
    if (decode_as_given(moved->connection))
        return;
    note = store_get((uint32_t)moved->frame);
    call = store_find((uint32_t)moved->call_frame);
    end = &store_more((uint32_t)moved->frame)->carried;
    message_note = call ? store_message_note(call, false, moved->xid, 0) : NULL;
    note->ours = true;
    while (*end)
        end = &(*end)->next;
    *end = store_new(sizeof(struct carried));
    **end =
        (struct carried){.xid = moved->xid,
                         .call_frame = (uint32_t)moved->call_frame,
                         .index = moved->index,
                         .position = moved->position,
                         .length = moved->length,
                         .offset = moved->offset,
                         .chunk_length = moved->chunk_length,
                         .kind = (uint8_t)moved->kind,
                         .chunk = (uint8_t)moved->chunk,
                         .left_alone = settings.leave_version1 && moved->connection->version == 1};
    if (message_note)
        add_frame(message_note, (uint32_t)moved->frame,
                  moved->kind == RPCRDMA_OP_READ_REQUEST ? 0 : moved->length);
}
