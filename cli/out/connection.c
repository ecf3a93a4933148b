/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/connection.h"

#include "common/networks.h"
#include "common/times.h"
#include "each.h"
#include "out/transaction.h"

static const struct json_key nak_keys[RPCRDMA_NAKS] = {
    [RPCRDMA_NAK_RNR] = {JSON_KEY_rnr},
    [RPCRDMA_NAK_PSN_SEQUENCE] = {JSON_KEY_psn_sequence},
    [RPCRDMA_NAK_INVALID_REQUEST] = {JSON_KEY_invalid_request},
    [RPCRDMA_NAK_REMOTE_ACCESS] = {JSON_KEY_remote_access},
    [RPCRDMA_NAK_REMOTE_OPERATIONAL] = {JSON_KEY_remote_operational},
    [RPCRDMA_NAK_INVALID_RD] = {JSON_KEY_invalid_rd},
    [RPCRDMA_NAK_OTHER] = {JSON_KEY_other},
};

static const char *const nak_texts[RPCRDMA_NAKS] = {
    [RPCRDMA_NAK_RNR] = "RNR",
    [RPCRDMA_NAK_PSN_SEQUENCE] = "PSN sequence error",
    [RPCRDMA_NAK_INVALID_REQUEST] = "invalid request",
    [RPCRDMA_NAK_REMOTE_ACCESS] = "remote access error",
    [RPCRDMA_NAK_REMOTE_OPERATIONAL] = "remote operational error",
    [RPCRDMA_NAK_INVALID_RD] = "invalid RD request",
    [RPCRDMA_NAK_OTHER] = "reserved code",
};

