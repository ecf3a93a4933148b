/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/show.h"

#include <epan/column-utils.h>

#include "store/timing.h"
#include "store/titles.h"
#include "wireshark/numbers.h"

/* What belongs together: a Call, its Reply, and the packets that moved their chunks. */

/* NULL: it is not among those that are shown. */
static proto_item *put_frame(proto_tree *tree, enum rpcrdma_field_id field, tvbuff_t *tvb,
                             uint32_t fed)
{
    uint32_t frame = numbers_shown(fed);
    proto_item *item =
        frame != 0 ? proto_tree_add_uint(tree, field_hf(field), tvb, 0, 0, frame) : NULL;

    proto_item_set_generated(item);
    return item;
}

static void put_number(proto_tree *tree, enum rpcrdma_field_id field, tvbuff_t *tvb, uint64_t value)
{
    proto_item_set_generated(proto_tree_add_uint64(tree, field_hf(field), tvb, 0, 0, value));
}

static void put_time(proto_tree *tree, enum rpcrdma_field_id field, tvbuff_t *tvb, int64_t ns)
{
    const nstime_t time = NSTIME_INIT_SECS_NSECS(ns / 1000000000, (int)(ns % 1000000000));

    proto_item_set_generated(proto_tree_add_time(tree, field_hf(field), tvb, 0, 0, &time));
}

static void put_bool(proto_tree *tree, enum rpcrdma_field_id field, tvbuff_t *tvb, bool value)
{
    proto_item_set_generated(proto_tree_add_boolean(tree, field_hf(field), tvb, 0, 0, value));
}

static void put_lengths(const struct transacted *t, tvbuff_t *tvb, proto_tree *tree)
{
    const struct {
        enum rpcrdma_field_id field;
        uint64_t value;
    } lengths[] = {
        {RPCRDMA_FIELD_RPCS_CALL_LENGTH, t->amounts->call_length},
        {RPCRDMA_FIELD_RPCS_REPLY_LENGTH, t->amounts->reply_length},
        {RPCRDMA_FIELD_RPCS_READ_CHUNK_LENGTH, t->amounts->read_chunk_length},
        {RPCRDMA_FIELD_RPCS_WRITE_CHUNK_LENGTH, t->amounts->write_chunk_length},
        {RPCRDMA_FIELD_RPCS_REPLY_CHUNK_LENGTH, t->amounts->reply_chunk_length},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++)
        if (lengths[i].value > 0)
            put_number(tree, lengths[i].field, tvb, lengths[i].value);
}

static proto_tree *put_record(proto_tree *parent, enum rpcrdma_record_id record, tvbuff_t *tvb)
{
    proto_item *item = proto_tree_add_item(parent, record_hf(record), tvb, 0, 0, ENC_NA);

    proto_item_set_generated(item);
    return proto_item_add_subtree(item, record_ett(record));
}

static void put_name(proto_tree *tree, enum rpcrdma_field_id field, tvbuff_t *tvb, uint32_t value)
{
    proto_item_set_generated(proto_tree_add_uint(tree, field_hf(field), tvb, 0, 0, value));
}

struct arrival_fields {
    enum rpcrdma_record_id record;
    enum rpcrdma_field_id state, transmissions, frame, arrived, transit;
};

static void put_arrival(const struct arrival *arrival, const struct arrival_fields *fields,
                        tvbuff_t *tvb, proto_tree *parent)
{
    proto_tree *tree;

    if (arrival->transmissions == 0)
        return;
    tree = put_record(parent, fields->record, tvb);
    put_name(tree, fields->state, tvb, arrival->state);
    put_name(tree, fields->transmissions, tvb, arrival->transmissions);
    if (arrival->frame != 0)
        put_frame(tree, fields->frame, tvb, arrival->frame);
    if (arrival->arrived != 0) {
        put_frame(tree, fields->arrived, tvb, arrival->arrived);
        put_time(tree, fields->transit, tvb, arrival->transit_ns);
    }
}

