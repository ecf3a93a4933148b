/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/*
 * Which two halves are one connection, where no CM exchange tells. A packet carries the QP number
 * of its receiver only; but an Ack, a response or a Nak towards A names the PSN of a request that A
 * sent, and a Reply the XID of a Call. What awaits an answer is noted in a bounded table under
 * (addresses, PSN) and (addresses, XID); old notes are overwritten, nothing is searched.
 */

enum {
    WAYS = 4,
    ENTRIES = 1 << 14,
    AWAIT_ANSWER = 0, /* kinds: a PSN awaits its answer; */
    AWAIT_CALL,       /* an XID: of a Call, */
    AWAIT_REPLY,      /* of a Reply, */
    AWAIT_EITHER,     /* of a message that does not tell */
    FEW = 64,         /* answers that matched nothing: beyond, one match could be chance */
};
#define AWAIT_NS INT64_C(4000000000)
#define AWAIT_XID_NS INT64_C(120000000000)
#define AMBIGUOUS UINT64_MAX

static uint64_t addresses(const struct rpcrdma_address *src, const struct rpcrdma_address *dst)
{
    return flow_cm_key(src, dst, UINT32_MAX);
}

static bool opposite(const struct flow_half *a, const struct flow_half *b)
{
    if (a->carrier != b->carrier || memcmp(&a->path.src, &b->path.dst, sizeof(a->path.src)) != 0 ||
        memcmp(&a->path.dst, &b->path.src, sizeof(a->path.dst)) != 0)
        return false;
    return a->carrier != RPCRDMA_CARRIER_IWARP ||
           a->path.qpn == (b->path.qpn << 16 | b->path.qpn >> 16);
}

static struct flow_awaiting *set_of(struct flow *flow, uint64_t key)
{
    return flow->awaiting ? &flow->awaiting[flow_mix(key) & (ENTRIES - WAYS)] : NULL;
}

static struct flow_awaiting *find(struct flow *flow, uint64_t key, int64_t expiry)
{
    struct flow_awaiting *set = set_of(flow, key);

    for (int i = 0; set && i < WAYS; i++)
        if (set[i].id != 0 && set[i].key == key && flow->time_ns - set[i].time_ns <= expiry)
            return &set[i];
    return NULL;
}

static void note(struct flow *flow, uint64_t key, const struct flow_half *half, uint32_t kind,
                 int64_t expiry)
{
    struct flow_awaiting *set, *at = find(flow, key, expiry);

    if (at && at->id != half->id && kind == AWAIT_ANSWER) {
        at->id = AMBIGUOUS; /* two streams await this PSN: its answer tells nothing */
        return;
    }
    if (!flow->awaiting)
        flow->awaiting = flow_alloc(&flow->memory, ENTRIES * sizeof(*flow->awaiting));
    set = set_of(flow, key);
    if (!set)
        return;
    if (!at) {
        at = set;
        for (int i = 1; i < WAYS && at->id != 0; i++)
            if (set[i].id == 0 || set[i].time_ns < at->time_ns)
                at = &set[i];
    }
    *at = (struct flow_awaiting){
        .key = key, .id = half->id, .handle = half->handle, .kind = kind, .time_ns = flow->time_ns};
}

static uint64_t psn_key(const struct rpcrdma_address *src, const struct rpcrdma_address *dst,
                        uint32_t psn)
{
    return flow_hash2(addresses(src, dst), psn & 0xffffff);
}

static uint64_t xid_key(const struct rpcrdma_address *src, const struct rpcrdma_address *dst,
                        uint32_t xid)
{
    return flow_hash2(addresses(src, dst), UINT64_C(1) << 32 | xid);
}

void flow_pair_request(struct flow *flow, struct flow_half *half, uint32_t seq)
{
    if (!flow_peer(half))
        note(flow, psn_key(&half->path.src, &half->path.dst, seq), half, AWAIT_ANSWER, AWAIT_NS);
}

