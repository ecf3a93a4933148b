/* SPDX-License-Identifier: BSD-2-Clause */
/* A TCP segment: what it does to its connection, or that it begins one. */
#include "net/iwarp/segment.h"

#include "net/packet/vnet.h"

enum {
    TCP_BYTES = 20,
    REQUEST_MOST = 20 + 512, /* bytes of MPA's Request: RFC 5044 section 7.1 */
};

void rpcrdma_tcp_finding(struct rpcrdma_tcp *tcp, const struct rpcrdma_stream *s,
                         enum rpcrdma_rule_id rule, const char *what, uint64_t arg0, uint64_t arg1)
{
    struct rpcrdma_finding finding = {
        .rule = rule,
        .frame = s->frame ? s->frame : tcp->frame,
        .offset = -1,
        .arg = {arg0, arg1},
        .what = what,
        .has_time = true,
        .time_ns = s->frame ? s->time_ns : tcp->time_ns,
    };

    if (tcp->net->sink.finding)
        tcp->net->sink.finding(tcp->net->sink.context, &finding);
}

static uint32_t header_bytes(const uint8_t *header)
{
    return (header[12] >> 4) * 4u;
}

static void begin(struct rpcrdma_stream *s, enum rpcrdma_stream_phase phase, uint32_t seq)
{
    s->phase = phase;
    s->has_next = true;
    s->next = s->start = s->scanned = seq;
}

/* What shows MPA. */
static bool may_begin(const struct rpcrdma_tcp_piece *piece)
{
    return rpcrdma_mpa_is_request(piece->bytes, piece->caplen) ||
           rpcrdma_mpa_is_reply(piece->bytes, piece->caplen) ||
           rpcrdma_ddp_plausible(piece->bytes, piece->caplen) == RPCRDMA_PLAUSIBLE_YES;
}

/* A connection is worth remembering when this segment of a sender (end 0) shows MPA. */
static struct rpcrdma_tcp_connection *
recognise(struct rpcrdma_tcp *tcp, const struct rpcrdma_layer *l, struct segment *t, uint64_t hash)
{
    const struct rpcrdma_tcp_piece *piece = &t->is.piece;
    bool request = rpcrdma_mpa_is_request(piece->bytes, piece->caplen);
    bool reply = !request && rpcrdma_mpa_is_reply(piece->bytes, piece->caplen);
    struct rpcrdma_tcp_connection *c;

    if (!may_begin(piece))
        return NULL;
    c = rpcrdma_tcp_create(tcp, l, t, hash);
    if (!c || (!request && !reply))
        return c;
    c->confirmed = true;
    begin(&c->stream[0], RPCRDMA_STREAM_START, piece->seq);
    if (!(t->is.flags & TCP_ACK))
        return c;
    if (request) {
        begin(&c->stream[1], RPCRDMA_STREAM_START, t->is.ack);
    } else { /* what the Reply acknowledges is the Request, so FPDUs follow */
        c->lacks_request = !l->net->replays;
        begin(&c->stream[1], RPCRDMA_STREAM_FPDU, t->is.ack);
        c->stream[1].unproven = RPCRDMA_IN_A_ROW; /* but for a Reply that was retransmitted */
        c->stream[1].has_phase = true;
        c->stream[1].marker_phase = t->is.ack;
    }
    return c;
}

/* MPA's Request, which was captured behind its Reply, is what comes next. Or what stands behind the
 * Request comes: it was not captured. */
static void request_comes(struct rpcrdma_tcp_connection *c, int end,
                          const struct rpcrdma_tcp_piece *piece)
{
    struct rpcrdma_stream *s = &c->stream[end];
    bool is_it =
        piece->seq + piece->len == s->next && rpcrdma_mpa_is_request(piece->bytes, piece->caplen);

    if (end != 1 || !(is_it || (piece->len > 0 && rpcrdma_seq_diff(piece->seq, s->next) >= 0)))
        return;
    c->lacks_request = false;
    c->late_lacks = -1;
    if (!is_it)
        return;
    s->has_phase = false;
    s->unproven = 0;
    begin(s, RPCRDMA_STREAM_START, piece->seq);
}

