/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/iwarp.h"

#include <string.h>

#include "sanitize/direction.h"
#include "wire/cursor.h"

/* What opens a connection waits so long for what shows whose it is, by the capture's clock. */
#define OPENING_NS INT64_C(100000000)

/* Bytes of a packet, in one FPDU: so many, or fewer, differ by damage. */
enum { MOST_DAMAGED = 16 };

/* -- what the analyzer tells ------------------------------------------------------------------- */

static struct rpcrdma_op op_of(const struct rpcrdma_tcp_bytes *told, bool back)
{
    return (struct rpcrdma_op){.carrier = RPCRDMA_CARRIER_IWARP,
                               .kind = RPCRDMA_OP_SEND,
                               .src = back ? told->dst : told->src,
                               .dst = back ? told->src : told->dst,
                               .src_port = back ? told->dst_port : told->src_port,
                               .dst_port = back ? told->src_port : told->dst_port};
}

/* Both directions. NULL: there are too many. */
static struct sanitize_direction *pair_of(struct sanitize_track *track,
                                          const struct rpcrdma_tcp_bytes *told)
{
    struct rpcrdma_op op = op_of(told, false), op_back = op_of(told, true);
    struct sanitize_direction *one = sanitize_direction_of(track->directions, &op), *back;

    if (!one || one->back)
        return one;
    back = sanitize_direction_of(track->directions, &op_back);
    if (!back)
        return NULL;
    one->back = back;
    back->back = one;
    one->stream.waits = back->stream.waits = true;
    return one;
}

static void segment(struct sanitize_track *track, const struct rpcrdma_tcp_bytes *told)
{
    struct sanitize_packet *p = sanitize_queue_at(&track->queue, track->now);
    struct sanitize_direction *direction = pair_of(track, told);

    if (!p) /* what other connections had took its place */
        return;
    if (!direction) {
        p->drop = p->drop == DROP_NOT ? DROP_FOREIGN : p->drop;
        return;
    }
    if (told->begins) {
        sanitize_stream_begins(&direction->stream);
        sanitize_stream_begins(&direction->back->stream);
        direction->stream.waits = direction->back->stream.waits = true;
    }
    if (p->drop != DROP_NOT)
        return;
    p->direction = direction;
    if (told->len > 0)
        p->at = sanitize_stream_place(&direction->stream, told->seq);
}

static void unit(struct sanitize_track *track, const struct rpcrdma_tcp_bytes *told)
{
    struct sanitize_direction *direction = pair_of(track, told);
    struct sanitize_packet *one =
        direction ? sanitize_queue_add_unit(&track->queue, told->bytes, told->caplen) : NULL;

    track->unit = 0;
    if (!one) {
        if (direction)
            sanitize_stream_tell(&direction->stream, told->seq, told->len, 0);
        return;
    }
    if (told->kind == RPCRDMA_TCP_BYTES_START)
        sanitize_start_frame(one, told);
    else
        sanitize_fpdu(one, told);
    one->direction = direction;
    sanitize_stream_tell(&direction->stream, told->seq, told->len, one->packet.frame);
    track->unit = one->packet.frame;
}

/* It was not iWARP: nothing more shows whose it is. */
static void none(struct sanitize_track *track, const struct rpcrdma_tcp_bytes *told)
{
    struct rpcrdma_op op = op_of(told, false);
    struct sanitize_direction *direction = sanitize_direction_find(track->directions, &op);

    if (direction && direction->back)
        direction->stream.waits = direction->back->stream.waits = false;
}

void sanitize_iwarp_bytes(struct sanitize_track *track, const struct rpcrdma_tcp_bytes *told)
{
    switch (told->kind) {
    case RPCRDMA_TCP_BYTES_SEGMENT:
        segment(track, told);
        break;
    case RPCRDMA_TCP_BYTES_START:
    case RPCRDMA_TCP_BYTES_FPDU:
        unit(track, told);
        break;
    default:
        none(track, told);
    }
}

static void of_unit(struct sanitize_track *track, struct sanitize_packet *one,
                    const struct rpcrdma_op *op)
{
    one->kind = op->kind;
    one->flags = op->flags;
    one->psn = op->seq;
    if (one->state == PAYLOAD_UNKNOWN)
        sanitize_queue_place(
            &track->queue, one,
            sanitize_track_place(track, one->direction, one->kind, op->seq, op->message_offset));
}

