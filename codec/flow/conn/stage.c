/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

#include "flow/delivery/delivery.h"
#include <stdlib.h>

/* The stage's beginning and end, and what others may know of a connection. */

struct flow_conns *flow_conns_new(struct flow_context *context, struct flow_streams *streams,
                                  const struct flow_conns_config *config)
{
    struct flow_conns *conns = calloc(1, sizeof(*conns));

    if (!conns)
        return NULL;
    conns->context = context;
    conns->hosts_key = siphash_key();
    TAILQ_INIT(&conns->all);
    TAILQ_INIT(&conns->closed);
    SLIST_INIT(&conns->merged);
    conns->streams = streams;
    conns->above = config->above;
    conns->dialect = config->dialect;
    conns->messages_only = config->messages_only;
    conns->n_ports = config->n_ports;
    if (conns->n_ports > 0) {
        conns->ports = flow_alloc_always(&context->memory, conns->n_ports * sizeof(*conns->ports));
        if (!conns->ports) {
            free(conns);
            return NULL;
        }
        memcpy(conns->ports, config->ports, conns->n_ports * sizeof(*conns->ports));
    }
    return conns;
}

void flow_conns_free(struct flow_conns *conns)
{
    struct flow_memory *memory;

    if (!conns)
        return;
    memory = &conns->context->memory;
    flow_table_free(&conns->cm, memory);
    flow_table_free(&conns->unpaired, memory);
    flow_table_free(&conns->half_open, memory);
    flow_table_free(&conns->hosts, memory);
    flow_release(memory, conns->awaiting, CONN_AWAITING * sizeof(*conns->awaiting));
    flow_release(memory, conns->ports, conns->n_ports * sizeof(*conns->ports));
    free(conns);
}

bool flow_conns_messages_only(const struct flow_conns *conns)
{
    return conns->messages_only;
}

struct rpcrdma_connection *flow_conn_public(struct flow_conn *conn)
{
    return &conn->pub;
}

const struct rpcrdma_connection *flow_conn_public_const(const struct flow_conn *conn)
{
    return &conn->pub;
}

uint64_t flow_conn_id(const struct flow_conn *conn)
{
    return conn->id;
}

struct flow_direction *flow_conn_direction(const struct flow_conn *conn, int end)
{
    return conn->dir[end];
}

const struct flow_delivery *flow_conn_delivery(const struct flow_conn *conn, int end)
{
    return conn->dir[end] ? conn->dir[end]->delivery : conn->unseen;
}

struct flow_delivery *flow_conn_unseen(struct flow_conn *conn, struct flow_memory *memory)
{
    if (!conn->unseen)
        conn->unseen = flow_delivery_new_alone(memory);
    return conn->unseen;
}

bool flow_conn_is_rpcrdma(const struct flow_conn *conn)
{
    return conn->class == CONN_RPCRDMA;
}

bool flow_conn_is_undecided(const struct flow_conn *conn)
{
    return conn->class == CONN_UNCLASSIFIED;
}

bool flow_conn_by_cm(const struct flow_conn *conn)
{
    return conn->by_cm && !conn->replayed;
}

/* What the end sent, as far as what both ends sent shows. */
static bool complete(const struct flow_conn *conn, int end)
{
    const struct flow_direction *dir = conn->dir[1 - end];

    return dir && dir->last_frame != 0 && !flow_conn_lacks(conn, end);
}

bool flow_conn_lacks(const struct flow_conn *conn, int end)
{
    const struct flow_direction *dir = conn->dir[1 - end];

    return dir && (dir->lost > 0 || flow_stream_missing(dir));
}

bool flow_conn_saw_all(const struct flow_conn *conn)
{
    return conn->pub.life.requests > 0 && conn->accepted && !conn->replayed && !conn->unread &&
           complete(conn, 0) && complete(conn, 1);
}

void flow_conn_unread(struct flow_conn *conn)
{
    conn->unread = true;
}

bool flow_conn_waits(const struct flow_conn *conn)
{
    return (conn->dir[0] && flow_stream_waits(conn->dir[0], NULL, NULL)) ||
           (conn->dir[1] && flow_stream_waits(conn->dir[1], NULL, NULL));
}

uint64_t flow_conn_set_up_frame(const struct flow_conn *conn, int end)
{
    return conn->set_up_frame[end];
}

bool flow_conn_set_up_seen(const struct flow_conn *conn)
{
    return conn->pub.paired_by == RPCRDMA_PAIRED_CM && conn->accepted && !conn->replayed;
}

bool flow_conn_begins(const struct flow_conn *conn, int end)
{
    return conn->has_start_psn[end] || conn->pub.carrier == RPCRDMA_CARRIER_IWARP;
}

bool flow_conn_heard_from(const struct flow_conn *conn, int end)
{
    const struct flow_direction *dir = conn->dir[1 - end]; /* what it sends goes there */

    if (dir && dir->last_frame != 0)
        return true;
    /* InfiniBand acknowledges what it takes: an end of which the set-up is all that there is was
     * captured no further. TCP's acknowledgements are not seen here. */
    return conn->pub.carrier == RPCRDMA_CARRIER_IWARP && (end == 0 ? conn->by_cm : conn->accepted);
}

uint64_t flow_conn_heard_frame(const struct flow_conn *conn, int end)
{
    const struct flow_direction *dir = conn->dir[1 - end];

    return dir ? dir->last_frame : 0;
}

bool flow_conn_closed_at(const struct flow_conn *conn, uint64_t *frame, int64_t *time_ns)
{
    *frame = conn->pub.closed ? conn->ended->closed_frame : 0;
    *time_ns = conn->pub.closed ? conn->ended->closed_time_ns : 0;
    return conn->pub.closed;
}

void *flow_conn_above(struct flow_conn *conn)
{
    return conn + 1;
}

void **flow_conn_slot(struct flow_conn *conn, enum flow_stage_slot slot)
{
    return &conn->slot[slot];
}

bool flow_conns_lacked_memory(struct flow_conns *conns)
{
    bool lacked = conns->lacked_memory;

    conns->lacked_memory = false;
    return lacked;
}

uint32_t flow_conn_waiting(const struct flow_conn *conn)
{
    return conn->waiting;
}

void flow_conn_wait(struct flow_conn *conn, uint32_t reason)
{
    conn->waiting |= reason;
}
