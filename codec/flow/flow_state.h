/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_FLOW_STATE_H
#define RPCRDMA_FLOW_FLOW_STATE_H

/*
 * What the pump keeps: the stages. Its files:
 *
 *   flow.c       operations and events, on their way from one stage to the next
 *   quick.c      the same of those that most packets are
 *   start.c      which stages there are
 *   damaged.c    operations that do not fit in: was their packet damaged?
 *   waiting.c    what is held back is given up, and Calls for which there is no room
 *   ending.c     the end of connections
 *   ahead.c      memory that is soon looked at
 *   query.c      whose an operation is
 *   follow.c     packets and answers, for delivery/
 *   life.c       how connections ended
 *   place.c      which one took the place of which
 *   earlier.c    and which ones are looked at for that
 *   transport.c  what is found of a connection's packets
 */

#include "base/chain.h"
#include "flow/credit/credit_stage.h"
#include "flow/rpc/rpc_stage.h"
#include "wire/hot.h"

struct flow_past; /* place.c */

/* A request that may show which connection its direction is of: delivery/ has it once that is
 * known, before anything that comes of it goes on. */
struct flow_unfollowed {
    const struct rpcrdma_op *op; /* NULL: none */
    uint64_t other; /* its direction was this one, which is a connection's: it may be another now;
                     * 0: it was none's */
};

enum flow_doubt_kind { FLOW_DOUBT_UNFIT, FLOW_DOUBT_SET_UP, FLOW_DOUBTS };

/* See damaged.c. */
struct flow_doubt {
    bool (*damaged)(void *context, const struct rpcrdma_op *op); /* of the config; may be NULL */
    void *context;
    struct flow_credit_of_doubt {
        uint64_t frame; /* of the operation in doubt last; 0: there was none */
        uint64_t bytes; /* that may be checked */
    } credit[FLOW_DOUBTS];
};

struct rpcrdma_flow {
    struct flow_context context;
    struct flow_streams *streams;
    struct flow_conns *conns;
    struct flow_messages *messages;
    struct flow_rpcs *rpcs;       /* NULL: the sink wants none */
    struct flow_credits *credits; /* NULL: not asked for */
    struct flow_doubt doubt;
    struct flow_send send;             /* in hand, where it takes the quick lane */
    uint64_t response_offset;          /* of the Read response in hand, where it answers a Read */
    struct flow_write write;           /* in hand, where it takes the quick lane */
    struct flow_unfollowed unfollowed; /* the packet in hand, where it is the first */
    struct flow_making making;         /* the message in hand */
    struct flow_plain plain_message;   /* the same, where it is plain */
    uint64_t changes;  /* what quick.c knows of directions holds while it is the same; from 1 */
    bool counts;       /* of each connection's credits account is kept */
    bool counts_only;  /* credits are all that is wanted of a message */
    bool plain_unseen; /* nobody sees what a plain message is made of: quick.c */
    bool overfull;     /* the connection in hand keeps as much as it may: its gaps are given up */
    bool said_limit;
    bool stopped;                   /* rpcrdma_flow_stop */
    bool halts_at_unusual, halt;    /* of the batch in hand: see rpcrdma_flow_batch; it ends here */
    bool looks;                     /* something is decided by time alone: flow_look */
    bool stormed;                   /* storm_ns is set */
    int64_t until_ns;               /* the capture's end, where it is known to be later; else 0 */
    int64_t looked_ns;              /* when it was last looked at who waits too long */
    int64_t linger_ns, lingered_ns; /* of the config; when closed connections were looked at */
    int64_t storm_ns;               /* when connections were last reported to come and go */
    /* Connections that were reported already, as a QP number or port of theirs came again: the
     * oldest first, and by their hosts the newest. Owned */
    TAILQ_HEAD(, flow_past) past;
    struct flow_table past_of_hosts;
    uint32_t n_past;
    struct rpcrdma_path plain[2]; /* what rpcrdma_flow_path, and a connection's end, gives: see
                                   * flow_delivery_path */
};

/* flow.c: any operation, by the way that all can take */
void flow_any(struct rpcrdma_flow *flow, const struct rpcrdma_op *op);
/* flow.c: who waits too long, at this time? And who is gone for long? */
void flow_look(struct rpcrdma_flow *flow, int64_t now_ns);

/* damaged.c: it does not fit in, and its packet was damaged: no receiver took it */
bool flow_is_damaged(struct rpcrdma_flow *flow, const struct rpcrdma_op *op);
/* It is a Read response, and passed before, as where it was damaged at the second of two places of
 * capture. */
bool flow_response_passed(const struct flow_direction *dir, const struct rpcrdma_op *op);

/* Of a connection that is known to be RPC-over-RDMA and waits for nothing: what is sent there shows
 * nothing more of it. */
static inline bool flow_is_plain(const struct rpcrdma_flow *flow, const struct flow_direction *dir)
{
    return dir->classified && dir->paired && dir->conn && !flow_conn_keeps(dir->conn) &&
           !flow_conns_any_overdue(flow->conns);
}

/* flow.c: a message, to all stages above */
void flow_deliver_send(struct rpcrdma_flow *flow, struct flow_conn *conn,
                       const struct flow_direction *dir, const struct flow_send *send);
/* flow.c. A response to no Read that is known: more than one asks for? */
void flow_check_response(struct rpcrdma_flow *flow, const struct flow_conn *conn,
                         struct flow_direction *asked, const struct rpcrdma_op *op);