/* The same addresses and ports, but not the connection that is known. */
static bool another(const struct rpcrdma_tcp_connection *c, int end, const struct segment *t)
{
    const struct rpcrdma_stream *s = &c->stream[end];

    if (!s->has_next) /* what only looked like an FPDU may be known of the other direction */
        return !c->confirmed && rpcrdma_mpa_is_request(t->is.piece.bytes, t->is.piece.caplen);
    if (t->is.flags & TCP_SYN)
        return t->is.piece.seq != s->start &&
               !(c->lacks_request && s->start - t->is.piece.seq <= REQUEST_MOST);
    return t->is.piece.seq != s->start &&
           rpcrdma_mpa_is_request(t->is.piece.bytes, t->is.piece.caplen) &&
           (c->closed || s->phase != RPCRDMA_STREAM_FPDU ||
            rpcrdma_seq_diff(t->is.piece.seq, s->start) < 0 ||
            rpcrdma_seq_diff(t->is.piece.seq, s->next) >= 0);
}

/* A FIN that was not captured stands just before: FPDUs are multiples of 4 bytes long. */
static bool is_behind_fin(const struct rpcrdma_stream *s, uint32_t seq)
{
    return s->has_next && s->has_phase && !s->has_fin && rpcrdma_seq_diff(seq, s->next) > 0 &&
           rpcrdma_seq_diff(seq, s->next) <= RPCRDMA_WINDOW_MOST &&
           (seq - s->marker_phase) % 4 == 1;
}

static void note_fin(const struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s, uint32_t seq)
{
    s->has_fin = true;
    s->fin_arrival = tcp->arrival;
    s->fin_frame = tcp->frame;
    s->fin_time_ns = tcp->time_ns;
    s->fin = seq;
}

/* The last packet of most connections: an empty one behind its sender's FIN, which acknowledges the
 * other's. It shows both. */
static bool ends_both(const struct rpcrdma_tcp_connection *c, int end,
                      const struct rpcrdma_tcp_taken *t)
{
    return c->confirmed && t->piece.len == 0 &&
           (t->flags & (TCP_ACK | TCP_FIN | TCP_SYN | TCP_RST)) == TCP_ACK &&
           is_behind_fin(&c->stream[end], t->piece.seq) &&
           is_behind_fin(&c->stream[1 - end], t->ack);
}

void rpcrdma_tcp_take(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                      const struct rpcrdma_tcp_taken *t)
{
    struct rpcrdma_stream *s = &c->stream[end], *other = &c->stream[1 - end];
    bool both = ends_both(c, end, t);

    if (t->flags & TCP_ACK && !(t->flags & TCP_RST) && other->has_next &&
        rpcrdma_seq_diff(t->ack, other->next) <= RPCRDMA_WINDOW_MOST &&
        (!other->has_ack || rpcrdma_seq_diff(t->ack, other->ack) >= 0)) {
        other->has_ack = true;
        other->ack = t->ack;
        other->ack_arrival = tcp->arrival;
        other->ack_frame = tcp->frame;
        other->ack_time_ns = tcp->time_ns;
    }
    if (t->flags & TCP_FIN && !s->has_fin) {
        note_fin(tcp, s, t->piece.seq + t->piece.len);
        s->fin_answers = t->flags & TCP_ACK && rpcrdma_stream_fin_missing(other, t->ack);
    }
    if (both)
        note_fin(tcp, s, t->piece.seq - 1);
    rpcrdma_stream_segment(tcp, c, end, &t->piece);
    if (both && !c->closed) { /* which was the second */
        note_fin(tcp, other, t->ack - 1);
        rpcrdma_stream_advance(tcp, c, false);
    }
    rpcrdma_tcp_reset_acked(c);
    if (!c->closed && t->flags & TCP_RST)
        rpcrdma_tcp_reset(tcp, c, end, t->piece.seq);
    else if (!c->closed && c->confirmed && s->has_fin && other->has_fin && s->has_ack &&
             other->has_ack && rpcrdma_seq_diff(s->ack, s->fin) > 0 &&
             rpcrdma_seq_diff(other->ack, other->fin) > 0)
        rpcrdma_stream_advance(tcp, c, true); /* both ends have all there was */
}

