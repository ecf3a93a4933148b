/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace/packets.h"

#include <string.h>

enum {
    MESSAGE_PACKETS = 65536, /* looked at, back from a message's last */
    STEPS = 64,              /* back, for each packet that comes: more is not usual */
    CALL_PACKETS = 4096,     /* of one Call, before that which completes it */
    LOOKS = 4096,            /* through the ring: RPCs that are under way with a frame */
    LATE_PACKETS = 4096,     /* behind later ones: those that waited for bytes before them */
};

struct packets *packets_new(size_t bytes, uint64_t frame)
{
    struct packets *p = g_new0(struct packets, 1);

    p->size = (uint32_t)CLAMP(bytes / sizeof(*p->ring), 1024, PACKETS_KEPT);
    p->ring = g_new(struct packet, p->size);
    p->frame = frame;
    p->steps = MESSAGE_PACKETS;
    p->looks = LOOKS;
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
    return &p->ring[i % p->size];
}

static uint64_t first(const struct packets *p)
{
    return p->count > p->size ? p->count - p->size : 0;
}

static bool may_go_back(struct packets *p)
{
    return p->steps > 0 && p->steps--;
}

void packets_add(struct packets *p, const struct rpcrdma_op *op)
{
    if (op->frame == p->frame && p->n_asked++ == 0)
        p->asked = p->count;
    p->steps = MIN(p->steps + STEPS, UINT64_C(2) * MESSAGE_PACKETS);
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
    for (uint64_t i = p->count; i > first(p) && at(p, i - 1)->frame >= t->frame && may_go_back(p);
         i--) {
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

static bool is_life(const struct packet *p)
{
    return p->kind >= RPCRDMA_OP_CONNECT && p->kind <= RPCRDMA_OP_DISCONNECT;
}

/* Whether the packet went from src to dst, which are ends of one connection. */
static bool went(const struct packet *p, enum rpcrdma_carrier carrier,
                 const struct rpcrdma_endpoint *src, const struct rpcrdma_endpoint *dst)
{
    if (!same(&p->src, &src->address) || !same(&p->dst, &dst->address))
        return false;
    if (carrier == RPCRDMA_CARRIER_IWARP)
        return p->src_port == src->port && p->dst_port == dst->port;
    return !dst->has_qpn || p->dst_qpn == dst->qpn || is_life(p);
}

static bool is_send_of(const struct packet *p, const struct rpcrdma_flow_message *m)
{
    return p->kind == RPCRDMA_OP_SEND && went(p, m->connection->carrier, &m->src, &m->dst);
}

/* iWARP: the packet that completes the message may have others, too; they are told in order. */
static const struct packet *completing(struct packets *p, const struct rpcrdma_flow_message *m)
{
    const struct packet *found = NULL;

    for (uint64_t i = p->count; i > first(p) && may_go_back(p); i--) {
        const struct packet *packet = at(p, i - 1);

        if (packet->frame < m->frame)
            break;
        if (packet->frame == m->frame && packet->flags & RPCRDMA_OP_LAST && !packet->told &&
            is_send_of(packet, m))
            found = packet;
    }
    return found;
}

void packets_message(struct packets *p, const struct rpcrdma_flow_message *m)
{
    const struct packet *last =
        m->connection->carrier == RPCRDMA_CARRIER_IWARP ? completing(p, m) : NULL;

    if (!last && !(m->message->present & RPCRDMA_HAS_XID))
        return;
    for (uint64_t i = p->count, n = 0; i > first(p) && n < MESSAGE_PACKETS && may_go_back(p);
         i--, n++) {
        struct packet *packet = at(p, i - 1);

        if (packet->frame < m->first_frame)
            return;
        if (packet->frame > m->frame || !is_send_of(packet, m) ||
            (last && packet->seq != last->seq))
            continue;
        packet->told = true;
        packet->has_xid = m->message->present & RPCRDMA_HAS_XID;
        packet->xid = m->message->xid;
    }
}

void packets_repeated(struct packets *p, const struct rpcrdma_repeated *repeated)
{
    struct packet *packet = p->count > 0 ? at(p, p->count - 1) : NULL;

    if (!packet || packet->frame != repeated->frame)
        return;
    packet->repeats = true;
    packet->repeat = (uint8_t)repeated->repeat;
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

static int way_of(const struct packet *packet, const struct rpcrdma_connection *c)
{
    int way = -1;

    for (int end = 0; end < 2; end++)
        if (went(packet, c->carrier, &c->end[end], &c->end[1 - end]))
            way = end;
    return way;
}

/* What is looked for. */
struct search {
    const struct packets *p;
    const struct rpcrdma_transaction *t;
    uint64_t from; /* frame */
    GArray *mine;  /* keys of what is known to be the RPC's, sorted */
    struct {
        bool known;
        uint32_t low, high;
    } range[2];           /* of their sequence numbers */
    uint64_t first, last; /* the numbers in the ring of what is known to be the RPC's */
};

static gint by_number(gconstpointer a, gconstpointer b)
{
    guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;

    return (x > y) - (x < y);
}

static void find_mine(struct search *s)
{
    uint64_t last = s->t->reply_frame ? s->t->reply_frame : s->from + MESSAGE_PACKETS;

    s->first = UINT64_MAX;
    for (uint64_t i = first(s->p); i < s->p->count; i++) {
        const struct packet *packet = at(s->p, i);
        guint64 k;
        int way;

        if (packet->frame > last + LATE_PACKETS)
            break;
        if (packet->frame < s->from || !packet->has_xid || packet->xid != s->t->xid)
            continue;
        if (packet->frame > last)
            continue;
        way = way_of(packet, s->t->connection);
        if (way < 0)
            continue;
        s->first = MIN(s->first, i);
        s->last = i;
        k = key(way, packet);
        g_array_append_val(s->mine, k);
        if (!s->range[way].known || rpcrdma_psn_diff(packet->seq, s->range[way].low) < 0)
            s->range[way].low = packet->seq;
        if (!s->range[way].known || rpcrdma_psn_diff(packet->seq, s->range[way].high) > 0)
            s->range[way].high = packet->seq;
        s->range[way].known = true;
    }
    g_array_sort(s->mine, by_number);
}

static bool is_wanted(const struct search *s, uint64_t i, const struct packet *packet, int way)
{
    guint64 k = key(way, packet);
    bool iwarp = s->t->connection->carrier == RPCRDMA_CARRIER_IWARP;

    if (packet->has_xid && packet->xid == s->t->xid)
        return true;
    if (is_request(packet) || is_response(packet))
        return !iwarp && !packet->has_xid && g_array_binary_search(s->mine, &k, by_number, NULL);
    if (packet->kind == RPCRDMA_OP_ACK)
        return s->range[1 - way].known &&
               rpcrdma_psn_diff(packet->seq, s->range[1 - way].low) >= 0 &&
               rpcrdma_psn_diff(packet->seq, s->range[1 - way].high) <= 0;
    if (packet->kind == RPCRDMA_OP_LOST) /* may be its own where it lies between what is */
        return i > s->first && i < s->last;
    return true; /* Naks, and the connection's life */
}

/* It is about another connection of these hosts: this one is over, and they have set one up since.
 * Until then it shows how long there was none. */
static bool of_another(const struct rpcrdma_connection *c, const struct packet *packet, bool *next)
{
    if (!is_life(packet) || c->life.ended == RPCRDMA_ENDED_NOT || packet->frame <= c->last_frame)
        return false;
    if (*next)
        return true;
    *next = packet->kind == RPCRDMA_OP_ESTABLISHED;
    return false;
}

/* How many are wanted; to `found`, where that is not NULL. */
static guint select_packets(const struct search *s, GArray *found)
{
    const struct rpcrdma_transaction *t = s->t;
    bool ended = false, next = false;
    guint n = 0;

    for (uint64_t i = first(s->p); i < s->p->count && !ended; i++) {
        struct packet packet = *at(s->p, i);
        int way;

        if (packet.frame < s->from)
            continue;
        if (!t->reply_frame && packet.frame > s->from + MESSAGE_PACKETS)
            break;
        way = way_of(&packet, t->connection);
        if (way < 0 || !is_wanted(s, i, &packet, way) || of_another(t->connection, &packet, &next))
            continue;
        n++;
        ended = t->reply_frame && packet.frame > t->reply_frame && packet.kind == RPCRDMA_OP_ACK &&
                !(packet.flags & RPCRDMA_OP_ACK_OR_NAK) && way == t->caller_end &&
                rpcrdma_psn_diff(packet.seq, s->range[1 - way].high) >= 0;
        packet.ends = ended;
        if (found)
            g_array_append_val(found, packet);
    }
    return n;
}

static gint by_frame(gconstpointer a, gconstpointer b)
{
    uint64_t x = ((const struct packet *)a)->frame, y = ((const struct packet *)b)->frame;

    return (x > y) - (x < y);
}

/* What was sent before has the sequence number of what is known to be the RPC's. It ends with the
 * Ack of the Reply. */
GArray *packets_of(const struct packets *p, const struct rpcrdma_transaction *t, bool *cut)
{
    struct search s = {
        .p = p, .t = t, .from = begin(p, t), .mine = g_array_new(FALSE, FALSE, sizeof(guint64))};
    GArray *found;

    *cut = first(p) > 0 && at(p, first(p))->frame > s.from;
    find_mine(&s);
    found = g_array_sized_new(FALSE, FALSE, sizeof(struct packet), select_packets(&s, NULL));
    select_packets(&s, found);
    g_array_sort(found, by_frame);
    g_array_free(s.mine, TRUE);
    return found;
}

static bool carries(const struct packets *p, const struct rpcrdma_transaction *t)
{
    for (uint64_t i = p->asked; i < p->asked + p->n_asked; i++) {
        const struct packet *packet = at(p, i);
        uint64_t from;

        if (i < first(p) || !packet->has_xid || packet->xid != t->xid ||
            way_of(packet, t->connection) < 0)
            continue;
        from = begin(p, t);
        if (packet->frame >= from && (t->reply_frame ? packet->frame <= t->reply_frame
                                                     : packet->frame <= from + MESSAGE_PACKETS))
            return true;
    }
    return false;
}

/* Whether the list of its packets has the one asked for. */
static enum packets_part listed(const struct packets *p, const struct rpcrdma_transaction *t)
{
    struct search s = {
        .p = p, .t = t, .from = begin(p, t), .mine = g_array_new(FALSE, FALSE, sizeof(guint64))};
    enum packets_part part = PACKETS_NO_PART;
    GArray *found;

    find_mine(&s);
    found = g_array_new(FALSE, FALSE, sizeof(struct packet));
    select_packets(&s, found);
    for (guint i = 0; i < found->len && part != PACKETS_PART; i++) {
        const struct packet *packet = &g_array_index(found, struct packet, i);
        int way = way_of(packet, t->connection);
        guint64 request = key(1 - way, packet) & ~(guint64)2, response = request | 2;

        if (packet->frame != p->frame)
            continue;
        part = is_request(packet) || is_response(packet) ||
                       g_array_binary_search(s.mine, &request, by_number, NULL) ||
                       g_array_binary_search(s.mine, &response, by_number, NULL)
                   ? PACKETS_PART
                   : PACKETS_LISTED;
    }
    g_array_free(found, TRUE);
    g_array_free(s.mine, TRUE);
    return part;
}

/* It went between the ends, and is not known to be of another RPC: is_wanted() never takes those.
 */
static bool may_be_listed(const struct packet *packet, const struct rpcrdma_transaction *t)
{
    bool others =
        packet->has_xid && packet->xid != t->xid && (is_request(packet) || is_response(packet));

    return !others && way_of(packet, t->connection) >= 0;
}

enum packets_part packets_has(struct packets *p, const struct rpcrdma_transaction *t)
{
    bool between = false;

    if (p->n_asked == 0 || p->asked < first(p))
        return PACKETS_NO_PART;
    if (carries(p, t))
        return PACKETS_PART;
    for (uint64_t i = p->asked; i < p->asked + p->n_asked; i++)
        between = between || may_be_listed(at(p, i), t);
    if (!between || (t->call_frame ? t->call_frame : t->reply_frame) > p->frame + CALL_PACKETS ||
        p->looks == 0)
        return PACKETS_NO_PART;
    p->looks--;
    return listed(p, t);
}
