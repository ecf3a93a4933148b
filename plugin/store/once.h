/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_ONCE_H
#define RPCRDMA_PLUGIN_ONCE_H

#include "store/store.h"

/* Frames that are visited once: what is kept of them goes when the RPC that they are part of ends.
 */

void once_file(void);                           /* a file is opened, or closed */
void once_frame(const packet_info *pinfo);      /* before it is fed, the last is done */
void once_ended(struct transacted *transacted); /* nothing more comes of it */

#endif
