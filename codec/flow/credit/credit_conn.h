/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_CREDIT_CONN_H
#define RPCRDMA_FLOW_CREDIT_CREDIT_CONN_H

/*
 * What the credit accounts of one connection are kept in. The files of this folder:
 *
 *   credit_stage.c       messages, to the account that they belong to
 *   credit_acks.c        Acks, Naks and responses, likewise
 *   credit_conn.c        the accounts of a connection, from their beginning to their end
 *   account.c            of version 1: the RPCs that an end asks for; see account_private.h
 *   message_credits.c    of version 2 from ietf-02 on: the messages that an end sends
 *   grant.c              which grant binds
 *   gauge.c              what is in flight against the limit, over time
 *   replies.c            Replies on their way
 *   delivered.c          when the Requester has them
 *   pending_violation.c  violations that wait for their proof
 *   rnr.c                which message an RNR Nak refused
 *   verdict.c            the results in a sentence
 */

#include <string.h>
#include <sys/queue.h>

#include "flow/credit/account.h"
#include "flow/credit/credit_stage.h"
#include "flow/credit/message_credits.h"

/* A Send as an RNR Nak or an Ack refers to it. */
struct credit_sent {
    uint32_t first_psn, last_psn, xid;
    int8_t requester; /* end; -1: not known */
    uint64_t frame;
};

/* The last RNR Nak that an end was sent. */
struct credit_rnr {
    uint32_t psn;
    bool open; /* the message it hit has not been seen yet */
    struct rpcrdma_credit_at at;
};

/* What one end sends. */
struct credit_sender {
    rpcrdma_stream_position place; /* of the last PSN seen */
    struct credit_sent *sends;     /* a ring; NULL: none yet. `one`, or owned */
    struct credit_rnr *rnr;        /* NULL: there was none. Owned */
    uint32_t acked_psn;            /* the latest that was acknowledged */
    uint8_t size, count, next;     /* of the ring; in it; where the next one goes */
    bool started : 1, acked : 1;   /* place, acked_psn are known */
    struct credit_sent one;        /* mostly the one before is acknowledged by the next */
};

struct credit_conn {
    struct flow_credits *credits;
    struct flow_conn *conn;
    LIST_ENTRY(credit_conn) all;
    bool counting; /* of the last message */
    bool lost;
    bool late;   /* messages passed before: the counters did not start here */
    bool missed; /* or may have: something was not captured, or was cut */
    struct credit_sender sender[2];
    struct credit_side {
        struct rpcrdma_credit_account *account; /* of the RPCs that this end asks for */
        struct rpcrdma_credit_count *count;     /* of the messages that this end sends */
        uint8_t end;
        bool heard;   /* an Ack of this end, or a Nak, was captured */
        bool unheard; /* none was, while several Replies waited: nothing waits for it */
    } side[2];
};

struct flow_credits {
    struct flow_context *context;
    struct flow_messages *messages;
    bool held_only;
    LIST_HEAD(, credit_conn) all; /* the newest first */
};

/* Where a PSN stands in all that this end sends; iWARP has no Acks that could refer to it. */
static inline rpcrdma_stream_position
credit_sender_place(struct credit_sender *sender, const struct flow_conn *conn, uint32_t psn)
{
    if (flow_conn_public_const(conn)->carrier == RPCRDMA_CARRIER_IWARP)
        return 0;
    if (!sender->started) {
        sender->started = true;
        sender->place = (UINT64_C(1) << 24) + psn;
    }
    return sender->place +
           (uint64_t)(int64_t)rpcrdma_psn_diff(psn, (uint32_t)sender->place & 0xffffff);
}

/* What is attached to the connection, or NULL. */
struct credit_conn *credit_conn_of(const struct flow_conn *conn);
/* The same, made where there is none. NULL: no memory. */
struct credit_conn *credit_conn_get(struct flow_credits *credits, struct flow_conn *conn);
void credit_conn_free(struct credit_conn *cc);

/* What an account keeps of a Call. NULL: there is no Call, or no account of it. */
struct rpcrdma_credit_call *credit_conn_call(const struct flow_credits *credits,
                                             struct flow_call *call);
/* The accounts are made when they are needed. NULL: no memory. */
struct rpcrdma_credit_account *credit_conn_open(struct credit_conn *cc, int requester,
                                                struct rpcrdma_credit_at at);
static inline struct rpcrdma_credit_account *
credit_conn_account(struct credit_conn *cc, int requester, struct rpcrdma_credit_at at)
{
    struct rpcrdma_credit_account *account = cc->side[requester].account;

    return account ? account : credit_conn_open(cc, requester, at);
}
struct rpcrdma_credit_count *credit_conn_count(struct credit_conn *cc, int sender,
                                               struct rpcrdma_credit_at at);

/* delivered.c. The Reply was put into no account yet. False: it counts from now on, for nobody will
 * show when the Requester has it. */
bool credit_conn_reply_passed(struct credit_conn *cc, int requester, struct rpcrdma_credit_at at,
                              const struct rpcrdma_credit_reply *reply);
/* An answer of this end passed. */
void credit_conn_heard(struct credit_conn *cc, int end, const struct rpcrdma_op *op);
/* PSNs before `place` reached the Requester. */
void credit_conn_reached(struct credit_conn *cc, int requester, struct rpcrdma_credit_at at,
                         rpcrdma_stream_position place);
/* Which Replies TCP delivered; which have waited too long. */
void credit_conn_delivered(struct credit_conn *cc, int requester, struct rpcrdma_credit_at at);
/* Nothing more will come: what was not retransmitted counts as delivered. */
void credit_conn_settle(struct credit_conn *cc, struct rpcrdma_credit_at at);

/* credit_conn.c. What seems to break a limit is dropped where the end that sets the limit was not
 * captured. */
void credit_conn_doubt(struct credit_conn *cc);
/* Its end, once. */
void credit_conn_lose(struct credit_conn *cc, struct rpcrdma_credit_at at);
/* This Call, which waits on its connection, was retransmitted on a newer one: that is lost. */
void credit_conn_left(const struct flow_credits *credits, struct flow_call *call,
                      struct rpcrdma_credit_at at);
/* No operation came until now_ns. */
void credit_conn_time(struct credit_conn *cc, int64_t now_ns);
/* The connection's end, for this gauge: time that passed without an operation has passed. */
struct rpcrdma_credit_at credit_conn_end(const struct credit_conn *cc,
                                         const struct rpcrdma_credit_gauge *gauge,
                                         struct rpcrdma_credit_at end);
/* Gives the sink the results so far. */
void credit_conn_report(struct credit_conn *cc);

#endif
