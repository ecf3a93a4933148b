/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keep.h"

#include <string.h>

#include "decode_as.h"
#include "store.h"
#include "taps.h"
#include "wire/chunk.h"
#include "wire/dialect.h"

/* What waits for the message that it belongs to: flow/ tells a whole RPC message first. */
struct pending {
    uint32_t send_frame, xid;
    uint8_t direction;
    uint32_t rpc_frame;
    struct whole *whole;
};

enum { PENDING = 64, LAST_PARTS = 64 };

struct last_part {
    uint64_t stream;
    struct told *told;
};

static struct {
    struct rpcrdma_packet packet; /* in hand */
    const struct rpcrdma_op *op;  /* in hand */
    struct pending pending[PENDING];
    unsigned n_pending;
    struct {
        const struct rpcrdma_message *message; /* whose it is, and that comes next */
        struct partial *partial;
    } partial; /* in hand */
    struct last_part last_part[LAST_PARTS];
} keep;

void keep_begin(const struct rpcrdma_packet *packet)
{
    keep_whole_frame_done(); /* those before: taps are given them once their frame is done */
    keep.packet = *packet;
    keep.n_pending = 0;
    keep.partial.message = NULL;
}

void keep_file(void)
{
    keep_whole_frame_done();
    memset(keep.last_part, 0, sizeof(keep.last_part));
    keep.n_pending = 0;
    keep.partial.message = NULL;
    keep_calls_file();
}

void keep_frame_done(void)
{
    keep.packet = (struct rpcrdma_packet){0};
}

/* *copy is left alone where the bytes are in the frame in hand. */
static struct place place_of(uint64_t frame, const uint8_t *data, uint32_t caplen, uint32_t len,
                             uint8_t **copy)
{
    const struct rpcrdma_packet *packet = &keep.packet;
    struct place place = {.caplen = caplen, .len = len};

    if (frame == packet->frame && data >= packet->data && data <= packet->data + packet->caplen) {
        place.off = (uint32_t)(data - packet->data);
        return place;
    }
    *copy = wmem_alloc(wmem_file_scope(), MAX(caplen, 1));
    if (caplen > 0)
        memcpy(*copy, data, caplen);
    return place;
}

/* Is it a part of a continued message? */
static bool is_part(const struct rpcrdma_flow_message *m)
{
    const struct rpcrdma_message *message = m->message;

    return m->part > 0 || message->remaining > 0 ||
           (message->present & RPCRDMA_HAS_FLAGS && message->flags & message->dialect->flag_more);
}

/* Is there more to the RPC message than this message's payload? */
static bool is_reduced(const struct rpcrdma_message *m, enum rpcrdma_rpc_direction direction)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->write);
    struct rpcrdma_chunk chunk;

    if (m->kind == RPCRDMA_KIND_MSGP || m->call.count > 0 || m->read.count > 0 ||
        m->payload.len == 0)
        return true;
    if (direction == RPCRDMA_DIRECTION_CALL)
        return false;
    while (rpcrdma_write_next(&it, &chunk))
        if (rpcrdma_chunk_length(&chunk) > 0)
            return true;
    return false;
}

/* Does this message's payload begin the RPC message? Then that is shown with it, even if data that
 * it refers to comes later. */
static bool begins_rpc(const struct rpcrdma_message *m)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(&m->read);
    struct rpcrdma_read_segment segment;

    if (m->payload.len == 0 || m->call.count > 0)
        return false;
    while (rpcrdma_read_next(&it, &segment))
        if (segment.position == 0)
            return false;
    return true;
}

/* What is about an earlier frame, its connection's set-up, goes there. */
static void set_findings(struct told *told, const struct rpcrdma_flow_message *m)
{
    struct rare *rare = m->n_findings > 0 ? store_rare(told) : told->rare;
    uint32_t n = 0;

    if (!rare)
        return;
    rare->findings = m->n_findings > 0 ? wmem_alloc_array(wmem_file_scope(), struct rpcrdma_finding,
                                                          m->n_findings)
                                       : NULL;
    for (size_t i = 0; i < m->n_findings; i++) {
        const struct rpcrdma_finding *finding = &m->findings[i];

        if (finding->frame == 0 || finding->frame == m->frame)
            rare->findings[n++] = *finding;
        else if (!m->held_back)
            keep_found((uint32_t)finding->frame, m->connection->number, NULL, finding);
    }
    rare->n_findings = n;
}

