/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_TAPS_H
#define RPCRDMA_PLUGIN_TAPS_H

/*
 * What statistics listen to. On the first pass a tap is given what flow/ emitted while the frame
 * was fed, which may be of an earlier frame; on later passes what is of the frame. So each message,
 * state and transaction is counted once in each pass, and in one pass as in two.
 */

#include "store/store.h"

enum tap {
    TAP_MESSAGES,     /* struct message_note */
    TAP_CREDITS,      /* struct credit_state */
    TAP_TRANSACTIONS, /* struct transacted */
    TAP_RPCS,         /* struct message_note, once its RPC message is there */
    TAPS
};

void taps_register(int rpcs); /* the number of TAP_RPCS: Export Objects registers that one */
void taps_file(void);         /* a file is opened, or closed */
const char *tap_name(enum tap tap);

/* From flow/. */
void tap_message(struct message_note *message_note, const struct rpcrdma_message *m);
void tap_credits(const struct credit_state *state);
void tap_rpc(const struct message_note *message_note);
void tap_transaction(const struct transacted *transacted);

/* The frame in hand was dissected. */
void taps_frame(packet_info *pinfo, const struct frame_note *note);
/* What was reported after the last frame of a first pass: no listener has it. */
const GPtrArray *taps_left(enum tap tap);

#endif
