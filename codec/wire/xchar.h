/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_XCHAR_H
#define RPCRDMA_WIRE_XCHAR_H

/*
 * The transport characteristics extension (draft-dnoveck-nfsv4-rpcrdma-xcharext-01): four messages
 * inside RDMA2_OPTIONAL of dialect cel-01. Characteristics are walked with property.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../export.h"
#include "message.h"

RPCRDMA_BEGIN_DECLS

/* rdma_opttype, section 4. */
enum rpcrdma_xchar_type {
    RPCRDMA_XCHAR_INIT = 1,
    RPCRDMA_XCHAR_REQ = 2,
    RPCRDMA_XCHAR_RESP = 3,
    RPCRDMA_XCHAR_UPD = 4,
};

/* Characteristics from here on are for experiments (section 6.2). */
#define RPCRDMA_XCHAR_EXPERIMENTAL UINT32_C(4294967040)

/* Bits of rpcrdma_xchar.present, in wire order: set when the first word was readable. */
enum {
    RPCRDMA_XCHAR_HAS_START = 1u << 0,
    RPCRDMA_XCHAR_HAS_NOCHG = 1u << 1,
    RPCRDMA_XCHAR_HAS_WANT = 1u << 2,
    RPCRDMA_XCHAR_HAS_DONE = 1u << 3,
    RPCRDMA_XCHAR_HAS_REJ = 1u << 4,
    RPCRDMA_XCHAR_HAS_PEND = 1u << 5,
    RPCRDMA_XCHAR_HAS_NOW = 1u << 6,
    RPCRDMA_XCHAR_HAS_PENDCLR = 1u << 7,
};

struct rpcrdma_xchar {
    enum rpcrdma_status status;
    uint32_t error_off; /* in the message */
    const char *what;
    bool noncanonical;
    bool trailing; /* bytes are left in optinfo after the last field */

    uint32_t type; /* RPCRDMA_XCHAR_... */
    uint32_t present;
    struct rpcrdma_propset start;         /* INIT */
    struct rpcrdma_words nochg;           /* INIT: positions in start that will not change */
    struct rpcrdma_propset want;          /* REQ */
    struct rpcrdma_words done, rej, pend; /* RESP: positions in `want` of the REQ with its XID */
    struct rpcrdma_propset now;           /* UPD: one characteristic */
    bool pendclr;                         /* UPD */
};

/* "INIT_XCHAR" ... "UPD_XCHAR" (section 4), or NULL for an opttype that is not xchar's. */
RPCRDMA_API const char *rpcrdma_xchar_name(uint32_t opttype);

/* The name, type and default of a characteristic (section 2); NULL when it is unknown. Static
 * storage. */
RPCRDMA_API const struct rpcrdma_property_desc *rpcrdma_xchar_property(uint32_t id);

/*
 * Decodes the optinfo of a decoded RDMA2_OPTIONAL message. *out borrows what the message borrows.
 * False, and *out untouched, when it is not an xchar message: its dialect does not carry them, or
 * its opttype is another (then optional.info is all that can be shown). The result is
 * out->status: what runs past the end of optinfo is MALFORMED; what was not captured of it is
 * TRUNCATED, as the message itself then is; counts as in rpcrdma_message_decode.
 */
RPCRDMA_API bool rpcrdma_xchar_decode(const struct rpcrdma_message *msg, struct rpcrdma_xchar *out);

/*
 * Encodes an optinfo, for message.optional.info. `now` must have exactly one entry.
 * Returns OK, NO_SPACE (*written is the size needed) or MALFORMED for a type that is not xchar's.
 */
RPCRDMA_API enum rpcrdma_status rpcrdma_xchar_encode(const struct rpcrdma_xchar *xchar, void *buf,
                                                     size_t size, size_t *written);

RPCRDMA_END_DECLS

#endif
