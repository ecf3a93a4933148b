/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_PROTOCOL_H
#define RPCRDMA_PLUGIN_PROTOCOL_H

/* The protocol that the plugin registers. */

#include "wireshark/compat.h"

extern int proto_rpcrdma;
extern dissector_handle_t rpcrdma_handle; /* for Decode As */

void protocol_register(void); /* before all else */

#endif
