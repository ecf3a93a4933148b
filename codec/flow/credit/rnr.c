/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/rnr.h"

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

RPCRDMA_RARE void credit_rnr_check(struct credit_conn *cc, int end, const struct credit_sent *sent)
{
    struct credit_rnr *rnr = cc->sender[end].rnr;

    if (!rnr->open || rpcrdma_psn_diff(rnr->psn, sent->last_psn) > 0)
        return;
    rnr->open = false;
    hit(cc, end, rnr->at, rpcrdma_psn_diff(rnr->psn, sent->first_psn) >= 0 ? sent : NULL, false);
}

static void release(struct flow_memory *memory, struct credit_sender *sender)
{
    if (sender->sends != &sender->one)
        flow_release(memory, sender->sends, sender->size * sizeof(*sender->sends));
}

void credit_rnr_free(struct flow_memory *memory, struct credit_sender *sender)
{
    release(memory, sender);
    flow_release(memory, sender->rnr, sizeof(*sender->rnr));
}

RPCRDMA_RARE void credit_rnr_room(struct flow_memory *memory, struct credit_sender *sender)
{
    uint32_t size = sender->size > 0 ? sender->size * 4U : 1;
    struct credit_sent *sends =
        size == 1 ? &sender->one : flow_alloc(memory, size * sizeof(*sends));
    uint32_t from = sender->next; /* where what was there begins */

    if (!sends)
        return;
    for (uint32_t i = 0; i < sender->count; i++) {
        sends[i] = sender->sends[from];
        from = from + 1U == sender->size ? 0 : from + 1U;
    }
    release(memory, sender);
    sender->sends = sends;
    sender->size = (uint8_t)size;
    sender->next = sender->count;
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
