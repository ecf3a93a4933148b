/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_FEED_H
#define RPCRDMA_PLUGIN_FEED_H

#include "finding.h"
#include "wireshark/compat.h"

/* On a frame's first visit, whichever hook comes first: its raw bytes through net/ and flow/. What
 * comes out is in the store. On later visits nothing happens. */
void feed_frame(packet_info *pinfo);

/* The frame's own bytes: a dissector may work on bytes that were put together or decrypted. */
tvbuff_t *feed_raw(const packet_info *pinfo);

/* Whether a finding is wrong, as far as is known by now: it depends on which direction was first,
 * and their clocks are too far apart. */
bool feed_doubts(enum rpcrdma_rule_id rule);

/* The frame in hand is done. */
void feed_frame_done(void);

void feed_begin(void);  /* a file is opened */
void feed_read(void);   /* the file was read to its end: finishes, now or at its last frame */
void feed_finish(void); /* its last frame was seen: what is held back is given out */
void feed_end(void);    /* it is closed */

#endif
