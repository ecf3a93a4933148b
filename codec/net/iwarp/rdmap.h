/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_IWARP_RDMAP_H
#define RPCRDMA_NET_IWARP_RDMAP_H

/* Numbers of MPA (RFC 5044), DDP (RFC 5041) and RDMAP (RFC 5040, RFC 7306). */

/* MPA's markers: so many bytes, every so many bytes of TCP. Section 4.3. */
enum { RPCRDMA_MARKER_EVERY = 512, RPCRDMA_MARKER_BYTES = 4 };

/* Headers behind MPA's length: RFC 5041 section 4; and what a Read Request and an Atomic Request
 * have behind that: RFC 5040 section 4.4, RFC 7306 section 5.2. */
enum {
    DDP_TAGGED_BYTES = 14,
    DDP_UNTAGGED_BYTES = 18,
    RDMAP_READ_REQUEST_BYTES = 28,
    RDMAP_ATOMIC_REQUEST_BYTES = 52,
};

/* RFC 5040 section 4.3 */
enum rdmap_opcode {
    RDMAP_WRITE = 0,
    RDMAP_READ_REQUEST = 1,
    RDMAP_READ_RESPONSE = 2,
    RDMAP_SEND = 3,
    RDMAP_SEND_INVALIDATE = 4,
    RDMAP_SEND_SE = 5,
    RDMAP_SEND_SE_INVALIDATE = 6,
    RDMAP_TERMINATE = 7,
    RDMAP_IMMEDIATE = 8, /* RFC 7306 from here on */
    RDMAP_IMMEDIATE_SE = 9,
    RDMAP_ATOMIC_REQUEST = 10,
    RDMAP_ATOMIC_RESPONSE = 11,
    RDMAP_OPCODES
};

#endif