/* They follow each other, and their sum is the latency. */
static void put_phases(const struct timing *timing, tvbuff_t *tvb, proto_tree *parent)
{
    proto_tree *tree = put_record(parent, RPCRDMA_RECORD_RPCS_PHASES, tvb);
    int64_t server = timing->latency_ns - timing->call_ns - timing->data_ns - timing->reply_ns -
                     timing->client_ns;

    if (timing->has_call)
        put_time(tree, RPCRDMA_FIELD_RPCS_PHASES_CALL, tvb, timing->call_ns);
    put_time(tree, RPCRDMA_FIELD_RPCS_PHASES_SERVER, tvb, server);
    if (timing->server_waiting_ns > 0)
        put_time(tree, RPCRDMA_FIELD_RPCS_PHASES_SERVER_WAITING, tvb, timing->server_waiting_ns);
    if (timing->has_data)
        put_time(tree, RPCRDMA_FIELD_RPCS_PHASES_DATA, tvb, timing->data_ns);
    if (timing->data_waiting_ns > 0)
        put_time(tree, RPCRDMA_FIELD_RPCS_PHASES_DATA_WAITING, tvb, timing->data_waiting_ns);
    if (timing->data_peer_ns > 0)
        put_time(tree, RPCRDMA_FIELD_RPCS_PHASES_DATA_PEER, tvb, timing->data_peer_ns);
    if (timing->has_network)
        put_time(tree, RPCRDMA_FIELD_RPCS_PHASES_DATA_NETWORK, tvb, timing->data_network_ns);
    if (timing->has_reply)
        put_time(tree, RPCRDMA_FIELD_RPCS_PHASES_REPLY, tvb, timing->reply_ns);
    if (timing->exact) {
        put_bool(tree, RPCRDMA_FIELD_RPCS_PHASES_EXACT, tvb, true);
        put_time(tree, RPCRDMA_FIELD_RPCS_PHASES_CLIENT, tvb, timing->client_ns);
    }
}

/* What became of it on its way. */
static void put_timing(const uint8_t *kept, tvbuff_t *tvb, proto_tree *tree)
{
    static const struct arrival_fields call = {RPCRDMA_RECORD_RPCS_CALL_DELIVERY,
                                               RPCRDMA_FIELD_RPCS_CALL_DELIVERY_STATE,
                                               RPCRDMA_FIELD_RPCS_CALL_DELIVERY_TRANSMISSIONS,
                                               RPCRDMA_FIELD_RPCS_CALL_DELIVERY_FRAME,
                                               RPCRDMA_FIELD_RPCS_CALL_DELIVERY_ARRIVED_FRAME,
                                               RPCRDMA_FIELD_RPCS_CALL_DELIVERY_TRANSIT},
                                       reply = {RPCRDMA_RECORD_RPCS_REPLY_DELIVERY,
                                                RPCRDMA_FIELD_RPCS_REPLY_DELIVERY_STATE,
                                                RPCRDMA_FIELD_RPCS_REPLY_DELIVERY_TRANSMISSIONS,
                                                RPCRDMA_FIELD_RPCS_REPLY_DELIVERY_FRAME,
                                                RPCRDMA_FIELD_RPCS_REPLY_DELIVERY_ARRIVED_FRAME,
                                                RPCRDMA_FIELD_RPCS_REPLY_DELIVERY_TRANSIT};
    struct timing timing;

    if (!kept)
        return;
    timing = timing_read(kept);
    if (timing.has_latency) {
        put_time(tree, RPCRDMA_FIELD_RPCS_LATENCY, tvb, timing.latency_ns);
        if (timing.has_phases)
            put_phases(&timing, tvb, tree);
    }
    if (timing.stalled_ns > 0) {
        put_time(tree, RPCRDMA_FIELD_RPCS_STALLED, tvb, timing.stalled_ns);
        put_name(tree, RPCRDMA_FIELD_RPCS_STALLED_BY, tvb, timing.stalled_by);
        put_frame(tree, RPCRDMA_FIELD_RPCS_STALLED_FROM, tvb, timing.stalled_from);
        put_frame(tree, RPCRDMA_FIELD_RPCS_STALLED_TO, tvb, timing.stalled_to);
    }
    put_arrival(&timing.call, &call, tvb, tree);
    put_arrival(&timing.reply, &reply, tvb, tree);
}

static void put_beside(proto_tree *tree, enum beside which, tvbuff_t *tvb, uint32_t value)
{
    proto_item_set_generated(proto_tree_add_uint(tree, beside_hf(which), tvb, 0, 0, value));
}

static void put_title(const struct title *title, tvbuff_t *tvb, proto_tree *tree)
{
    if (!title->program)
        return;
    put_name(tree, RPCRDMA_FIELD_RPCS_PROGRAM, tvb, title->program_number);
    put_name(tree, RPCRDMA_FIELD_RPCS_VERSION, tvb, title->version);
    proto_item_set_generated(proto_tree_add_uint_format_value(
        tree, beside_hf(BESIDE_RPC_OPERATION), tvb, 0, 0, title->operation_number, "%s (%u)",
        title->operation, title->operation_number));
}

/* The same Call on other connections. */
static void put_resent(uint32_t frame, uint32_t xid, tvbuff_t *tvb, proto_tree *tree)
{
    const struct resent *r = note_more(store_find(frame))->resent;

    while (r && r->xid != xid)
        r = r->next;
    if (r && numbers_shown(r->original) != 0)
        put_beside(tree, BESIDE_RPC_ORIGINAL_FRAME, tvb, numbers_shown(r->original));
    if (r && numbers_shown(r->again) != 0)
        put_beside(tree, BESIDE_RPC_AGAIN_FRAME, tvb, numbers_shown(r->again));
}

