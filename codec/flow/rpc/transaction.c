/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/fetch.h"
#include "flow/rpc/check.h"
#include "flow/rpc/rpc_state.h"

#include <stddef.h>

/* Transactions: begun, found in the slot of their Call, reported and forgotten. */

/* Transactions come and go with every other message: some of those that went are kept, to be used
 * again. */
enum { SPARE = 64 };

static struct rpc_transaction *get_transaction(struct flow_rpcs *rpcs)
{
    const size_t behind_operations = offsetof(struct rpc_transaction, pub.operations) +
                                     sizeof(((struct rpc_transaction *)0)->pub.operations);
    struct rpc_transaction *t = SLIST_FIRST(&rpcs->spare_transactions);

    if (!t)
        return flow_alloc(&rpcs->context->memory, sizeof(*t));
    SLIST_REMOVE_HEAD(&rpcs->spare_transactions, next_spare);
    rpcs->n_spare_transactions--;
    /* not what is only looked at where something else says that it is set */
    memset(t, 0, offsetof(struct rpc_transaction, pub.operations));
    memset((char *)t + behind_operations, 0, sizeof(*t) - behind_operations);
    return t;
}

static void put_transaction(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    rpc_sendings_over(rpcs, t);
    if (t->data.doubts)
        rpc_doubts_free(rpcs, t);
    if (rpcs->n_spare_transactions == SPARE) {
        flow_release(&rpcs->context->memory, t, sizeof(*t));
        return;
    }
    SLIST_INSERT_HEAD(&rpcs->spare_transactions, t, next_spare);
    rpcs->n_spare_transactions++;
}

void flow_rpc_trim(struct flow_rpcs *rpcs)
{
    struct rpc_transaction *t;

    while ((t = SLIST_FIRST(&rpcs->spare_transactions))) {
        SLIST_REMOVE_HEAD(&rpcs->spare_transactions, next_spare);
        rpcs->n_spare_transactions--;
        flow_release(&rpcs->context->memory, t, sizeof(*t));
    }
}

/* A connection that has transactions gives its oldest up for another; of one that has none, another
 * connection is to go. */
bool flow_rpc_ready(struct flow_rpcs *rpcs, struct flow_conn *conn)
{
    const struct rpc_conn *c = rpc_conn_get(rpcs, conn);
    struct rpc_transaction *t;

    if (!c)
        return false;
    if (!SLIST_EMPTY(&rpcs->spare_transactions) || c->count[0] > 0 || c->count[1] > 0)
        return true;
    t = get_transaction(rpcs);
    if (t)
        put_transaction(rpcs, t);
    return t != NULL;
}

static struct rpc_transaction **slot_of(const struct flow_rpcs *rpcs, struct flow_call *call)
{
    return flow_call_slot(rpcs->messages, call, FLOW_CALL_RPC);
}

struct rpc_transaction *rpc_transaction_of(const struct flow_rpcs *rpcs, struct flow_call *call)
{
    return call ? *slot_of(rpcs, call) : NULL;
}

struct rpc_transaction *rpc_transaction_find(const struct flow_rpcs *rpcs,
                                             const struct flow_conn *conn, int caller, uint32_t xid)
{
    return rpc_transaction_of(rpcs, flow_call_find(rpcs->messages, conn, caller, xid));
}

struct rpc_conn *rpc_of(const struct flow_conn *conn)
{
    return *flow_conn_slot((struct flow_conn *)conn, FLOW_SLOT_RPC);
}

void flow_rpc_fetch(const struct flow_conn *conn)
{
    const struct rpc_conn *c = rpc_of(conn);

    if (c)
        flow_fetch(c, offsetof(struct rpc_conn, reads));
}

struct rpc_conn *rpc_conn_get(struct flow_rpcs *rpcs, struct flow_conn *conn)
{
    void **slot = flow_conn_slot(conn, FLOW_SLOT_RPC);

    if (!*slot) {
        struct rpc_conn *c = flow_alloc(&rpcs->context->memory, sizeof(*c));

        if (!c)
            return NULL;
        TAILQ_INIT(&c->transactions[0]);
        TAILQ_INIT(&c->transactions[1]);
        TAILQ_INIT(&c->parked);
        *slot = c;
    }
    return *slot;
}

void rpc_add_finding(struct flow_rpcs *rpcs, struct rpc_transaction *t, struct rpc_finding finding)
{
    rpc_add_finding_at(rpcs, t, -1, finding);
}

