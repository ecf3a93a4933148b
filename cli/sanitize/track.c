/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/track.h"

#include <string.h>

#include "common/complain.h"
#include "flow/rpc.h"
#include "sanitize/direction.h"
#include "sanitize/iwarp.h"

enum {
    BTH = 12,
    ICRC = 4,
    IMMDT = 4,
    MOST_ALIKE = 64, /* packets of one place that are compared: more than anybody sends again */
};

static uint64_t hash(const struct sanitize_track *track, const void *data, size_t n)
{
    uint64_t h = sanitize_hash(&track->key, SANITIZE_TABLE, data, n);

    return h ? h : 1;
}

/* -- directions -------------------------------------------------------------------------------- */

bool sanitize_track_is_ours(struct sanitize_track *track, struct sanitize_direction *direction)
{
    if (!direction->ours) {
        struct rpcrdma_op op = sanitize_direction_op(direction);

        direction->ours = rpcrdma_flow_connection(track->flow, &op) != NULL;
    }
    return direction->ours;
}

bool sanitize_track_is_undecided(struct sanitize_track *track,
                                 const struct sanitize_direction *direction)
{
    struct rpcrdma_op op = sanitize_direction_op(direction);

    return rpcrdma_flow_undecided(track->flow, &op);
}

/* -- what a packet carries --------------------------------------------------------------------- */

/* Sends, Writes and Read responses of one direction have PSNs of their requester's. */
uint64_t sanitize_track_place(const struct sanitize_track *track,
                              const struct sanitize_direction *direction, uint8_t kind,
                              uint32_t seq, uint32_t offset)
{
    uint64_t words[2] = {direction->number << 2 | (kind == RPCRDMA_OP_READ_RESPONSE),
                         (uint64_t)offset << 32 | seq};

    /* of iWARP, Sends are counted by themselves, and Writes are named by TCP */
    words[0] |= direction->back && kind == RPCRDMA_OP_SEND ? 2 : 0;
    return hash(track, words, sizeof(words));
}

static void replace(struct sanitize_track *track, struct sanitize_packet *p, const uint8_t *by)
{
    p->original = hash(track, sanitize_track_payload(p), p->n);
    memcpy(sanitize_track_payload(p), by, p->n);
    p->state = PAYLOAD_DONE;
}

/* The same bytes were there before: the same stand for them. */
static bool as_before(struct sanitize_track *track, struct sanitize_packet *p,
                      const struct sanitize_packet *before)
{
    /* with markers it is in one piece until they are there again */
    if (before->state != PAYLOAD_DONE || before->n != p->n || before->len != p->len ||
        (before->unit.finished && before->unit.markers) ||
        (before->original != hash(track, sanitize_track_payload(p), p->n) &&
         !sanitize_queue_damaged(&track->queue, p)))
        return false;
    replace(track, p, sanitize_track_payload(before));
    return true;
}

void sanitize_track_look_back(struct sanitize_track *track, struct sanitize_packet *p)
{
    const struct sanitize_packet *before = sanitize_queue_at(&track->queue, p->older_place);

    for (int n = 0; n < MOST_ALIKE && before && p->state == PAYLOAD_UNKNOWN;
         n++, before = sanitize_queue_at(&track->queue, before->older_place)) {
        if (before->state == PAYLOAD_ZERO)
            p->state = PAYLOAD_ZERO;
        else
            as_before(track, p, before);
    }
}

/* SEND and RDMA WRITE, last and only, of any transport service (IBTA volume 1 section 9.2.1). */
static bool has_immediate(uint8_t opcode)
{
    uint8_t operation = opcode & 0x1f;

    return operation == 3 || operation == 5 || operation == 9 || operation == 11;
}

