/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_IWARP_H
#define RPCRDMA_CLI_SANITIZE_IWARP_H

/*
 * iWARP: an operation is not in a packet, but in an FPDU, which is somewhere in TCP's bytes. Each
 * FPDU becomes a unit in the queue, of which is known what is known of a packet of RoCE. What a
 * packet of TCP carries is composed of the units that its bytes were of, when it goes out; bytes
 * that were of none, or were others than the unit's, become zeros.
 */

#include "sanitize/track.h"

/* From the analyzer; sanitize_iwarp_op is flow/'s caller, too. False: memory is short. */
void sanitize_iwarp_bytes(struct sanitize_track *track, const struct rpcrdma_tcp_bytes *told);
bool sanitize_iwarp_op(struct sanitize_track *track, const struct rpcrdma_op *op);

/* A packet of TCP: before it is given to the analyzer; whether it may go out, or is to be dropped;
 * when it goes out. */
void sanitize_iwarp_packet(struct sanitize_packet *p);
bool sanitize_iwarp_ready(struct sanitize_track *track, struct sanitize_packet *p);
void sanitize_iwarp_emit(struct sanitize_track *track, struct sanitize_packet *p);

#endif
