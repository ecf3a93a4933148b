/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_stage.h"

/* Transactions: begun, found by (connection, caller, XID), told and forgotten. */

static uint64_t rpc_key(const struct flow_conn *conn, int caller, uint32_t xid)
{
    return flow_hash2(conn->id << 1 | (uint64_t)caller, xid);
}

struct track_rpc *track_find(const struct track *track, const struct flow_conn *conn, int caller,
                             uint32_t xid)
{
    struct track_rpc *t = flow_table_get(&track->table, rpc_key(conn, caller, xid));

    while (t && (t->conn != conn || t->pub.caller_end != caller || t->pub.xid != xid))
        t = t->chain;
    return t;
}

struct track_conn *track_of(const struct track *track, const struct flow_conn *conn)
{
    return conn->attached[track->observer.slot];
}

void track_add_finding(struct track *track, struct track_rpc *t, enum rpcrdma_rule_id rule,
                       uint64_t frame, const char *what, uint64_t a, uint64_t b, uint64_t c)
{
    if (!t->findings)
        t->findings = flow_alloc(&track->flow->memory, sizeof(*t->findings));
    if (t->findings)
        flow_finding_add(
            t->findings,
            &(struct rpcrdma_finding){
                .rule = rule, .frame = frame, .offset = -1, .arg = {a, b, c}, .what = what});
}

void track_hold(struct track *track, struct track_rpc *t)
{
    struct track_reply *r = &t->reply;

    r->waits = true;
    r->older = track->held_newest;
    r->newer = NULL;
    if (r->older)
        r->older->reply.newer = t;
    else
        track->held_oldest = t;
    track->held_newest = t;
    track->n_held++;
}

void track_unhold(struct track *track, struct track_rpc *t)
{
    struct track_reply *r = &t->reply;

    if (!r->waits)
        return;
    r->waits = false;
    if (r->newer)
        r->newer->reply.older = r->older;
    else
        track->held_newest = r->older;
    if (r->older)
        r->older->reply.newer = r->newer;
    else
        track->held_oldest = r->newer;
    r->newer = r->older = NULL;
    track->n_held--;
}

static void unlist(struct track *track, struct track_rpc *t)
{
    uint64_t key = rpc_key(t->conn, t->pub.caller_end, t->pub.xid);
    struct track_conn *c = track_of(track, t->conn);
    struct track_rpc *first = flow_table_get(&track->table, key);
    int caller = t->pub.caller_end;

    if (!t->listed)
        return;
    t->listed = false;
    if (first == t) {
        if (t->chain)
            flow_table_put(&track->table, &track->flow->memory, key, t->chain);
        else
            flow_table_remove(&track->table, key);
    } else {
        while (first->chain != t)
            first = first->chain;
        first->chain = t->chain;
    }
    if (t->newer)
        t->newer->older = t->older;
    else
        c->newest[caller] = t->older;
    if (t->older)
        t->older->newer = t->newer;
    else
        c->oldest[caller] = t->newer;
    c->count[caller]--;
}

/* Where requests under way went to regions that are no more. */
void track_forget_reads(struct track *track, struct track_rpc *t)
{
    struct track_conn *c = track_of(track, t->conn);

    for (int end = 0; c && end < 2; end++) {
        if (t->reads[end].last == 0)
            continue;
        track_read_map_forget(&c->reads[end], t->reads[end].first, t->reads[end].last, t);
        t->reads[end].first = t->reads[end].last = 0;
    }
}

static void release(struct track *track, struct track_rpc *t)
{
    track_unhold(track, t);
    unlist(track, t);
    track_forget_reads(track, t);
    track_chunk_map_free(track, t->chunk_map);
    track_chunk_map_free(track, t->reply.chunk_map);
    track_parts_free(track, &t->parts);
    track_parts_free(track, &t->reply.parts);
    flow_release(&track->flow->memory, t->reply.header, t->reply.header_caplen);
    flow_release(&track->flow->memory, t->findings, sizeof(*t->findings));
    flow_release(&track->flow->memory, t, sizeof(*t));
}

static uint64_t seen(const struct track_chunk_map *chunk_map, const struct track_chunk *chunk)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < chunk->count; i++)
        sum += chunk_map->regions[chunk->first + i].seen;
    return sum;
}

