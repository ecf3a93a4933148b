/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/show.h"

#include "wire/chunk.h"
#include "wireshark/numbers.h"
#include "wireshark/prefs.h"

/*
 * The names that the dissector which Wireshark brings along gives to version 1, so that filters and
 * scripts made for it go on: rpcordma, rpcordma.xid and so on. They are its own fields, hidden, in
 * the frames in which it has them, and only where somebody asks for one of them, or may have.
 */

enum old {
    OLD_XID,
    OLD_VERSION,
    OLD_CREDITS,
    OLD_TYPE,
    OLD_READS,
    OLD_WRITES,
    OLD_REPLY,
    OLD_HANDLE,
    OLD_LENGTH,
    OLD_OFFSET,
    OLD_POSITION,
    OLD_SEGMENTS,
    OLD_ALIGN,
    OLD_THRESH,
    OLD_ERROR,
    OLD_LOW,
    OLD_HIGH,
    OLD_FRAGMENT,
    OLD_FRAGMENTS,
    OLD_REASSEMBLED_IN,
    OLD_REASSEMBLED_LENGTH,
    OLDS
};

static const char *const names[OLDS] = {
    [OLD_XID] = "rpcordma.xid",
    [OLD_VERSION] = "rpcordma.version",
    [OLD_CREDITS] = "rpcordma.flow_control",
    [OLD_TYPE] = "rpcordma.msg_type",
    [OLD_READS] = "rpcordma.reads_count",
    [OLD_WRITES] = "rpcordma.writes_count",
    [OLD_REPLY] = "rpcordma.reply_count",
    [OLD_HANDLE] = "rpcordma.rdma_handle",
    [OLD_LENGTH] = "rpcordma.rdma_length",
    [OLD_OFFSET] = "rpcordma.rdma_offset",
    [OLD_POSITION] = "rpcordma.position",
    [OLD_SEGMENTS] = "rpcordma.segment_count",
    [OLD_ALIGN] = "rpcordma.rdma_align",
    [OLD_THRESH] = "rpcordma.rdma_thresh",
    [OLD_ERROR] = "rpcordma.errcode",
    [OLD_LOW] = "rpcordma.vers_low",
    [OLD_HIGH] = "rpcordma.vers_high",
    [OLD_FRAGMENT] = "rpcordma.fragment",
    [OLD_FRAGMENTS] = "rpcordma.fragment.count",
    [OLD_REASSEMBLED_IN] = "rpcordma.reassembled.in",
    [OLD_REASSEMBLED_LENGTH] = "rpcordma.reassembled.length",
};

static int hf[OLDS]; /* -1: this Wireshark has no such field */
static int proto_old = -1;

void old_names_find(void)
{
    proto_old = proto_get_id_by_filter_name("rpcordma");
    for (int i = 0; i < OLDS; i++)
        hf[i] = proto_registrar_get_id_byname(names[i]);
}

/* By name, in a filter or column: where the tree is shown to a person, ours are there to be seen.
 */
static bool named(const proto_tree *tree)
{
    if (proto_registrar_get_nth((unsigned)proto_old)->ref_type != HF_REF_TYPE_NONE)
        return true;
#if WIRESHARK_AT_LEAST(4, 4)
    (void)tree;
    return false;
#else
    /* there `tshark -T fields -e` only looks for what it names, in a whole tree */
    return PTREE_DATA(tree)->visible;
#endif
}

static bool asked_for(proto_tree *tree)
{
    return tree && settings.old_names && proto_old > 0 &&
           proto_is_protocol_enabled(find_protocol_by_id(proto_old)) && named(tree);
}

struct place_in {
    proto_tree *tree;
    tvbuff_t *tvb;
};

static void put(const struct place_in *in, enum old which, uint64_t value)
{
    proto_item *item;

    if (hf[which] < 0)
        return;
    item = proto_registrar_get_ftype(hf[which]) == FT_UINT64
               ? proto_tree_add_uint64(in->tree, hf[which], in->tvb, 0, 0, value)
               : proto_tree_add_uint(in->tree, hf[which], in->tvb, 0, 0, (uint32_t)value);
    proto_item_set_hidden(item);
}

/* Only what was captured. */
static void put_if(const struct place_in *in, enum old which, bool there, uint32_t value)
{
    if (there)
        put(in, which, value);
}

static void put_segment(const struct place_in *in, const struct rpcrdma_segment *segment)
{
    put(in, OLD_HANDLE, segment->handle);
    put(in, OLD_LENGTH, segment->length);
    put(in, OLD_OFFSET, segment->offset);
}