bool sanitize_iwarp_op(struct sanitize_track *track, const struct rpcrdma_op *op)
{
    struct rpcrdma_op own = *op;
    struct sanitize_packet *one = sanitize_queue_at(&track->queue, track->unit);
    struct sanitize_direction *direction = sanitize_direction_find(track->directions, op);

    track->unit = 0;
    if (one && op->stream_end != op->stream_first)
        of_unit(track, one, op);
    else if (op->kind == RPCRDMA_OP_LOST && direction)
        sanitize_stream_tell(&direction->stream, op->seq, op->len, 0);
    own.frame = track->queue.next - 1; /* the unit's, or the latest */
    if (!rpcrdma_flow_op(track->flow, &own))
        return false;
    if (!direction || !direction->back)
        return true;
    direction->stream.waits = direction->back->stream.waits = false;
    direction->stream.over |= op->kind == RPCRDMA_OP_DISCONNECT || op->kind == RPCRDMA_OP_RESET;
    direction->back->stream.over |= op->kind == RPCRDMA_OP_RESET;
    sanitize_track_is_ours(track, direction);
    return true;
}

/* -- whose a packet is ------------------------------------------------------------------------- */

void sanitize_iwarp_packet(struct sanitize_packet *p)
{
    uint32_t caplen = p->packet.caplen < p->layout.end ? p->packet.caplen : p->layout.end;

    p->sum = sanitize_tcp_sum(&p->layout, p->packet.data, p->packet.caplen);
    p->payload = p->layout.payload;
    p->len = p->layout.end - p->payload;
    p->n = caplen > p->payload ? caplen - p->payload : 0;
}

static bool service_port(const struct sanitize_track *track, uint16_t port)
{
    enum { PORT = 20049 };
    const GArray *ports = track->options->ports;

    for (guint i = 0; ports && i < ports->len; i++)
        if (g_array_index(ports, uint16_t, i) == port)
            return true;
    return (!ports || ports->len == 0) && port == PORT;
}

/* Of a packet of no connection that net/ knew then: what was made of its addresses and ports. */
static struct sanitize_direction *by_ports(const struct sanitize_track *track,
                                           const struct sanitize_packet *p, struct rpcrdma_op *op)
{
    const uint8_t *ip = p->packet.data + p->layout.network;
    const uint8_t *tcp = p->packet.data + p->layout.tcp;
    uint32_t n = p->layout.ipv6 ? 16 : 4, src = p->layout.ipv6 ? 8 : 12;

    *op = (struct rpcrdma_op){.carrier = RPCRDMA_CARRIER_IWARP,
                              .src_port = rpcrdma_get_be16(tcp),
                              .dst_port = rpcrdma_get_be16(tcp + 2)};
    op->src.family = op->dst.family = p->layout.ipv6 ? RPCRDMA_ADDRESS_IPV6 : RPCRDMA_ADDRESS_IPV4;
    memcpy(op->src.bytes, ip + src, n);
    memcpy(op->dst.bytes, ip + src + n, n);
    return sanitize_direction_find(track->directions, op);
}

static bool pair_is_ours(struct sanitize_track *track, struct sanitize_direction *direction)
{
    return sanitize_track_is_ours(track, direction) ||
           (direction->back && sanitize_track_is_ours(track, direction->back));
}

static bool pair_is_undecided(struct sanitize_track *track,
                              const struct sanitize_direction *direction)
{
    return direction->stream.waits || sanitize_track_is_undecided(track, direction) ||
           (direction->back && sanitize_track_is_undecided(track, direction->back));
}

enum whose { OURS, UNDECIDED, NOT_OURS };

static enum whose whose(struct sanitize_track *track, const struct sanitize_packet *p)
{
    struct sanitize_direction *direction = p->direction;
    bool may_open = false;

    if (!direction) {
        struct rpcrdma_op op;
        bool service;

        direction = by_ports(track, p, &op);
        service = service_port(track, op.src_port) || service_port(track, op.dst_port);
        if (service && p->len == 0)
            return OURS;
        may_open = service || p->len == 0;
    }
    if (direction && pair_is_ours(track, direction))
        return OURS;
    if (direction && pair_is_undecided(track, direction))
        return UNDECIDED;
    return may_open && track->time_ns >= p->packet.time_ns &&
                   track->time_ns - p->packet.time_ns < OPENING_NS
               ? UNDECIDED
               : NOT_OURS;
}

/* -- what becomes of it ------------------------------------------------------------------------ */

/* What each of its bytes is of is known, or will not be. Goes on where it ended before. */
static bool decided(const struct sanitize_track *track, struct sanitize_packet *p)
{
    const struct sanitize_stream *stream = p->direction ? &p->direction->stream : NULL;

    while (stream && p->settled < p->n) {
        uint64_t at = p->at + p->settled, next, until;
        const struct sanitize_stream_unit *unit = sanitize_stream_at(stream, at, &next);
        const struct sanitize_packet *one =
            unit ? sanitize_queue_at(&track->queue, unit->number) : NULL;

        if (one && one->state == PAYLOAD_UNKNOWN)
            return false;
        if (!unit && at >= stream->told)
            return stream->over;
        until = unit ? unit->at + unit->size : next < stream->told ? next : stream->told;
        p->settled += until - at < p->n - p->settled ? (uint32_t)(until - at) : p->n - p->settled;
    }
    return true;
}

