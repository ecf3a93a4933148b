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
#define HALF_OPEN_NS                                                                               \
    INT64_C(5000000000) /* from the CM message to the connection's first packet                    \
                         */
#define AWAIT_XID_NS INT64_C(120000000000)
#define AMBIGUOUS UINT64_MAX

static uint64_t addresses(const struct rpcrdma_address *src, const struct rpcrdma_address *dst)
{
    return flow_cm_key(src, dst, UINT32_MAX);
}

static bool opposite(const struct flow_direction *a, const struct flow_direction *b)
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

static void note(struct flow *flow, uint64_t key, const struct flow_direction *dir, uint32_t kind,
                 int64_t expiry)
{
    struct flow_awaiting *set, *at = find(flow, key, expiry);

    if (at && at->id != dir->id && kind == AWAIT_ANSWER) {
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
        .key = key, .id = dir->id, .handle = dir->handle, .kind = kind, .time_ns = flow->time_ns};
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

void flow_pair_request(struct flow *flow, struct flow_direction *dir, uint32_t seq)
{
    if (!flow_peer(dir))
        note(flow, psn_key(&dir->path.src, &dir->path.dst, seq), dir, AWAIT_ANSWER, AWAIT_NS);
}

bool flow_pair_answer(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op)
{
    struct flow_awaiting *at;
    struct flow_direction *other;

    if (!flow->awaiting || flow_peer(dir))
        return false;
    at = find(flow, psn_key(&dir->path.dst, &dir->path.src, op->seq), AWAIT_NS);
    other = at ? flow_direction_of(flow, at->handle, at->id) : NULL;
    if (!other || flow_peer(other) || !opposite(dir, other)) {
        dir->answers_unpaired++;
        return false;
    }
    /* 24 bits match by chance once in 16 million: after many answers to other things, twice */
    if (dir->answers_unpaired > FEW && dir->guess != other->id) {
        dir->guess = other->id;
        return false;
    }
    return flow_pair(flow, dir, other);
}

bool flow_pair_xid(struct flow *flow, struct flow_direction *dir, uint32_t xid, int msg_type)
{
    uint32_t kind = msg_type == 0 ? AWAIT_CALL : msg_type == 1 ? AWAIT_REPLY : AWAIT_EITHER;
    struct flow_awaiting *at =
        find(flow, xid_key(&dir->path.dst, &dir->path.src, xid), AWAIT_XID_NS);
    struct flow_direction *other = at ? flow_direction_of(flow, at->handle, at->id) : NULL;
    bool answers = false;

    if (other && opposite(dir, other) && (kind == AWAIT_EITHER || kind != at->kind)) {
        if (flow_peer(dir) == other)
            answers = true;
        else if (!flow_peer(dir) && !flow_peer(other))
            answers = flow_pair(flow, dir, other);
    }
    if (!answers)
        note(flow, xid_key(&dir->path.src, &dir->path.dst, xid), dir, kind, AWAIT_XID_NS);
    return answers;
}

void flow_pair_lacks(struct flow *flow, struct flow_conn *conn, bool lacks)
{
    const struct rpcrdma_endpoint *end = conn->pub.end;
    int i = conn->dir[1] ? 1 : 0; /* the end whose half is known: packets go to it */
    uint64_t key = lacks ? addresses(&end[1 - i].address, &end[i].address) : conn->counted_key;
    uintptr_t n;

    if (conn->counted == lacks)
        return;
    conn->counted = lacks;
    conn->counted_key = key;
    n = (uintptr_t)flow_table_get(&flow->unpaired, key);
    n = lacks ? n + 1 : n - 1;
    if (n == 0)
        flow_table_remove(&flow->unpaired, key);
    else if (!flow_table_put(&flow->unpaired, &flow->memory, key, (void *)n))
        conn->counted = false;
}

bool flow_pair_possible(const struct flow *flow, const struct flow_direction *dir)
{
    return flow->unpaired.count > 0 && !dir->foreign &&
           flow_table_get(&flow->unpaired, addresses(&dir->path.dst, &dir->path.src)) != NULL;
}

void flow_pair_half_open(struct flow *flow, struct flow_conn *conn, bool open)
{
    const struct rpcrdma_endpoint *end = conn->pub.end;
    uint64_t key = addresses(&end[0].address, &end[1].address);
    struct flow_conn *other;

    if (conn->half_open == open)
        return;
    conn->half_open = open;
    other = flow_table_get(&flow->half_open, key);
    if (!open) {
        if (other == conn)
            flow_table_remove(&flow->half_open, key);
        return;
    }
    /* two of them: which of them a stream belongs to cannot be told */
    conn->ambiguous = other != NULL;
    if (!flow_table_put(&flow->half_open, &flow->memory, key, conn))
        conn->half_open = false;
}

bool flow_pair_with_half_open(struct flow *flow, struct flow_conn *conn)
{
    struct flow_direction *dir = conn->dir[1] ? conn->dir[1] : conn->dir[0];

    if (!dir || flow_peer(dir) || conn->by_cm)
        return false;
    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_address *opener = end == 1 ? &dir->path.src : &dir->path.dst;
        const struct rpcrdma_address *acceptor = end == 1 ? &dir->path.dst : &dir->path.src;
        struct flow_conn *other = flow_table_get(&flow->half_open, addresses(opener, acceptor));
        int64_t after;

        if (!other || other->ambiguous || other->dir[end] || !other->dir[1 - end] ||
            other->class == FLOW_FOREIGN)
            continue;
        if (memcmp(&other->pub.end[0].address, opener, sizeof(*opener)) != 0 ||
            memcmp(&other->pub.end[1].address, acceptor, sizeof(*acceptor)) != 0)
            continue;
        after = dir->first_time_ns - other->pub.first_time_ns;
        if (after < 0 || after > HALF_OPEN_NS)
            continue;
        return flow_pair(flow, dir, other->dir[1 - end]);
    }
    return false;
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
        to->set_up_seen[i] |= from->pub.set_up_seen[j];
        if (!to->properties[i].announced) {
            to->properties[i] = from->pub.properties[j];
            into->announced[i] = from->announced[j];
        }
        if (from->dir[j]) {
            struct flow_direction *dir = from->dir[j];

            from->dir[j] = NULL;
            flow_conn_attach(flow, into, i, dir);
            if (dir->reorder)
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
    if (from->pub.dialects && to->dialects & from->pub.dialects)
        to->dialects &= from->pub.dialects;
    else if (from->pub.dialects && !to->dialects)
        to->dialects = from->pub.dialects;
    into->waiting |= from->waiting & FLOW_WAIT_DIALECT;
    flow_properties_default(into);
    for (int i = 0; i < 2; i++) {
        struct flow_continuation *c = &from->continuation[swap ? 1 - i : i];

        if (c->active && !into->continuation[i].active)
            into->continuation[i] = *c;
        c->active = false;
    }
    from->pub.dialects = 0; /* it decides nothing any more */
    flow_admission_merge(flow, into, from);
    if (from->pub.number != 0) {
        flow_conn_number(flow, into); /* so that there is one to be named */
        flow_report(flow, from,
                    &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_CONNECTION_MERGED,
                                              .frame = flow->frame,
                                              .offset = -1,
                                              .arg = {to->number}});
    }
    flow_conn_finish(flow, from);
}

bool flow_pair(struct flow *flow, struct flow_direction *a, struct flow_direction *b)
{
    struct flow_conn *conn;

    if (!a->conn ||
        (b->conn && (b->conn->class > a->conn->class ||
                     (b->conn->class == a->conn->class && b->conn->id < a->conn->id)))) {
        struct flow_direction *t = a;

        a = b;
        b = t;
    }
    conn = a->conn;
    if (!conn || a->foreign || b->foreign || conn->finishing || (b->conn && b->conn->finishing))
        return false;
    if (b->conn)
        merge(flow, conn, b->conn, b->index == a->index);
    else
        flow_conn_attach(flow, conn, 1 - a->index, b);
    if (conn->pub.paired_by == RPCRDMA_PAIRED_NOT)
        conn->pub.paired_by = RPCRDMA_PAIRED_INFERRED;
    flow_pair_half_open(flow, conn, false);
    flow_admission_clear(flow, conn, FLOW_WAIT_PEER);
    return true;
}