/* Bytes of the largest FPDU so far, with the one that it begins with. */
static uint32_t largest_fpdu(const struct rpcrdma_tcp_connection *c, int end,
                             const struct rpcrdma_tcp_piece *piece)
{
    const struct rpcrdma_stream *s = &c->stream[end];
    uint32_t first;

    if (s->phase != RPCRDMA_STREAM_FPDU || s->next != piece->seq || s->partial_seen > 0 ||
        piece->caplen < 2 || rpcrdma_mpa_markers(c, end))
        return s->longest;
    first = rpcrdma_fpdu_bytes(rpcrdma_get_be16(piece->bytes));
    return first > s->longest ? first : s->longest;
}

/* Before what it completes. */
static void tell_segment(const struct rpcrdma_layer *l, const struct rpcrdma_tcp_connection *c,
                         int end, const struct segment *t, enum rpcrdma_op_kind begins)
{
    struct rpcrdma_tcp_segment segment = {.frame = l->packet->frame,
                                          .time_ns = l->packet->time_ns,
                                          .src = c->address[end],
                                          .dst = c->address[1 - end],
                                          .src_port = c->port[end],
                                          .dst_port = c->port[1 - end],
                                          .seq = t->is.piece.seq,
                                          .len = t->is.piece.len,
                                          .fpdu = largest_fpdu(c, end, &t->is.piece),
                                          .ack = t->is.ack,
                                          .window = t->is.flags & TCP_RST ? UINT16_MAX : t->window,
                                          .has_ack =
                                              t->is.flags & TCP_ACK && !(t->is.flags & TCP_RST),
                                          .begins = (uint8_t)begins,
                                          .ip_id = rpcrdma_layer_ip_id(l),
                                          .traffic_class = rpcrdma_layer_traffic_class(l)};

    if (segment.has_ack)
        rpcrdma_tcp_blocks(t->options, t->n_options, &segment);
    l->net->sink.segment(l->net->sink.context, &segment);
}

/* Nothing listens on the port that a SYN asked for: RFC 9293 section 3.10.7.1. Such a RST has
 * sequence number 0, as there is no connection that it could be of. */
static bool refuses(const struct segment *t)
{
    return (t->is.flags & (TCP_RST | TCP_ACK | TCP_SYN)) == (TCP_RST | TCP_ACK) &&
           t->is.piece.seq == 0 && t->is.piece.len == 0;
}

/* Of a TCP connection that is none yet; flow knows the ports that matter. */
static void tell_opening(const struct rpcrdma_layer *l, const struct segment *t)
{
    struct rpcrdma_op op = {.frame = l->packet->frame,
                            .time_ns = l->packet->time_ns,
                            .carrier = RPCRDMA_CARRIER_IWARP,
                            .src_port = t->port[0],
                            .dst_port = t->port[1]};

    if (refuses(t)) {
        op.kind = RPCRDMA_OP_RESET;
        op.flags = RPCRDMA_OP_REFUSED;
    } else if ((t->is.flags & (TCP_RST | TCP_SYN)) == TCP_SYN) {
        op.kind = t->is.flags & TCP_ACK ? RPCRDMA_OP_SYN_ACK : RPCRDMA_OP_SYN;
        op.seq = t->is.piece.seq - 1;
    } else {
        return;
    }
    rpcrdma_tcp_address(l, t, 0, &op.src);
    rpcrdma_tcp_address(l, t, 1, &op.dst);
    l->net->sink.op(l->net->sink.context, &op);
}

/* What set up the connection was captured long before what comes next: nothing is missing there. */
static void go_on_anywhere(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s)
{
    if (s->phase != RPCRDMA_STREAM_FPDU)
        return;
    rpcrdma_stream_clear(tcp, s);
    s->phase = RPCRDMA_STREAM_LOOKING;
    s->has_next = s->has_ack = s->send_known = false;
    s->tagged_open[0] = s->tagged_open[1] = true;
}

/* Of what is replayed, start-up frames of a stream of which nothing later is known. */
static bool replayable(const struct rpcrdma_tcp_connection *c, int end, const struct segment *t)
{
    const struct rpcrdma_tcp_piece *piece = &t->is.piece;

    return (rpcrdma_mpa_is_request(piece->bytes, piece->caplen) ||
            rpcrdma_mpa_is_reply(piece->bytes, piece->caplen)) &&
           (!c || c->stream[end].phase == RPCRDMA_STREAM_START);
}

