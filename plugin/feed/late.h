/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_LATE_H
#define RPCRDMA_PLUGIN_LATE_H

/*
 * Messages that were reported after their frame was dissected, because bytes before them are
 * missing. At the first visit they are shown in the frame that released them, the one in hand; at
 * later ones in their own.
 */

#include "store/store.h"

enum { LATE = 1024 }; /* of one frame */
struct late {
    uint32_t n, left_out;
    uint64_t bytes;
    const struct message_note *messages[LATE];
};

void late_file(void);              /* a file is opened, or closed */
void late_clear(void);             /* another frame is in hand */
void late_claimed(uint32_t frame); /* by Wireshark's own dissector, at its first visit */
bool late_was_claimed(uint32_t frame);
void late_add(const struct message_note *message_note);
const struct late *late_messages(void); /* of the frame in hand */

#endif
