/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/stats.h"

#include "connections/connections.h"
#include "each.h"
#include "flow/credit.h"
#include "store/titles.h"

/* What the statistics count. A node whose children are its own must be made as a parent: else they
 * are found by name, whosever they are. */

static int node(stats_tree *st, const char *name, int parent)
{
    return tick_stat_node(st, name, parent, TRUE);
}

static int value(uint64_t n)
{
    return (int)MIN(n, G_MAXINT);
}

static const char *const roles[] = {"unknown", "client", "server"};
RPCRDMA_EACH(roles, RPCRDMA_ROLE_COUNT);

static void count(stats_tree *st, const char *name, int parent, bool known, uint32_t n)
{
    if (known)
        avg_stat_node_add_value_int(st, name, parent, FALSE, value(n));
}

static const char *account(const struct credit_state *state)
{
    static const char *const directions[] = {"unknown", "forward", "reverse"};
    RPCRDMA_EACH(directions, RPCRDMA_ROLE_COUNT);

    return state->counting ? roles[state->role] : directions[state->role];
}

/* Per connection, per direction of RPC or sender: each state counts once. */
tap_packet_status stats_credits(stats_tree *st, packet_info *pinfo, epan_dissect_t *edt,
                                const void *data, tap_flags_t flags)
{
    const struct credit_state *state = data;
    int at = node(st, STATS_CREDITS, 0);

    (void)pinfo;
    (void)edt;
    (void)flags;
    at = node(st, connections_label(state->connection), at);
    at = node(st, account(state), at);
    count(st, "Requested", at, state->has_requested, state->requested);
    count(st, "Granted", at, state->has_granted, state->granted);
    count(st, "Limit", at, state->has_limit, state->limit);
    count(st, "In flight", at, true, state->in_flight);
    count(st, "Advertised", at, state->has_advertised, state->advertised);
    if (state->at_limit)
        tick_stat_node(st, "At the limit", at, FALSE);
    if (state->stall_ns >= 0)
        avg_stat_node_add_value_float(st, "Stalls (ms)", at, FALSE, (float)state->stall_ns / 1e6f);
    return TAP_PACKET_REDRAW;
}

static void type(stats_tree *st, const struct message_note *message_note, int parent)
{
    int at = node(st, message_note->kind->type ? message_note->kind->type : "unknown", parent);

    if (message_note->kind->error)
        tick_stat_node(st, message_note->kind->error, at, FALSE);
}

tap_packet_status stats_types(stats_tree *st, packet_info *pinfo, epan_dissect_t *edt,
                              const void *data, tap_flags_t flags)
{
    const struct message_note *message_note = data;
    int at;

    (void)pinfo;
    (void)edt;
    (void)flags;
    type(st, message_note, node(st, STATS_MESSAGES, 0));
    at = node(st, STATS_CONNECTIONS, 0);
    at = node(st, connections_label(message_note->path->connection), at);
    type(st, message_note, node(st, roles[message_note->path->sender], at));
    return TAP_PACKET_REDRAW;
}

/* Calls offer chunks; Replies say how much of them was written. */
tap_packet_status stats_chunks(stats_tree *st, packet_info *pinfo, epan_dissect_t *edt,
                               const void *data, tap_flags_t flags)
{
    static const char *const groups[] = {STATS_OF_OTHERS, STATS_OF_CALLS, STATS_OF_REPLIES};
    static const char *const places[] = {"Call chunk", "Position-Zero Read chunk", "Read chunk",
                                         "Write chunk", "Reply chunk"};
    const struct message_note *message_note = data;
    int group, at;

    (void)pinfo;
    (void)edt;
    (void)flags;
    if (note_extra(message_note)->n_chunks == 0)
        return TAP_PACKET_DONT_REDRAW;
    group = increase_stat_node(st, groups[message_note->kind->direction], 0, TRUE,
                               (int)note_extra(message_note)->n_chunks);
    for (uint32_t i = 0; i < note_extra(message_note)->n_chunks; i++) {
        const struct chunk_note *chunk = &note_extra(message_note)->chunks[i];

        at = node(st, places[chunk->place], group);
        if (chunk->cut)
            tick_stat_node(st, "Length not known", at, FALSE);
        else
            avg_stat_node_add_value_int(st, "Length", at, FALSE, value(chunk->length));
        avg_stat_node_add_value_int(st, "Segments", at, FALSE, value(chunk->segments));
    }
    return TAP_PACKET_REDRAW;
}

static void take(stats_tree *st, const char *name, int parent, const struct transacted *t)
{
    avg_stat_node_add_value_float(st, name, parent, TRUE, (float)t->response_ns / 1e6f);
}

tap_packet_status stats_times(stats_tree *st, packet_info *pinfo, epan_dissect_t *edt,
                              const void *data, tap_flags_t flags)
{
    const struct transacted *t = data;
    int at;

    (void)pinfo;
    (void)edt;
    (void)flags;
    if (!t->has_response)
        return TAP_PACKET_DONT_REDRAW;
    take(st, t->title->text, node(st, STATS_OPERATION_TIMES, 0), t);
    at = node(st, STATS_CONNECTION_TIMES, 0);
    at = node(st, connections_label(t->connection), at);
    take(st, t->title->text, at, t);
    return TAP_PACKET_REDRAW;
}