static void take_payload(struct sanitize_track *track, struct sanitize_packet *p,
                         const struct rpcrdma_op *op)
{
    const uint8_t *data = p->packet.data;
    uint32_t pad = data[p->layout.bth + 1] >> 4 & 3;
    uint64_t tail = (uint64_t)op->len + pad + ICRC, caplen = p->packet.caplen;

    if (p->layout.bth + BTH + tail > p->layout.end) {
        p->drop = DROP_TRANSPORT;
        return;
    }
    p->payload = p->layout.end - (uint32_t)tail;
    p->len = op->len;
    p->n = caplen <= p->payload           ? 0
           : caplen - p->payload < p->len ? (uint32_t)caplen - p->payload
                                          : p->len;
    if (op->data && op->data != data + p->payload)
        p->drop = DROP_TRANSPORT;
    /* which nothing here has; the operation has it where it was captured whole */
    if (has_immediate(data[p->layout.bth]) && caplen + IMMDT > p->payload)
        memset(sanitize_track_payload(p) - IMMDT, 0, MIN(IMMDT, caplen + IMMDT - p->payload));
    if (caplen > p->layout.end - ICRC - pad) /* padding is nobody's, and may be something */
        memset(sanitize_track_payload(p) + p->len, 0,
               (caplen < p->layout.end - ICRC ? (uint32_t)caplen : p->layout.end - ICRC) -
                   (p->payload + p->len));
    if (p->drop != DROP_NOT || p->n == 0)
        return;
    p->state = PAYLOAD_UNKNOWN;
    sanitize_queue_place(&track->queue, p,
                         sanitize_track_place(track, p->direction, p->kind, p->psn, 0));
    sanitize_track_look_back(track, p);
}

static bool on_op(void *context, const struct rpcrdma_op *op)
{
    struct sanitize_track *track = context;
    struct sanitize_packet *p = sanitize_queue_at(&track->queue, track->now);

    if (op->carrier == RPCRDMA_CARRIER_IWARP) {
        track->no_memory |= !sanitize_iwarp_op(track, op);
        return false;
    }
    track->any_op = true;
    if (!p || p->drop != DROP_NOT)
        return true;
    p->kind = op->kind;
    p->flags = op->flags;
    p->psn = op->seq;
    switch (op->kind) {
    case RPCRDMA_OP_SEND:
    case RPCRDMA_OP_WRITE:
    case RPCRDMA_OP_READ_REQUEST:
    case RPCRDMA_OP_READ_RESPONSE:
    case RPCRDMA_OP_ACK:
    case RPCRDMA_OP_NAK:
    case RPCRDMA_OP_CONGESTION:
        p->direction = sanitize_direction_of(track->directions, op);
        if (!p->direction)
            p->drop = DROP_FOREIGN;
        else if (op->kind != RPCRDMA_OP_CONGESTION)
            take_payload(track, p, op);
        break;
    default:
        p->is_cm = op->connect != NULL;
        if (!p->is_cm) /* atomic operations, which RPC-over-RDMA has none of */
            p->drop = DROP_TRANSPORT;
    }
    return true;
}

static void on_op_done(void *context, const struct rpcrdma_op *op)
{
    struct sanitize_track *track = context;
    const struct sanitize_packet *p = sanitize_queue_at(&track->queue, track->now);

    if (p && p->direction && !p->direction->ours)
        p->direction->ours = rpcrdma_flow_connection(track->flow, op) != NULL;
}

static void on_bytes(void *context, const struct rpcrdma_tcp_bytes *told)
{
    sanitize_iwarp_bytes(context, told);
}

/* -- messages ---------------------------------------------------------------------------------- */

/* n bytes `from` went by in this packet and its repetitions: `to` stands for them. NULL: they go.
 */
