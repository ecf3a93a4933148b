/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_CONVERSATIONS_H
#define RPCRDMA_PLUGIN_CONVERSATIONS_H

#include "wireshark/compat.h"

/* Tabs of Statistics, Conversations and Endpoints; tshark -z conv,rpcrdma and endpoints,rpcrdma. */
void conversations_register(void); /* with the protocol, before command lines are read */

#endif
