/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_LATE_H
#define RPCRDMA_PLUGIN_LATE_H

/*
 * Messages that were reported after their frame was dissected, because bytes before them are
 * missing. At the first visit they are shown in the frame that released them, the one in hand; at
 * later ones in their own.
 */

#include "store.h"

void late_file(void);              /* a file is opened, or closed */
void late_clear(void);             /* another frame is in hand */
void late_claimed(uint32_t frame); /* by Wireshark's own dissector, at its first visit */
void late_add(const struct message_note *message_note);
void show_late(tvbuff_t *raw, packet_info *pinfo, proto_tree *tree);

#endif
