/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_CREDIT_STAGE_H
#define RPCRDMA_FLOW_CREDIT_CREDIT_STAGE_H

/*
 * The stage of credits: messages, Acks, Naks and gaps of a connection, in order, to the account
 * that they belong to. A message's dialect says which: that of its direction of RPC, or those of
 * both senders. Results go to the sink: `credits`, `credit_point`, findings.
 */

#include "flow/credit.h"
#include "flow/message/message.h"

struct flow_credits;

/* NULL when memory is short. Both are borrowed; `messages` has had no message yet. `held_only`:
 * there are no results and no findings, only flow_credit_held. */
struct flow_credits *flow_credits_new(struct flow_context *context, struct flow_messages *messages,
                                      bool held_only);
/* All connections must be closed. NULL is fine. */
void flow_credits_free(struct flow_credits *credits);

/* Whether there is memory to keep account of the connection. False: something has to go before, or
 * there is no account. */
bool flow_credit_ready(struct flow_credits *credits, struct flow_conn *conn);
void flow_credit_message(struct flow_credits *credits, struct flow_conn *conn,
                         const struct flow_message *message);
void flow_credit_plain(struct flow_credits *credits, struct flow_conn *conn,
                       const struct flow_plain *message);
/* The table of Calls is full, and this one goes: it is counted, and not known any more. */
void flow_credit_give_up(struct flow_credits *credits, struct flow_conn *conn,
                         struct flow_call *call);
/* Version 2, whose credits are of messages: whether `sender`, which sends this message now, had to
 * wait since the one before it: at its limit from the one until a message of the other end. To be
 * asked before flow_credit_message. */
bool flow_credit_held(struct flow_conn *conn, int sender, struct flow_held *held);
/* `sender` acknowledges all requests of the other end up to PSN op->seq, by an Ack or by a response
 * to a Read request (iWARP has none). */
void flow_credit_ack(struct flow_credits *credits, struct flow_conn *conn, int sender,
                     const struct rpcrdma_op *op);
void flow_credit_response(struct flow_conn *conn, int sender, const struct rpcrdma_op *op);
void flow_credit_nak(struct flow_credits *credits, struct flow_conn *conn, int sender,
                     const struct rpcrdma_op *op);
/* Asks for the memory of what is attached to a connection that soon has a packet; then for that of
 * its accounts; and for what these point to. */
void flow_credit_fetch(const struct flow_conn *conn);
void flow_credit_fetch_accounts(const struct flow_conn *conn);
void flow_credit_fetch_levels(const struct flow_conn *conn);
/* TCP acknowledged something. */
void flow_credit_delivered(struct flow_credits *credits, struct flow_conn *conn);
/* What `sender` sent was not captured. */
void flow_credit_gap(struct flow_credits *credits, struct flow_conn *conn, int sender,
                     const struct flow_gap *gap);
/* Nothing more will come. `ended`: because the capture did, and what waited did so until now. */
void flow_credit_close(struct flow_credits *credits, struct flow_conn *conn, bool ended);
/* Results so far of every connection: see rpcrdma_flow_credits. */
void flow_credits_report(struct flow_credits *credits, bool restart);

#endif