static void lay(struct sanitize_track *track, struct sanitize_packet *p, const uint8_t *from,
                const uint8_t *to, size_t n)
{
    for (int i = 0; i < MOST_ALIKE && p;
         i++, p = sanitize_queue_at(&track->queue, p->older_place)) {
        size_t m = p->n < n ? p->n : n;

        if (p->state != PAYLOAD_UNKNOWN || (memcmp(sanitize_track_payload(p), from, m) != 0 &&
                                            !sanitize_queue_damaged(&track->queue, p)))
            continue;
        if (!to) { /* other messages may be in the same packet of TCP */
            if (p->unit.is_one)
                p->state = PAYLOAD_ZERO;
            else
                p->drop = DROP_MESSAGE;
            continue;
        }
        p->original = hash(track, sanitize_track_payload(p), p->n);
        memset(sanitize_track_payload(p) + m, 0, p->n - m);
        memcpy(sanitize_track_payload(p), to, m);
        p->state = PAYLOAD_DONE;
    }
}

static uint64_t chunk_of(const struct sanitize_track *track,
                         const struct rpcrdma_connection *connection, uint32_t xid, bool reply)
{
    uint64_t words[2] = {connection->number, (uint64_t)xid << 1 | reply};

    return hash(track, words, sizeof(words));
}

static struct sanitize_long_call *long_call_of(struct sanitize_track *track,
                                               const struct rpcrdma_connection *connection,
                                               uint32_t xid, uint64_t *name)
{
    *name = chunk_of(track, connection, xid, false);
    return &track->long_calls[*name % SANITIZE_LONG_CALLS];
}

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    (void)connection;
    ((struct sanitize_track *)context)->found = true;
}

static void on_message(void *context, const struct rpcrdma_flow_message *given)
{
    struct sanitize_track *track = context;
    struct rpcrdma_flow_message with_call = *given;
    const struct rpcrdma_flow_message *message = &with_call;
    const struct rpcrdma_message *m = message->message;
    uint64_t name;
    const struct sanitize_long_call *call = long_call_of(track, message->connection, m->xid, &name);
    const struct sanitize_packet *first = sanitize_queue_at(&track->queue, message->first_frame);
    bool good, last = false, by_offset;
    uint32_t psn;

    track->found = track->messages = true;
    if (!message->call && message->rpc && message->rpc->type == RPCRDMA_RPC_REPLY &&
        call->name == name)
        with_call.call = &call->rpc;
    good = sanitize_message(&track->message, message);
    if (!first || first->kind != RPCRDMA_OP_SEND || !first->direction)
        return;
    first->direction->ours = true;
    by_offset = first->unit.is_one; /* a message's segments have one number: RFC 5041 section 4.3 */
    track->message.unknown += !good && by_offset;
    psn = first->psn;
    for (size_t off = 0; off < m->caplen && !last;) {
        struct sanitize_packet *p = sanitize_queue_find_place(
            &track->queue, sanitize_track_place(track, first->direction, RPCRDMA_OP_SEND, psn,
                                                by_offset ? (uint32_t)off : 0));

        if (!p || p->len == 0)
            return;
        lay(track, p, m->base + off, good ? track->message.to->data + off : NULL, m->caplen - off);
        off += p->len;
        last = p->flags & RPCRDMA_OP_LAST;
        psn = by_offset ? psn : rpcrdma_psn_add(psn, 1);
    }
}

/* Called while the operation in hand is given to flow/, also for one that waited. */
static void on_moved(void *context, const struct rpcrdma_data_transfer *moved)
{
    struct sanitize_track *track = context;
    struct sanitize_packet *p = sanitize_queue_at(&track->queue, moved->frame);
    const struct sanitize_packet *before;
    uint64_t piece[2];

    if (!p || p->state != PAYLOAD_UNKNOWN || moved->kind == RPCRDMA_OP_READ_REQUEST)
        return;
    if (moved->chunk == RPCRDMA_CHUNK_WRITE ||
        (moved->chunk == RPCRDMA_CHUNK_READ && moved->position != 0)) {
        p->state = PAYLOAD_ZERO;
        return;
    }
    if (moved->length != p->len)
        return;
    p->chunk_offset = piece[1] = moved->offset;
    piece[0] = chunk_of(track, moved->connection, moved->xid, moved->chunk == RPCRDMA_CHUNK_REPLY);
    sanitize_queue_chunk(&track->queue, p, piece[0], hash(track, piece, sizeof(piece)));
    before = sanitize_queue_at(&track->queue, p->older_piece);
    for (int n = 0; n < MOST_ALIKE && before && p->state == PAYLOAD_UNKNOWN;
         n++, before = sanitize_queue_at(&track->queue, before->older_piece))
        as_before(track, p, before);
}

