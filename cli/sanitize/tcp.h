/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_TCP_H
#define RPCRDMA_CLI_SANITIZE_TCP_H

/* TCP's header: RFC 9293 section 3.1. */

#include "sanitize/headers.h"

enum sanitize_sum {
    SANITIZE_SUM_CUT, /* not all was captured that it covers */
    SANITIZE_SUM_RIGHT,
    SANITIZE_SUM_PARTIAL, /* that of the pseudo header, which an adapter completes */
    SANITIZE_SUM_NONE,    /* 0, and wrong */
    SANITIZE_SUM_WRONG,
};

/* What its checksum is. */
enum sanitize_sum sanitize_tcp_sum(const struct sanitize_layout *layout, const uint8_t *data,
                                   uint32_t caplen);

/* What of the header is no structure: options that are not known become NOPs. */
void sanitize_tcp_header(const struct sanitize_layout *layout, uint8_t *data, uint32_t caplen);

/* When all else is as it will be. */
void sanitize_tcp_put_sum(const struct sanitize_layout *layout, uint8_t *data,
                          enum sanitize_sum sum);

#endif