static void put_chunk(const struct place_in *in, const struct rpcrdma_chunk *chunk)
{
    put(in, OLD_SEGMENTS, chunk->declared);
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct rpcrdma_segment segment = rpcrdma_chunk_segment(chunk, i);

        put_segment(in, &segment);
    }
}

static void put_lists(const struct place_in *in, const struct rpcrdma_message *m)
{
    struct rpcrdma_read_iter reads = rpcrdma_read_begin(&m->read);
    struct rpcrdma_write_iter writes = rpcrdma_write_begin(&m->write);
    struct rpcrdma_read_segment read;
    struct rpcrdma_chunk chunk;

    if (!(m->present & RPCRDMA_HAS_READ))
        return;
    put(in, OLD_READS, m->read.count);
    while (rpcrdma_read_next(&reads, &read)) {
        put(in, OLD_POSITION, read.position);
        put_segment(in, &read.segment);
    }
    if (!(m->present & RPCRDMA_HAS_WRITE))
        return;
    put(in, OLD_WRITES, m->write.count);
    while (rpcrdma_write_next(&writes, &chunk))
        put_chunk(in, &chunk);
    if (!(m->present & RPCRDMA_HAS_REPLY))
        return;
    put(in, OLD_REPLY, m->reply_present);
    if (m->reply_present)
        put_chunk(in, &m->reply);
}

/* The frames that moved a Call's chunks; NULL: none did. */
static const struct frames *moved(const struct message_note *message_note,
                                  const struct frame_note *note)
{
    if (message_note->kind->direction == RPCRDMA_DIRECTION_CALL)
        return note_extra(message_note)->data;
    for (const struct transacted *t = note->transacted; t;
         t = transacted_next(t, message_note->frame)) {
        const struct frame_note *call = t->call_frame ? store_find(t->call_frame) : NULL;
        const struct message_note *its;

        if (t->xid != message_note->xid || t->reply_frame != message_note->frame || !call)
            continue;
        its = store_message_note(call, false, message_note->xid, 0);
        return its ? note_extra(its)->data : NULL;
    }
    return NULL;
}

static void put_number(const struct place_in *in, int which, uint32_t fed)
{
    if (numbers_shown(fed) != 0)
        put(in, which, numbers_shown(fed));
}

/* A Call says which frame its read chunks are complete in, a Reply what its chunks came in. */
static void put_reassembly(const struct place_in *in, const struct message_note *message_note,
                           const struct frame_note *note, const struct rpcrdma_message *m)
{
    const struct frames *frames = moved(message_note, note);
    const struct whole *whole = note_extra(message_note)->whole;

    if (message_note->kind->direction == RPCRDMA_DIRECTION_CALL) {
        if (m->read.count > 0 && frames && frames->n > 0)
            put_number(in, OLD_REASSEMBLED_IN, frames->at[frames->n - 1]);
        return;
    }
    if (!whole || !frames || (m->write.count == 0 && !m->reply_present))
        return;
    for (uint32_t i = 0; i < frames->n; i++)
        put_number(in, OLD_FRAGMENT, frames->at[i]);
    put(in, OLD_FRAGMENTS, frames->n);
    put(in, OLD_REASSEMBLED_LENGTH, rpcrdma_chunk_length(&m->reply));
}

void put_old_names(const struct message_note *message_note, const struct rpcrdma_message *m,
                   const struct frame_note *note, tvbuff_t *tvb, proto_tree *tree)
{
    struct place_in in = {.tree = tree, .tvb = tvb};

    if (!asked_for(tree) || message_note->kind->dialect->version != 1)
        return;
    proto_item_set_hidden(proto_tree_add_item(tree, proto_old, tvb, 0, 0, ENC_NA));
    put_if(&in, OLD_XID, m->present & RPCRDMA_HAS_XID, m->xid);
    put_if(&in, OLD_VERSION, m->present & RPCRDMA_HAS_VERSION, m->version);
    put_if(&in, OLD_CREDITS, m->present & RPCRDMA_HAS_CREDITS, m->credits);
    put_if(&in, OLD_TYPE, m->present & RPCRDMA_HAS_TYPE, m->type);
    put_if(&in, OLD_ALIGN, m->present & RPCRDMA_HAS_ALIGN, m->align);
    put_if(&in, OLD_THRESH, m->present & RPCRDMA_HAS_THRESH, m->thresh);
    put_lists(&in, m);
    if (m->present & RPCRDMA_HAS_ERROR) {
        put(&in, OLD_ERROR, m->error.code);
        if (m->error.body == RPCRDMA_ERROR_RANGE && m->present & RPCRDMA_HAS_ERROR_ARGS) {
            put(&in, OLD_LOW, m->error.low);
            put(&in, OLD_HIGH, m->error.high);
        }
    }
    put_reassembly(&in, message_note, note, m);
}
