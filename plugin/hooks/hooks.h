/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_HOOKS_H
#define RPCRDMA_PLUGIN_HOOKS_H

#include "wireshark/protocol.h"

/*
 * A frame is shown by whichever hook comes first: a heuristic, asked by the dissector of what
 * carries it; or the post-dissector, the one hook that every frame passes, cut short or not, in a
 * tunnel or not, and whatever the dissectors below made of it.
 */

void dissect_register(void);
void dissect_handoff(void);
/* Whether the frame in hand is left to the dissector that Wireshark brings along. */
bool dissect_leaves(packet_info *pinfo);

/* builtin.c */
void builtin_register(void);                    /* in the handoff, after our heuristics */
void builtin_file(void);                        /* a file is opened */
bool builtin_claimed(const packet_info *pinfo); /* what the frame in hand carries */

/* roce.c */
void roce_register(void);
void roce_file(void);                  /* a file is opened */
void roce_claimed(packet_info *pinfo); /* by the heuristic in hand */

#endif
