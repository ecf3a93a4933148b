/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_FPDU_H
#define RPCRDMA_CLI_SANITIZE_FPDU_H

/*
 * What is structure in an FPDU (RFC 5044), in its DDP and RDMAP headers (RFC 5041, RFC 5040), and
 * in MPA's start-up frames. A unit has its bytes in the queue twice, one copy behind the other: as
 * they were in TCP, and what stands for them. The second copy has no markers until it is finished,
 * so that its payload is in one piece.
 */

#include "base/crc.h"
#include "sanitize/queue.h"

struct sanitize_fpdus {
    struct rpcrdma_crc crc32c;
    uint8_t scratch[SANITIZE_UNIT_MOST];
};

void sanitize_fpdus_begin(struct sanitize_fpdus *fpdus);

/* `unit` has both copies of the bytes told. Finds its payload, and says what is known of that. Of
 * what was captured of an FPDU, its control bits are those of its opcode, and so is its length:
 * net/ tells no other. */
void sanitize_fpdu(struct sanitize_packet *unit, const struct rpcrdma_tcp_bytes *told);
void sanitize_start_frame(struct sanitize_packet *unit, const struct rpcrdma_tcp_bytes *told);

/* Once all of its bytes are decided: markers and CRC. */
void sanitize_fpdu_finish(struct sanitize_fpdus *fpdus, struct sanitize_packet *unit);

static inline const uint8_t *sanitize_unit_was(const struct sanitize_packet *unit)
{
    return unit->packet.data;
}

static inline uint8_t *sanitize_unit_is(const struct sanitize_packet *unit)
{
    return (uint8_t *)(uintptr_t)unit->packet.data + unit->unit.caplen;
}

#endif
