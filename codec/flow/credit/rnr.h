/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_RNR_H
#define RPCRDMA_FLOW_CREDIT_RNR_H

#include "flow/credit/credit_conn.h"

/*
 * Which message an RNR Nak refused: it names a PSN (IBTA 9.7.5.2.8), and the latest Sends of each
 * end are remembered for it. One that names a Send before that is whole waits for it.
 */

/* `message` was sent. requester: the end that asks for its RPC; -1: not known. */
void credit_rnr_sent(struct credit_conn *cc, const struct flow_message *message, int requester);
/* What `sender` sent was acknowledged up to `psn`: no RNR Nak will name it. */
void credit_rnr_acked(struct credit_sender *sender, uint32_t psn);
/* An RNR Nak for what `end` sent as `psn`. */
void credit_rnr_nak(struct credit_conn *cc, int end, struct rpcrdma_credit_at at, uint32_t psn);
/* No more messages will come: the RNR Naks that wait for one are counted without. */
void credit_rnr_end(struct credit_conn *cc);

#endif