static struct told *get_told(struct frame_note *note, const struct rpcrdma_flow_message *m)
{
    struct told *told = store_told(note, true, m->message->xid, m->message->len);
    struct told **end = &note->messages;
    uint8_t *copy = NULL;

    if (told)
        return told;
    while (*end)
        end = &(*end)->next;
    told = *end = store_new(sizeof(struct told));
    told->place = place_of(m->frame, m->message->base, m->message->caplen, m->message->len, &copy);
    if (copy)
        store_rare(told)->copy = copy;
    return told;
}

static void complete(struct told *told, uint32_t frame)
{
    struct completed **end = &store_more(frame)->completed;

    while (*end)
        end = &(*end)->next;
    *end = store_new(sizeof(struct completed));
    (*end)->told = told;
    store_get(frame)->ours = true;
    told->rpc_frame = frame;
}

/* Is the packet in hand one from the message's sender to its receiver? */
static bool same_way(const struct told *told)
{
    const struct rpcrdma_op *op = keep.op;
    const struct way *way = told->way;

    return op && memcmp(&op->src, &way->src->address, sizeof(op->src)) == 0 &&
           memcmp(&op->dst, &way->dst->address, sizeof(op->dst)) == 0 &&
           (op->carrier == RPCRDMA_CARRIER_IWARP || op->dst_qpn == way->dst->qpn);
}

/*
 * Where is an RPC message shown that this message begins? With it. If that was not known when its
 * frame was first seen then at later visits; but where the packet in hand filled a gap in a Send of
 * several, with that: the message was not there before.
 */
static void place_rpc(struct told *told)
{
    bool late = !told->held_back && told->frame < keep.packet.frame && told->rpc_frame == 0;
    bool several = told_rare(told)->first_frame != 0 && told->way->carrier != RPCRDMA_CARRIER_IWARP;

    if (late && several && same_way(told))
        complete(told, (uint32_t)keep.packet.frame);
    else
        told->rpc_frame = told->frame;
    keep_call(told, !late || told->rpc_frame == keep.packet.frame);
}

static void attach(struct told *told, struct whole *whole, uint32_t rpc_frame)
{
    store_rare(told)->whole = whole;
    keep_partial_free(told);
    tap_rpc(told);
    if (!told->begins_rpc) {
        if (rpc_frame != told->frame)
            complete(told, rpc_frame);
        else
            told->rpc_frame = told->frame;
        keep_call(told, rpc_frame == keep.packet.frame);
    }
    for (struct told *part = told->rare->previous; part; part = told_rare(part)->previous)
        part->rpc_frame = told->rpc_frame;
}

/* Parts before this one are part of what it completes. */
static void chain(struct told *told)
{
    struct last_part *last = &keep.last_part[told->xid % LAST_PARTS];

    if (told_rare(told)->part > 1 && last->told && last->stream == told->way->stream &&
        last->told->xid == told->xid && last->told != told)
        told->rare->previous = last->told;
    *last = (struct last_part){told->way->stream, told};
}

static void attach_pending(struct told *told)
{
    for (unsigned i = 0; i < keep.n_pending; i++) {
        struct pending *p = &keep.pending[i];

        if (p->send_frame != told->frame || p->xid != told->xid ||
            p->direction != told->sort->direction)
            continue;
        attach(told, p->whole, p->rpc_frame);
        *p = keep.pending[--keep.n_pending];
        return;
    }
}

static void set_rare(struct told *told, const struct rpcrdma_flow_message *m)
{
    bool several = m->first_frame != m->frame;

    if (!told->rare && !several && !m->has_invalidate && m->part == 0)
        return;
    store_rare(told)->first_frame = several ? (uint32_t)m->first_frame : 0;
    told->rare->invalidate = m->invalidate;
    told->rare->part = m->part;
}

/* Of the message in hand, or of one that was held back. */
static void attach_partial(struct told *told, struct partial *partial)
{
    if (!partial)
        return;
    keep_partial_free(told);
    store_rare(told)->partial = partial;
}

static struct told *keep_one(const struct rpcrdma_flow_message *m)
{
    struct frame_note *note;
    struct told *told;

    note = store_get((uint32_t)m->frame);
    told = get_told(note, m);
    note->ours = true;
    told->held_back = m->held_back;
    told->frame = (uint32_t)m->frame;
    told->xid = m->message->xid;
    told->way = keep_way(m);
    told->sort = keep_sort(m);
    if (m->direction == RPCRDMA_DIRECTION_REPLY && keep_call_unseen(told))
        told->later_visits = true;
    set_rare(told, m);
    told->has_invalidate = m->has_invalidate;
    told->has_rpc = m->rpc != NULL;
    told->reduced = is_reduced(m->message, m->direction) || is_part(m);
    told->begins_rpc = m->rpc && !is_part(m) && begins_rpc(m->message);
    if (told->begins_rpc) {
        place_rpc(told);
    } else {
        told->rpc_frame = 0;
        if (m->held_back)
            keep_call(told, false);
    }
    set_findings(told, m);
    if (m->part > 0)
        chain(told);
    attach_pending(told);
    return told;
}

