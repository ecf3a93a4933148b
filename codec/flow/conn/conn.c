/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/fetch.h"
#include "flow/conn/conn_state.h"

#include "flow/delivery/delivery.h"

/* Disconnected connections stay this many disconnects long: a DREP, a late Ack, a retransmission
 * still trail in, and must not look like something new. */
enum { CLOSED_MAX = RPCRDMA_BOUND(64, 1) };

static void link_conn(struct flow_conns *conns, struct flow_conn *conn)
{
    TAILQ_INSERT_TAIL(&conns->all, conn, by_age);
    conns->n_conns++;
    conn_lru_add(conns, conn);
}

static void unlink_conn(struct flow_conns *conns, struct flow_conn *conn)
{
    TAILQ_REMOVE(&conns->all, conn, by_age);
    chain_remove(&conns->hosts, &conn->hosts);
    conns->n_conns--;
    conn_lru_remove(conns, conn);
}

struct flow_conn *conn_new(struct flow_conns *conns, uint8_t carrier)
{
    struct flow_context *context = conns->context;
    struct flow_conn *conn = flow_alloc(&context->memory, sizeof(*conn) + conns->above);

    if (!conn) {
        conns->lacked_memory = true;
        return NULL;
    }
    conn->id = ++context->ids;
    conn->pub.carrier = (enum rpcrdma_carrier)carrier;
    conn->pub.life.ended_by = -1;
    conn->pub.first_frame = conn->pub.last_frame = context->frame;
    conn->pub.first_time_ns = conn->pub.last_time_ns = context->time_ns;
    flow_conn_default_properties(conn);
    TAILQ_INIT(&conn->admission);
    link_conn(conns, conn);
    return conn;
}

void flow_conn_touch_at(struct flow_conn *conn, uint64_t frame, int64_t time_ns)
{
    /* what TCP held back comes with the frame it was captured in: not later than all before it */
    if (frame >= conn->pub.last_frame) {
        conn->pub.last_frame = frame;
        conn->pub.last_time_ns = time_ns;
    } else if (frame < conn->pub.first_frame) {
        conn->pub.first_frame = frame;
        conn->pub.first_time_ns = time_ns;
    }
}

void flow_conn_touch(struct flow_conns *conns, struct flow_conn *conn)
{
    flow_conn_touch_at(conn, conns->context->frame, conns->context->time_ns);
}

struct flow_direction *conn_opposite(struct flow_conns *conns, struct flow_direction *dir)
{
    struct flow_path path = dir->path;
    struct flow_direction *back;

    path.src = dir->path.dst;
    path.dst = dir->path.src;
    path.qpn = dir->path.qpn << 16 | dir->path.qpn >> 16;
    flow_direction_refresh(conns->streams, dir); /* it does not go to make room for this one */
    back = flow_direction_get(conns->streams, &path, dir->carrier);
    if (!back)
        conns->lacked_memory = true;
    return back;
}

/* TCP's ports name both directions in each packet, and the service. */
static void both_directions(struct flow_conns *conns, struct flow_conn *conn,
                            struct flow_direction *dir, struct flow_direction *back)
{
    if (!back->conn)
        conn_attach(conns, conn, 0, back);
    conn->waiting &= ~(uint32_t)FLOW_WAIT_PEER;
    conn->pub.paired_by = RPCRDMA_PAIRED_INFERRED;
    for (int i = 0; i < 2; i++) {
        if (!conn_port_known(conns, conn->pub.end[i].port))
            continue;
        conn->pub.service_port = conn->pub.end[i].port;
        flow_conn_role(conn, i, RPCRDMA_ROLE_SERVER);
        conn_accept(conns, conn);
        break;
    }
    if (flow_direction_selected(dir))
        conn_accept(conns, conn);
}

struct flow_conn *conn_unclassified(struct flow_conns *conns, struct flow_direction *dir)
{
    bool tcp = dir->carrier == RPCRDMA_CARRIER_IWARP;
    struct flow_direction *back = tcp ? conn_opposite(conns, dir) : NULL;
    struct flow_conn *conn = tcp && !back ? NULL : conn_new(conns, dir->carrier);

    if (!conn)
        return NULL;
    conn->waiting = FLOW_WAIT_CLASS | FLOW_WAIT_PEER | FLOW_WAIT_ROLE;
    conn_attach(conns, conn, 1, dir);
    if (tcp)
        both_directions(conns, conn, dir, back);
    return conn;
}

static void set_end(struct rpcrdma_endpoint *end, const struct flow_direction *dir)
{
    end->address = dir->path.dst;
    if (dir->carrier == RPCRDMA_CARRIER_IWARP) {
        end->port = (uint16_t)dir->path.qpn;
    } else {
        end->qpn = dir->path.qpn;
        end->has_qpn = true;
    }
}