/* A packet of a response to a Read. */
static RPCRDMA_INLINE void flow_deliver_response(struct rpcrdma_flow *flow, struct flow_conn *conn,
                                                 const struct flow_direction *dir,
                                                 const struct rpcrdma_op *op)
{
    int sender = 1 - dir->index;
    struct flow_direction *asked = flow_conn_direction(conn, sender);
    struct flow_read *read = asked ? flow_read_find(asked, op, &flow->response_offset) : NULL;

    if (RPCRDMA_SELDOM(asked && !read))
        flow_check_response(flow, conn, asked, op);
    if (flow->rpcs)
        flow_rpc_read_response(flow->rpcs, conn, sender, read, flow->response_offset, op);
    /* it acknowledges what was sent before the request */
    if (flow->credits && op->carrier != RPCRDMA_CARRIER_IWARP)
        flow_credit_response(conn, sender, op);
}
/* flow.c: all that comes out of a stream now; not after an operation was given, which may renew it.
 * `last`: nothing more will come. */
void flow_pump(struct rpcrdma_flow *flow, struct flow_direction *dir, bool last);
void flow_deliver_kept(struct rpcrdma_flow *flow, struct flow_conn *conn);
/* What was kept of a connection that waits for nothing any more. */
static inline void flow_drain(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    if (flow_admission_holds(conn) && flow_conn_waiting(conn) == 0)
        flow_deliver_kept(flow, conn);
}

/* waiting.c: gives up waiting where the bounds say so */
void flow_review(struct rpcrdma_flow *flow, struct flow_direction *dir);
/* The connection keeps as much as it may: its gaps are given up. */
void flow_give_up_gaps(struct rpcrdma_flow *flow, struct flow_direction *dir);
/* What time and later packets decide. */
void flow_check(struct rpcrdma_flow *flow, struct flow_direction *dir);
/* Connections that hold something back and are silent now: time decides for them, too. */
void flow_check_silent(struct rpcrdma_flow *flow);

/* A Call is not followed any more: every stage is notified, once. */
void flow_give_up_call(struct rpcrdma_flow *flow, struct flow_conn *conn, struct flow_call *call);
/* More Calls are outstanding than are kept. */
static inline void flow_give_up_calls(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    struct flow_call *call;

    while ((call = flow_call_excess(conn)))
        flow_give_up_call(flow, conn, call);
}
/* Memory for a Call: of the connection's oldest, or of another connection. */
bool flow_make_room_for_call(struct rpcrdma_flow *flow, struct flow_conn *conn);

/* ahead.c: `conn` ends, and those behind it soon will. Asks for their memory. */
void flow_ahead_ends(const struct rpcrdma_flow *flow, const struct flow_conn *conn);
/* ending.c. `ended`: because the capture did. */
void flow_finish(struct rpcrdma_flow *flow, struct flow_conn *conn, bool ended);
/* Its QP number or ports are another connection's now. */
void flow_finish_replaced(struct rpcrdma_flow *flow, struct flow_conn *conn);
void flow_finish_overdue(struct rpcrdma_flow *flow);
/* Those that were disconnected and are silent since config.linger_ns. */
void flow_finish_lingering(struct rpcrdma_flow *flow, int64_t now_ns);
/* Connections whose time is over: merged into another, or disconnected long ago. */
static inline void flow_reap(struct rpcrdma_flow *flow)
{
    if (flow_conns_any_overdue(flow->conns))
        flow_finish_overdue(flow);
}
/* The memory limit was reached: the connection that was silent longest goes, with what is held of
 * it, but not the one in hand. False: there is none that may, or one goes already. */
bool flow_evict(struct rpcrdma_flow *flow, struct flow_conn *in_hand);
/* A direction without connection goes first, but not one of the `spare` youngest. */
bool flow_make_room(struct rpcrdma_flow *flow, uint32_t spare);
/* Once: that something was left out. */
void flow_say_limit(struct rpcrdma_flow *flow);
/* Ends every connection without reporting them. */
void flow_discard(struct rpcrdma_flow *flow);

/* follow.c: packets and answers -> delivery/; and whose Reply was delivered with them */
void flow_follow_request(struct rpcrdma_flow *flow, struct flow_direction *dir,
                         const struct rpcrdma_op *op);
void flow_follow_answer(struct rpcrdma_flow *flow, struct flow_direction *dir,
                        const struct rpcrdma_op *op);
/* follow.c: the Ack that let the direction's peer be guessed, now that this is known. */
void flow_follow_guess(struct rpcrdma_flow *flow, struct flow_direction *dir);
/* follow.c: flow->unfollowed, if it is towards `dir`, which is a connection's now. `event`: what
 * came of it, may be NULL. */
void flow_follow_first(struct rpcrdma_flow *flow, struct flow_direction *dir,
                       const struct flow_stream_event *event);

void flow_follow_congestion(struct rpcrdma_flow *flow, const struct rpcrdma_op *op);

/* life.c: what is known of its end by now */
void flow_life_end(struct rpcrdma_flow *flow, struct flow_conn *conn);
/* place.c: a message that set the connection up */
void flow_life_set_up(struct rpcrdma_flow *flow, struct flow_conn *conn, enum rpcrdma_op_kind kind);
/* The client's Calls. */
void flow_life_call(struct rpcrdma_flow *flow, struct flow_conn *conn, uint32_t xid,
                    int64_t time_ns);
/* earlier.c: it is reported now, and another one may take its place. */
void flow_life_past(struct rpcrdma_flow *flow, const struct flow_conn *conn);
void flow_life_free(struct rpcrdma_flow *flow);
/* transport.c: what is found of its packets; at its end, after flow_life_end */
void flow_transport_findings(struct rpcrdma_flow *flow, struct flow_conn *conn);

#endif
