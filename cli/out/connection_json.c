/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/connection.h"

#include "common/networks.h"
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

const char *connection_nak(uint8_t nak)
{
    return nak_keys[nak < RPCRDMA_NAKS ? nak : RPCRDMA_NAK_OTHER].name;
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
        json_key(json, KEY(rnr_timer_ns)), json_i64(json, connection_rnr_timer_ns(path));
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