static void on_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    struct sanitize_track *track = context;
    uint64_t chunk = chunk_of(track, stream->connection, stream->xid,
                              stream->direction == RPCRDMA_DIRECTION_REPLY);
    struct sanitize_packet *p = sanitize_queue_find_chunk(&track->queue, chunk);
    struct sanitize_rpc rpc = {.key = &track->key,
                               .shift_s = track->shift_s,
                               .rpc = stream->rpc,
                               .call = stream->call,
                               .reverse = stream->reverse,
                               .from = stream->data,
                               .caplen = stream->caplen,
                               .len = stream->len};

    if (!p || stream->caplen == 0)
        return;
    if (stream->direction == RPCRDMA_DIRECTION_CALL) {
        uint64_t name;
        struct sanitize_long_call *call =
            long_call_of(track, stream->connection, stream->xid, &name);

        call->name = name;
        call->rpc = *stream->rpc;
        call->rpc.cred.data = call->rpc.verf.data = NULL;
    }
    if (stream->reduction)
        rpc.reduction = *stream->reduction;
    g_byte_array_set_size(track->stream, (guint)stream->caplen);
    if (!sanitize_rpc(&rpc, track->stream->data))
        track->message.unknown++;
    for (; p; p = sanitize_queue_at(&track->queue, p->older_chunk))
        if (p->state == PAYLOAD_UNKNOWN && p->chunk_offset + p->n <= stream->caplen &&
            (memcmp(sanitize_track_payload(p), stream->data + p->chunk_offset, p->n) == 0 ||
             sanitize_queue_damaged(&track->queue, p)))
            replace(track, p, track->stream->data + p->chunk_offset);
    sanitize_queue_chunk_done(&track->queue, chunk);
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct sanitize_track *track = context;

    (void)connection;
    track->memory_limit += finding->rule == RPCRDMA_RULE_MEMORY_LIMIT;
}

/* -- packets ---------------------------------------------------------------------------------- */

/* What the analyzer made of it. Tunnels it takes apart, and IP options. */
static void of_packet(const struct sanitize_track *track, struct sanitize_packet *p, bool is_rdma)
{
    if (p->drop == DROP_NOT_RDMA && is_rdma)
        p->drop = DROP_IP;
    if (p->drop != DROP_NOT || sanitize_is_tcp(&p->layout))
        return;
    if (p->direction && p->packet.caplen >= p->layout.end)
        p->direction->good_icrcs += p->bad_icrc ? -1 : 1;
    if (!track->any_op)
        p->drop = DROP_TRANSPORT;
}

