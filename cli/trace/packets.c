/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace/packets.h"

#include <string.h>

enum { MESSAGE_PACKETS = 65536 }; /* looked at, back from a message's last */

struct packets *packets_new(void)
{
    struct packets *p = g_new0(struct packets, 1);

    p->ring = g_new(struct packet, PACKETS_KEPT);
    return p;
}

void packets_free(struct packets *p)
{
    if (!p)
        return;
    g_free(p->ring);
    g_free(p);
}

static struct packet *at(const struct packets *p, uint64_t i)
{
    return &p->ring[i % PACKETS_KEPT];
}

static uint64_t first(const struct packets *p)
{
    return p->count > PACKETS_KEPT ? p->count - PACKETS_KEPT : 0;
}

void packets_add(struct packets *p, const struct rpcrdma_op *op)
{
    *at(p, p->count++) = (struct packet){
        .frame = op->frame,
        .time_ns = op->time_ns,
        .kind = op->kind,
        .nak = op->nak,
        .flags = op->flags,
        .src = op->src,
        .dst = op->dst,
        .dst_qpn = op->dst_qpn,
        .seq = op->seq,
        .len = op->len,
        .length = op->length,
        .src_port = op->src_port,
        .dst_port = op->dst_port,
    };
}

void packets_transfer(struct packets *p, const struct rpcrdma_data_transfer *t)
{
    for (uint64_t i = p->count; i > first(p) && at(p, i - 1)->frame >= t->frame; i--) {
        struct packet *packet = at(p, i - 1);

        if (packet->frame != t->frame || packet->kind != t->kind || packet->has_xid)
            continue;
        packet->has_xid = packet->has_chunk = true;
        packet->xid = t->xid;
        packet->chunk = (uint8_t)t->chunk;
        packet->offset = t->offset;
        return;
    }
}

