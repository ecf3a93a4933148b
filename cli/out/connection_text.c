/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/connection.h"

#include "common/networks.h"
#include "each.h"
#include "out/transaction.h"

static const char *end_text(const struct rpcrdma_connection *c, enum rpcrdma_ended ended)
{
    static const char *const names[] = {
        [RPCRDMA_ENDED_NOT] = "",
        [RPCRDMA_ENDED_REJECTED] = "REJ",
        [RPCRDMA_ENDED_DISCONNECTED] = "DREQ",
        [RPCRDMA_ENDED_CLOSED] = "FIN",
        [RPCRDMA_ENDED_RESET] = "RST",
        [RPCRDMA_ENDED_TERMINATED] = "Terminate",
        [RPCRDMA_ENDED_REFUSED] = "RST",
    };
    RPCRDMA_EACH(names, RPCRDMA_ENDED_COUNT);

    if (ended == RPCRDMA_ENDED_REJECTED && c->carrier == RPCRDMA_CARRIER_IWARP)
        return "MPA Reply";
    return names[ended];
}

static const char *end_name(const struct rpcrdma_connection *c, int end)
{
    return c->role[end] == RPCRDMA_ROLE_UNKNOWN ? end == 0 ? "first end" : "second end"
                                                : view_role(c->role[end]);
}

static const char *const nak_texts[RPCRDMA_NAKS] = {
    [RPCRDMA_NAK_RNR] = "RNR",
    [RPCRDMA_NAK_PSN_SEQUENCE] = "PSN sequence error",
    [RPCRDMA_NAK_INVALID_REQUEST] = "invalid request",
    [RPCRDMA_NAK_REMOTE_ACCESS] = "remote access error",
    [RPCRDMA_NAK_REMOTE_OPERATIONAL] = "remote operational error",
    [RPCRDMA_NAK_INVALID_RD] = "invalid RD request",
    [RPCRDMA_NAK_OTHER] = "reserved code",
};

static void put_count(struct out *out, uint64_t n, const char *one, const char *many)
{
    out_u64(out, n);
    out_char(out, ' ');
    out_text(out, n == 1 ? one : many);
}

static void put_number(struct out *out, const char *before, uint64_t n, const char *after)
{
    if (n == 0)
        return;
    out_text(out, before);
    out_u64(out, n);
    out_text(out, after);
}

void connection_put_network(struct out *out, const struct rpcrdma_connection *c)
{
    char text[NETWORKS_TEXT];

    networks_text(c->number, text);
    if (!text[0])
        return;
    out_literal(out, ", ");
    out_text(out, text);
}

void connection_put_life(struct view *view, const struct rpcrdma_connection *c)
{
    const struct rpcrdma_life *life = &c->life;
    struct out *out = view->out;

    if (life->previous > 0) {
        out_literal(out, ", in place of #");
        out_u64(out, life->previous);
        if (life->has_down) {
            out_literal(out, ", down for ");
            put_milliseconds(out, life->down_ns);
            out_literal(out, " ms");
        }
    }
    out_literal(out, ", ");
    out_text(out, connection_state(c));
    if (life->ended != RPCRDMA_ENDED_NOT && life->ended_by >= 0) {
        out_literal(out, " by the ");
        out_text(out, end_name(c, life->ended_by));
    }
    if (life->ended == RPCRDMA_ENDED_REJECTED && c->carrier != RPCRDMA_CARRIER_IWARP) {
        const char *reason = rpcrdma_reject_reason(life->reject_reason);

        out_literal(out, ": ");
        out_text(out, reason ? reason : "reason");
        out_literal(out, " (");
        out_u64(out, life->reject_reason);
        out_char(out, ')');
    }
    for (int end = 0; end < 2; end++) {
        int64_t ns;

        if (!connection_silent(c, end, &ns))
            continue;
        out_literal(out, " after ");
        put_milliseconds(out, ns);
        out_literal(out, " ms without answer from the ");
        out_text(out, end_name(c, end));
        if (life->silence[end].heard_ns > 0) {
            out_literal(out, " (heard last ");
            put_milliseconds(out, c->last_time_ns - life->silence[end].heard_ns);
            out_literal(out, " ms before the end)");
        }
    }
    if (life->has_pending && life->pending > 0) {
        out_literal(out, ", ");
        put_count(out, life->pending, "Call", "Calls");
        out_literal(out, " outstanding");
    }
}

static void put_moment(struct view *view, size_t indent, int64_t time_ns, uint64_t frame)
{
    out_blanks(view->out, indent);
    view_put_time(view, time_ns);
    out_literal(view->out, " frame ");
    out_u64(view->out, frame);
    out_literal(view->out, ": ");
}

static void put_dscp(struct out *out, uint64_t dscp)
{
    const char *between = ", DSCP ";

    for (unsigned i = 0; i < 64; i++) {
        if (!(dscp >> i & 1))
            continue;
        out_text(out, between);
        out_u64(out, i);
        between = "/";
    }
}

