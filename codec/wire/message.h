/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_MESSAGE_H
#define RPCRDMA_WIRE_MESSAGE_H

/*
 * One RPC-over-RDMA message: what one RDMA Send carries. Version 1 (RFC 8166 section 4) and every
 * published wire format of version 2 decode into the same struct and are encoded from it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../export.h"
#include "chunk.h"
#include "dialect.h"
#include "status.h"

RPCRDMA_BEGIN_DECLS

/* Bits of rpcrdma_message.present: what the header has and what could be read of it. A list's bit
 * is set when its first word was readable, even if the list is cut short. */
enum {
    RPCRDMA_HAS_XID = 1u << 0,
    RPCRDMA_HAS_VERSION = 1u << 1,
    RPCRDMA_HAS_CREDITS = 1u << 2,
    RPCRDMA_HAS_TYPE = 1u << 3,
    RPCRDMA_HAS_FLAGS = 1u << 4,
    RPCRDMA_HAS_DIRECTION = 1u << 5,
    RPCRDMA_HAS_ALIGN = 1u << 6,
    RPCRDMA_HAS_THRESH = 1u << 7,
    RPCRDMA_HAS_INV_HANDLE = 1u << 8,
    RPCRDMA_HAS_REMAINING = 1u << 9,
    RPCRDMA_HAS_CALL = 1u << 10,
    RPCRDMA_HAS_READ = 1u << 11,
    RPCRDMA_HAS_WRITE = 1u << 12,
    RPCRDMA_HAS_REPLY = 1u << 13, /* the discriminator was read; see reply_present */
    RPCRDMA_HAS_ERROR = 1u << 14, /* the error code was read */
    RPCRDMA_HAS_ERROR_ARGS = 1u << 15,
    RPCRDMA_HAS_PROPERTIES = 1u << 16,
    RPCRDMA_HAS_NOCHG = 1u << 17,
    RPCRDMA_HAS_WANT = 1u << 18,
    RPCRDMA_HAS_DONE = 1u << 19,
    RPCRDMA_HAS_REJECTED = 1u << 20,
    RPCRDMA_HAS_OTHER = 1u << 21,
    RPCRDMA_HAS_NOW = 1u << 22,
    RPCRDMA_HAS_OPTIONAL = 1u << 23,
    RPCRDMA_HAS_HEADER_LENGTH = 1u << 24, /* the whole header was captured and is well formed */
    RPCRDMA_HAS_PAYLOAD = 1u << 25,       /* an RPC message, or a part of one, follows */
};

/* A counted run of bytes in the message. */
struct rpcrdma_span {
    const uint8_t *data; /* caplen bytes; NULL when built empty */
    uint32_t off;        /* in the message */
    uint32_t caplen, len;
};

/* Transport properties or xchar characteristics: `wire` starts at the first id; see property.h. */
struct rpcrdma_propset {
    struct rpcrdma_span wire;                  /* the `count` entries; len == caplen */
    const struct rpcrdma_property *properties; /* used where wire.data is NULL */
    uint32_t count;                            /* whole entries readable here */
    uint32_t declared;
};

/* A counted array of uint32. What the words mean (a mask of positions) is property.h's to say. */
struct rpcrdma_words {
    const uint8_t *wire;   /* first word, or NULL */
    const uint32_t *words; /* used where wire is NULL */
    uint32_t count, declared, off;
};

struct rpcrdma_error {
    uint32_t code;
    enum rpcrdma_error_body body; /* which of the following the wire carries */
    uint32_t low, high;           /* RANGE */
    uint32_t max;                 /* MAX_CHUNKS, MAX_SEGMENTS */
    uint32_t chunk_index;         /* WRITE */
    uint32_t length_needed;       /* WRITE, LENGTH, SEGMENT_LENGTH, CANT_REPLY */
    uint32_t processed;           /* CANT_REPLY */
    uint32_t segment_index;       /* SEGMENT_LENGTH, CANT_REPLY */
};

struct rpcrdma_message {
    /* the input, borrowed */
    const uint8_t *base;
    uint32_t caplen, len;

