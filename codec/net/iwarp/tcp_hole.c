/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/iwarp/tcp.h"

/* Bytes that are not in the capture: until when they are waited for, and what is read then. */

static uint32_t range_end(const struct rpcrdma_range *r)
{
    return r->seq + r->len;
}

void rpcrdma_stream_arrived(struct rpcrdma_stream *s, uint64_t arrival, uint64_t frame,
                            int64_t time_ns)
{
    if (arrival > s->arrival) {
        s->arrival = arrival;
        s->frame = frame;
        s->time_ns = time_ns;
    }
}

/* A FIN is acknowledged like a byte and is none. One that was not captured shows: FPDUs are
 * multiples of 4 bytes long (RFC 5044 section 4). */
static bool behind_fin(const struct rpcrdma_stream *s, uint32_t ack)
{
    return s->has_phase && (ack - s->marker_phase) % 4 == 1;
}

bool rpcrdma_stream_fin_missing(const struct rpcrdma_stream *s, uint32_t ack)
{
    uint32_t known = s->next;
    int32_t ahead;

    if (s->held && rpcrdma_seq_diff(range_end(s->held_last), known) > 0)
        known = range_end(s->held_last);
    ahead = rpcrdma_seq_diff(ack, known);
    return s->has_next && !s->has_fin && (ahead == 1 || (ahead > 1 && behind_fin(s, ack)));
}

uint32_t rpcrdma_stream_acknowledged(const struct rpcrdma_stream *s, uint32_t ack)
{
    uint32_t stop = rpcrdma_seq_diff(ack, s->next) > 0 ? ack : s->next;

    if (s->has_fin && rpcrdma_seq_diff(stop, s->fin) > 0)
        stop = s->fin;
    else if (!s->has_fin && stop != s->next && behind_fin(s, stop))
        stop--;
    if (s->held && rpcrdma_seq_diff(stop, s->held->seq) > 0)
        stop = s->held->seq;
    return stop;
}

void rpcrdma_stream_lose(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                         uint32_t stop)
{
    struct rpcrdma_stream *s = &c->stream[end];
    struct rpcrdma_tcp_piece hole = {.seq = s->next, .len = stop - s->next, .lost = true};
    uint32_t used;

    if (!rpcrdma_stream_unseen(c, end))
        rpcrdma_tcp_finding(tcp, s, RPCRDMA_RULE_TCP_LOST, NULL, hole.len, s->next);
    used = rpcrdma_mpa_read(tcp, c, end, &hole);
    if (used == hole.len || c->closed)
        return;
    rpcrdma_mpa_lost(tcp, c, end, hole.len - used);
    s->next = stop;
}

bool rpcrdma_stream_read_hole(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                              bool last)
{
    struct rpcrdma_stream *s = &c->stream[end];
    const struct rpcrdma_stream *by = s, *other = &c->stream[1 - end];
    uint32_t stop = s->has_ack ? rpcrdma_stream_acknowledged(s, s->ack) : s->next;

    if (s->held && last)
        stop = s->held->seq;
    if (rpcrdma_seq_diff(stop, s->next) <= 0)
        return false;
    /* at the end, when its last packet was captured: that in hand may be another connection's */
    if (last && other->ack_arrival > s->ack_arrival)
        by = other;
    /* what was captured behind the hole showed it before, and bears its own packet's frame */
    if (s->held && (by->ack_arrival == 0 || s->held->arrival < by->ack_arrival))
        rpcrdma_stream_arrived(s, s->held->arrival, s->held->frame, s->held->time_ns);
    else
        rpcrdma_stream_arrived(s, by->ack_arrival, by->ack_frame, by->ack_time_ns);
    rpcrdma_stream_lose(tcp, c, end, stop);
    return true;
}

bool rpcrdma_stream_lose_next(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                              bool last)
{
    const struct rpcrdma_stream *s = &c->stream[end];

    if (s->phase != RPCRDMA_STREAM_LOOKING)
        return rpcrdma_stream_read_hole(tcp, c, end, last);
    return last && s->fell_out && s->has_phase && s->has_ack &&
           rpcrdma_seq_diff(s->ack, s->next) <= RPCRDMA_HELD_MOST &&
           rpcrdma_stream_read_hole(tcp, c, end, true);
}

bool rpcrdma_stream_lose_before(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                                const struct rpcrdma_range *other)
{
    struct rpcrdma_stream *s = &c->stream[end];
    const struct rpcrdma_range *r = s->held;

    if (!r || s->phase == RPCRDMA_STREAM_LOOKING || rpcrdma_seq_diff(r->seq, s->next) <= 0 ||
        !s->has_ack || rpcrdma_seq_diff(s->ack, r->seq) < 0 || r->arrival >= other->arrival)
        return false;
    rpcrdma_stream_arrived(s, r->arrival, r->frame, r->time_ns);
    rpcrdma_stream_lose(tcp, c, end, r->seq);
    return true;
}

/* Nor could be said what that is, of packets that were cut. */
static void skip_cut(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                     const struct rpcrdma_range *r, uint32_t stop)
{
    rpcrdma_stream_arrived(&c->stream[end], r->arrival, r->frame, r->time_ns);
    rpcrdma_mpa_cut(tcp, c, end, stop - c->stream[end].next);
}

void rpcrdma_stream_skip(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                         uint32_t seq, bool last)
{
    struct rpcrdma_stream *s = &c->stream[end];

    while (rpcrdma_seq_diff(seq, s->next) > 0) {
        const struct rpcrdma_range *r;
        uint32_t stop = seq;

        rpcrdma_stream_drop(tcp, s, s->next);
        r = s->held;
        if (r && rpcrdma_seq_diff(r->seq, s->next) <= 0) {
            if (rpcrdma_seq_diff(range_end(r), seq) < 0)
                stop = range_end(r);
            if (s->out_by_cut)
                skip_cut(tcp, c, end, r, stop);
        } else {
            if (r && rpcrdma_seq_diff(r->seq, seq) < 0)
                stop = r->seq;
            if (s->fell_out && (last || (s->has_ack && rpcrdma_seq_diff(s->ack, stop) >= 0))) {
                if (r)
                    rpcrdma_stream_arrived(s, r->arrival, r->frame, r->time_ns);
                rpcrdma_stream_lose(tcp, c, end, stop);
            }
        }
        s->next = stop;
    }
    rpcrdma_stream_drop(tcp, s, seq);
}