/* The timer of an RNR Nak, in 10 us: IBTA volume 1 table 46. */
static const uint32_t rnr_timers[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                        16,    24,   32,   48,    64,    96,    128,   192,
                                        256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                        4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

const char *connection_nak(uint8_t nak)
{
    return nak_keys[nak < RPCRDMA_NAKS ? nak : RPCRDMA_NAK_OTHER].name;
}

static int64_t rnr_timer_ns(const struct rpcrdma_path *path)
{
    return (int64_t)rnr_timers[path->rnr_timer & 31] * 10000;
}

static bool unheard(const struct rpcrdma_connection *c)
{
    return c->life.requests > 0 && c->messages == 0 &&
           rpcrdma_life_unheard(&c->life, c->established);
}

bool connection_withdrawn(const struct rpcrdma_connection *c)
{
    return c->life.ended == RPCRDMA_ENDED_REJECTED && c->life.ended_by >= 0 &&
           c->role[c->life.ended_by] == RPCRDMA_ROLE_CLIENT && unheard(c);
}

bool connection_unanswered(const struct rpcrdma_connection *c)
{
    return connection_withdrawn(c) ||
           (c->life.requests > 1 && c->life.ended == RPCRDMA_ENDED_NOT && unheard(c));
}

bool connection_awaits_answer(const struct rpcrdma_connection *c)
{
    return c->carrier != RPCRDMA_CARRIER_IWARP && c->life.requests == 1 &&
           c->life.ended == RPCRDMA_ENDED_NOT && unheard(c);
}

const char *connection_state(const struct rpcrdma_connection *c)
{
    switch (c->life.ended) {
    case RPCRDMA_ENDED_REJECTED:
    case RPCRDMA_ENDED_REFUSED:
        return "rejected";
    case RPCRDMA_ENDED_RESET:
        return "reset";
    case RPCRDMA_ENDED_TERMINATED:
        return "terminated";
    case RPCRDMA_ENDED_NOT:
        return c->closed ? "closed" : connection_unanswered(c) ? "unanswered" : "open";
    default:
        return "closed";
    }
}

const char *connection_ended(enum rpcrdma_ended ended)
{
    static const char *const names[] = {
        [RPCRDMA_ENDED_NOT] = "",
        [RPCRDMA_ENDED_REJECTED] = "reject",
        [RPCRDMA_ENDED_DISCONNECTED] = "disconnect",
        [RPCRDMA_ENDED_CLOSED] = "fin",
        [RPCRDMA_ENDED_RESET] = "rst",
        [RPCRDMA_ENDED_TERMINATED] = "terminate",
        [RPCRDMA_ENDED_REFUSED] = "refuse",
    };
    RPCRDMA_EACH(names, RPCRDMA_ENDED_COUNT);

    return names[ended];
}

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

bool connection_silent(const struct rpcrdma_connection *c, int end, int64_t *ns)
{
    const struct rpcrdma_silence *silence = &c->life.silence[end];
    int64_t until = c->life.ended != RPCRDMA_ENDED_NOT ? c->life.ended_ns : c->last_time_ns;

    *ns = silence->transmissions > 0 ? until - silence->since_ns : 0;
    return *ns > SECOND;
}

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

void connection_json_network(struct json *json, uint32_t connection)
{
    const struct rpcrdma_network *network = networks_of(connection);

    if (!network)
        return;
    if (network->vlan > 0)
        json_key(json, KEY(vlan)), json_u64(json, network->vlan);
    if (network->outer_vlan > 0)
        json_key(json, KEY(outer_vlan)), json_u64(json, network->outer_vlan);
    if (network->has_vni)
        json_key(json, KEY(vni)), json_u64(json, network->vni);
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
            put_milliseconds(out, rnr_timer_ns(path));
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

void connection_json_life(struct json *json, const struct rpcrdma_connection *c)
{
    const struct rpcrdma_life *life = &c->life;
    const char *reason = rpcrdma_reject_reason(life->reject_reason);

    json_key(json, KEY(time_ns)), json_i64(json, c->first_time_ns);
    json_key(json, KEY(duration_ns)), json_i64(json, c->last_time_ns - c->first_time_ns);
    json_key(json, KEY(state)), json_plain(json, connection_state(c));
    if (life->requests > 0)
        json_key(json, KEY(requests)), json_u64(json, life->requests);
    if (life->established_frame > 0) {
        json_key(json, KEY(established_frame)), json_u64(json, life->established_frame);
        json_key(json, KEY(established_time_ns)), json_i64(json, life->established_ns);
    }
    if (c->path_mtu > 0)
        json_key(json, KEY(path_mtu)), json_u64(json, c->path_mtu);
    if (life->ended != RPCRDMA_ENDED_NOT) {
        json_key(json, KEY(end));
        json_open(json, '{');
        json_key(json, KEY(how)), json_plain(json, connection_ended(life->ended));
        if (life->ended_by >= 0)
            json_key(json, KEY(by)), json_plain(json, view_role(c->role[life->ended_by]));
        json_key(json, KEY(frame)), json_u64(json, life->ended_frame);
        json_key(json, KEY(time_ns)), json_i64(json, life->ended_ns);
        if (life->ended == RPCRDMA_ENDED_REJECTED && c->carrier != RPCRDMA_CARRIER_IWARP) {
            json_key(json, KEY(reason)), json_u64(json, life->reject_reason);
            if (reason)
                json_key(json, KEY(reason_name)), json_plain(json, reason);
        }
        json_close(json, '}');
    }
    if (life->has_pending)
        json_key(json, KEY(outstanding)), json_u64(json, life->pending);
    if (life->previous > 0)
        json_key(json, KEY(previous)), json_u64(json, life->previous);
    if (life->next > 0)
        json_key(json, KEY(next)), json_u64(json, life->next);
    if (life->has_down) {
        json_key(json, KEY(down_since_ns)), json_i64(json, life->down_since_ns);
        json_key(json, KEY(down_ns)), json_i64(json, life->down_ns);
    }
}

void connection_json_again(struct json *json, const struct connection_again *again, size_t n)
{
    if (n == 0)
        return;
    json_key(json, KEY(sent_again));
    json_open(json, '[');
    for (size_t i = 0; i < n; i++) {
        json_open(json, '{');
        json_key(json, KEY(xid)), json_hex(json, again[i].xid, 8);
        json_key(json, KEY(frame)), json_u64(json, again[i].frame);
        json_key(json, KEY(time_ns)), json_i64(json, again[i].time_ns);
        json_key(json, KEY(original_connection)), json_u64(json, again[i].original_connection);
        json_key(json, KEY(original_frame)), json_u64(json, again[i].original_frame);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_late_timeouts(struct json *json, const struct rpcrdma_path *path)
{
    if (path->late_timeouts == 0)
        return;
    json_key(json, KEY(late_timeouts)), json_u64(json, path->late_timeouts);
    json_key(json, KEY(late_timeout_ns)), json_i64(json, path->late_timeout_ns);
    json_key(json, KEY(late_longest_ns)), json_i64(json, path->late_longest_ns);
    json_key(json, KEY(late_frame)), json_u64(json, path->late_frame);
    json_key(json, KEY(late_in_burst)), json_bool(json, path->late_in_burst);
}

static void json_naks(struct json *json, const struct rpcrdma_path *path)
{
    json_key(json, KEY(naks));
    json_open(json, '{');
    for (int nak = 0; nak < RPCRDMA_NAKS; nak++)
        if (path->naks[nak] > 0)
            json_key(json, nak_keys[nak]), json_u64(json, path->naks[nak]);
    json_close(json, '}');
    if (path->naks[RPCRDMA_NAK_RNR] > 0)
        json_key(json, KEY(rnr_timer_ns)), json_i64(json, rnr_timer_ns(path));
}

/* From one place of capture to the other. */
static void json_transits(struct json *json, const struct rpcrdma_path *path)
{
    if (!path->both_ends)
        return;
    json_key(json, KEY(transits)), json_u64(json, path->transits);
    json_key(json, KEY(transit_min_ns)), json_i64(json, path->transit_min_ns);
    json_key(json, KEY(transit_mean_ns)), json_i64(json, path->transit_mean_ns);
    json_key(json, KEY(transit_max_ns)), json_i64(json, path->transit_max_ns);
    json_key(json, KEY(lost_between)), json_u64(json, path->lost_between);
}

static void json_dscp(struct json *json, const struct rpcrdma_path *path)
{
    json_key(json, KEY(dscp));
    json_open(json, '[');
    for (unsigned i = 0; i < 64; i++)
        if (path->dscp >> i & 1)
            json_u64(json, i);
    json_close(json, ']');
}

static void json_silence(struct json *json, const struct rpcrdma_silence *silence)
{
    if (silence->transmissions > 0) {
        json_key(json, KEY(unanswered_transmissions)), json_u64(json, silence->transmissions);
        json_key(json, KEY(unanswered_since_ns)), json_i64(json, silence->since_ns);
    }
    if (silence->heard_ns != 0)
        json_key(json, KEY(heard_time_ns)), json_i64(json, silence->heard_ns);
}

static void json_path(struct json *json, const struct rpcrdma_connection *c, int end)
{
    const struct rpcrdma_path *path = c->path[end];

    json_open(json, '{');
    json_key(json, KEY(to)), json_plain(json, view_role(c->role[end]));
    json_key(json, KEY(packets)), json_u64(json, path->packets);
    json_key(json, KEY(bytes)), json_u64(json, path->bytes);
    json_key(json, KEY(retransmitted)), json_u64(json, path->retransmitted);
    json_key(json, KEY(retransmitted_bytes)), json_u64(json, path->retransmitted_bytes);
    json_key(json, KEY(lost)), json_u64(json, path->lost);
    if (path->spurious > 0)
        json_key(json, KEY(spurious)), json_u64(json, path->spurious);
    json_key(json, KEY(duplicated)), json_u64(json, path->duplicated);
    json_key(json, KEY(reordered)), json_u64(json, path->reordered);
    json_key(json, KEY(uncaptured)), json_u64(json, path->uncaptured);
    json_key(json, KEY(different)), json_u64(json, path->different);
    json_key(json, KEY(timeouts)), json_u64(json, path->timeouts);
    json_key(json, KEY(timeout_ns)), json_i64(json, path->timeout_ns);
    if (path->stuck > 1)
        json_key(json, KEY(stuck)), json_u64(json, path->stuck);
    json_late_timeouts(json, path);
    json_naks(json, path);
    if (path->clocks_differ)
        json_key(json, KEY(clocks_differ)), json_bool(json, true);
    json_transits(json, path);
    json_key(json, KEY(ecn_ce)), json_u64(json, path->congestion_marks);
    json_key(json, KEY(cnps)), json_u64(json, path->cnps);
    json_dscp(json, path);
    if (c->carrier == RPCRDMA_CARRIER_IWARP)
        json_key(json, KEY(zero_windows)), json_u64(json, path->zero_windows);
    json_key(json, KEY(largest_payload)), json_u64(json, path->largest_payload);
    json_silence(json, &c->life.silence[end]);
    json_close(json, '}');
}

void connection_json_paths(struct json *json, const struct rpcrdma_connection *c)
{
    if (!c->path[0] && !c->path[1])
        return;
    json_key(json, KEY(paths));
    json_open(json, '[');
    for (int end = 0; end < 2; end++)
        if (c->path[end])
            json_path(json, c, end);
    json_close(json, ']');
}
