/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_NETWORKS_H
#define RPCRDMA_CLI_COMMON_NETWORKS_H

/* Which network a connection is of, where another one's hosts have the same addresses. It is known
 * when the connection has ended (net/net.h: rpcrdma_net_network), and shown when others have, too.
 */

#include "net/net.h"

enum { NETWORKS_MOST = 65536 }; /* connections: of those behind it is not shown */

/* several: others have its addresses, too. */
void networks_learn(uint32_t connection, const struct rpcrdma_network *network, bool several);

/* NULL: no other one is known that has its addresses. */
const struct rpcrdma_network *networks_of(uint32_t connection);

/* Whether a packet of that network, between hosts or of one, may be of the connection's: a label
 * that either lacks contradicts none. */
bool networks_may_be(uint32_t connection, const struct rpcrdma_network *network);

bool networks_same(const struct rpcrdma_network *a, const struct rpcrdma_network *b);

enum { NETWORKS_TEXT = 64 };

/* "VLAN 10 in VLAN 7, VNI 5010"; "": networks_of has none. */
void networks_text(uint32_t connection, char text[NETWORKS_TEXT]);

#endif
