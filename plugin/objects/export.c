/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "objects/export.h"

#include <epan/epan_dissect.h>
#include <epan/export_object.h>

#include "rpc/assemble.h"
#include "wire/message.h"
#include "wireshark/numbers.h"
#include "wireshark/protocol.h"

/* RPC messages, as the store has them -> the bytes that export_nfs.c reads. */

/* The RPC message of a Send that has all of it. */
static bool open_inline(const struct message_note *message_note, tvbuff_t *frame, uint32_t number,
                        struct exported_rpc *out)
{
    const struct place *place = &message_note->place;
    const uint8_t *data = note_extra(message_note)->copy;
    struct rpcrdma_message m;

    if (!data && (message_note->frame != number || !frame ||
                  tvb_captured_length(frame) < place->off + place->caplen || place->caplen == 0))
        return false;
    if (!data)
        data = tvb_get_ptr(frame, (int)place->off, (int)place->caplen);
    rpcrdma_message_decode(message_note->kind->dialect, data, place->caplen, place->len, &m);
    if (!m.payload.data)
        return false;
    out->stream.data = m.payload.data;
    out->stream.caplen = m.payload.caplen;
    out->stream.len = m.payload.len;
    return true;
}

static void add_blank(struct exported_rpc *out, uint32_t from, uint32_t to)
{
    if (from >= to)
        return;
    out->blanks = g_renew(struct blank, out->blanks, out->n_blanks + 1);
    out->blanks[out->n_blanks++] = (struct blank){from, to};
}

/* One that was put together. */
static bool open_whole(const struct whole *whole, uint8_t **bytes, struct exported_rpc *out)
{
    uint32_t at = 0;

    if (whole->n_runs == 0 || whole->length > rpc_limit())
        return false;
    *bytes = g_malloc0(whole->length);
    for (uint32_t i = 0; i < whole->n_runs; i++) {
        const struct run *run = &whole->runs[i];

        add_blank(out, at, run->at);
        if (run->data)
            memcpy(*bytes + run->at, run->data, run->length);
        at = run->at + run->length;
    }
    add_blank(out, at, whole->length);
    out->stream.data = *bytes;
    out->stream.caplen = out->stream.len = whole->length;
    return true;
}

static tap_packet_status packet(void *list, packet_info *pinfo, epan_dissect_t *edt,
                                const void *what, tap_flags_t flags)
{
    const struct message_note *message_note = what;
    bool call = message_note->kind->direction == RPCRDMA_DIRECTION_CALL;
    struct exported_rpc rpc = {
        .calls = message_note->path->stream,
        .frame = numbers_shown(message_note->frame),
        .server = call != message_note->kind->reverse ? &message_note->path->dst->address
                                                      : &message_note->path->src->address,
        .stream = {.direction = (enum rpcrdma_rpc_direction)message_note->kind->direction,
                   .reverse = message_note->kind->reverse,
                   .xid = message_note->xid},
    };
    struct rpcrdma_rpc header;
    uint8_t *bytes = NULL;

    (void)flags;
    if (note_extra(message_note)->whole
            ? open_whole(message_note->extra->whole, &bytes, &rpc)
            : open_inline(message_note, edt ? edt->tvb : NULL, numbers_fed(pinfo), &rpc)) {
        rpcrdma_rpc_decode(rpc.stream.data, rpc.stream.caplen, rpc.stream.len, &header);
        rpc.stream.rpc = &header;
        export_file_to(list);
        export_nfs(&rpc);
    }
    g_free(bytes);
    g_free(rpc.blanks);
    return TAP_PACKET_REDRAW;
}

static void reset(void)
{
    export_nfs_reset();
    export_file_reset();
}

int export_register(void)
{
    return register_export_object(proto_rpcrdma, packet, reset);
}
