/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed/keep.h"

#include <string.h>

#include "connections/decode_as.h"
#include "feed/feed.h"
#include "feed/late.h"
#include "store/store.h"
#include "taps/taps.h"
#include "wire/chunk.h"
#include "wire/dialect.h"

/* What waits for the message that it belongs to: flow/ emits a whole RPC message first. */
struct pending {
    uint32_t send_frame, xid;
    uint8_t direction;
    uint32_t rpc_frame;
    struct whole *whole; /* NULL: all of it is inline */
};

enum { PENDING = 64, LAST_PARTS = 64 };

struct last_part {
    uint64_t stream;
    struct message_note *message_note;
};

static struct {
    struct rpcrdma_packet packet; /* in hand */
    const struct rpcrdma_op *op;  /* in hand */
    struct pending pending[PENDING];
    unsigned n_pending;
    struct {
        const struct rpcrdma_message *message; /* whose it is, and that comes next */
        struct partial *partial;               /* NULL: all of it is inline, or nothing is known */
        bool known;
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
    late_file();
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

/* Is there more to the RPC message than this message's payload, as far as its header tells? Chunks
 * may be empty, and RDMA_MSGP without anything aligned: see nothing_moved(). */
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
    return m->payload.len > 0 && m->call.count == 0 && !rpcrdma_read_position_zero(&m->read);
}

/* What is about an earlier frame, its connection's set-up, goes there. */
static void set_findings(struct message_note *message_note, const struct rpcrdma_flow_message *m)
{
    struct extra *extra = m->n_findings > 0 ? store_extra(message_note) : message_note->extra;
    uint32_t n = 0;

    if (!extra)
        return;
    extra->findings = m->n_findings > 0 ? wmem_alloc_array(wmem_file_scope(),
                                                           struct rpcrdma_finding, m->n_findings)
                                        : NULL;
    for (size_t i = 0; i < m->n_findings; i++) {
        const struct rpcrdma_finding *finding = &m->findings[i];

        if (feed_doubts(finding->rule))
            continue;
        if (finding->frame == 0 || finding->frame == m->frame)
            extra->findings[n++] = *finding;
        else if (!m->held_back)
            keep_found((uint32_t)finding->frame, m->connection->number, NULL, finding);
    }
    extra->n_findings = n;
}

static struct message_note *get_message_note(struct frame_note *note,
                                             const struct rpcrdma_flow_message *m)
{
    struct message_note *message_note =
        store_message_note(note, true, m->message->xid, m->message->len);
    struct message_note **end = &note->messages;
    uint8_t *copy = NULL;

    if (message_note)
        return message_note;
    while (*end)
        end = &(*end)->next;
    message_note = *end = store_new(sizeof(struct message_note));
    message_note->place =
        place_of(m->frame, m->message->base, m->message->caplen, m->message->len, &copy);
    if (copy)
        store_extra(message_note)->copy = copy;
    if (m->frame < keep.packet.frame) /* which was dissected without it */
        late_add(message_note);
    return message_note;
}

static void complete(struct message_note *message_note, uint32_t frame)
{
    struct completed **end = &store_more(frame)->completed;

    while (*end)
        end = &(*end)->next;
    *end = store_new(sizeof(struct completed));
    (*end)->message_note = message_note;
    store_get(frame)->ours = true;
    message_note->rpc_frame = frame;
}

/* Is the packet in hand one from the message's sender to its receiver? */
static bool same_path(const struct message_note *message_note)
{
    const struct rpcrdma_op *op = keep.op;
    const struct path *path = message_note->path;

    return op && memcmp(&op->src, &path->src->address, sizeof(op->src)) == 0 &&
           memcmp(&op->dst, &path->dst->address, sizeof(op->dst)) == 0 &&
           (op->carrier == RPCRDMA_CARRIER_IWARP || op->dst_qpn == path->dst->qpn);
}

/*
 * Where is an RPC message shown that this message begins? With it. If that was not known when its
 * frame was first seen then at later visits; but where the packet in hand filled a gap in a Send of
 * several, with that: the message was not there before.
 */
static void place_rpc(struct message_note *message_note)
{
    bool late = !message_note->held_back && message_note->frame < keep.packet.frame &&
                message_note->rpc_frame == 0;
    bool several = note_extra(message_note)->first_frame != 0 &&
                   message_note->path->carrier != RPCRDMA_CARRIER_IWARP;

    if (late && several && same_path(message_note))
        complete(message_note, (uint32_t)keep.packet.frame);
    else
        message_note->rpc_frame = message_note->frame;
    keep_call(message_note, !late || message_note->rpc_frame == keep.packet.frame);
}

/* Its RPC message is complete. */
static void place_complete(struct message_note *message_note, uint32_t rpc_frame)
{
    if (message_note->begins_rpc)
        return;
    if (rpc_frame != message_note->frame)
        complete(message_note, rpc_frame);
    else
        message_note->rpc_frame = message_note->frame;
    keep_call(message_note, rpc_frame == keep.packet.frame);
}

/* The RPC message is this message's payload, whatever its header says. */
static void nothing_moved(struct message_note *message_note, uint32_t rpc_frame)
{
    if (!message_note->reduced || note_extra(message_note)->part > 0)
        return;
    message_note->reduced = false;
    place_complete(message_note, rpc_frame);
}

static void attach(struct message_note *message_note, struct whole *whole, uint32_t rpc_frame)
{
    store_extra(message_note)->whole = whole;
    keep_partial_free(message_note);
    tap_rpc(message_note);
    place_complete(message_note, rpc_frame);
    for (struct message_note *part = message_note->extra->previous; part;
         part = note_extra(part)->previous)
        part->rpc_frame = message_note->rpc_frame;
}

/* Parts before this one are part of what it completes. */
static void chain(struct message_note *message_note)
{
    struct last_part *last = &keep.last_part[message_note->xid % LAST_PARTS];

    if (note_extra(message_note)->part > 1 && last->message_note &&
        last->stream == message_note->path->stream &&
        last->message_note->xid == message_note->xid && last->message_note != message_note)
        message_note->extra->previous = last->message_note;
    *last = (struct last_part){message_note->path->stream, message_note};
}

static void attach_pending(struct message_note *message_note)
{
    for (unsigned i = 0; i < keep.n_pending; i++) {
        struct pending *p = &keep.pending[i];

        if (p->send_frame != message_note->frame || p->xid != message_note->xid ||
            p->direction != message_note->kind->direction)
            continue;
        if (p->whole)
            attach(message_note, p->whole, p->rpc_frame);
        else
            nothing_moved(message_note, p->rpc_frame);
        *p = keep.pending[--keep.n_pending];
        return;
    }
}

static void set_extra(struct message_note *message_note, const struct rpcrdma_flow_message *m)
{
    bool several = m->first_frame != m->frame;

    if (!message_note->extra && !several && !m->has_invalidate && m->part == 0)
        return;
    store_extra(message_note)->first_frame = several ? (uint32_t)m->first_frame : 0;
    message_note->extra->invalidate = m->invalidate;
    message_note->extra->part = m->part;
}

/* Of the message in hand, or of one that was held back. */
static void attach_partial(struct message_note *message_note, struct partial *partial, bool known)
{
    if (!partial) {
        message_note->reduced &= !known;
        return;
    }
    keep_partial_free(message_note);
    store_extra(message_note)->partial = partial;
}

static struct message_note *keep_one(const struct rpcrdma_flow_message *m)
{
    struct frame_note *note;
    struct message_note *message_note;

