/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_ADDRESS_H
#define RPCRDMA_CLI_OUT_ADDRESS_H

/* Addresses as text. */

#include "op.h"
#include "out/out.h"

enum { ADDRESS_SIZE = 48 };

/* The address alone: "192.168.77.1", "fe80::1", "LID 17", "?" where there is none. Writes no NUL;
 * returns the length. */
size_t address_format(const struct rpcrdma_address *address, char text[ADDRESS_SIZE]);

/* The same where people read it: the host's name, if a capture has one (hosts.h). */
size_t address_or_name(const struct rpcrdma_address *address, char text[ADDRESS_SIZE]);

void out_address(struct out *out, const struct rpcrdma_address *address);

#endif
