/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/rnr.h"

enum {
    SENDS = 64,      /* the latest, remembered per sender, for an RNR Nak to name one */
    SENDS_FIRST = 1, /* room for them grows up to that, while none of them is acknowledged */
};

static void hit(struct credit_conn *cc, int sender, struct rpcrdma_credit_at at,
                const struct credit_sent *sent, bool again)
{
    uint32_t xid = sent ? sent->xid : 0;
    uint64_t frame = sent ? sent->frame : 0;
    int requester = cc->side[sender].account ? sender : 1 - sender;

    if (sent && sent->requester >= 0)
        requester = sent->requester;

    if (cc->counting) {
        struct rpcrdma_credit_count *count = credit_conn_count(cc, sender, at);

        if (count)
            rpcrdma_credit_count_rnr(count, at, xid, frame, again);
    } else {
        struct rpcrdma_credit_account *account = credit_conn_account(cc, requester, at);

        if (account)
            rpcrdma_credit_account_rnr(account, at, xid, frame, again);
    }
}

/* An RNR Nak hit this message before it was whole. */
static void check_rnr(struct credit_conn *cc, int end, const struct credit_sent *sent)
{
    struct credit_rnr *rnr = cc->sender[end].rnr;

    if (!rnr || !rnr->open || rpcrdma_psn_diff(rnr->psn, sent->last_psn) > 0)
        return;
    rnr->open = false;
    hit(cc, end, rnr->at, rpcrdma_psn_diff(rnr->psn, sent->first_psn) >= 0 ? sent : NULL, false);
}

void credit_rnr_acked(struct credit_sender *sender, uint32_t psn)
{
    if (sender->acked && rpcrdma_psn_diff(psn, sender->acked_psn) <= 0)
        return;
    sender->acked = true;
    sender->acked_psn = psn;
}

/* Whether no RNR Nak will name the oldest of a full ring. */
static bool is_oldest_acked(const struct credit_sender *sender)
{
    return sender->size > 0 && sender->acked &&
           rpcrdma_psn_diff(sender->sends[sender->next].last_psn, sender->acked_psn) <= 0;
}

/* The ring grows as long as it is small and nothing in it was acknowledged, and else goes round.
 * NULL: no memory for the first. */
static struct credit_sent *next_sent(struct flow_memory *memory, struct credit_sender *sender)
{
    uint32_t size = sender->size > 0 ? sender->size * 4U : SENDS_FIRST;
    struct credit_sent *sends;

    if (sender->count == sender->size && size <= SENDS && !is_oldest_acked(sender)) {
        sends = flow_alloc(memory, size * sizeof(*sends));
        if (sends) {
            /* what was there begins at `next` */
            for (uint32_t i = 0; i < sender->count; i++)
                sends[i] = sender->sends[(sender->next + i) % sender->size];
            flow_release(memory, sender->sends, sender->size * sizeof(*sends));
            sender->sends = sends;
            sender->size = (uint8_t)size;
            sender->next = sender->count;
        }
    }
    if (sender->size == 0)
        return NULL;
    if (sender->count < sender->size)
        sender->count++;
    sends = &sender->sends[sender->next];
    sender->next++;
    if (sender->next == sender->size) /* no division */
        sender->next = 0;
    return sends;
}

void credit_rnr_sent(struct credit_conn *cc, const struct flow_message *message, int requester)
{
    struct credit_sender *sender = &cc->sender[message->sender];
    struct credit_sent one, *sent = NULL;

    if (flow_conn_public_const(cc->conn)->carrier != RPCRDMA_CARRIER_IWARP) /* it has no RNR Nak */
        sent = next_sent(&cc->credits->context->memory, sender);
    if (!sent)
        sent = &one;

    /* Where it stays: copying what was just stored in parts stalls for 10 ns. */
    sent->first_psn = message->send->first_seq;
    sent->last_psn = message->send->last_seq;
    sent->xid = message->message->message->xid;
    sent->frame = message->send->frame;
    sent->requester = (int8_t)requester;
    check_rnr(cc, message->sender, sent);
}

void credit_rnr_nak(struct credit_conn *cc, int end, struct rpcrdma_credit_at at, uint32_t psn)
{
    struct credit_sender *sender = &cc->sender[end];
    bool again = sender->rnr && sender->rnr->psn == psn;

    if (!sender->rnr)
        sender->rnr = flow_alloc_always(&cc->credits->context->memory, sizeof(*sender->rnr));
    if (!sender->rnr)
        return;                        /* which ends the run */
    if (!again && sender->rnr->open) { /* what it named is behind this one, and was not captured */
        sender->rnr->open = false;
        hit(cc, end, sender->rnr->at, NULL, false);
    }
    sender->rnr->psn = psn;
    for (uint32_t i = 0; i < sender->count; i++) {
        const struct credit_sent *sent = &sender->sends[i];

        if (rpcrdma_psn_diff(psn, sent->first_psn) >= 0 &&
            rpcrdma_psn_diff(psn, sent->last_psn) <= 0) {
            hit(cc, end, at, sent, again);
            return;
        }
    }
    if (again) {
        hit(cc, end, at, NULL, true);
        return;
    }
    sender->rnr->open = true;
    sender->rnr->at = at;
}

void credit_rnr_end(struct credit_conn *cc)
{
    for (int i = 0; i < 2; i++)
        if (cc->sender[i].rnr && cc->sender[i].rnr->open)
            hit(cc, i, cc->sender[i].rnr->at, NULL, false);
}