void conn_take_unseen(struct flow_conns *conns, struct flow_conn *conn, int end,
                      struct flow_delivery *unseen)
{
    struct flow_memory *memory = &conns->context->memory;
    struct flow_direction *dir = conn->dir[end];
    struct flow_delivery **kept = dir ? &dir->delivery : &conn->unseen;

    if (*kept && unseen) {
        flow_delivery_add_naks(memory, *kept, unseen);
        flow_delivery_free(memory, unseen);
    } else if (unseen) {
        *kept = unseen;
    }
}

void conn_attach(struct flow_conns *conns, struct flow_conn *conn, int end,
                 struct flow_direction *dir)
{
    struct flow_delivery *unseen = conn->dir[end] ? NULL : conn->unseen;

    if (conn->dir[1 - end] == dir)
        return; /* one QP cannot be both ends: what said so is wrong */
    if (conn->dir[end] && conn->dir[end] != dir) {
        /* a second REP with another QP */
        conn_admission_forget(conns, conn, conn->dir[end]);
        flow_direction_free(conns->streams, conn->dir[end]);
    }
    flow_direction_own(conns->streams, dir, conn, end);
    conn->dir[end] = dir;
    if (RPCRDMA_SELDOM(unseen)) {
        conn->unseen = NULL;
        conn_take_unseen(conns, conn, end, unseen);
    }
    conn_set_class(conn, conn->class);
    for (int i = 0; i < 2; i++)
        if (conn->dir[i])
            conn->dir[i]->paired = conn->dir[1 - i] != NULL;
    set_end(&conn->pub.end[end], dir);
    conn->pub.stream[end] = dir->id;
    conn->pub.end[1 - end].address = dir->path.src;
    if (dir->carrier == RPCRDMA_CARRIER_IWARP)
        conn->pub.end[1 - end].port = (uint16_t)(dir->path.qpn >> 16);
    if (!conn->by_cm && dir->first_frame < conn->pub.first_frame) {
        conn->pub.first_frame = dir->first_frame;
        conn->pub.first_time_ns = dir->first_time_ns;
    }
}

void flow_conn_number(struct flow_conns *conns, struct flow_conn *conn)
{
    if (conn->pub.number != 0)
        return;
    conn->pub.number = ++conns->numbers;
    conn_hosts_add(conns, conn);
}

void conn_set_class(struct flow_conn *conn, enum conn_class class)
{
    conn->class = class;
    for (int i = 0; i < 2; i++)
        if (conn->dir[i]) {
            conn->dir[i]->foreign = class == CONN_FOREIGN;
            conn->dir[i]->classified = class == CONN_RPCRDMA;
        }
}

void conn_accept(struct flow_conns *conns, struct flow_conn *conn)
{
    if (conn->class == CONN_RPCRDMA)
        return;
    conn_set_class(conn, CONN_RPCRDMA);
    if (conn->waiting & FLOW_WAIT_PEER)
        conn_pair_lacks(conns, conn, true);
    flow_conn_wait_over(conns, conn, FLOW_WAIT_CLASS);
}

void flow_conn_role(struct flow_conn *conn, int end, enum rpcrdma_role role)
{
    conn->waiting &= ~(uint32_t)FLOW_WAIT_ROLE;
    conn->pub.role[end] = role;
    conn->pub.role[1 - end] =
        role == RPCRDMA_ROLE_CLIENT ? RPCRDMA_ROLE_SERVER : RPCRDMA_ROLE_CLIENT;
    flow_conn_thresholds(conn);
}

struct conn_ended *conn_ended_of(struct flow_conns *conns, struct flow_conn *conn)
{
    if (!conn->ended)
        conn->ended = flow_alloc_always(&conns->context->memory, sizeof(*conn->ended));
    if (conn->ended)
        conn->ended->conn = conn;
    return conn->ended;
}

void conn_closed(struct flow_conns *conns, struct flow_conn *conn)
{
    struct conn_ended *ended;

    if (conn->pub.closed)
        return;
    ended = conn_ended_of(conns, conn);
    if (!ended)
        return;
    conn->pub.closed = true;
    ended->closed_frame = conns->context->frame;
    ended->closed_time_ns = conns->context->time_ns;
    for (int i = 0; i < 2; i++)
        if (conn->dir[i])
            conn->dir[i]->closed = true;
    TAILQ_INSERT_TAIL(&conns->closed, ended, by_end);
    conns->n_closed++;
}

bool flow_conns_any_overdue(const struct flow_conns *conns)
{
    return !SLIST_EMPTY(&conns->merged) || conns->n_closed > CLOSED_MAX;
}