void rpc_add_finding_at(struct flow_rpcs *rpcs, struct rpc_transaction *t, int64_t offset,
                        struct rpc_finding finding)
{
    if (!t->findings)
        t->findings = flow_alloc(&rpcs->context->memory, sizeof(*t->findings));
    if (!t->findings)
        return;
    t->findings->version = flow_conn_public_const(t->conn)->version;
    flow_finding_add(t->findings,
                     &(struct rpcrdma_finding){.rule = finding.rule,
                                               .frame = finding.frame,
                                               .offset = offset,
                                               .arg = {finding.a, finding.b, finding.c},
                                               .what = finding.what});
}

void rpc_add_call_finding(struct flow_rpcs *rpcs, struct rpc_transaction *t, int64_t offset,
                          struct rpc_finding finding)
{
    finding.frame = t->pub.call_frame;
    rpc_add_finding_at(rpcs, t, offset, finding);
}

void rpc_hold_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpc_reply *r = &t->reply;

    r->waits = true;
    TAILQ_INSERT_TAIL(&rpcs->held[r->read_read], t, reply.kept->held);
    rpcs->n_held++;
}

void rpc_unhold_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpc_reply *r = &t->reply;

    if (!r->waits)
        return;
    r->waits = false;
    TAILQ_REMOVE(&rpcs->held[r->read_read], t, reply.kept->held);
    rpcs->n_held--;
}

static void unlist(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpc_conn *c = rpc_of(t->conn);
    int caller = t->pub.caller_end;

    if (!t->call)
        return;
    *slot_of(rpcs, t->call) = NULL;
    flow_call_leave(rpcs->messages, t->call, FLOW_CALL_RPC);
    t->call = NULL;
    if (c->on_the_way[caller] == t)
        c->on_the_way[caller] = TAILQ_NEXT(t, by_age);
    TAILQ_REMOVE(&c->transactions[caller], t, by_age);
    c->count[caller]--;
}

/* Where requests under way went to regions that are no more. */
void rpc_forget_reads(struct rpc_transaction *t)
{
    struct rpc_conn *c = rpc_of(t->conn);

    for (int end = 0; c && end < 2; end++) {
        if (t->reads[end].last == 0)
            continue;
        rpc_read_map_forget(&c->reads[end], t->reads[end].first, t->reads[end].last, t);
        t->reads[end].first = t->reads[end].last = 0;
    }
}

/* It is over: nothing more is taken for it. */
static void end(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    rpc_unhold_reply(rpcs, t);
    rpc_retire(rpcs, t);
    if (t->slot)
        rpc_slot_end(rpcs, t);
    unlist(rpcs, t);
    if (t->reads[0].last != 0 || t->reads[1].last != 0)
        rpc_forget_reads(t);
    rpc_chunk_map_free(rpcs, t->chunk_map);
    rpc_chunk_map_free(rpcs, t->reply.chunk_map);
    rpc_parts_free(rpcs, &t->parts);
    rpc_parts_free(rpcs, &t->reply.parts);
    if (t->reply.kept)
        flow_release(&rpcs->context->memory, t->reply.kept,
                     sizeof(*t->reply.kept) + t->reply.kept->caplen);
    t->chunk_map = t->reply.chunk_map = NULL;
    t->reply.kept = NULL;
}

struct rpcrdma_transaction *rpc_public_of(struct rpc_transaction *t)
{
    struct rpcrdma_transaction *pub = &t->pub;

    pub->connection = flow_conn_public_const(t->conn);
    pub->direction_known = pub->connection->role[pub->caller_end] != RPCRDMA_ROLE_UNKNOWN;
    pub->reverse = pub->connection->role[pub->caller_end] == RPCRDMA_ROLE_SERVER;
    pub->findings = t->findings ? t->findings->at : NULL;
    pub->n_findings = t->findings ? t->findings->count : 0;
    return pub;
}

static void tell(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpcrdma_transaction *pub;

    rpc_timing(rpcs, t);
    rpc_timing_transmissions(t);
    pub = rpc_public_of(t);
    if (rpcs->context->sink.transaction && !rpcs->context->memory.failed)
        rpcs->context->sink.transaction(rpcs->context->sink.context, pub);
    flow_release(&rpcs->context->memory, t->findings, sizeof(*t->findings));
}