/* The header and its options are whole, or were cut behind the header. */
static uint16_t network(const struct rpcrdma_layer *l, const uint8_t *header, bool begins)
{
    return rpcrdma_vnet_labelled(l) && l->family == RPCRDMA_ADDRESS_IPV4
               ? rpcrdma_vnet_of(l, header, TCP_BYTES, begins)
               : 0;
}

/* By more than padding, or the frame's own checksum behind it. */
static bool length_disagrees(const struct rpcrdma_layer *l)
{
    enum { FRAME_LEAST = 64, FRAME_SUM = 4 };
    const struct rpcrdma_packet *packet = l->packet;

    if (packet->caplen < packet->len)
        return false;
    return l->c.caplen < l->c.len || (packet->len > FRAME_LEAST && l->c.base == packet->data &&
                                      packet->len - l->c.len > FRAME_SUM);
}

/* All are, by who wants what is right, or each byte. */
static bool checks_all(const struct rpcrdma_net *net)
{
    return net->check_crc || net->sink.bytes;
}

/* What is replayed stands where nothing fits. */
static bool to_check(const struct rpcrdma_layer *l, struct rpcrdma_tcp_connection *c, int end,
                     const struct rpcrdma_tcp_taken *t)
{
    return checks_all(l->net) ||
           (!l->net->replays && rpcrdma_tcp_to_check(l->net->tcp, c, end, t, length_disagrees(l)));
}

/* Bits changed on its way: its receiver drops it. What no checksum covers is not looked at. */
static bool damaged(struct rpcrdma_layer *l, const uint8_t *header, size_t n)
{
    /* what else is in the IP header changes on the way, and harms nothing */
    if (!rpcrdma_tcp_damaged(l, header, n, checks_all(l->net)))
        return false;
    rpcrdma_layer_finding(l, RPCRDMA_RULE_TCP_DAMAGED, NULL, rpcrdma_get_be32(header + 4), 0);
    return true;
}

void rpcrdma_tcp_settle(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    if (c->closed) {
        rpcrdma_late_clear(tcp, c);
        rpcrdma_stream_clear(tcp, &c->stream[0]);
        rpcrdma_stream_clear(tcp, &c->stream[1]);
    }
    if (c->closed && !c->confirmed) { /* no MPA after all */
        rpcrdma_tcp_forget(tcp, c);
    } else {
        rpcrdma_tcp_used(tcp, c);
    }
}

/* RFC 9293 section 3.1, of the header at p; what is behind it is the cursor's. False: it is none,
 * or can neither be of a connection nor begin one. */
static inline bool read_segment(struct rpcrdma_layer *l, const uint8_t *p, struct segment *t)
{
    uint32_t header = header_bytes(p);

    if (header < TCP_BYTES || header - TCP_BYTES > rpcrdma_cursor_left(&l->c))
        return false;
    t->is.piece.len = (uint32_t)rpcrdma_cursor_left(&l->c) - (header - TCP_BYTES);
    t->is.piece.caplen = 0;
    t->is.piece.bytes = NULL;
    t->options = l->c.base + l->c.off;
    t->n_options = rpcrdma_cursor_captured(&l->c);
    if (t->n_options > header - TCP_BYTES)
        t->n_options = header - TCP_BYTES;
    if (rpcrdma_cursor_captured(&l->c) > header - TCP_BYTES) {
        rpcrdma_cursor_take(&l->c, header - TCP_BYTES, "TCP options");
        t->is.piece.caplen = (uint32_t)rpcrdma_cursor_captured(&l->c);
        t->is.piece.bytes = l->c.base + l->c.off;
    }
    t->is.flags = p[13];
    if (l->net->tcp->n_connections == 0 && t->is.piece.caplen < 16 &&
        !(t->is.flags & (TCP_RST | TCP_SYN)))
        return false;
    t->is.piece.seq = rpcrdma_get_be32(p + 4) + (t->is.flags & TCP_SYN ? 1 : 0);
    t->is.piece.segment = true;
    t->is.piece.lost = false;
    t->is.ack = rpcrdma_get_be32(p + 8);
    t->window = rpcrdma_get_be16(p + 14);
    t->port[0] = rpcrdma_get_be16(p);
    t->port[1] = rpcrdma_get_be16(p + 2);
    return true;
}