void keep_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct told *told;

    (void)context;
    if (decode_as_given(message->connection))
        return;
    told = keep_one(message);
    if (keep.partial.message == message->message)
        attach_partial(told, keep.partial.partial);
    keep.partial.message = NULL;
    tap_message(told, message->message);
    if (!told_rare(told)->whole)
        tap_rpc(told);
}

void keep_partial(void *context, const struct rpcrdma_flow_message *message,
                  const struct rpcrdma_rpc_message *rpc)
{
    struct partial *partial;

    (void)context;
    if (decode_as_given(message->connection))
        return;
    partial = rpc ? keep_partial_new(rpc, message->message) : NULL;
    if (message->held_back) {
        attach_partial(keep_one(message), partial);
        return;
    }
    keep.partial.message = message->message;
    keep.partial.partial = partial;
}

void keep_found(uint32_t frame, uint32_t connection, const uint32_t *xid,
                const struct rpcrdma_finding *finding)
{
    struct found **end = &store_more(frame)->findings;

    while (*end)
        end = &(*end)->next;
    *end = store_new(sizeof(struct found));
    (*end)->connection = connection;
    (*end)->has_xid = xid != NULL;
    (*end)->xid = xid ? *xid : 0;
    (*end)->finding = *finding;
}

/* What is about no frame is about all before it: the last one of the connection, or the one in
 * hand. */
void keep_finding(void *context, const struct rpcrdma_connection *connection,
                  const struct rpcrdma_finding *finding)
{
    uint64_t frame = finding->frame;

    (void)context;
    if (frame == 0)
        frame = connection ? connection->last_frame : keep.packet.frame;
    if (frame != 0 && !decode_as_given(connection))
        keep_found((uint32_t)frame, connection ? connection->number : 0, NULL, finding);
}

/* A Send that was one run of bytes is its own RPC message. */
static bool is_inline(const struct rpcrdma_rpc_message *m)
{
    return m->n_iovec == 1 && m->iovec[0].kind == RPCRDMA_IOVEC_INLINE &&
           m->iovec[0].length == m->length;
}

void keep_rpc(void *context, const struct rpcrdma_rpc_message *m)
{
    struct told *told;
    struct whole *whole;

    (void)context;
    if (is_inline(m) || decode_as_given(m->connection))
        return;
    told = store_told(store_get((uint32_t)m->send_frame), false, m->xid, 0);
    whole = keep_whole(m);
    if (told && told->sort->direction == m->direction) {
        attach(told, whole, (uint32_t)m->frame);
    } else if (keep.n_pending < PENDING) {
        keep.pending[keep.n_pending++] = (struct pending){.send_frame = (uint32_t)m->send_frame,
                                                          .xid = m->xid,
                                                          .direction = (uint8_t)m->direction,
                                                          .rpc_frame = (uint32_t)m->frame,
                                                          .whole = whole};
    }
}

static void keep_set_up(const struct rpcrdma_op *op)
{
    struct rpcrdma_private_data pd;
    struct frame_note *note;
    struct set_up *set_up;
    const struct rpcrdma_op_connect *connect = op->connect;

    if (connect) {
        note = store_get((uint32_t)op->frame);
        note->kind = op->kind;
        note->dst_qpn = op->dst_qpn;
    }

    if (!connect || connect->private_caplen == 0 ||
        rpcrdma_private_data_find(connect->private_data, connect->private_caplen,
                                  connect->private_len, &pd) == RPCRDMA_MALFORMED ||
        pd.format == 0)
        return;
    note = store_get((uint32_t)op->frame);
    note->ours = true;
    set_up = store_more((uint32_t)op->frame)->set_up = store_new(sizeof(*set_up));
    set_up->private_data = pd;
    set_up->src = op->src;
    set_up->dst = op->dst;
    set_up->place = place_of(op->frame, connect->private_data, connect->private_caplen,
                             connect->private_len, &set_up->copy);
}

void keep_op(const struct rpcrdma_op *op)
{
    keep.op = op;
    if (op)
        keep_set_up(op);
}
