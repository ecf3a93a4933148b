/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_stage.h"

/* The observer: a Call opens a transaction and its segments, data is placed in them, a Reply ends
 * it. Nothing is allocated per packet. */

/* What waits may still get data that was captured late. */
static bool awaited(const struct flow_region *region)
{
    const struct track_rpc *t = region->owner;

    return t->reply.waits;
}

static void on_message(void *self, struct flow_conn *conn, const struct flow_message *m)
{
    struct track *track = self;
    const struct rpcrdma_message *msg = m->message->message;

    if (track->held_oldest)
        track_check_held(track, m->send->time_ns);
    if (!(msg->present & RPCRDMA_HAS_XID) || !track_of(track, conn))
        return;
    switch (msg->kind) {
    case RPCRDMA_KIND_ERROR:
        track_error(track, conn, m);
        break;
    case RPCRDMA_KIND_DONE:
        track_done(track, conn, m);
        break;
    case RPCRDMA_KIND_MSG:
    case RPCRDMA_KIND_NOMSG:
    case RPCRDMA_KIND_MSGP:
    case RPCRDMA_KIND_CALL_EXTERNAL:
    case RPCRDMA_KIND_CALL_MIDDLE:
    case RPCRDMA_KIND_CALL_INLINE:
    case RPCRDMA_KIND_REPLY_EXTERNAL:
    case RPCRDMA_KIND_REPLY_MIDDLE:
    case RPCRDMA_KIND_REPLY_INLINE:
        if (m->message->direction == RPCRDMA_DIRECTION_CALL)
            track_call(track, conn, m);
        else if (m->message->direction == RPCRDMA_DIRECTION_REPLY)
            track_reply(track, conn, m);
        break;
    default:
        break;
    }
    if (m->send->has_invalidate)
        flow_region_invalidate(&track->regions, conn->id, (uint8_t)(1 - m->sender),
                               m->send->invalidate, awaited);
}

/* Data. */

static void data_transfer(struct track *track, struct flow_region *region, uint64_t start,
                          const struct rpcrdma_op *op)
{
    struct track_rpc *t = region->owner;
    uint32_t n = region->seen;

    track_data_transfer_emit(track, region, (enum rpcrdma_op_kind)op->kind, op->frame, start,
                             op->len);
    /* a capture's times can go back */
    if (t->rdma_last_ns == 0 || op->time_ns < t->rdma_first_ns)
        t->rdma_first_ns = op->time_ns;
    if (t->rdma_last_ns == 0 || op->time_ns > t->rdma_last_ns)
        t->rdma_last_ns = op->time_ns;
    if (region->use == TRACK_CALL_READ && t->call_given)
        return; /* sent again: it was told */
    if (!flow_region_place(&track->regions, region, start, op->data, op->caplen, op->len))
        track_add_finding(track, t, RPCRDMA_RULE_RPC_OUTSIDE, op->frame, NULL, region->handle,
                          start + op->len, region->length);
    n = region->seen - n;
    if (n == 0)
        return;
    if (region->use == TRACK_CALL_READ) {
        t->pending -= n < t->pending ? n : t->pending;
        t->last_frame = op->frame;
        t->last_ns = op->time_ns;
        if (t->pending == 0 && !t->open)
            track_call_give(track, t);
    }
    track_answer_if_ready(track, t);
}

static void unknown(struct track *track, struct flow_conn *conn, const struct rpcrdma_op *op,
                    uint32_t handle, const char *what)
{
    struct track_conn *c = track_of(track, conn);

    if (!c)
        return;
    c->unknown_bytes += op->len;
    if (c->unknown_packets++ > 0)
        return;
    flow_report(track->flow, conn,
                &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_RPC_UNKNOWN_HANDLE,
                                          .frame = op->frame,
                                          .offset = -1,
                                          .arg = {handle},
                                          .what = what});
}

/* Its own header was cut; or the packet that says where it goes is missing: a Write's first, the
 * Read request. */
static void unplaced(struct track *track, struct flow_conn *conn, int sender,
                     const struct rpcrdma_op *op)
{
    struct track_conn *c = track_of(track, conn);

    if (c && op->len > 0)
        c->unplaced[sender] = op->frame;
}

static void on_write(void *self, struct flow_conn *conn, int sender, const struct flow_write *write)
{
    struct track *track = self;
    struct flow_region *region;

    if (track->held_oldest)
        track_check_held(track, write->op->time_ns);
    if (!write->placed) {
        unplaced(track, conn, sender, write->op);
        return;
    }
    region = flow_region_find(&track->regions, conn->id, (uint8_t)(1 - sender), write->rkey,
                              write->address);
    if (region && region->use == TRACK_WRITE)
        data_transfer(track, region, write->address - region->offset, write->op);
    else if (write->op->len > 0)
        unknown(track, conn, write->op, write->rkey, "Write");
}

