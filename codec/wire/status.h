/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_STATUS_H
#define RPCRDMA_WIRE_STATUS_H

/* What became of a decode. TRUNCATED: the bytes were on the wire and were not captured. MALFORMED:
 * the bytes as sent cannot be right. NO_SPACE: only a writer says it, its buffer is too small. */
enum rpcrdma_status {
    RPCRDMA_OK = 0,
    RPCRDMA_TRUNCATED,
    RPCRDMA_MALFORMED,
    RPCRDMA_NO_SPACE,
};

#endif
