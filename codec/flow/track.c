/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/track.h"

/* The observer: a Call opens a transaction and its segments, data is placed in them, a Reply ends
 * it. Nothing is allocated per packet. */

static uint64_t rpc_key(const struct flow_conn *conn, int caller, uint32_t xid)
{
    return flow_hash2(conn->id << 1 | (uint64_t)caller, xid);
}

static struct track_rpc *find(const struct track *track, const struct flow_conn *conn, int caller,
                              uint32_t xid)
{
    struct track_rpc *t = flow_table_get(&track->table, rpc_key(conn, caller, xid));

    while (t && (t->conn != conn || t->pub.caller_end != caller || t->pub.xid != xid))
        t = t->chain;
    return t;
}

static struct track_conn *of(const struct track *track, const struct flow_conn *conn)
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

/* Parts. */

static void parts_free(struct track *track, struct track_parts *parts)
{
    while (parts->first) {
        struct track_part *next = parts->first->next;

        flow_release(&track->flow->memory, parts->first, parts->first->size);
        parts->first = next;
    }
    *parts = (struct track_parts){0};
}

/* A part that stays: its bytes are copied where `keep`. */
static void parts_add(struct track *track, struct track_rpc *t, struct track_parts *parts,
                      const struct track_part *part, bool keep)
{
    size_t size = sizeof(*part) + (keep ? part->caplen : 0);
    struct track_part *copy = flow_alloc(&track->flow->memory, size);

    if (part->at + part->len > parts->length)
        parts->length = part->at + part->len;
    if (!copy) {
        t->dropped = true;
        return;
    }
    *copy = *part;
    copy->next = NULL;
    copy->size = size;
    copy->data = keep ? copy->bytes : NULL;
    if (keep && part->caplen > 0)
        memcpy(copy->bytes, part->data, part->caplen);
    if (parts->last)
        parts->last->next = copy;
    else
        parts->first = copy;
    parts->last = copy;
}

static struct track_part part_of(const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;
    struct track_part part = {.at = m->part_bytes};

    if (msg->present & RPCRDMA_HAS_HEADER_LENGTH && msg->payload.data) {
        part.data = msg->payload.data;
        part.caplen = msg->payload.caplen;
        part.len = msg->payload.len;
    }
    return part;
}

/* Beginning and end of a transaction. */

static void unhold(struct track *track, struct track_rpc *t)
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
    struct track_conn *c = of(track, t->conn);
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
static void forget_reads(struct track *track, struct track_rpc *t)
{
    struct track_conn *c = of(track, t->conn);

    for (int end = 0; c && end < 2; end++) {
        if (t->reads[end].last == 0)
            continue;
        track_pulls_forget(&c->reads[end], t->reads[end].first, t->reads[end].last, t);
        t->reads[end].first = t->reads[end].last = 0;
    }
}

static void release(struct track *track, struct track_rpc *t)
{
    unhold(track, t);
    unlist(track, t);
    forget_reads(track, t);
    track_offer_free(track, t->offer);
    track_offer_free(track, t->reply.offer);
    parts_free(track, &t->parts);
    parts_free(track, &t->reply.parts);
    flow_release(&track->flow->memory, t->reply.header, t->reply.header_caplen);
    flow_release(&track->flow->memory, t->findings, sizeof(*t->findings));
    flow_release(&track->flow->memory, t, sizeof(*t));
}

static uint64_t seen(const struct track_offer *offer, const struct track_chunk *chunk)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < chunk->count; i++)
        sum += offer->regions[chunk->first + i].seen;
    return sum;
}