/* Tells it, with what was found on the way, and forgets it. */
void track_finish(struct track *track, struct track_rpc *t)
{
    struct rpcrdma_transaction *pub = &t->pub;

    if (t->has_call && !t->call_given)
        track_call_give(track, t);
    if (t->open)
        track_add_finding(track, t, RPCRDMA_RULE_RPC_PARTS, pub->call_frame, "Call", 0, 0, 0);
    if (t->reply.open)
        track_add_finding(track, t, RPCRDMA_RULE_RPC_PARTS, pub->reply_frame, "Reply", 0, 0, 0);
    if (pub->reply_frame == 0) {
        for (uint32_t i = 0; t->chunk_map && i < t->chunk_map->n_writes; i++)
            pub->write_chunk_length += seen(t->chunk_map, &t->chunk_map->writes[i]);
        if (t->chunk_map)
            pub->reply_chunk_length += seen(t->chunk_map, &t->chunk_map->reply);
        track_add_finding(track, t, RPCRDMA_RULE_RPC_UNANSWERED, 0, NULL, 0, 0, 0);
    } else if (!t->has_call) {
        track_add_finding(track, t, RPCRDMA_RULE_RPC_NO_CALL, 0, NULL, 0, 0, 0);
    }
    if (t->dropped)
        track_add_finding(track, t, RPCRDMA_RULE_MEMORY_LIMIT, 0, NULL, track->flow->memory.limit,
                          0, 0);
    pub->connection = &t->conn->pub;
    pub->complete = t->call_complete && t->reply_complete;
    pub->has_latency = t->has_call && pub->reply_frame != 0;
    pub->latency_ns = pub->has_latency ? pub->reply_time_ns - pub->call_time_ns : 0;
    pub->has_rdma = t->rdma_last_ns != 0;
    pub->rdma_ns = t->rdma_last_ns - t->rdma_first_ns;
    pub->direction_known = t->conn->pub.role[pub->caller_end] != RPCRDMA_ROLE_UNKNOWN;
    pub->reverse = t->conn->pub.role[pub->caller_end] == RPCRDMA_ROLE_SERVER;
    pub->findings = t->findings ? t->findings->at : NULL;
    pub->n_findings = t->findings ? t->findings->count : 0;
    if (track->flow->sink.transaction && !track->flow->memory.failed)
        track->flow->sink.transaction(track->flow->sink.context, pub);
    release(track, t);
}

/* It ends before its time: the tracker is full, or its XID is used again. */
void track_cut_short(struct track *track, struct track_rpc *t)
{
    if (t->reply.ready)
        track_answer_held(track, t);
    else
        track_finish(track, t);
}

static bool evict(struct track *track, struct track_conn *c, int caller)
{
    struct track_rpc *victim = c->oldest[caller] ? c->oldest[caller] : c->oldest[1 - caller];

    if (!victim)
        return false;
    track_add_finding(track, victim, RPCRDMA_RULE_RPC_GIVEN_UP, 0, NULL, 0, 0, 0);
    track_cut_short(track, victim);
    return true;
}

struct track_rpc *track_begin(struct track *track, struct flow_conn *conn, int caller, uint32_t xid)
{
    struct track_conn *c = track_of(track, conn);
    uint64_t key = rpc_key(conn, caller, xid);
    struct track_rpc *t, *same;

    if (!c)
        return NULL;
    while (c->count[caller] >= FLOW_CALLS)
        evict(track, c, caller);
    while (!(t = flow_alloc(&track->flow->memory, sizeof(*t))))
        if (track->flow->memory.failed || !evict(track, c, caller))
            return NULL;
    t->conn = conn;
    t->pub.caller_end = caller;
    t->pub.xid = xid;
    same = flow_table_get(&track->table, key);
    if (!flow_table_put(&track->table, &track->flow->memory, key, t)) {
        flow_release(&track->flow->memory, t, sizeof(*t));
        return NULL;
    }
    t->chain = same;
    t->older = c->newest[caller];
    if (t->older)
        t->older->newer = t;
    else
        c->oldest[caller] = t;
    c->newest[caller] = t;
    c->count[caller]++;
    t->listed = true;
    return t;
}
