/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/delivery.h"
#include "flow/rpc/check.h"
#include "flow/rpc/slot_use.h"
#include "upper/nfs4.h"

/*
 * The slots of sessions (RFC 8881 section 2.10.6.1): a slot has one request at a time, and each has
 * the next number; the same number is the same request, retransmitted; 1 begins a slot that was
 * given up and granted again. Slots are the session's, not its connections': requests of one slot
 * may come over several of them, and some of these may not be in the capture.
 *
 * So a Call is only held in doubt at first. Its Reply decides where the Responder refuses it; where
 * it does not, or none came, the Call is taken to have broken the rule only if the session began in
 * the capture, nothing is missing of the connections that are seen to carry it, and nothing shows
 * of others. A Responder that takes a number out of turn does show others: it is said once.
 */

enum { SEEN = 64 }; /* numbers of a slot that are remembered */

/* Of the slot of its session's channel; the backchannel has slots of its own. Never 0. */
static uint64_t key_of(const struct flow_rpcs *rpcs, uint64_t session, bool back, uint32_t slot)
{
    const uint64_t words[] = {session, (uint64_t)back << 32 | slot};

    return siphash_words(&rpcs->key, words, 2) | 1;
}

bool rpc_slot_used(const struct flow_rpcs *rpcs, uint64_t session)
{
    return ring_table_get(&rpcs->slots, key_of(rpcs, session, false, 0)) != NULL;
}

static bool was_seen(const struct rpc_slot *slot, uint32_t seqid)
{
    uint32_t back = slot->seqid - seqid;

    return back < SEEN && slot->seen >> back & 1;
}

/* Marks the number; whether it is the latest now. */
static bool mark(struct rpc_slot *slot, uint32_t seqid)
{
    uint32_t ahead = seqid - slot->seqid, back = slot->seqid - seqid;

    if (ahead < UINT32_MAX / 2) {
        slot->seen = ahead < SEEN ? slot->seen << ahead | 1 : 1;
        slot->seqid = seqid;
        return true;
    }
    if (back < SEEN)
        slot->seen |= UINT64_C(1) << back;
    return false;
}

static struct rpc_slot_request request_of(const struct rpc_transaction *t)
{
    return (struct rpc_slot_request){
        .conn = flow_conn_id(t->conn), .frame = t->pub.call_frame, .xid = t->pub.xid};
}

static bool is(const struct rpc_slot_request *request, const struct rpc_transaction *t)
{
    return request->frame == t->pub.call_frame && request->xid == t->pub.xid &&
           request->conn == flow_conn_id(t->conn);
}

static void follow(struct rpc_slot *slot, struct rpc_transaction *t)
{
    uint32_t seqid = t->ddp.seqid, before = slot->seqid;

    if (was_seen(slot, seqid)) {
        /* retransmitted, perhaps over another connection: that one is answered */
        if (seqid == slot->seqid) {
            slot->last = request_of(t);
        } else if (slot->last.conn == flow_conn_id(t->conn)) {
            t->slot_doubt |= RPC_SLOT_BACK; /* of one connection the order is known */
            t->slot_before = before;
        }
        return;
    }
    if (seqid == 1 && slot->seqid != 0) {
        slot->seen = 1;
        slot->seqid = 1;
        slot->before = (struct rpc_slot_request){0};
        slot->last = request_of(t);
        return;
    }
    if (!was_seen(slot, seqid - 1)) {
        t->slot_doubt |= RPC_SLOT_SEQUENCE;
        t->slot_before = before;
    }
    if (!mark(slot, seqid))
        return;
    if (slot->last.reply_frame == 0)
        t->slot_doubt |= RPC_SLOT_IN_USE;
    slot->before = slot->last;
    slot->last = request_of(t);
}

/* Whether the number may be of a slot of which some requests are not in the capture. */
static bool far(const struct rpc_slot *slot, uint32_t seqid)
{
    return slot ? seqid != 1 && seqid - slot->seqid + SEEN > 2 * SEEN : seqid != 1;
}

