/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_CONNECTIONS_H
#define RPCRDMA_PLUGIN_CONNECTIONS_H

/* Which connection a frame is of, be there anything else to say of it or not: a frame keeps its
 * stream, and which connection that is part of may become known later. */

#include "store/store.h"

void connections_file(void);     /* a file is opened */
void connections_file_end(void); /* and closed */
void connections_register(void); /* the conversation filter */

/* What flow/ emits: its number, as soon as it has one. */
void connections_know(const struct rpcrdma_connection *connection);
void connections_end(void *context, const struct rpcrdma_connection *connection);

void connections_frame(uint32_t frame, uint64_t stream); /* rpcrdma_flow_stream() of its last op */

/* From 1; 0: not known, or not ours. */
uint32_t connections_of(uint32_t frame);
/* Whether the TCP segment in hand is of an iWARP connection of ours, read by now or not. */
bool connections_tcp(const packet_info *pinfo);
/* The QP numbers of a frame's connection, as far as they are known: how many. */
int connections_qpns(uint32_t frame, uint32_t qpns[2]);
/* "#1 192.0.2.1 -> 192.0.2.2", the client first where it is known; the same from the first use on.
 */
const char *connections_label(uint32_t number);

#endif