bool sanitize_track_packet(struct sanitize_track *track, uint32_t interface,
                           const struct rpcrdma_packet *packet, bool replayed)
{
    struct sanitize_packet *p = sanitize_queue_add(&track->queue, packet);
    const struct rpcrdma_net_stats *stats =
        rpcrdma_net_stats(rpcrdma_analyzer_net(track->analyzer));
    uint64_t rdma = stats->rdma;

    p->replayed = replayed;
    p->interface = interface;
    p->layout = sanitize_layout(&p->packet);
    p->drop = p->layout.drop;
    if (p->drop == DROP_NOT && sanitize_is_tcp(&p->layout))
        sanitize_iwarp_packet(p);
    else if (p->drop == DROP_NOT)
        p->bad_icrc =
            !sanitize_icrc_good(&track->headers, &p->layout, p->packet.data, p->packet.caplen);
    track->now = p->packet.frame;
    track->time_ns = packet->time_ns;
    track->any_op = false;
    if ((replayed ? rpcrdma_analyzer_replay
                  : rpcrdma_analyzer_packet)(track->analyzer, &p->packet) != RPCRDMA_ANALYZER_OK ||
        track->no_memory) {
        complain("out of memory");
        return false;
    }
    p = sanitize_queue_at(&track->queue, track->now);
    track->now = 0;
    if (p)
        of_packet(track, p, stats->rdma > rdma);
    sanitize_queue_go_on(&track->queue, false);
    return true;
}

bool sanitize_track_begin(struct sanitize_track *track)
{
    struct rpcrdma_net_config net = {.size = sizeof(net),
                                     .max_memory = options_memory(track->options, MEMORY_NET)};
    struct rpcrdma_flow_config flow = options_flow(track->options);
    struct rpcrdma_flow_sink flow_sink = {.size = sizeof(flow_sink),
                                          .connection = on_connection,
                                          .message = on_message,
                                          .finding = on_finding,
                                          .payload_stream = on_stream,
                                          .data_transfer = on_moved,
                                          .context = track};

    flow.unordered = true;
    sanitize_headers_begin(&track->headers, &track->key);
    sanitize_fpdus_begin(&track->fpdus);
    track->message.key = &track->key;
    track->message.shift_s = track->shift_s;
    track->message.to = g_byte_array_new();
    track->message.gaps = g_array_new(FALSE, FALSE, sizeof(struct rpcrdma_gap));
    track->message.written = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    track->stream = g_byte_array_new();
    track->directions = sanitize_directions_new();
    track->queue.ready = sanitize_track_ready;
    track->queue.emit = sanitize_track_emit;
    track->queue.forget = sanitize_track_forget;
    track->queue.context = track;
    track->analyzer = rpcrdma_analyzer_new(
        &(struct rpcrdma_analyzer_config){
            .size = sizeof(struct rpcrdma_analyzer_config), .net = &net, .flow = &flow},
        &(struct rpcrdma_analyzer_sink){.size = sizeof(struct rpcrdma_analyzer_sink),
                                        .flow = &flow_sink,
                                        .op = on_op,
                                        .op_done = on_op_done,
                                        .bytes = on_bytes,
                                        .context = track});
    if (!sanitize_queue_begin(&track->queue, options_memory(track->options, MEMORY_COMMAND)) ||
        !track->analyzer) {
        complain("out of memory");
        return false;
    }
    track->flow = rpcrdma_analyzer_flow(track->analyzer);
    return true;
}

void sanitize_track_end(struct sanitize_track *track)
{
    /* who is whose is asked while connections are still known */
    for (uint64_t frame = track->queue.first; frame < track->queue.next; frame++) {
        const struct sanitize_packet *p = sanitize_queue_at(&track->queue, frame);

        if (p->direction)
            sanitize_track_is_ours(track, p->direction);
        if (p->direction && p->direction->back)
            sanitize_track_is_ours(track, p->direction->back);
    }
    if (rpcrdma_analyzer_end(track->analyzer) == RPCRDMA_ANALYZER_NO_MEMORY || track->no_memory)
        complain("out of memory");
    sanitize_queue_go_on(&track->queue, true);
}

void sanitize_track_free(struct sanitize_track *track)
{
    rpcrdma_analyzer_free(track->analyzer);
    sanitize_queue_free(&track->queue);
    if (!track->directions)
        return;
    g_hash_table_destroy(track->directions);
    g_byte_array_free(track->stream, TRUE);
    g_byte_array_free(track->message.to, TRUE);
    g_array_free(track->message.gaps, TRUE);
    g_array_free(track->message.written, TRUE);
}