    note = store_get((uint32_t)m->frame);
    message_note = get_message_note(note, m);
    note->ours = true;
    message_note->held_back = m->held_back;
    message_note->frame = (uint32_t)m->frame;
    message_note->xid = m->message->xid;
    message_note->path = keep_path(m);
    message_note->kind = keep_kind(m);
    if (m->direction == RPCRDMA_DIRECTION_REPLY && keep_call_unseen(message_note))
        message_note->later_visits = true;
    set_extra(message_note, m);
    message_note->has_invalidate = m->has_invalidate;
    message_note->has_rpc = m->rpc != NULL;
    message_note->has_type = m->rpc && m->rpc->present & RPCRDMA_RPC_HAS_TYPE;
    message_note->reduced = is_reduced(m->message, m->direction) || is_part(m);
    message_note->begins_rpc = m->rpc && !is_part(m) && begins_rpc(m->message);
    if (message_note->begins_rpc) {
        place_rpc(message_note);
    } else {
        message_note->rpc_frame = 0;
        if (m->held_back)
            keep_call(message_note, false);
    }
    set_findings(message_note, m);
    if (m->part > 0)
        chain(message_note);
    attach_pending(message_note);
    return message_note;
}

void keep_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct message_note *message_note;

    (void)context;
    if (decode_as_given(message->connection))
        return;
    message_note = keep_one(message);
    if (keep.partial.message == message->message)
        attach_partial(message_note, keep.partial.partial, keep.partial.known);
    keep.partial.message = NULL;
    tap_message(message_note, message->message);
    if (!note_extra(message_note)->whole)
        tap_rpc(message_note);
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
        attach_partial(keep_one(message), partial, rpc != NULL);
        return;
    }
    keep.partial.message = message->message;
    keep.partial.partial = partial;
    keep.partial.known = rpc != NULL;
}

void keep_found(uint32_t frame, uint32_t connection, const uint32_t *xid,
                const struct rpcrdma_finding *finding)
{
    struct found **end;

    if (feed_doubts(finding->rule))
        return;
    end = &store_more(frame)->findings;
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
    const struct frame_note *note = store_find((uint32_t)m->send_frame);
    struct message_note *message_note;
    struct whole *whole;

    (void)context;
    if (decode_as_given(m->connection))
        return;
    message_note = note ? store_message_note(note, false, m->xid, 0) : NULL;
    whole = is_inline(m) ? NULL : keep_whole(m);
    if (message_note && message_note->kind->direction == m->direction) {
        if (whole)
            attach(message_note, whole, (uint32_t)m->frame);
        else
            nothing_moved(message_note, (uint32_t)m->frame);
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