static void put_transacted(const struct transacted *t, uint32_t frame, tvbuff_t *tvb,
                           proto_tree *parent)
{
    proto_item *item =
        proto_tree_add_item(parent, beside_hf(BESIDE_TRANSACTION), tvb, 0, 0, ENC_NA);
    proto_tree *tree = proto_item_add_subtree(item, record_ett(RPCRDMA_RECORD_RPCS));
    bool here = numbers_shown(t->reply_frame) == 0 || t->reply_frame == frame;

    proto_item_set_generated(item);
    if (t->call_frame != 0 && t->call_frame != frame)
        put_frame(tree, RPCRDMA_FIELD_RPCS_CALL_FRAME, tvb, t->call_frame);
    if (t->reply_frame != 0 && t->reply_frame != frame)
        put_frame(tree, RPCRDMA_FIELD_RPCS_REPLY_FRAME, tvb, t->reply_frame);
    if (t->call_frame == frame)
        put_resent(frame, t->xid, tvb, tree);
    put_title(t->title, tvb, tree);
    if (t->has_response)
        proto_item_append_text(item, ", %.6f s", (double)t->response_ns / 1e9);
    /* numbers stand in one frame, so that sums over frames count them once */
    if (here) {
        if (t->has_response)
            put_time(tree, RPCRDMA_FIELD_RPCS_RESPONSE, tvb, t->response_ns);
        put_timing(t->timing, tvb, tree);
        if (t->amounts->has_rdma)
            put_time(tree, RPCRDMA_FIELD_RPCS_RDMA, tvb, t->amounts->rdma_ns);
        put_lengths(t, tvb, tree);
        put_bool(tree, RPCRDMA_FIELD_RPCS_COMPLETE, tvb, t->complete);
    }
    if (t->retransmitted)
        put_bool(tree, RPCRDMA_FIELD_RPCS_RETRANSMITTED, tvb, true);
}

/* Of the RPC that a message is part of: the Call knows them. NULL: none. */
static const struct frames *data_frames(const struct message_note *message_note,
                                        const struct frame_note *note)
{
    const struct frame_note *call_note;
    const struct message_note *call;

    if (note_extra(message_note)->data || message_note->kind->direction != RPCRDMA_DIRECTION_REPLY)
        return note_extra(message_note)->data;
    for (const struct transacted *t = note->transacted; t;
         t = transacted_next(t, message_note->frame)) {
        if (t->xid != message_note->xid || t->reply_frame != message_note->frame ||
            t->call_frame == 0)
            continue;
        call_note = store_find(t->call_frame);
        call = call_note ? store_message_note(call_note, false, message_note->xid, 0) : NULL;
        return call ? note_extra(call)->data : NULL;
    }
    return NULL;
}

static void put_data_frames(const struct message_note *message_note, const struct frame_note *note,
                            tvbuff_t *tvb, proto_tree *parent)
{
    const struct frames *f = data_frames(message_note, note);
    proto_item *item;
    proto_tree *tree;

    if (!f)
        return;
    item = proto_tree_add_item(parent, beside_hf(BESIDE_DATA_FRAMES), tvb, 0, 0, ENC_NA);
    tree = proto_item_add_subtree(item, record_ett(RPCRDMA_RECORD_DATA));
    proto_item_set_generated(item);
    proto_item_append_text(item, ": %" PRIu64 " bytes in %u frame%s", f->bytes, f->n + f->left_out,
                           f->n + f->left_out == 1 ? "" : "s");
    for (uint32_t i = 0; i < f->n; i++)
        put_frame(tree, RPCRDMA_FIELD_DATA_FRAME, tvb, f->at[i]);
    if (f->left_out > 0)
        proto_item_append_text(item, ", the last %u not listed", f->left_out);
}

/* 0: it has none, or not yet. */
static uint32_t reply_of(const struct carried *c)
{
    const struct frame_note *note = c->call_frame != 0 ? store_find(c->call_frame) : NULL;

    for (const struct transacted *t = note ? note->transacted : NULL; t;
         t = transacted_next(t, c->call_frame))
        if (t->xid == c->xid && t->call_frame == c->call_frame)
            return t->reply_frame;
    return 0;
}

void put_links(const struct message_note *message_note, const struct frame_note *note,
               tvbuff_t *tvb, proto_tree *tree)
{
    for (const struct transacted *t = note->transacted; t;
         t = transacted_next(t, message_note->frame))
        if (t->xid == message_note->xid)
            put_transacted(t, message_note->frame, tvb, tree);
    put_data_frames(message_note, note, tvb, tree);
    if (message_note->rpc_frame != 0 && message_note->rpc_frame != message_note->frame)
        proto_item_set_text(put_frame(tree, RPCRDMA_FIELD_FRAME, tvb, message_note->rpc_frame),
                            "The RPC message is complete, and shown, in frame %u",
                            numbers_shown(message_note->rpc_frame));
}

