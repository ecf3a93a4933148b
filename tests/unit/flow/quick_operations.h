/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_QUICK_OPERATIONS_H
#define RPCRDMA_TESTS_UNIT_QUICK_OPERATIONS_H

/* The operations of quick.c's conversations, by number. data: QUICK_DATA bytes, theirs. */

#include "op.h"

/* Packets of an RPC, without and with a transfer. */
enum { QUICK_CONNS = 3, QUICK_PER_RPC = 4, QUICK_PER_BULK = 16, QUICK_DATA = 512 };

/* A Call, its Ack, the Reply and its Ack, of connections in turn. */
struct rpcrdma_op quick_make(uint8_t *data, uint32_t number);
/* A Call, its Reply, the same once more but for the first ones, and the Ack of both. */
struct rpcrdma_op quick_make_again(uint8_t *data, uint32_t number);
/* In turn a READ, which is answered by Writes, and a WRITE, for which the server reads. */
struct rpcrdma_op quick_make_bulk(uint8_t *data, uint32_t number);

#endif