void rpc_emit(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    rpc_timing_delivered(rpcs, t);
    if (t->slot)
        rpc_slot_free(rpcs, t);
    rpc_timing_findings(rpcs, t);
    if (flow_context_tells(rpcs->context, t->findings != NULL))
        tell(rpcs, t);
    put_transaction(rpcs, t);
}

static uint64_t seen(const struct rpc_chunk_map *chunk_map, const struct rpc_chunk *chunk)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < chunk->count; i++)
        sum += chunk_map->regions[chunk->first + i].seen;
    return sum;
}

/* What of its chunks is known without a Reply. */
static void add_chunks(struct rpcrdma_transaction *pub, const struct rpc_chunk_map *chunk_map)
{
    if (!chunk_map)
        return;
    for (uint32_t i = 0; i < chunk_map->n_writes; i++) {
        pub->write_chunk_length += seen(chunk_map, &chunk_map->writes[i]);
        pub->write_chunk_room += chunk_map->writes[i].length;
    }
    pub->reply_chunk_length += seen(chunk_map, &chunk_map->reply);
}

/* Whether a length of time is one: the clock may have been set back meanwhile. */
static bool length_of_time(struct flow_rpcs *rpcs, struct rpc_transaction *t, bool known,
                           const char *what, int64_t *ns)
{
    if (!known || *ns >= 0)
        return known;
    rpc_add_finding(rpcs, t,
                    (struct rpc_finding){.rule = RPCRDMA_RULE_TIME_BACKWARDS,
                                         .frame = t->pub.reply_frame,
                                         .a = (uint64_t)(-*ns) / 1000,
                                         .what = what});
    *ns = 0;
    return false;
}

/* No more of its data is to come, and what was not seen did not pass. */
static bool saw_its_end(const struct rpc_transaction *t)
{
    uint64_t frame;
    int64_t time_ns;

    return !t->early && flow_conn_saw_all(t->conn) &&
           flow_conn_closed_at(t->conn, &frame, &time_ns);
}

/* Its Responder asks for what it reads before it replies: without a request, it read nothing. */
static bool saw_no_read(const struct rpc_transaction *t)
{
    const struct rpcrdma_transaction *pub = &t->pub;
    const struct rpc_conn *c = rpc_of(t->conn);
    int responder = 1 - pub->caller_end;

    return !t->early && pub->caller_end >= 0 && t->reads[responder].last == 0 &&
           !flow_conn_lacks(t->conn, responder) &&
           (!c || c->unplaced[pub->caller_end] <= pub->call_frame);
}

/* How much of its Read chunks passed is what was seen of them. */
static bool reads_known(const struct rpc_transaction *t)
{
    if (!t->chunk_map || t->dropped || t->chunk_map->cut)
        return !t->chunk_map && !t->dropped;
    return t->pending == 0 || (t->pub.reply_frame != 0 ? saw_no_read(t) : saw_its_end(t));
}

/* And of the chunks that a Reply, which there is none of, would return. */
static bool writes_known(const struct rpc_transaction *t)
{
    const struct rpc_chunk_map *map = t->chunk_map;
    bool all = map && !map->cut && seen(map, &map->reply) == map->reply.length;

    if (!map || t->dropped)
        return !t->dropped;
    for (uint32_t i = 0; all && i < map->n_writes; i++)
        all = seen(map, &map->writes[i]) == map->writes[i].length;
    return all || (!map->cut && saw_its_end(t));
}

/* What its messages say of it as a whole. */
static void conclude(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpcrdma_transaction *pub = &t->pub;

    pub->complete = t->call_complete && t->reply_complete;
    pub->offers_known = t->has_call && !rpc_offers_cut(t);
    pub->reads_known = pub->offers_known && reads_known(t);
    pub->returns_known =
        pub->reply_frame != 0 ? !t->reply_cut : pub->offers_known && writes_known(t);
    if (!pub->error)
        pub->read_uncaptured = rpc_read_uncaptured(t);
    pub->has_latency = t->has_call && pub->reply_frame != 0;
    pub->latency_ns = pub->has_latency ? pub->reply_time_ns - pub->call_time_ns : 0;
    if (pub->reply_frame < pub->call_frame && pub->latency_ns < 0) {
        pub->has_latency = false; /* the capture shows them in the wrong order */
        pub->latency_ns = 0;
    }
    pub->has_latency = length_of_time(rpcs, t, pub->has_latency, "RPC", &pub->latency_ns);
    pub->has_response = pub->has_latency;
    pub->response_ns = pub->latency_ns;
}