static const char *what(const struct carried *c, wmem_allocator_t *scope)
{
    const char *verb = c->kind == RPCRDMA_OP_READ_REQUEST ? "asks for bytes" : "bytes";
    uint64_t last = c->offset + (c->length > 0 ? c->length - 1 : 0);

    switch (c->chunk) {
    case RPCRDMA_CHUNK_CALL:
        return wmem_strdup_printf(scope, "Call chunk, %s %" PRIu64 "-%" PRIu64 " of %" PRIu64, verb,
                                  c->offset, last, c->chunk_length);
    case RPCRDMA_CHUNK_READ:
        return wmem_strdup_printf(scope, "read chunk at %u, %s %" PRIu64 "-%" PRIu64 " of %" PRIu64,
                                  c->position, verb, c->offset, last, c->chunk_length);
    case RPCRDMA_CHUNK_WRITE:
        return wmem_strdup_printf(scope, "write chunk %u, %s %" PRIu64 "-%" PRIu64 " of %" PRIu64,
                                  c->index + 1, verb, c->offset, last, c->chunk_length);
    default:
        return wmem_strdup_printf(scope, "reply chunk, %s %" PRIu64 "-%" PRIu64 " of %" PRIu64,
                                  verb, c->offset, last, c->chunk_length);
    }
}

static void put_carried(const struct carried *c, tvbuff_t *raw, proto_tree *parent)
{
    proto_item *item =
        proto_tree_add_item(parent, record_hf(RPCRDMA_RECORD_DATA), raw, 0, 0, ENC_NA);
    proto_tree *tree = proto_item_add_subtree(item, record_ett(RPCRDMA_RECORD_DATA));
    uint32_t reply;

    proto_item_set_generated(item);
    proto_item_set_generated(
        proto_tree_add_uint(tree, beside_hf(BESIDE_DATA_OPERATION), raw, 0, 0, c->kind));
    proto_item_set_generated(
        proto_tree_add_uint(tree, field_hf(RPCRDMA_FIELD_DATA_XID), raw, 0, 0, c->xid));
    if (c->call_frame != 0)
        put_frame(tree, RPCRDMA_FIELD_DATA_CALL_FRAME, raw, c->call_frame);
    reply = numbers_shown(reply_of(c));
    if (reply != 0)
        proto_item_set_generated(
            proto_tree_add_uint(tree, beside_hf(BESIDE_DATA_REPLY_FRAME), raw, 0, 0, reply));
    proto_item_set_generated(
        proto_tree_add_uint(tree, field_hf(RPCRDMA_FIELD_DATA_CHUNK), raw, 0, 0, c->chunk));
    proto_item_set_generated(
        proto_tree_add_uint(tree, field_hf(RPCRDMA_FIELD_DATA_INDEX), raw, 0, 0, c->index));
    if (c->chunk == RPCRDMA_CHUNK_READ)
        proto_item_set_generated(proto_tree_add_uint(tree, field_hf(RPCRDMA_FIELD_DATA_POSITION),
                                                     raw, 0, 0, c->position));
    put_number(tree, RPCRDMA_FIELD_DATA_OFFSET, raw, c->offset);
    proto_item_set_generated(
        proto_tree_add_uint(tree, field_hf(RPCRDMA_FIELD_DATA_LENGTH), raw, 0, 0, c->length));
    put_number(tree, RPCRDMA_FIELD_DATA_CHUNK_LENGTH, raw, c->chunk_length);
}

void show_carried(const struct carried *carried, tvbuff_t *raw, packet_info *pinfo,
                  proto_tree *tree)
{
    bool looked_at = proto_field_is_referenced(tree, proto_rpcrdma);

    while (carried && carried->left_alone)
        carried = carried->next;
    if (!carried)
        return;
    if (!looked_at && tree) /* the protocol is in the frame, whoever counts those */
        proto_tree_add_item(tree, proto_rpcrdma, raw, 0, 0, ENC_NA);
    if (!looked_at && !col_get_writable(pinfo->cinfo, COL_INFO))
        return;
    for (; carried; carried = carried->next) {
        const char *text = what(carried, pinfo->pool);
        proto_item *item;

        if (carried->left_alone)
            continue;
        col_append_fstr(pinfo->cinfo, COL_INFO, " [%s, XID 0x%08x]", text, carried->xid);
        if (!looked_at)
            continue;
        item = proto_tree_add_protocol_format(tree, proto_rpcrdma, raw, 0, 0,
                                              "RPC-over-RDMA, %s, XID 0x%08x", text, carried->xid);
        put_carried(carried, raw, proto_item_add_subtree(item, record_ett(RPCRDMA_RECORD_DATA)));
    }
}