static bool same(const struct rpcrdma_address *a, const struct rpcrdma_address *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* Whether the packet went from src to dst, which are ends of one connection. */
static bool went(const struct packet *p, enum rpcrdma_carrier carrier,
                 const struct rpcrdma_endpoint *src, const struct rpcrdma_endpoint *dst)
{
    if (!same(&p->src, &src->address) || !same(&p->dst, &dst->address))
        return false;
    if (carrier == RPCRDMA_CARRIER_IWARP)
        return p->src_port == src->port && p->dst_port == dst->port;
    return !dst->has_qpn || p->dst_qpn == dst->qpn ||
           (p->kind >= RPCRDMA_OP_CONNECT && p->kind <= RPCRDMA_OP_DISCONNECT);
}

void packets_message(struct packets *p, const struct rpcrdma_flow_message *m)
{
    if (!(m->message->present & RPCRDMA_HAS_XID))
        return;
    for (uint64_t i = p->count, n = 0; i > first(p) && n < MESSAGE_PACKETS; i--, n++) {
        struct packet *packet = at(p, i - 1);

        if (packet->frame < m->first_frame)
            return;
        if (packet->frame > m->frame || packet->kind != RPCRDMA_OP_SEND ||
            !went(packet, m->connection->carrier, &m->src, &m->dst))
            continue;
        packet->has_xid = true;
        packet->xid = m->message->xid;
    }
}

static bool is_request(const struct packet *p)
{
    return p->kind <= RPCRDMA_OP_ATOMIC;
}

static bool is_response(const struct packet *p)
{
    return p->kind == RPCRDMA_OP_READ_RESPONSE || p->kind == RPCRDMA_OP_ATOMIC_RESPONSE;
}

static guint64 key(int way, const struct packet *p)
{
    return (guint64)(is_response(p) ? 2 : 0) + (guint64)way + ((guint64)p->seq << 2);
}

static guint hash64(gconstpointer p)
{
    return g_int64_hash(p);
}

/* Its first packet: the Call's Send may have begun some packets before call_frame. */
static uint64_t begin(const struct packets *p, const struct rpcrdma_transaction *t)
{
    uint64_t from = t->call_frame ? t->call_frame : t->reply_frame;

    for (uint64_t i = p->count; i > first(p); i--) {
        const struct packet *packet = at(p, i - 1);

        if (packet->frame + MESSAGE_PACKETS < t->call_frame)
            break;
        if (packet->kind == RPCRDMA_OP_SEND && packet->has_xid && packet->xid == t->xid &&
            packet->frame < from &&
            memcmp(&packet->src, &t->connection->end[t->caller_end].address, sizeof(packet->src)) ==
                0)
            from = packet->frame;
    }
    return from;
}

/* What was sent before has the sequence number of what is known to be the RPC's. It ends with the
 * Ack of the Reply. */
GArray *packets_of(const struct packets *p, const struct rpcrdma_transaction *t, bool *cut)
{
    const struct rpcrdma_connection *c = t->connection;
    uint64_t from = begin(p, t);
    GArray *found = g_array_new(FALSE, FALSE, sizeof(struct packet));
    GHashTable *mine = g_hash_table_new_full(hash64, g_int64_equal, g_free, NULL);
    bool iwarp = c->carrier == RPCRDMA_CARRIER_IWARP;
    struct {
        bool known;
        uint32_t low, high;
    } range[2] = {{0}, {0}};

    bool ended = false;

    *cut = first(p) > 0 && at(p, first(p))->frame > from;
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t i = first(p); i < p->count; i++) {
            struct packet packet = *at(p, i);
            bool wanted = false;
            guint64 k;
            int way = -1;

            if (packet.frame < from)
                continue;
            if (pass == 1 && ended)
                break;
            if (pass == 0 && t->reply_frame && packet.frame > t->reply_frame)
                break;
            if (!t->reply_frame && packet.frame > from + MESSAGE_PACKETS)
                break;
            for (int end = 0; end < 2; end++)
                if (went(&packet, c->carrier, &c->end[end], &c->end[1 - end]))
                    way = end;
            if (way < 0)
                continue;
            k = key(way, &packet);
            if (pass == 0) {
                if (!packet.has_xid || packet.xid != t->xid)
                    continue;
                g_hash_table_add(mine, g_memdup2(&k, sizeof(k)));
                if (!range[way].known || rpcrdma_psn_diff(packet.seq, range[way].low) < 0)
                    range[way].low = packet.seq;
                if (!range[way].known || rpcrdma_psn_diff(packet.seq, range[way].high) > 0)
                    range[way].high = packet.seq;
                range[way].known = true;
                continue;
            }
            if (packet.has_xid && packet.xid == t->xid) {
                wanted = true;
            } else if (is_request(&packet) || is_response(&packet)) {
                wanted = !iwarp && !packet.has_xid && g_hash_table_contains(mine, &k);
            } else if (packet.kind == RPCRDMA_OP_ACK) {
                wanted = range[1 - way].known &&
                         rpcrdma_psn_diff(packet.seq, range[1 - way].low) >= 0 &&
                         rpcrdma_psn_diff(packet.seq, range[1 - way].high) <= 0;
            } else {
                wanted = true; /* Naks, and the connection's life */
            }
            if (!wanted)
                continue;
            packet.again = false;
            for (guint n = found->len; n > 0 && !iwarp; n--) {
                const struct packet *other = &g_array_index(found, struct packet, n - 1);

                if (other->kind == packet.kind && other->seq == packet.seq &&
                    same(&other->src, &packet.src) && packet.kind != RPCRDMA_OP_ACK &&
                    packet.kind != RPCRDMA_OP_NAK && packet.kind < RPCRDMA_OP_CONNECT) {
                    packet.again = true;
                    break;
                }
                if (found->len - n > 4096)
                    break;
            }
            ended = t->reply_frame && packet.frame > t->reply_frame &&
                    packet.kind == RPCRDMA_OP_ACK && way == t->caller_end &&
                    rpcrdma_psn_diff(packet.seq, range[1 - way].high) >= 0;
            packet.ends = ended;
            g_array_append_val(found, packet);
        }
    }
    g_hash_table_destroy(mine);
    return found;
}
