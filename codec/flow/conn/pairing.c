/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

/*
 * Which two directions are one connection, where no CM exchange shows it. A packet carries the QP
 * number of its receiver only; but an Ack, a response or a Nak towards A names the PSN of a request
 * that A sent, and a Reply the XID of a Call. What awaits an answer is noted in a bounded table
 * under (addresses, PSN) and (addresses, XID); old notes are overwritten, nothing is searched.
 */

enum {
    WAYS = 4,
    AWAIT_ANSWER = 0, /* kinds: a PSN awaits its answer; */
    AWAIT_CALL,       /* an XID: of a Call, */
    AWAIT_REPLY,      /* of a Reply, */
    AWAIT_EITHER,     /* of a message that does not show it */
    LATE = 1 << 12,   /* PSNs: so far behind, an Ack may be of a connection that was closed */
    FEW = 64,         /* answers that matched nothing: beyond, one match could be chance */
};
#define AWAIT_NS INT64_C(4000000000)
#define HALF_OPEN_NS                                                                               \
    INT64_C(5000000000) /* from its set-up's last message to the connection's first packet         \
                         */
#define ACCEPT_NS INT64_C(1000000000) /* from a request to its acceptance, mostly */
#define AWAIT_XID_NS INT64_C(120000000000)
#define MS INT64_C(1000000)
#define AMBIGUOUS UINT64_MAX

static uint64_t addresses(const struct rpcrdma_address *src, const struct rpcrdma_address *dst)
{
    return flow_address_key(src, dst, UINT32_MAX);
}

/* Of packets of a host to itself, both have the same addresses; each alone has, too. */
static bool opposite(const struct flow_direction *a, const struct flow_direction *b)
{
    if (a == b || a->carrier != b->carrier ||
        memcmp(&a->path.src, &b->path.dst, sizeof(a->path.src)) != 0 ||
        memcmp(&a->path.dst, &b->path.src, sizeof(a->path.dst)) != 0)
        return false;
    return a->carrier != RPCRDMA_CARRIER_IWARP ||
           a->path.qpn == (b->path.qpn << 16 | b->path.qpn >> 16);
}

static struct conn_awaiting *set_of(struct flow_conns *conns, uint64_t key)
{
    return conns->awaiting ? &conns->awaiting[flow_mix(key) & (CONN_AWAITING - WAYS)] : NULL;
}

static struct conn_awaiting *find(struct flow_conns *conns, uint64_t key, int64_t expiry)
{
    struct conn_awaiting *set = set_of(conns, key);

    for (int i = 0; set && i < WAYS; i++)
        if (set[i].id != 0 && set[i].key == key &&
            conns->context->time_ns - set[i].time_ns <= expiry)
            return &set[i];
    return NULL;
}