/* Tells it, with what was found on the way, and forgets it. */
static void finish(struct track *track, struct track_rpc *t)
{
    struct rpcrdma_transaction *pub = &t->pub;

    if (t->has_call && !t->call_given)
        track_call_give(track, t);
    if (t->open)
        track_add_finding(track, t, RPCRDMA_RULE_RPC_PARTS, pub->call_frame, "Call", 0, 0, 0);
    if (t->reply.open)
        track_add_finding(track, t, RPCRDMA_RULE_RPC_PARTS, pub->reply_frame, "Reply", 0, 0, 0);
    if (pub->reply_frame == 0) {
        for (uint32_t i = 0; t->offer && i < t->offer->n_writes; i++)
            pub->write_chunk_length += seen(t->offer, &t->offer->writes[i]);
        if (t->offer)
            pub->reply_chunk_length += seen(t->offer, &t->offer->reply);
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
    if (track->flow->sink.transaction)
        track->flow->sink.transaction(track->flow->sink.context, pub);
    release(track, t);
}

static void answer(struct track *track, struct track_rpc *t, const struct track_answer *a)
{
    if (t->has_call && !t->call_given)
        track_call_give(track, t);
    track_reply_give(track, t, a);
    finish(track, t);
}

/* The Reply that waited has all, or has waited long enough. */
static void answer_held(struct track *track, struct track_rpc *t)
{
    struct track_answer a = {.message = &t->reply.message,
                             .parts = &t->reply.parts,
                             .offer = t->reply.offer,
                             .frame = t->reply.frame,
                             .time_ns = t->reply.time_ns};

    unhold(track, t);
    answer(track, t, &a);
}

/* It ends before its time: the tracker is full, or its XID is used again. */
static void cut_short(struct track *track, struct track_rpc *t)
{
    if (t->reply.ready)
        answer_held(track, t);
    else
        finish(track, t);
}

static bool evict(struct track *track, struct track_conn *c, int caller)
{
    struct track_rpc *victim = c->oldest[caller] ? c->oldest[caller] : c->oldest[1 - caller];

    if (!victim)
        return false;
    track_add_finding(track, victim, RPCRDMA_RULE_RPC_GIVEN_UP, 0, NULL, 0, 0, 0);
    cut_short(track, victim);
    return true;
}

static struct track_rpc *begin(struct track *track, struct flow_conn *conn, int caller,
                               uint32_t xid)
{
    struct track_conn *c = of(track, conn);
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

/* Calls. */

static bool same_call(const struct track_rpc *t, const struct rpcrdma_flow_message *m)
{
    if (!t->pub.has_program || !m->rpc || !(m->rpc->present & RPCRDMA_RPC_HAS_PROGRAM))
        return true;
    return t->pub.program == m->rpc->program && t->pub.version == m->rpc->version &&
           t->pub.procedure == m->rpc->procedure;
}

/* The transaction that the Call belongs to, NULL without memory. */
static struct track_rpc *call_begin(struct track *track, struct flow_conn *conn,
                                    const struct flow_message *m)
{
    uint32_t xid = m->message->message->xid, connection;
    struct track_rpc *t = find(track, conn, m->sender, xid);
    uint64_t frame;

    if (t && t->open && m->message->part > 1)
        return t;
    if (t && !t->has_call && t->reply.waits && m->send->frame <= t->reply.frame) {
        /* the Reply was taken out of the capture before its Call was */
        t->has_call = true;
        t->pub.call_frame = m->send->frame;
        t->pub.call_time_ns = m->send->time_ns;
        return t;
    }
    if (t && t->has_call && t->pub.reply_frame == 0 && !t->reply.ready &&
        same_call(t, m->message)) {
        /* sent again while it is outstanding: the same transaction, from its first sending on */
        t->pub.retransmitted = true;
        track_add_finding(track, t, RPCRDMA_RULE_RPC_AGAIN, m->send->frame, NULL, conn->pub.number,
                          t->pub.call_frame, 0);
        parts_free(track, &t->parts);
        forget_reads(track, t);
        track_offer_free(track, t->offer);
        t->offer = NULL;
        t->pending = 0;
        return t;
    }
    if (t)
        cut_short(track, t);
    t = begin(track, conn, m->sender, xid);
    if (!t)
        return NULL;
    t->has_call = true;
    t->pub.call_frame = m->send->frame;
    t->pub.call_time_ns = m->send->time_ns;
    if (track_again_seen(track, t, &frame, &connection)) {
        t->pub.retransmitted = true;
        track_add_finding(track, t, RPCRDMA_RULE_RPC_AGAIN, m->send->frame, NULL, connection, frame,
                          0);
    }
    track_again_note(track, t);
    return t;
}

static void take_rpc(struct track_rpc *t, const struct rpcrdma_rpc *rpc)
{
    if (!rpc || !(rpc->present & RPCRDMA_RPC_HAS_PROGRAM) || t->pub.has_program)
        return;
    t->rpc = *rpc;
    t->rpc.cred.data = t->rpc.verf.data = NULL;
    t->pub.has_program = true;
    t->pub.program = rpc->program;
    t->pub.version = rpc->version;
    t->pub.procedure = rpc->procedure;
}

static void call_take(struct track *track, struct track_rpc *t, const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;
    struct track_part part = part_of(m);
    bool base;

    take_rpc(t, m->message->rpc);
    t->open = m->continues;
    t->last_frame = m->send->frame;
    t->last_ns = m->send->time_ns;
    if (m->message->part > 1) {
        t->pub.call_frame = m->send->frame;
        t->pub.call_time_ns = m->send->time_ns;
    }
    t->malformed = msg->status == RPCRDMA_MALFORMED;
    t->no_length = !(msg->present & RPCRDMA_HAS_HEADER_LENGTH);
    t->msgp = msg->kind == RPCRDMA_KIND_MSGP;
    t->align = msg->align;
    t->header_length = msg->header_length;
    if (!t->offer)
        t->offer = track_offer_open(track, t, m->sender, TRACK_CALL_READ, msg);
    if (t->call_given)
        return;
    t->pending = track_offer_pending(t->offer);
    base = t->offer && t->offer->has_base;
    if (t->open || t->pending > 0) {
        /* names come from the first bytes: now, while they are here */
        if (!base && part.at == 0 && !t->open)
            track_call_names(track, t, part.data, part.caplen, part.len);
        parts_add(track, t, &t->parts, &part, track->keep_data || base || t->open);
        return;
    }
    if (t->parts.first) {
        parts_add(track, t, &t->parts, &part, true);
        track_call_give(track, t);
        return;
    }
    /* all there: given from where it lies */
    part.next = NULL;
    t->parts = (struct track_parts){.first = &part, .last = &part, .length = part.len};
    track_call_give(track, t);
    t->parts = (struct track_parts){0};
}

/* The Reply that waits has all it waited for. */
static void answer_if_ready(struct track *track, struct track_rpc *t)
{
    if (t->reply.waits && t->has_call && !t->open && t->pending == 0 &&
        track_offer_pending(t->reply.offer) == 0 && track_reply_pending(t, &t->reply.message) == 0)
        answer_held(track, t);
}

static void call(struct track *track, struct flow_conn *conn, const struct flow_message *m)
{
    struct track_rpc *t = call_begin(track, conn, m);

    if (!t)
        return;
    call_take(track, t, m);
    answer_if_ready(track, t);
}

/* Replies. */

static void hold(struct track *track, struct track_rpc *t)
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

static bool keep_reply(struct track *track, struct track_rpc *t, const struct flow_message *m)
{
    struct track_reply *r = &t->reply;
    const struct flow_send *send = m->send;

    r->header = flow_alloc(&track->flow->memory, send->caplen ? send->caplen : 1);
    if (!r->header)
        return false;
    r->header_caplen = send->caplen ? send->caplen : 1;
    memcpy(r->header, send->data, send->caplen);
    rpcrdma_message_decode(m->message->message->dialect, r->header, send->caplen, send->len,
                           &r->message);
    r->frame = send->frame;
    r->time_ns = send->time_ns;
    r->ready = true;
    return true;
}

static void note_reply(struct track_rpc *t, const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;

    t->pub.reply_frame = m->send->frame;
    t->pub.reply_time_ns = m->send->time_ns;
    if (msg->present & RPCRDMA_HAS_CREDITS) {
        t->pub.has_credits = true;
        t->pub.credits_granted = msg->credits;
    }
}

static void reply(struct track *track, struct flow_conn *conn, const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;
    int caller = 1 - m->sender;
    struct track_rpc *t = find(track, conn, caller, msg->xid);
    struct track_part part = part_of(m);
    struct track_answer a = {.message = msg, .frame = m->send->frame, .time_ns = m->send->time_ns};
    uint64_t pending;
    bool read_read;

    if (t && t->reply.ready) { /* a second Reply while the first waits */
        answer_held(track, t);
        t = NULL;
    }
    if (!t) {
        t = begin(track, conn, caller, msg->xid);
        if (!t)
            return;
        take_rpc(t, m->message->call);
    }
    note_reply(t, m);
    if (m->continues) {
        parts_add(track, t, &t->reply.parts, &part, true);
        t->reply.open = true;
        return;
    }
    t->reply.open = false;
    track_again_answered(track, t);
    t->open = false;
    if (msg->present & RPCRDMA_HAS_READ && msg->read.count > 0)
        t->reply.offer = track_offer_open(track, t, m->sender, TRACK_REPLY_READ, msg);
    read_read = track_offer_pending(t->reply.offer) > 0;
    pending = t->pending + track_reply_pending(t, msg);
    if ((!t->has_call || pending > 0 || read_read) && keep_reply(track, t, m)) {
        t->reply.read_read = read_read;
        part.data = part.data ? t->reply.message.payload.data : NULL;
        parts_add(track, t, &t->reply.parts, &part, true);
        hold(track, t);
        if (track->n_held > TRACK_HELD)
            answer_held(track, track->held_oldest);
        return;
    }
    a.offer = t->reply.offer;
    if (t->reply.parts.first) {
        parts_add(track, t, &t->reply.parts, &part, true);
        a.parts = &t->reply.parts;
        answer(track, t, &a);
    } else {
        struct track_parts parts = {.first = &part, .last = &part, .length = part.len};

        a.parts = &parts;
        answer(track, t, &a);
    }
}

/* RDMA_ERROR ends what it answers; it comes from the Responder (RFC 8166 section 4.5). */
static void error(struct track *track, struct flow_conn *conn, const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;
    struct track_rpc *t = find(track, conn, 1 - m->sender, msg->xid);
    const struct rpcrdma_error_desc *desc;

    if (!t || !t->has_call)
        return;
    desc = rpcrdma_dialect_error(msg->dialect, msg->error.code);
    note_reply(t, m);
    track_again_answered(track, t);
    t->pub.error = true;
    track_add_finding(track, t, RPCRDMA_RULE_RPC_ERROR, m->send->frame,
                      desc ? desc->name : "an error nobody knows", msg->error.code, 0, 0);
    finish(track, t);
}

/* RDMA_DONE: the Requester has pulled the Reply's read list (RFC 5666 section 3.8). */
static void done(struct track *track, struct flow_conn *conn, const struct flow_message *m)
{
    struct track_rpc *t = find(track, conn, m->sender, m->message->message->xid);

    if (t && t->reply.waits)
        answer_held(track, t);
}

static void check_held(struct track *track, int64_t now)
{
    struct track_rpc *t = track->held_oldest;

    /* a list pulled by the Requester takes as long as it takes: RDMA_DONE or the end will come */
    while (t && t->reply.read_read)
        t = t->reply.newer;
    if (t && (now - t->reply.time_ns > TRACK_HOLD_NS || now < t->reply.time_ns - TRACK_HOLD_NS))
        answer_held(track, t);
}

/* What waits may still get data that was captured late. */
static bool awaited(const struct flow_region *region)
{
    const struct track_rpc *t = region->owner;

    return t->reply.waits;
}

static void on_message(void *self, struct flow_conn *conn, const struct flow_message *m)
{
    struct track *track = self;
    const struct rpcrdma_message *msg = m->message->message;

    if (track->held_oldest)
        check_held(track, m->send->time_ns);
    if (!(msg->present & RPCRDMA_HAS_XID) || !of(track, conn))
        return;
    switch (msg->kind) {
    case RPCRDMA_KIND_ERROR:
        error(track, conn, m);
        break;
    case RPCRDMA_KIND_DONE:
        done(track, conn, m);
        break;
    case RPCRDMA_KIND_MSG:
    case RPCRDMA_KIND_NOMSG:
    case RPCRDMA_KIND_MSGP:
    case RPCRDMA_KIND_CALL_EXTERNAL:
    case RPCRDMA_KIND_CALL_MIDDLE:
    case RPCRDMA_KIND_CALL_INLINE:
    case RPCRDMA_KIND_REPLY_EXTERNAL:
    case RPCRDMA_KIND_REPLY_MIDDLE:
    case RPCRDMA_KIND_REPLY_INLINE:
        if (m->message->direction == RPCRDMA_DIRECTION_CALL)
            call(track, conn, m);
        else if (m->message->direction == RPCRDMA_DIRECTION_REPLY)
            reply(track, conn, m);
        break;
    default:
        break;
    }
    if (m->send->has_invalidate)
        flow_region_invalidate(&track->regions, conn->id, (uint8_t)(1 - m->sender),
                               m->send->invalidate, awaited);
}

/* Data. */

static void moved(struct track *track, struct flow_region *region, uint64_t start,
                  const struct rpcrdma_op *op)
{
    struct track_rpc *t = region->owner;
    uint32_t n = region->seen;

    track_moved_tell(track, region, (enum rpcrdma_op_kind)op->kind, op->frame, start, op->len);
    if (t->rdma_last_ns == 0)
        t->rdma_first_ns = op->time_ns;
    t->rdma_last_ns = op->time_ns;
    if (region->use == TRACK_CALL_READ && t->call_given)
        return; /* sent again: it was told */
    if (!flow_region_place(&track->regions, region, start, op->data, op->caplen, op->len))
        track_add_finding(track, t, RPCRDMA_RULE_RPC_OUTSIDE, op->frame, NULL, region->handle,
                          start + op->len, region->length);
    n = region->seen - n;
    if (n == 0)
        return;
    if (region->use == TRACK_CALL_READ) {
        t->pending -= n < t->pending ? n : t->pending;
        t->last_frame = op->frame;
        t->last_ns = op->time_ns;
        if (t->pending == 0 && !t->open)
            track_call_give(track, t);
    }
    answer_if_ready(track, t);
}

static void unknown(struct track *track, struct flow_conn *conn, const struct rpcrdma_op *op,
                    uint32_t handle, const char *what)
{
    struct track_conn *c = of(track, conn);

    if (!c || c->said_unknown)
        return;
    c->said_unknown = true;
    flow_report(track->flow, conn,
                &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_RPC_UNKNOWN_HANDLE,
                                          .frame = op->frame,
                                          .offset = -1,
                                          .arg = {handle},
                                          .what = what});
}

static void on_write(void *self, struct flow_conn *conn, int sender, const struct flow_write *write)
{
    struct track *track = self;
    struct flow_region *region;

    if (track->held_oldest)
        check_held(track, write->op->time_ns);
    if (!write->placed)
        return;
    region = flow_region_find(&track->regions, conn->id, (uint8_t)(1 - sender), write->rkey,
                              write->address);
    if (region && region->use == TRACK_WRITE)
        moved(track, region, write->address - region->offset, write->op);
    else if (write->op->len > 0)
        unknown(track, conn, write->op, write->rkey, "Write");
}

static void on_read_request(void *self, struct flow_conn *conn, int sender,
                            const struct flow_read *read)
{
    struct track *track = self;
    struct track_conn *c = of(track, conn);
    struct flow_region *region = flow_region_find(&track->regions, conn->id, (uint8_t)(1 - sender),
                                                  read->rkey, read->address);
    struct track_rpc *t;

    if (!c)
        return;
    if (region && region->use == TRACK_WRITE)
        region = NULL;
    track_pulls_add(track, &c->reads[sender], conn->half[1 - sender]->reads_size, read->id, region);
    if (!region)
        return;
    t = region->owner;
    track_moved_tell(track, region, RPCRDMA_OP_READ_REQUEST, read->frame,
                     read->address - region->offset, read->length);
    if (t->reads[sender].last == 0)
        t->reads[sender].first = read->id;
    t->reads[sender].last = read->id;
    if (t->rdma_last_ns == 0)
        t->rdma_first_ns = t->rdma_last_ns = read->time_ns;
}

static void on_read_response(void *self, struct flow_conn *conn, int sender,
                             const struct flow_read *read, uint64_t offset,
                             const struct rpcrdma_op *op)
{
    struct track *track = self;
    struct track_conn *c = of(track, conn);
    struct flow_region *region;

    if (track->held_oldest)
        check_held(track, op->time_ns);
    region = c && read ? track_pulls_find(&c->reads[1 - sender], read->id) : NULL;
    if (region)
        moved(track, region, read->address + offset - region->offset, op);
}

static void on_opened(void *self, struct flow_conn *conn)
{
    struct track *track = self;

    conn->attached[track->observer.slot] =
        flow_alloc(&track->flow->memory, sizeof(struct track_conn));
}

static void on_closed(void *self, struct flow_conn *conn)
{
    struct track *track = self;
    struct track_conn *c = of(track, conn);

    if (!c)
        return;
    for (int caller = 0; caller < 2; caller++)
        while (c->oldest[caller])
            cut_short(track, c->oldest[caller]);
    for (int end = 0; end < 2; end++)
        track_pulls_free(track, &c->reads[end]);
    flow_release(&track->flow->memory, c, sizeof(*c));
    conn->attached[track->observer.slot] = NULL;
}

struct track *track_new(struct flow *flow)
{
    struct track *track = flow_alloc_always(&flow->memory, sizeof(*track));

    if (!track)
        return NULL;
    track->flow = flow;
    track->regions.memory = &flow->memory;
    track->keep_data = flow->sink.rpc != NULL;
    track->keep_base = true;
    track->observer = (struct flow_observer){.opened = on_opened,
                                             .message = on_message,
                                             .write = on_write,
                                             .read_request = on_read_request,
                                             .read_response = on_read_response,
                                             .closed = on_closed,
                                             .self = track};
    flow_observe(flow, &track->observer);
    return track;
}

void track_free(struct track *track)
{
    struct flow_memory *memory;

    if (!track)
        return;
    memory = &track->flow->memory;
    flow_table_free(&track->table, memory);
    flow_table_free(&track->regions.table, memory);
    track_pieces_free(track, &track->base);
    track_pieces_free(track, &track->whole);
    track_pieces_free(track, &track->spare);
    flow_release(memory, track->flat, track->flat_size);
    flow_release(memory, track->again, TRACK_AGAIN * sizeof(*track->again));
    flow_release(memory, track->lengths, track->lists_size * sizeof(*track->lengths));
    flow_release(memory, track->gaps, track->lists_size * sizeof(*track->gaps));
    flow_release(memory, track->places, track->lists_size * sizeof(*track->places));
    flow_release(memory, track->loose, track->lists_size * sizeof(*track->loose));
    flow_release(memory, track, sizeof(*track));
}
