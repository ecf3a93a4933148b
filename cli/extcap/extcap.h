/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXTCAP_EXTCAP_H
#define RPCRDMA_CLI_EXTCAP_EXTCAP_H

/* The program as Wireshark's capture dialog calls it: RDMA devices as interfaces, with the options
 * of `rpcrdma capture`. See the "extcap" chapter of Wireshark's developer's guide. */

#include <stdbool.h>

/* Whether these are an extcap call's arguments. */
bool extcap_is(int argc, char **argv);

/* Returns the exit status. */
int extcap_run(int argc, char **argv);

#endif