bool sanitize_iwarp_ready(struct sanitize_track *track, struct sanitize_packet *p)
{
    switch (whose(track, p)) {
    case UNDECIDED:
        return false;
    case NOT_OURS:
        p->drop = p->direction ? DROP_FOREIGN : DROP_NOT_RDMA;
        return true;
    default:
        return decided(track, p);
    }
}

/* No more of it will be known than is now. */
static void finish(struct sanitize_track *track, struct sanitize_packet *one)
{
    if (one->unit.finished)
        return;
    one->unit.unknown = one->state == PAYLOAD_UNKNOWN;
    if (one->unit.unknown)
        one->state = PAYLOAD_ZERO;
    if (one->state == PAYLOAD_ZERO)
        memset(sanitize_track_payload(one), 0, one->n);
    sanitize_fpdu_finish(&track->fpdus, one);
}

/* Whether n bytes are those that were in the unit; of a packet that was damaged on its way, nearly:
 * it is said how many are not. */
static bool alike(const struct sanitize_packet *p, const uint8_t *bytes, const uint8_t *was,
                  uint32_t n, uint32_t *others)
{
    *others = 0;
    if (memcmp(bytes, was, n) == 0)
        return true;
    if (p->sum != SANITIZE_SUM_WRONG)
        return false;
    for (uint32_t i = 0; i < n && *others <= MOST_DAMAGED; i++)
        *others += bytes[i] != was[i];
    return *others <= MOST_DAMAGED;
}

/* Where one bit changed, that bit changes of what stands for the byte, too. */
static uint8_t changed(uint8_t is, uint8_t bits)
{
    return bits == 0 ? is : (bits & (bits - 1)) == 0 ? is ^ bits : (uint8_t)~is;
}

/* What stands for n bytes; for those that were damaged something else. */
static void put(uint8_t *bytes, const uint8_t *was, const uint8_t *is, uint32_t n, uint32_t others)
{
    for (uint32_t i = 0; others > 0 && i < n; i++)
        bytes[i] = changed(is[i], bytes[i] ^ was[i]);
    if (others == 0)
        memcpy(bytes, is, n);
}

/* n bytes of its payload, from `off` on, were of this unit. False: they are others, or it is not
 * known what the unit is. */
static bool lay(struct sanitize_track *track, const struct sanitize_packet *p, uint32_t off,
                uint32_t n, const struct sanitize_stream_unit *unit)
{
    struct sanitize_packet *one = sanitize_queue_at(&track->queue, unit->number);
    uint8_t *bytes = sanitize_track_payload(p) + off;
    uint64_t begin = p->at + off - unit->at;
    uint32_t others = 0;
    uint32_t m = 0; /* of which the unit has the bytes, as far as they were captured */

    if (one)
        finish(track, one);
    if (one && begin < one->unit.caplen)
        m = n < one->unit.caplen - begin ? n : one->unit.caplen - (uint32_t)begin;
    if (m > 0 && !alike(p, bytes, sanitize_unit_was(one) + begin, m, &others))
        m = 0;
    if (m > 0)
        put(bytes, sanitize_unit_was(one) + begin, sanitize_unit_is(one) + begin, m, others);
    memset(bytes + m, 0, n - m);
    return m == n && !one->unit.unknown;
}

/* False: some of it is not known. */
static bool compose(struct sanitize_track *track, struct sanitize_packet *p)
{
    const struct sanitize_stream *stream = p->direction ? &p->direction->stream : NULL;
    bool known = true;

    for (uint32_t off = 0, n; off < p->n; off += n) {
        uint64_t at = p->at + off, next = UINT64_MAX;
        const struct sanitize_stream_unit *unit =
            stream ? sanitize_stream_at(stream, at, &next) : NULL;
        uint64_t left = unit ? unit->at + unit->size - at : next - at;

        n = left < p->n - off ? (uint32_t)left : p->n - off;
        if (!unit)
            memset(sanitize_track_payload(p) + off, 0, n);
        known &= unit && lay(track, p, off, n, unit);
    }
    return known;
}

void sanitize_iwarp_emit(struct sanitize_track *track, struct sanitize_packet *p)
{
    uint8_t *data = (uint8_t *)(uintptr_t)p->packet.data;

    if (whose(track, p) != OURS) {
        p->drop = p->direction ? DROP_FOREIGN : DROP_NOT_RDMA;
        return;
    }
    track->ours++;
    track->unplaced += !compose(track, p);
    sanitize_tcp_header(&p->layout, data, p->packet.caplen);
    sanitize_headers(&track->headers, &p->layout, data, p->packet.caplen, SANITIZE_ICRC_RIGHT);
    sanitize_tcp_put_sum(&p->layout, data, p->sum);
}