/* Nothing more is taken for it. */
static void give(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    if (!rpc_park(rpcs, t))
        rpc_emit(rpcs, t);
    else if (rpcs->context->sink.answered && !rpcs->context->memory.failed)
        rpcs->context->sink.answered(rpcs->context->sink.context, rpc_public_of(t));
}

void rpc_finish_plain(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    conclude(rpcs, t);
    if (t->slot)
        rpc_slot_end(rpcs, t);
    unlist(rpcs, t);
    give(rpcs, t);
}

/* Tells it, with what was found on the way, and forgets it. */
void rpc_finish(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpcrdma_transaction *pub = &t->pub;

    if (t->has_call && !t->call_emitted)
        rpc_call_deliver(rpcs, t);
    if (t->open)
        rpc_add_finding(rpcs, t,
                        (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_PARTS,
                                             .frame = pub->call_frame,
                                             .what = "Call"});
    if (t->reply.open)
        rpc_add_finding(rpcs, t,
                        (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_PARTS,
                                             .frame = pub->reply_frame,
                                             .what = "Reply"});
    if (pub->reply_frame == 0) {
        add_chunks(pub, t->chunk_map);
        rpc_add_finding(rpcs, t, (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_UNANSWERED});
        rpc_check_unanswered(rpcs, t);
    } else if (!t->has_call) {
        rpc_add_finding(rpcs, t, (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_NO_CALL});
    } else {
        rpc_sendings_answered(rpcs, t);
    }
    if (t->dropped)
        rpc_add_finding(rpcs, t,
                        (struct rpc_finding){.rule = RPCRDMA_RULE_MEMORY_LIMIT,
                                             .a = flow_memory_limit(&rpcs->context->memory)});
    conclude(rpcs, t);
    pub->rdma_ns = t->rdma_last_ns - t->rdma_first_ns;
    pub->rdma_last_frame = t->rdma_last_frame;
    pub->rdma_last_ns = t->rdma_last_ns;
    pub->has_rdma = length_of_time(rpcs, t, t->rdma_last_frame != 0, "RDMA", &pub->rdma_ns);
    end(rpcs, t);
    give(rpcs, t);
}

/* It ends before its time: the tracker is full, or its XID is used again. */
void rpc_cut_short(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    if (t->reply.kept)
        rpc_reply_release(rpcs, t);
    else
        rpc_finish(rpcs, t);
}

/* Where nothing that its Responder sends is captured, no Reply is: rpc-unanswered says enough. */
static void give_up(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    if (t->pub.caller_end < 0 || flow_conn_heard_from(t->conn, 1 - t->pub.caller_end))
        rpc_add_finding(rpcs, t, (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_GIVEN_UP});
    rpc_cut_short(rpcs, t);
}

void flow_rpc_give_up(struct flow_rpcs *rpcs, struct flow_call *call)
{
    struct rpc_transaction *t = rpc_transaction_of(rpcs, call);

    if (t)
        give_up(rpcs, t);
}

static bool evict(struct flow_rpcs *rpcs, struct rpc_conn *c, int caller)
{
    struct rpc_transaction *victim = TAILQ_FIRST(&c->transactions[caller]);

    if (!victim)
        victim = TAILQ_FIRST(&c->transactions[1 - caller]);

    if (victim)
        give_up(rpcs, victim);
    return victim != NULL;
}

struct rpc_transaction *rpc_begin(struct flow_rpcs *rpcs, struct flow_conn *conn, int caller,
                                  uint32_t xid, struct flow_call *call)
{
    struct rpc_conn *c = rpc_of(conn);
    struct rpc_transaction *t;

    if (!c || !call)
        return NULL;
    while (!(t = get_transaction(rpcs)))
        if (rpcs->context->memory.failed || !evict(rpcs, c, caller))
            return NULL;
    *slot_of(rpcs, call) = t;
    flow_call_hold(call, FLOW_CALL_RPC);
    t->call = call;
    t->conn = conn;
    t->pub.caller_end = caller;
    t->pub.xid = xid;
    TAILQ_INSERT_TAIL(&c->transactions[caller], t, by_age);
    if (!c->on_the_way[caller])
        c->on_the_way[caller] = t;
    c->count[caller]++;
    return t;
}