static void on_read_request(void *self, struct flow_conn *conn, int sender,
                            const struct flow_read *read)
{
    struct track *track = self;
    struct track_conn *c = track_of(track, conn);
    struct flow_region *region = flow_region_find(&track->regions, conn->id, (uint8_t)(1 - sender),
                                                  read->rkey, read->address);
    struct track_rpc *t;

    if (!c)
        return;
    if (region && region->use == TRACK_WRITE)
        region = NULL;
    track_read_map_add(track, &c->reads[sender], conn->dir[1 - sender]->reads_size, read->id,
                       region);
    if (!region)
        return;
    t = region->owner;
    track_data_transfer_emit(track, region, RPCRDMA_OP_READ_REQUEST, read->frame,
                             read->address - region->offset, read->length);
    if (t->reads[sender].last == 0)
        t->reads[sender].first = read->id;
    t->reads[sender].last = read->id;
    if (t->rdma_last_ns == 0)
        t->rdma_first_ns = t->rdma_last_ns = read->time_ns;
}

static void on_read_response(void *self, struct flow_conn *conn, int sender,
                             const struct flow_read *read, uint64_t offset,
                             const struct rpcrdma_op *op)
{
    struct track *track = self;
    struct track_conn *c = track_of(track, conn);
    struct flow_region *region;

    if (track->held_oldest)
        track_check_held(track, op->time_ns);
    if (!read)
        unplaced(track, conn, sender, op);
    region = c && read ? track_read_map_find(&c->reads[1 - sender], read->id) : NULL;
    if (region)
        data_transfer(track, region, read->address + offset - region->offset, op);
}

static void on_opened(void *self, struct flow_conn *conn)
{
    struct track *track = self;

    conn->attached[track->observer.slot] =
        flow_alloc(&track->flow->memory, sizeof(struct track_conn));
}

static void on_closed(void *self, struct flow_conn *conn)
{
    struct track *track = self;
    struct track_conn *c = track_of(track, conn);

    if (!c)
        return;
    for (int caller = 0; caller < 2; caller++)
        while (c->oldest[caller])
            track_cut_short(track, c->oldest[caller]);
    for (int end = 0; end < 2; end++)
        track_read_map_free(track, &c->reads[end]);
    if (c->unknown_packets > 0)
        flow_report(track->flow, conn,
                    &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_RPC_UNOFFERED,
                                              .offset = -1,
                                              .arg = {c->unknown_bytes, c->unknown_packets}});
    flow_release(&track->flow->memory, c, sizeof(*c));
    conn->attached[track->observer.slot] = NULL;
}

struct track *track_new(struct flow *flow)
{
    struct track *track = flow_alloc_always(&flow->memory, sizeof(*track));

    if (!track)
        return NULL;
    track->flow = flow;
    track->regions.memory = &flow->memory;
    track->keep_data = flow->sink.rpc != NULL;
    track->keep_base = true;
    track->keep_reply = flow->sink.rpc || flow->sink.payload_stream;
    track->observer = (struct flow_observer){.opened = on_opened,
                                             .message = on_message,
                                             .write = on_write,
                                             .read_request = on_read_request,
                                             .read_response = on_read_response,
                                             .closed = on_closed,
                                             .self = track};
    flow_observe(flow, &track->observer);
    return track;
}

void track_free(struct track *track)
{
    struct flow_memory *memory;

    if (!track)
        return;
    memory = &track->flow->memory;
    flow_table_free(&track->table, memory);
    flow_table_free(&track->regions.table, memory);
    track_iovec_free(track, &track->base);
    track_iovec_free(track, &track->whole);
    track_iovec_free(track, &track->spare);
    flow_release(memory, track->flat, track->flat_size);
    flow_release(memory, track->again, TRACK_RETRANSMIT * sizeof(*track->again));
    flow_release(memory, track->lengths, track->lists_size * sizeof(*track->lengths));
    flow_release(memory, track->gaps, track->lists_size * sizeof(*track->gaps));
    flow_release(memory, track->places, track->lists_size * sizeof(*track->places));
    flow_release(memory, track->unplaced_chunks,
                 track->lists_size * sizeof(*track->unplaced_chunks));
    flow_release(memory, track, sizeof(*track));
}
