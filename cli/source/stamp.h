/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_STAMP_H
#define RPCRDMA_CLI_SOURCE_STAMP_H

/* Times that switches, taps and cards wrote into packets. */

#include <stdbool.h>
#include <stdint.h>

#include "net/net.h"

enum stamp_kind {
    STAMP_NONE,
    STAMP_ARISTA,       /* 7280: a tag behind the MAC addresses */
    STAMP_METAMAKO,     /* cPacket, Arista 7130: the last bytes of the frame */
    STAMP_METAMAKO_FCS, /* the same, before the frame check sequence */
    STAMP_EXABLAZE,
    STAMP_EXABLAZE_FCS,
    STAMP_ERF, /* of a record in another format's file */
    STAMP_KINDS
};

const char *stamp_name(enum stamp_kind kind);

/* Whether the packet has room for one where this kind has it: of all there is, captured in whole.
 */
bool stamp_expected(const struct rpcrdma_packet *packet, enum stamp_kind kind);

/* Its nanoseconds since the epoch, where it is expected: false where that is no time, or more than
 * 30 days from the capture's. */
bool stamp_read(const struct rpcrdma_packet *packet, enum stamp_kind kind, int64_t *ns);

#endif