static void note(struct flow_conns *conns, uint64_t key, const struct flow_direction *dir,
                 uint32_t kind, int64_t expiry)
{
    struct conn_awaiting *set, *at = find(conns, key, expiry);

    if (at && at->id != dir->id && kind == AWAIT_ANSWER) {
        at->id = AMBIGUOUS; /* two streams await this PSN: its answer shows nothing */
        return;
    }
    if (!conns->awaiting)
        conns->awaiting =
            flow_alloc(&conns->context->memory, CONN_AWAITING * sizeof(*conns->awaiting));
    set = set_of(conns, key);
    if (!set)
        return;
    if (!at) {
        at = set;
        for (int i = 1; i < WAYS && at->id != 0; i++)
            if (set[i].id == 0 || set[i].time_ns < at->time_ns)
                at = &set[i];
    }
    *at = (struct conn_awaiting){.key = key,
                                 .id = dir->id,
                                 .handle = dir->handle,
                                 .kind = kind,
                                 .time_ns = conns->context->time_ns};
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

void conn_pair_request(struct flow_conns *conns, struct flow_direction *dir, uint32_t seq)
{
    if (!conn_peer(dir))
        note(conns, psn_key(&dir->path.src, &dir->path.dst, seq), dir, AWAIT_ANSWER, AWAIT_NS);
}

void flow_conn_asks_again(struct flow_conns *conns, const struct flow_direction *dir, uint32_t seq)
{
    struct conn_awaiting *at =
        conns->awaiting ? find(conns, psn_key(&dir->path.src, &dir->path.dst, seq), INT64_MAX)
                        : NULL;

    if (at && at->id == dir->id)
        at->time_ns = conns->context->time_ns;
}

/* It may answer requests of the direction that has this id: the next one will show it. */
static void guess(struct flow_conns *conns, struct flow_direction *dir, uint64_t id,
                  const struct rpcrdma_op *op)
{
    bool ack = op->kind == RPCRDMA_OP_ACK && !(op->flags & RPCRDMA_OP_ACK_OR_NAK);

    if (!dir->guess)
        dir->guess = flow_alloc(&conns->context->memory, sizeof(*dir->guess));
    if (dir->guess)
        *dir->guess = (struct flow_guess){id, ack ? op->frame : 0, op->time_ns, op->seq};
}

bool conn_pair_response(struct flow_conns *conns, struct flow_direction *dir,
                        const struct rpcrdma_op *op)
{
    struct conn_awaiting *at;
    struct flow_direction *other;

    if (!conns->awaiting || conn_peer(dir))
        return false;
    at = find(conns, psn_key(&dir->path.dst, &dir->path.src, op->seq), AWAIT_NS);
    other = at ? flow_direction_of(conns->streams, at->handle, at->id) : NULL;
    if (!other || conn_peer(other) || !opposite(dir, other)) {
        dir->responses_unpaired++;
        return false;
    }
    /* 24 bits match by chance once in 16 million: after many answers to other things, twice */
    if (dir->responses_unpaired > FEW && !(dir->guess && dir->guess->id == other->id)) {
        guess(conns, dir, other->id, op);
        return false;
    }
    return conn_pair(conns, dir, other);
}

bool flow_conn_answers_other(struct flow_conns *conns, const struct flow_direction *dir,
                             const struct rpcrdma_op *op)
{
    const struct flow_direction *asked = conn_peer(dir), *other;
    const struct conn_awaiting *at;
    int32_t by;
    uint32_t psn;

    if (!conns->awaiting || op->carrier == RPCRDMA_CARRIER_IWARP)
        return false;
    if (asked && flow_stream_expects(asked, &psn)) {
        by = rpcrdma_psn_diff(psn, op->seq);
        if (by <= LATE && by > (dir->closed ? 0 : -LATE))
            return false;
    } else if (!dir->closed) {
        return false;
    }
    at = find(conns, psn_key(&dir->path.dst, &dir->path.src, op->seq), AWAIT_NS);
    other =
        at && at->id != AMBIGUOUS ? flow_direction_of(conns->streams, at->handle, at->id) : NULL;
    return other && other != asked && !conn_peer(other) && opposite(dir, other);
}

bool conn_pair_xid(struct flow_conns *conns, struct flow_direction *dir, uint32_t xid, int msg_type,
                   bool last)
{
    uint32_t kind = msg_type == 0 ? AWAIT_CALL : msg_type == 1 ? AWAIT_REPLY : AWAIT_EITHER;
    struct conn_awaiting *at =
        find(conns, xid_key(&dir->path.dst, &dir->path.src, xid), AWAIT_XID_NS);
    struct flow_direction *other =
        at ? flow_direction_of(conns->streams, at->handle, at->id) : NULL;
    bool answers = false;

    if (other && opposite(dir, other) && (kind == AWAIT_EITHER || kind != at->kind)) {
        if (conn_peer(dir) == other)
            answers = true;
        else if (!last && !conn_peer(dir) && !conn_peer(other))
            answers = conn_pair(conns, dir, other);
    }
    if (!answers)
        note(conns, xid_key(&dir->path.src, &dir->path.dst, xid), dir, kind, AWAIT_XID_NS);
    return answers;
}

void conn_pair_lacks(struct flow_conns *conns, struct flow_conn *conn, bool lacks)
{
    const struct rpcrdma_endpoint *end = conn->pub.end;
    int i = conn->dir[1] ? 1 : 0; /* the end whose direction is known: packets go to it */
    uint64_t key = lacks ? addresses(&end[1 - i].address, &end[i].address) : conn->counted_key;
    uintptr_t n;

    if (conn->counted == lacks)
        return;
    conn->counted = lacks;
    conn->counted_key = key;
    n = (uintptr_t)flow_table_get(&conns->unpaired, key);
    n = lacks ? n + 1 : n - 1;
    if (n == 0)
        flow_table_remove(&conns->unpaired, key);
    else if (!flow_table_put(&conns->unpaired, &conns->context->memory, key, (void *)n))
        conn->counted = false;
}

bool flow_conn_pair_possible(const struct flow_conns *conns, const struct flow_direction *dir)
{
    return conns->unpaired.count > 0 && !dir->foreign &&
           flow_table_get(&conns->unpaired, addresses(&dir->path.dst, &dir->path.src)) != NULL;
}

/* When its set-up was done, as far as it was captured: a client may ask for long. */
static int64_t set_up_ns(const struct flow_conn *conn)
{
    return conn->pub.life.established_frame != 0 ? conn->pub.life.established_ns
                                                 : conn->pub.first_time_ns;
}

/* A stream that begins by then may belong to it. One that nothing accepted is asked for again, or
 * refused. */
static int64_t waits_until_ns(const struct flow_conn *conn)
{
    return set_up_ns(conn) + (conn->pub.life.established_frame != 0 ? HALF_OPEN_NS : ACCEPT_NS);
}

static bool waits_for_stream(const struct flow_conns *conns, const struct flow_conn *conn)
{
    return !conn->pub.closed && conns->context->time_ns <= waits_until_ns(conn);
}

/* Which of the two a stream belongs to is not known, as long as the other one waits, too. */
static void note_rival(struct flow_conn *conn, const struct flow_conn *other)
{
    int64_t ms = (waits_until_ns(other) - conn->pub.first_time_ns) / MS + 1;

    if (ms > conn->rival_ms)
        conn->rival_ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

static bool may_be_rivals(const struct flow_conn *conn, const struct flow_direction *dir)
{
    return conn->rival_ms > 0 &&
           dir->first_time_ns - conn->pub.first_time_ns <= conn->rival_ms * MS;
}

void conn_pair_half_open(struct flow_conns *conns, struct flow_conn *conn, bool open)
{
    const struct rpcrdma_endpoint *end = conn->pub.end;
    uint64_t key = addresses(&end[0].address, &end[1].address);
    struct flow_conn *other;

    if (conn->half_open == open)
        return;
    conn->half_open = open;
    other = flow_table_get(&conns->half_open, key);
    if (!open) {
        if (other == conn)
            flow_table_remove(&conns->half_open, key);
        return;
    }
    conn->rival_ms = 0;
    if (other && other != conn && waits_for_stream(conns, other))
        note_rival(conn, other);
    if (!flow_table_put(&conns->half_open, &conns->context->memory, key, conn))
        conn->half_open = false;
}

void conn_pair_accepted(struct flow_conns *conns, struct flow_conn *conn)
{
    const struct rpcrdma_endpoint *end = conn->pub.end;
    uint64_t key = addresses(&end[0].address, &end[1].address);
    struct flow_conn *other = conn->half_open ? flow_table_get(&conns->half_open, key) : conn;

    if (other == conn)
        return;
    conn->rival_ms = 0;
    if (other && waits_for_stream(conns, other)) {
        note_rival(conn, other);
        note_rival(other, conn);
    } else {
        flow_table_put(&conns->half_open, &conns->context->memory, key, conn);
    }
}

bool conn_pair_with_half_open(struct flow_conns *conns, struct flow_conn *conn)
{
    struct flow_direction *dir = conn->dir[1] ? conn->dir[1] : conn->dir[0];

    if (!dir || conn_peer(dir) || conn->by_cm)
        return false;
    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_address *opener = end == 1 ? &dir->path.src : &dir->path.dst;
        const struct rpcrdma_address *acceptor = end == 1 ? &dir->path.dst : &dir->path.src;
        struct flow_conn *other = flow_table_get(&conns->half_open, addresses(opener, acceptor));

        if (!other || may_be_rivals(other, dir) || other->dir[end] || !other->dir[1 - end] ||
            other->class == CONN_FOREIGN)
            continue;
        if (memcmp(&other->pub.end[0].address, opener, sizeof(*opener)) != 0 ||
            memcmp(&other->pub.end[1].address, acceptor, sizeof(*acceptor)) != 0)
            continue;
        if (dir->first_time_ns < other->pub.first_time_ns ||
            dir->first_time_ns - set_up_ns(other) > HALF_OPEN_NS)
            continue;
        return conn_pair(conns, dir, other->dir[1 - end]);
    }
    return false;
}