/* Captured at two places. */
static void put_ends(struct out *out, const struct rpcrdma_path *path)
{
    if (path->clocks_differ)
        out_literal(out, ", captured at two places whose clocks contradict each other");
    if (!path->both_ends)
        return;
    out_literal(out, ", captured at both ends: on the way for ");
    put_milliseconds(out, path->transit_mean_ns);
    out_literal(out, " ms (");
    put_milliseconds(out, path->transit_min_ns);
    out_literal(out, " to ");
    put_milliseconds(out, path->transit_max_ns);
    out_literal(out, "), ");
    put_count(out, path->lost_between, "packet", "packets");
    out_literal(out, " lost in between");
}

static void put_path(struct view *view, const struct rpcrdma_connection *c, int end, size_t indent)
{
    const struct rpcrdma_path *path = c->path[end];
    struct out *out = view->out;

    out_blanks(out, indent);
    out_literal(out, "to the ");
    out_text(out, end_name(c, end));
    out_literal(out, ": ");
    put_count(out, path->packets, "packet", "packets");
    put_number(out, ", ", path->bytes, " bytes");
    put_number(out, ", ", path->retransmitted, " retransmitted");
    put_number(out, " (", path->retransmitted_bytes, " bytes)");
    put_number(out, ", ", path->lost, " lost on the way");
    put_number(out, ", ", path->spurious, " of these spurious");
    put_number(out, ", ", path->duplicated, " duplicated");
    put_number(out, ", ", path->reordered, " reordered");
    put_number(out, ", ", path->uncaptured, " arrived and not captured");
    put_number(out, ", ", path->different, " retransmitted with other bytes");
    if (path->timeouts > 0) {
        out_literal(out, ", ");
        put_count(out, path->timeouts, "timeout", "timeouts");
        out_literal(out, " of ");
        put_milliseconds(out, path->timeout_ns);
        out_literal(out, " ms");
        put_number(out, " (", path->late_timeouts, " without a loss)");
    }
    for (int nak = 0; nak < RPCRDMA_NAKS; nak++) {
        if (path->naks[nak] == 0)
            continue;
        out_literal(out, ", ");
        out_u64(out, path->naks[nak]);
        out_char(out, ' ');
        out_text(out, nak_texts[nak]);
        out_text(out, path->naks[nak] == 1 ? " Nak" : " Naks");
        if (nak == RPCRDMA_NAK_RNR) {
            out_literal(out, " (timer ");
            put_milliseconds(out, connection_rnr_timer_ns(path));
            out_literal(out, " ms)");
        }
    }
    put_number(out, ", ", path->congestion_marks, " ECN-CE marks");
    put_number(out, ", ", path->cnps, " CNPs in answer");
    put_number(out, ", ", path->zero_windows, " zero windows");
    put_dscp(out, path->dscp & ~UINT64_C(1));
    if (c->path_mtu == 0)
        put_number(out, ", largest payload ", path->largest_payload, "");
    put_ends(out, path);
    out_char(out, '\n');
}

void connection_put_details(struct view *view, const struct rpcrdma_connection *c, size_t indent)
{
    const struct rpcrdma_life *life = &c->life;
    struct out *out = view->out;

    if (life->unheard > 0 && connection_unanswered(c)) {
        out_blanks(out, indent);
        put_count(out, life->requests, "request", "requests");
        out_literal(out, " to set it up, of which ");
        out_u64(out, life->unheard);
        out_literal(out, " came after an acceptance: that did not arrive\n");
    } else if (life->established_frame > 0) {
        put_moment(view, indent, life->established_ns, life->established_frame);
        out_literal(out, "established");
        put_number(out, " after ", life->requests > 1 ? life->requests : 0, " requests");
        put_number(out, ", path MTU ", c->path_mtu, "");
        out_char(out, '\n');
    } else if (life->requests > 0) {
        out_blanks(out, indent);
        put_count(out, life->requests, "request", "requests");
        out_literal(out, " to set it up, not answered by an acceptance\n");
    }
    if (life->ended != RPCRDMA_ENDED_NOT) {
        put_moment(view, indent, life->ended_ns, life->ended_frame);
        out_text(out, connection_state(c));
        if (life->ended_by >= 0) {
            out_literal(out, " by the ");
            out_text(out, end_name(c, life->ended_by));
        }
        out_literal(out, " (");
        out_text(out, end_text(c, life->ended));
        out_literal(out, ")\n");
    }
    if (life->next > 0) {
        out_blanks(out, indent);
        out_literal(out, "#");
        out_u64(out, life->next);
        out_literal(out, " took its place\n");
    }
    for (int end = 0; end < 2; end++)
        if (c->path[end])
            put_path(view, c, end, indent);
}

void connection_put_again(struct view *view, const struct connection_again *again, size_t n,
                          size_t indent)
{
    struct out *out = view->out;

    for (size_t i = 0; i < n; i++) {
        put_moment(view, indent, again[i].time_ns, again[i].frame);
        out_literal(out, "XID ");
        out_hex(out, again[i].xid, 8);
        out_literal(out, " retransmitted, first on #");
        out_u64(out, again[i].original_connection);
        out_literal(out, " in frame ");
        out_u64(out, again[i].original_frame);
        out_char(out, '\n');
    }
}
