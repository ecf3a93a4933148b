/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_PACKET_DAMAGE_H
#define RPCRDMA_NET_PACKET_DAMAGE_H

/*
 * How many checksums of each source were right, and wrong. Some devices fill checksums in later
 * than their packets are captured, some tools change packets and leave them: then they are wrong
 * throughout, and nothing was damaged. A source is an address and what is checked: who sends right
 * ICRCs, or IP headers, may leave TCP's checksums to an adapter. What cannot be known, as not all
 * of a packet was captured, is not counted.
 *
 * The table is bounded. Where it is full, a new source takes the place of one that sent nothing
 * since the search for places came by last: sources of one packet each push out each other, not
 * those that send on. One that was pushed out is new again: until enough of its checksums were
 * right, a wrong one is told as wrong, and its packet is taken, as if no receiver dropped it.
 *
 * Which source goes is said by the order of the packets alone. The hash finds a source and chooses
 * nothing: its key is another in each run, answers are not.
 */

#include "op.h"

struct rpcrdma_checksums;
struct rpcrdma_layer;

/* What is checked: all that a carrier's packets have (enum rpcrdma_carrier), or the header of IPv4
 * alone. */
enum { RPCRDMA_CHECKSUM_OF_IP = 0x80 };

/* NULL: no memory. Ends with free. */
struct rpcrdma_checksums *rpcrdma_checksums_new(void);

/* Notes whether this checksum of this packet was right. True: it was wrong, and its
 * source's are right otherwise, so that it was damaged on the way. */
bool rpcrdma_layer_damaged(const struct rpcrdma_layer *l, uint8_t checked, bool right);

/* Once that was asked of a packet that does not fit in where it stands, and whose checksum is
 * wrong: whether it was damaged all the same. It is the first wrong one of its source, of which a
 * few were right; or the first of all, and its address that of another source, whose are right,
 * with one bit changed. */
bool rpcrdma_layer_damaged_in_doubt(const struct rpcrdma_layer *l, uint8_t checked);

#endif