struct flow_conn *flow_conn_overdue(struct flow_conns *conns, struct flow_conn **into,
                                    bool *swapped)
{
    struct conn_ended *ended = SLIST_FIRST(&conns->merged);

    *into = NULL;
    if (ended) {
        SLIST_REMOVE_HEAD(&conns->merged, next_merged);
        *into = ended->merged_into;
        *swapped = ended->merged_swapped;
        return ended->conn;
    }
    return conns->n_closed > CLOSED_MAX ? TAILQ_FIRST(&conns->closed)->conn : NULL;
}

struct flow_conn *flow_conn_lingered(struct flow_conns *conns, int64_t now_ns, int64_t linger_ns)
{
    struct conn_ended *ended;

    TAILQ_FOREACH(ended, &conns->closed, by_end)
    {
        const struct rpcrdma_connection *pub = &ended->conn->pub;

        if (ended->merged_into)
            continue; /* flow_conn_overdue gives it */
        if (ended->quiet_frame != pub->last_frame || ended->quiet_ns > now_ns) {
            ended->quiet_frame = pub->last_frame;
            ended->quiet_ns = pub->last_time_ns < now_ns ? pub->last_time_ns : now_ns;
        }
        if ((uint64_t)now_ns - (uint64_t)ended->quiet_ns > (uint64_t)linger_ns)
            return ended->conn;
    }
    return NULL;
}

/* Not one that the operation in hand belongs to, nor one that is to be finished anyway. */
struct flow_conn *flow_conn_victim(struct flow_conns *conns, struct flow_conn *in_hand)
{
    const struct conn_ended *closed = TAILQ_FIRST(&conns->closed);
    struct flow_conn *victim = closed ? closed->conn : NULL;

    if (!victim || victim == in_hand || victim->pub.last_frame == conns->context->frame)
        victim = conn_lru_longest(conns);
    if (victim && victim == in_hand) { /* what it held back is given out: it may be the oldest */
        conn_lru_remove(conns, in_hand);
        victim = conn_lru_longest(conns);
        conn_lru_add(conns, in_hand);
    }
    return victim && victim->pub.last_frame != conns->context->frame &&
                   !(victim->ended && victim->ended->merged_into)
               ? victim
               : NULL;
}

void flow_conn_fetch(const struct flow_conns *conns, const struct flow_conn *conn)
{
    flow_fetch(conn, offsetof(struct rpcrdma_connection, path_mtu));
    flow_fetch(&conn->dir, offsetof(struct flow_conn, by_age) - offsetof(struct flow_conn, dir));
    flow_fetch(conn + 1, conns->above);
}

void flow_conn_fetch_whole(const struct flow_conns *conns, const struct flow_conn *conn)
{
    flow_fetch(conn, sizeof(*conn) + conns->above);
}

void flow_conn_fetch_life(const struct flow_conn *conn)
{
    enum {
        LIFE = offsetof(struct flow_conn, pub.life),
        END = offsetof(struct flow_conn, hosts) + sizeof(conn->hosts),
    };

    flow_fetch(conn, offsetof(struct rpcrdma_connection, version));
    flow_fetch(&conn->pub.life, END - LIFE);
}

struct flow_conn *flow_conns_oldest(const struct flow_conns *conns)
{
    return TAILQ_FIRST(&conns->all);
}

struct flow_conn *flow_conn_newer(const struct flow_conn *conn)
{
    return TAILQ_NEXT(conn, by_age);
}

void flow_conn_free(struct flow_conns *conns, struct flow_conn *conn)
{
    flow_admission_drop(conns, conn);
    conn->waiting = 0;
    conn_holding_free(conns, conn);
    if (conn->pub.closed) {
        TAILQ_REMOVE(&conns->closed, conn->ended, by_end);
        conns->n_closed--;
    }
    conn_pair_lacks(conns, conn, false);
    conn_pair_half_open(conns, conn, false);
    if (conn->registered)
        flow_table_remove(&conns->cm,
                          flow_address_key(&conn->pub.end[0].address, &conn->pub.end[1].address,
                                           conn->comm_id[0]));
    for (int i = 0; i < 2; i++)
        if (conn->dir[i])
            flow_direction_free(conns->streams, conn->dir[i]);
    flow_delivery_free(&conns->context->memory, conn->unseen);
    unlink_conn(conns, conn);
    flow_release(&conns->context->memory, conn->ended, sizeof(*conn->ended));
    flow_release(&conns->context->memory, conn, sizeof(*conn) + conns->above);
}

struct rpcrdma_silence flow_conn_silence(const struct flow_conn *conn, int end)
{
    const struct flow_direction *dir = conn->dir[end], *back = conn->dir[1 - end];
    int64_t sent = back && back->delivery ? flow_delivery_sent_ns(back->delivery) : 0;
    struct rpcrdma_silence silence = {0};

    if (dir && dir->delivery)
        flow_delivery_silence(dir->delivery, &silence);
    if (silence.heard_ns < sent)
        silence.heard_ns = sent;
    return silence;
}