bool flow_pair_answer(struct flow *flow, struct flow_half *half, const struct rpcrdma_op *op)
{
    struct flow_awaiting *at;
    struct flow_half *other;

    if (!flow->awaiting || flow_peer(half))
        return false;
    at = find(flow, psn_key(&half->path.dst, &half->path.src, op->seq), AWAIT_NS);
    other = at ? flow_half_of(flow, at->handle, at->id) : NULL;
    if (!other || flow_peer(other) || !opposite(half, other)) {
        half->answers_unpaired++;
        return false;
    }
    /* 24 bits match by chance once in 16 million: after many answers to other things, twice */
    if (half->answers_unpaired > FEW && half->guess != other->id) {
        half->guess = other->id;
        return false;
    }
    return flow_pair(flow, half, other);
}

bool flow_pair_xid(struct flow *flow, struct flow_half *half, uint32_t xid, int msg_type)
{
    uint32_t kind = msg_type == 0 ? AWAIT_CALL : msg_type == 1 ? AWAIT_REPLY : AWAIT_EITHER;
    struct flow_awaiting *at =
        find(flow, xid_key(&half->path.dst, &half->path.src, xid), AWAIT_XID_NS);
    struct flow_half *other = at ? flow_half_of(flow, at->handle, at->id) : NULL;
    bool answers = false;

    if (other && opposite(half, other) && (kind == AWAIT_EITHER || kind != at->kind)) {
        if (flow_peer(half) == other)
            answers = true;
        else if (!flow_peer(half) && !flow_peer(other))
            answers = flow_pair(flow, half, other);
    }
    if (!answers)
        note(flow, xid_key(&half->path.src, &half->path.dst, xid), half, kind, AWAIT_XID_NS);
    return answers;
}

/* What `from` knew goes to `into`; `swap`: their ends are counted the other way round. */
static void merge(struct flow *flow, struct flow_conn *into, struct flow_conn *from, bool swap)
{
    struct rpcrdma_connection *to = &into->pub;

    for (int i = 0; i < 2; i++) {
        int j = swap ? 1 - i : i;

        if (to->role[i] == RPCRDMA_ROLE_UNKNOWN)
            to->role[i] = from->pub.role[j];
        if (!to->has_private_data[i] && from->pub.has_private_data[j]) {
            to->has_private_data[i] = true;
            to->private_data[i] = from->pub.private_data[j];
        }
        if (!to->properties[i].announced)
            to->properties[i] = from->pub.properties[j];
        if (from->half[j]) {
            struct flow_half *half = from->half[j];

            from->half[j] = NULL;
            flow_conn_attach(flow, into, i, half);
            if (half->stash)
                into->waiting |= i == 0 ? FLOW_WAIT_GAP0 : FLOW_WAIT_GAP1;
        }
    }
    if (from->pub.first_frame < to->first_frame) {
        to->first_frame = from->pub.first_frame;
        to->first_time_ns = from->pub.first_time_ns;
    }
    to->messages += from->pub.messages;
    to->established |= from->pub.established;
    if (to->service_port == 0)
        to->service_port = from->pub.service_port;
    if (to->version == 0)
        to->version = from->pub.version;
    flow_conn_thresholds(into);
    flow_hold_merge(into, from);
    if (from->pub.number != 0)
        flow_report(flow, from,
                    &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_CONNECTION_MERGED,
                                              .frame = flow->frame,
                                              .offset = -1,
                                              .arg = {to->number}});
    flow_conn_finish(flow, from);
}

bool flow_pair(struct flow *flow, struct flow_half *a, struct flow_half *b)
{
    struct flow_conn *conn;

    if (!a->conn ||
        (b->conn && (b->conn->claim > a->conn->claim ||
                     (b->conn->claim == a->conn->claim && b->conn->id < a->conn->id)))) {
        struct flow_half *t = a;

        a = b;
        b = t;
    }
    conn = a->conn;
    if (!conn || a->foreign || b->foreign)
        return false;
    if (b->conn)
        merge(flow, conn, b->conn, b->index == a->index);
    else
        flow_conn_attach(flow, conn, 1 - a->index, b);
    if (conn->pub.paired_by == RPCRDMA_PAIRED_NOT)
        conn->pub.paired_by = RPCRDMA_PAIRED_INFERRED;
    flow_hold_clear(flow, conn, FLOW_WAIT_PEER);
    return true;
}
