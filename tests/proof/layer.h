/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_PROOF_LAYER_H
#define RPCRDMA_TESTS_PROOF_LAYER_H

/*
 * A packet on its way up net/packet, and what holds wherever one layer calls the next: what is taken for granted
 * where one begins (layer_begin) is asserted where one is called (any_layer). Layers call each other up to
 * RPCRDMA_LAYER_DEPTH times; each is looked at once, for all of these calls.
 */

#include "net/packet/layer.h"
#include "net/packet/payload.h"
#include "proof.h"

struct layer_proof {
    struct rpcrdma_net net;
    struct rpcrdma_packet packet;
    struct rpcrdma_layer layer;
    struct rpcrdma_crc crc;
    uint8_t lrh[8], udp[8], ipv4[20], ipv6[40], address[16];
};

/* Any packet of these lengths, for a layer that begins with it. */
void layer_begin(struct layer_proof *p, const uint8_t *data, size_t caplen, size_t len);

/* Whatever layer it is that comes next. */
enum rpcrdma_verdict any_layer(struct rpcrdma_layer *l);

/* An operation that was given: what it points to was captured. */
void on_op(void *context, const struct rpcrdma_op *op);

#endif
