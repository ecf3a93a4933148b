/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_MENU_H
#define RPCRDMA_PLUGIN_MENU_H

/* Tools > RPC-over-RDMA. */
void menu_register(void);

#endif
