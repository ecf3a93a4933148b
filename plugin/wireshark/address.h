/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_ADDRESS_H
#define RPCRDMA_PLUGIN_ADDRESS_H

#include "op.h"
#include "wireshark/compat.h"

/* codec's addresses as Wireshark's. */

/* to borrows from's bytes; false and unchanged: it has none. */
bool address_set(address *to, const struct rpcrdma_address *from);
const char *address_text(wmem_allocator_t *scope, const struct rpcrdma_address *address);

#endif