static void use(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpcrdma_ddp *ddp = &t->ddp;
    int64_t over_ns = 0;
    struct rpc_slot *slot;
    uint32_t slots;
    uint64_t key;

    t->session = rpc_session_key(rpcs, t->conn, ddp->session);
    key = key_of(rpcs, t->session, t->pub.callback, ddp->slot);
    slot = ring_table_get(&rpcs->slots, key);
    if (rpc_session_abroad(rpcs, t->conn, t->session) && far(slot, ddp->seqid)) {
        t->slot_before = slot ? slot->seqid : 0;
        t->slot_doubt |= RPC_SLOT_APART;
        t->session = rpc_session_apart(rpcs, t->conn, ddp->session);
        key = key_of(rpcs, t->session, t->pub.callback, ddp->slot);
        slot = ring_table_get(&rpcs->slots, key);
    }
    t->slot_place = rpc_call_place(t, ddp->slot_off);
    if (ddp->slot > ddp->highest)
        rpc_add_call_finding(rpcs, t, t->slot_place,
                             (struct rpc_finding){.rule = RPCRDMA_RULE_SLOT_BEYOND,
                                                  .a = ddp->slot,
                                                  .b = ddp->highest});
    if (slot) {
        follow(slot, t);
        over_ns = slot->before.over_ns;
    } else {
        slot = ring_table_add(&rpcs->slots, &rpcs->context->memory, key);
        if (!slot)
            return;
        /* of more than that, it may have been pushed out */
        if (ddp->seqid != 1 && rpcs->slots.added <= RPC_SLOTS)
            t->slot_doubt |= RPC_SLOT_BEGUN;
        slot->seen = 1;
        slot->seqid = ddp->seqid;
        slot->last = request_of(t);
    }
    t->slot = slot;
    rpc_slot_use_begin(rpcs, t, over_ns);
    if (t->pub.reply_frame != 0) /* its Reply passed before it */
        rpc_slot_answered(t);
    if (rpc_session_beyond(rpcs, t, &slots))
        t->slot_doubt |= RPC_SLOT_BEYOND;
}

void rpc_slot_expect(struct rpc_transaction *t)
{
    t->slot_read = false;
    rpc_of(t->conn)->unread++;
}

void rpc_slot_call(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    if (t->slot_read || !t->ddp.slot_known)
        return;
    t->slot_read = true;
    rpc_of(t->conn)->unread--;
    if (t->ddp.has_slot)
        use(rpcs, t);
}

/* What a Call breaks of its slot's rules. */
struct slot_rule {
    enum rpcrdma_rule_id sure, unsure;
    int64_t before; /* the slot's number: in bytes, how far before it what is wrong stands */
};
static const struct slot_rule in_use = {RPCRDMA_RULE_SLOT_IN_USE, RPCRDMA_RULE_SLOT_IN_USE_UNSURE,
                                        0};
/* sa_sequenceid is the word before sa_slotid (RFC 8881 section 18.46.1) */
static const struct slot_rule sequence = {RPCRDMA_RULE_SLOT_SEQUENCE,
                                          RPCRDMA_RULE_SLOT_SEQUENCE_UNSURE, 4};

/* a, b: what the rule's text has behind the slot's number. */
static void add(struct flow_rpcs *rpcs, struct rpc_transaction *t, bool sure,
                const struct slot_rule *rule, uint64_t a, uint64_t b)
{
    struct rpc_conn *conn = rpc_of(t->conn);

    if (!sure && (!rpc_session_followed(t->conn) || !conn || conn->slot_reported))
        return;
    if (!sure)
        conn->slot_reported = true;
    rpc_add_call_finding(
        rpcs, t, t->slot_place < 0 ? -1 : t->slot_place - rule->before,
        (struct rpc_finding){
            .rule = sure ? rule->sure : rule->unsure, .a = t->ddp.slot, .b = a, .c = b});
}

static void add_sequence(struct flow_rpcs *rpcs, struct rpc_transaction *t, bool sure)
{
    add(rpcs, t, sure, &sequence, t->ddp.seqid, t->slot_before);
}

/* When the Call was sent: neither by the order of the capture nor by its clock was it over. */
static bool still_in_use(const struct rpc_slot_request *before, const struct rpc_transaction *t)
{
    return before->reply_frame == 0 ||
           (before->reply_frame > t->pub.call_frame && before->over_ns >= t->pub.call_time_ns);
}

/* The Reply that made the slot free passed a moment behind, and the directions' times do not fit.
 */
static bool may_be_free(const struct rpc_slot_request *before, const struct rpc_transaction *t)
{
    const struct flow_delivery *d = rpc_delivery_towards(t->conn, t->pub.caller_end);

    return d && flow_delivery_acked_early(d) && before->reply_frame != 0 &&
           before->over_ns - t->pub.call_time_ns < FLOW_REORDER_NS;
}

