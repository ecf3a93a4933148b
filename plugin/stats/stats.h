/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_STATS_H
#define RPCRDMA_PLUGIN_STATS_H

/* Statistics > RPC-over-RDMA, and tshark -z rpcrdma,... */

#include <epan/stats_tree.h>

#include "taps/taps.h"

#define STATS_CREDITS "Credits"
#define STATS_MESSAGES "Messages"
#define STATS_CONNECTIONS "Connections"
#define STATS_OF_CALLS "Of Calls"
#define STATS_OF_REPLIES "Of Replies"
#define STATS_OF_OTHERS "Of messages that are neither"
#define STATS_OPERATION_TIMES "Operations (ms)"
#define STATS_CONNECTION_TIMES "Connections (ms)"

void stats_register(void); /* in the handoff: all of them */

/* srt.c: Statistics > Service Response Time, and tshark -z rpcrdma,srt */
void srt_register(void);

/* stats_trees.c. What each makes of one message, state or transaction. pinfo and edt are NULL for
 * what was reported after the last frame. */
tap_packet_status stats_credits(stats_tree *st, packet_info *pinfo, epan_dissect_t *edt,
                                const void *data, tap_flags_t flags);
tap_packet_status stats_types(stats_tree *st, packet_info *pinfo, epan_dissect_t *edt,
                              const void *data, tap_flags_t flags);
tap_packet_status stats_chunks(stats_tree *st, packet_info *pinfo, epan_dissect_t *edt,
                               const void *data, tap_flags_t flags);
tap_packet_status stats_times(stats_tree *st, packet_info *pinfo, epan_dissect_t *edt,
                              const void *data, tap_flags_t flags);

#endif
