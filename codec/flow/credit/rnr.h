/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_RNR_H
#define RPCRDMA_FLOW_CREDIT_RNR_H

#include "flow/credit/credit_conn.h"
#include "wire/hot.h"

/*
 * Which message an RNR Nak refused: it names a PSN (IBTA 9.7.5.2.8), and the latest Sends of each
 * end are remembered for it. One that names a Send before that is whole waits for it.
 */

/* The latest, remembered per sender, for an RNR Nak to name one; room for them grows up to that,
 * while none of them is acknowledged. */
enum { CREDIT_RNR_SENDS = 64 };

/* Makes room for more, of which there always is for one. */
void credit_rnr_room(struct flow_memory *memory, struct credit_sender *sender);
void credit_rnr_free(struct flow_memory *memory, struct credit_sender *sender);
/* Where there are RNR Naks: one of them hit this message before it was whole. */
void credit_rnr_check(struct credit_conn *cc, int end, const struct credit_sent *sent);

static inline void credit_rnr_describe(struct credit_sent *sent, const struct flow_send *send,
                                       uint32_t xid, int requester)
{
    sent->first_psn = send->first_seq;
    sent->last_psn = send->last_seq;
    sent->xid = xid;
    sent->frame = send->frame;
    sent->requester = (int8_t)requester;
}

/* Whether no RNR Nak will name the oldest of a full ring. */
static inline bool credit_rnr_oldest_acked(const struct credit_sender *sender)
{
    return sender->size > 0 && sender->acked &&
           rpcrdma_psn_diff(sender->sends[sender->next].last_psn, sender->acked_psn) <= 0;
}

/* The ring grows as long as it is small and nothing in it was acknowledged, and else goes round.
 */
static RPCRDMA_INLINE struct credit_sent *credit_rnr_next(struct flow_memory *memory,
                                                          struct credit_sender *sender)
{
    struct credit_sent *sent;

    if (sender->count == sender->size && sender->size < CREDIT_RNR_SENDS &&
        !credit_rnr_oldest_acked(sender))
        credit_rnr_room(memory, sender);
    if (sender->count < sender->size)
        sender->count++;
    sent = &sender->sends[sender->next];
    sender->next++;
    if (sender->next == sender->size) /* no division */
        sender->next = 0;
    return sent;
}

/* `end` sent this. requester: the end that asks for its RPC; -1: not known. */
static RPCRDMA_INLINE void credit_rnr_sent(struct credit_conn *cc, int end,
                                           const struct flow_send *send, uint32_t xid,
                                           int requester)
{
    struct credit_sender *sender = &cc->sender[end];
    struct credit_sent *sent;

    if (flow_conn_public_const(cc->conn)->carrier == RPCRDMA_CARRIER_IWARP)
        return; /* it has no RNR Nak */
    sent = credit_rnr_next(&cc->credits->context->memory, sender);
    /* Where it stays: copying what was just stored in parts stalls for 10 ns. */
    credit_rnr_describe(sent, send, xid, requester);
    if (sender->rnr)
        credit_rnr_check(cc, end, sent);
}
/* What `sender` sent was acknowledged up to `psn`: no RNR Nak will name it. (An Ack that comes late
 * takes that back for a moment: the ring may grow for it.) */
static inline void credit_rnr_acked(struct credit_sender *sender, uint32_t psn)
{
    sender->acked = true;
    sender->acked_psn = psn;
}
/* An RNR Nak for what `end` sent as `psn`. */
void credit_rnr_nak(struct credit_conn *cc, int end, struct rpcrdma_credit_at at, uint32_t psn);
/* No more messages will come: the RNR Naks that wait for one are counted without. */
void credit_rnr_end(struct credit_conn *cc);

#endif