/* What came meanwhile may have settled the doubt. */
static void judge(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpcrdma_ddp *ddp = &t->ddp;
    const struct rpc_slot *slot = t->slot;
    bool refused = t->slot_status == NFS4ERR_SEQ_MISORDERED;
    bool whole = rpc_session_whole(rpcs, t), sure = refused || whole;
    bool taken = t->slot_answered && t->slot_status == NFS4_OK;
    bool known = slot->key == key_of(rpcs, t->session, t->pub.callback, ddp->slot);
    uint32_t slots;

    if (t->slot_doubt & RPC_SLOT_IN_USE && known && is(&slot->last, t) &&
        still_in_use(&slot->before, t) && !may_be_free(&slot->before, t))
        add(rpcs, t,
            whole || (slot->before.conn == slot->last.conn && rpc_session_followed(t->conn)),
            &in_use, slot->before.frame, 0);
    if (t->slot_doubt & RPC_SLOT_APART && refused) {
        rpc_session_together(rpcs, t);
        if (t->slot_before != 0)
            add_sequence(rpcs, t, true);
    }
    if (t->slot_doubt & RPC_SLOT_BACK && sure)
        add_sequence(rpcs, t, true);
    if (t->slot_doubt & RPC_SLOT_SEQUENCE && known && !was_seen(slot, ddp->seqid - 1))
        add_sequence(rpcs, t, sure && !taken);
    /* the Responder took a number that does not follow on what was seen: what it does follow on
     * came over other connections, most likely, and so will more */
    if (taken && known && t->slot_doubt & (RPC_SLOT_SEQUENCE | RPC_SLOT_BEGUN) &&
        !was_seen(slot, ddp->seqid - 1))
        rpc_session_elsewhere(rpcs, t);
    if (t->slot_doubt & RPC_SLOT_BEYOND && rpc_session_beyond(rpcs, t, &slots) &&
        (t->slot_status == NFS4ERR_BADSLOT || sure))
        rpc_add_call_finding(
            rpcs, t, t->slot_place,
            (struct rpc_finding){.rule = RPCRDMA_RULE_SESSION_SLOT, .a = ddp->slot, .b = slots});
}

static void over(struct rpc_slot_request *request, uint64_t frame, int64_t time_ns)
{
    request->reply_frame = frame;
    request->over_ns = time_ns;
}

void rpc_slot_answered(const struct rpc_transaction *t)
{
    struct rpc_slot *slot = t->slot;

    if (slot && is(&slot->last, t))
        over(&slot->last, t->pub.reply_frame, t->pub.reply_time_ns);
    else if (slot && is(&slot->before, t))
        over(&slot->before, t->pub.reply_frame, t->pub.reply_time_ns);
}

/* The frame of the Ack of its Reply, where that stands before it (the two directions were captured
 * at two ports): the client had it then. 0: it does not. */
static uint64_t acked_before(const struct rpc_transaction *t)
{
    const struct rpc_place *place = &t->reply_place;
    const struct flow_delivery *d =
        place->set ? rpc_delivery_towards(t->conn, 1 - place->sender) : NULL;
    struct rpcrdma_delivery reply;

    if (!d || !flow_delivery_acked_early(d))
        return 0;
    rpc_delivery_find(t, place, &reply);
    return reply.state == RPCRDMA_DELIVERED && reply.frame < t->pub.reply_frame ? reply.frame : 0;
}

void rpc_slot_free(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpc_slot *slot = t->slot;
    bool known = slot->key == key_of(rpcs, t->session, t->pub.callback, t->ddp.slot);

    rpc_slot_use_end(rpcs, t, !known || is(&slot->last, t));
}

void rpc_slot_end(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpc_slot *slot = t->slot;
    /* one that is never answered, for its connection is lost, is over then */
    const bool answered = t->pub.reply_frame != 0;
    uint64_t early = acked_before(t);
    uint64_t frame = early ? early : answered ? t->pub.reply_frame : rpcs->context->frame;
    int64_t time_ns = answered ? t->pub.reply_time_ns : rpcs->context->time_ns;

    if (t->slot_doubt)
        judge(rpcs, t);
    if (is(&slot->last, t))
        over(&slot->last, frame, time_ns);
    else if (is(&slot->before, t))
        over(&slot->before, frame, time_ns);
}