    /* how far decoding came */
    enum rpcrdma_status status;
    uint32_t error_off; /* where it failed; the payload's start never fails here */
    const char *what;   /* what could not be read: static text, NULL when OK */
    bool noncanonical;  /* decoded, but encodes differently (a discriminator or bool above 1,
                         * non-zero padding) */
    bool trailing;      /* `payload` holds bytes after a header whose type has no payload */

    const struct rpcrdma_dialect *dialect; /* never NULL: version 1 is one, too */
    uint32_t present;                      /* RPCRDMA_HAS_... */
    enum rpcrdma_kind kind; /* the header type's role; UNKNOWN for an unknown type */

    uint32_t xid, version, credits, type;
    uint32_t flags;
    uint32_t direction; /* 0 Call, 1 Reply: the direction word of cel-01 to cel-04 */
    uint32_t align, thresh;
    uint32_t inv_handle;
    uint32_t remaining;

    struct rpcrdma_read_list call; /* version 2's Call chunk */
    struct rpcrdma_read_list read;
    struct rpcrdma_write_list write;
    bool reply_present;
    struct rpcrdma_chunk reply;

    struct rpcrdma_error error;

    struct rpcrdma_propset properties, want, other, now;
    struct rpcrdma_words nochg, done, rejected;

    struct {
        uint32_t direction; /* valid where HAS_DIRECTION; the message's `direction`, too */
        uint32_t type;
        struct rpcrdma_span info; /* the opaque's bytes, without count and padding; see xchar.h */
    } optional;

    uint32_t header_length;      /* valid where HAS_HEADER_LENGTH */
    struct rpcrdma_span payload; /* what follows the header: an RPC message or a part of one, or
                                  * bytes that should not be there (trailing). It may be cut short
                                  * (caplen < len) or empty; neither is a failure of the header */
};

/*
 * Decodes one message.
 *
 * dialect: the wire format to read by; NULL takes version 1, and for version 2 the default
 * (ietf-07). A message of another version than the dialect's is decoded by its own version's rules;
 * out->dialect says which were used. An ERR_VERS laid out as version 1 has it is decoded in any
 * dialect and any version, even an unknown one: it is what answers such a version. Anything else
 * of an unknown version gives the four common words and MALFORMED at offset 4.
 *
 * Everything that was captured before a failure is in *out (present). A count that cannot fit in
 * the bytes left on the wire is MALFORMED at the count word, at once, however large: the chunk or
 * set then has that `declared` and a count of 0. A header type unknown to the dialect is MALFORMED
 * at offset 12, a direction word above 1 where it stands. An error code unknown to the dialect has
 * no arguments. Bytes after a header whose type carries none are kept as payload (trailing).
 *
 * len <= UINT32_MAX. Returns out->status.
 */
RPCRDMA_API enum rpcrdma_status rpcrdma_message_decode(const struct rpcrdma_dialect *dialect,
                                                       const void *data, size_t caplen, size_t len,
                                                       struct rpcrdma_message *out);

/*
 * Encodes the header of *msg by msg->dialect and msg->type (kind is derived, not read), then
 * the payload span's bytes if payload.data is not NULL. A decoded message that is OK and not
 * noncanonical encodes to the bytes it was decoded from. An ERR_VERS that was decoded without the
 * flags word of its dialect (it came from a version 1 peer) is encoded without it again.
 *
 * Only `present` of what a decoder wrote is looked at, for that case: who builds a message leaves
 * it 0 and fills in what the type has. Lists take `wire` where it is not NULL, else the array.
 *
 * Returns OK with *written set, NO_SPACE when buf is too small (*written is the size needed), or
 * MALFORMED when the type is not one of the dialect's.
 */
RPCRDMA_API enum rpcrdma_status rpcrdma_message_encode(const struct rpcrdma_message *msg, void *buf,
                                                       size_t size, size_t *written);

/* The direction of RPC that the header itself gives (direction word, F_RESPONSE flag, or a CALL_ or
 * REPLY_ header type): 0 Call, 1 Reply, -1 nothing. */
RPCRDMA_API int rpcrdma_message_direction(const struct rpcrdma_message *msg);

RPCRDMA_END_DECLS

#endif