/* Of no connection that is known. NULL: none begins with it. */
static struct rpcrdma_tcp_connection *begin_connection(struct rpcrdma_layer *l, struct segment *t,
                                                       uint64_t hash)
{
    struct rpcrdma_tcp *tcp = l->net->tcp;

    if (t->is.flags & TCP_SYN || rpcrdma_mpa_is_request(t->is.piece.bytes, t->is.piece.caplen))
        rpcrdma_late_overdue(tcp); /* it may take the place of one of them, which has ended */
    if (t->is.flags & (TCP_SYN | TCP_RST))
        tell_opening(l, t);
    return recognise(tcp, l, t, hash);
}

enum rpcrdma_verdict rpcrdma_layer_tcp(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, TCP_BYTES, "TCP header");
    struct rpcrdma_tcp *tcp = l->net->tcp;
    struct rpcrdma_tcp_connection *c;
    struct segment t;
    enum rpcrdma_op_kind begins = 0;
    uint64_t hash;
    bool confirmed, is_new = false;
    int end = 0;

    if (!p)
        return rpcrdma_layer_failed(l, false);
    if (!read_segment(l, p, &t))
        return RPCRDMA_IS_OTHER;
    t.vnet = network(l, p, false);
    rpcrdma_tcp_keys(l, &t);
    hash = rpcrdma_tcp_hash(tcp, &t);
    tcp->arrival++;
    tcp->frame = l->packet->frame;
    if (l->packet->time_ns < tcp->time_ns)
        tcp->back_frame = tcp->frame;
    tcp->time_ns = l->packet->time_ns;
    c = tcp->n_connections > 0 ? rpcrdma_tcp_find(tcp, &t, hash, &end) : NULL;
    if (c && to_check(l, c, end, &t.is) && damaged(l, p, header_bytes(p) + t.is.piece.len)) {
        rpcrdma_tcp_tell_segment(tcp, c, end, &t.is.piece, false);
        return RPCRDMA_IS_RDMA;
    }
    if (l->net->replays && !replayable(c, end, &t))
        return c && c->confirmed ? RPCRDMA_IS_RDMA : RPCRDMA_IS_OTHER;
    if (c && c->lacks_request)
        request_comes(c, end, &t.is.piece);
    if (c && another(c, end, &t)) {
        rpcrdma_late_end(tcp, c);
        rpcrdma_tcp_reset_end(tcp, c);
        if (c->confirmed && !c->closed)
            rpcrdma_stream_advance(tcp, c, true);
        rpcrdma_tcp_forget(tcp, c);
        c = NULL;
    }
    if (!c) {
        end = 0;
        if (may_begin(&t.is.piece) && !l->net->replays &&
            damaged(l, p, header_bytes(p) + t.is.piece.len))
            return RPCRDMA_IS_RDMA;
        c = begin_connection(l, &t, hash);
        if (!c)
            return RPCRDMA_IS_OTHER;
        network(l, p, true);
        is_new = true;
        if (c->confirmed)
            begins = rpcrdma_mpa_is_request(t.is.piece.bytes, t.is.piece.caplen)
                         ? RPCRDMA_OP_CONNECT
                         : RPCRDMA_OP_ACCEPT;
    }
    rpcrdma_tcp_tell_segment(tcp, c, end, &t.is.piece, is_new);
    if (c->confirmed && l->net->sink.segment && !l->net->replays)
        tell_segment(l, c, end, &t, begins);
    if (!c->closed)
        rpcrdma_late_take(tcp, c, end, &t.is);
    confirmed = c->confirmed;
    for (int i = 0; l->net->replays && i < 2; i++)
        go_on_anywhere(tcp, &c->stream[i]);
    rpcrdma_tcp_settle(tcp, c);
    return confirmed ? RPCRDMA_IS_RDMA : RPCRDMA_IS_OTHER;
}
