/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_MESSAGE_HEADER_CHECK_H
#define RPCRDMA_FLOW_MESSAGE_HEADER_CHECK_H

#include "flow/internal.h"

/* Adds what is wrong with a decoded header beyond its own status: bytes that should not follow it,
 * properties and characteristics with bad data, a malformed xchar message. */
void flow_check_header(const struct rpcrdma_message *message, uint64_t frame,
                       struct flow_findings *findings);

#endif
