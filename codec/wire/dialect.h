/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_DIALECT_H
#define RPCRDMA_WIRE_DIALECT_H

/*
 * A wire format of RPC-over-RDMA as a constant description: version 1, and the ten formats in which
 * version 2 was published. The decoder and the encoder are one each and read these tables.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../export.h"

RPCRDMA_BEGIN_DECLS

enum rpcrdma_family {
    RPCRDMA_FAMILY_V1,
    RPCRDMA_FAMILY_UNION, /* cel-00 to cel-04: rdma_proc picks a body */
    RPCRDMA_FAMILY_FLAGS, /* cel-08 to ietf-02: a flags word after the type */
    RPCRDMA_FAMILY_HTYPE, /* ietf-03 on: header types 4 to 13 */
};

enum rpcrdma_dialect_id {
    RPCRDMA_V1,
    RPCRDMA_CEL_00,
    RPCRDMA_CEL_01,
    RPCRDMA_CEL_02,
    RPCRDMA_CEL_03,
    RPCRDMA_CEL_04,
    RPCRDMA_CEL_08,
    RPCRDMA_IETF_00,
    RPCRDMA_IETF_01,
    RPCRDMA_IETF_02,
    RPCRDMA_IETF_07,
    RPCRDMA_DIALECT_COUNT,
};

/* What a header type is for, whatever number its dialect gave it. */
enum rpcrdma_kind {
    RPCRDMA_KIND_UNKNOWN,
    RPCRDMA_KIND_MSG,
    RPCRDMA_KIND_NOMSG,
    RPCRDMA_KIND_MSGP,
    RPCRDMA_KIND_DONE,
    RPCRDMA_KIND_ERROR,
    RPCRDMA_KIND_OPTIONAL,
    RPCRDMA_KIND_CONNPROP, /* all properties in one message; flags family: may be a part */
    RPCRDMA_KIND_CONNPROP_MIDDLE,
    RPCRDMA_KIND_CONNPROP_FINAL,
    RPCRDMA_KIND_REQPROP,
    RPCRDMA_KIND_RESPROP,
    RPCRDMA_KIND_UPDPROP,
    RPCRDMA_KIND_GRANT,
    RPCRDMA_KIND_CALL_EXTERNAL,
    RPCRDMA_KIND_CALL_MIDDLE,
    RPCRDMA_KIND_CALL_INLINE,
    RPCRDMA_KIND_REPLY_EXTERNAL,
    RPCRDMA_KIND_REPLY_MIDDLE,
    RPCRDMA_KIND_REPLY_INLINE,
};

/* What follows an error code. */
enum rpcrdma_error_body {
    RPCRDMA_ERROR_VOID,
    RPCRDMA_ERROR_RANGE,          /* low, high */
    RPCRDMA_ERROR_MAX_CHUNKS,     /* max */
    RPCRDMA_ERROR_MAX_SEGMENTS,   /* max */
    RPCRDMA_ERROR_WRITE,          /* chunk index, length needed */
    RPCRDMA_ERROR_LENGTH,         /* length needed */
    RPCRDMA_ERROR_SEGMENT_LENGTH, /* segment index, length needed (cel-03 REPLY_RESOURCE) */
    RPCRDMA_ERROR_CANT_REPLY,     /* processed, segment index, length needed (cel-02) */
};

enum rpcrdma_property_kind {
    RPCRDMA_PROPERTY_UNKNOWN,
    RPCRDMA_PROPERTY_SBSIZ,    /* Maximum Send Size */
    RPCRDMA_PROPERTY_RBSIZ,    /* Receive Buffer Size */
    RPCRDMA_PROPERTY_RSSIZ,    /* Maximum Segment Size */
    RPCRDMA_PROPERTY_RCSIZ,    /* Maximum Segment Count */
    RPCRDMA_PROPERTY_BRS,      /* Reverse-Direction Support */
    RPCRDMA_PROPERTY_HOSTAUTH, /* Host Authentication Message */
    RPCRDMA_PROPERTY_RRI,      /* xchar: Requester Remote Invalidation */
};

struct rpcrdma_type_desc {
    uint32_t value;
    const char *name; /* the dialect's own XDR identifier */
    enum rpcrdma_kind kind;
    uint32_t parts; /* what follows the four common words: RPCRDMA_HAS_... of message.h, in the
                     * order of those bits, which is the wire order in every dialect */
};

struct rpcrdma_error_desc {
    uint32_t value;
    const char *name; /* the dialect's own XDR identifier */
    enum rpcrdma_error_body body;
};

/* The XDR type of a property's data. */
enum rpcrdma_property_type {
    RPCRDMA_PROPERTY_TYPE_UINT32,
    RPCRDMA_PROPERTY_TYPE_ENUM, /* 0 to `max` */
    RPCRDMA_PROPERTY_TYPE_BOOL,
    RPCRDMA_PROPERTY_TYPE_OPAQUE, /* opaque<>: a count word and that many bytes, padded */
};

struct rpcrdma_property_desc {
    uint32_t value;
    const char *name; /* in words: "Receive Buffer Size" */
    const char *xdr;  /* the dialect's identifier: "RDMA2_PROPID_RBSIZ" */
    enum rpcrdma_property_kind kind;
    enum rpcrdma_property_type type;
    uint32_t max;           /* ENUM: its highest value */
    bool has_default;       /* the documents give a default */
    uint32_t default_value; /* a number, or 0 or 1 */
};

struct rpcrdma_dialect {
    enum rpcrdma_dialect_id id;
    enum rpcrdma_family family;
    const char *name;   /* "v1", "cel-00" ... "ietf-07" */
    const char *source; /* the document: "draft-ietf-nfsv4-rpcrdma-version-two-07" */
    uint32_t version;   /* 1 or 2 */

    bool counting_credits;  /* credits are running counters (ietf-02 inferred, ietf-07 4.2.1) */
    bool xchar;             /* OPTIONAL may carry draft-dnoveck-nfsv4-rpcrdma-xcharext-01 */
    uint32_t flag_response; /* flags family: the bits, 0 where the dialect has none */
    uint32_t flag_more;
    uint32_t flag_tpmore;

    const struct rpcrdma_type_desc *types; /* n_... entries, ascending values */
    const struct rpcrdma_error_desc *errors;
    const struct rpcrdma_property_desc *properties;
    size_t n_types, n_errors, n_properties;
};

/* The description of `id`. Never NULL for a valid id. */
RPCRDMA_API const struct rpcrdma_dialect *rpcrdma_dialect(enum rpcrdma_dialect_id id);

/* The dialect called `name`; drafts that share a format are synonyms ("ietf-04" is "ietf-07",
 * "cel-09" is "cel-08"). NULL for a name nobody used. */
RPCRDMA_API const struct rpcrdma_dialect *rpcrdma_dialect_by_name(const char *name);

/* Entries of a dialect's tables; NULL when the value is not in it, whatever the value. */
RPCRDMA_API const struct rpcrdma_type_desc *
rpcrdma_dialect_type(const struct rpcrdma_dialect *dialect, uint32_t value);
RPCRDMA_API const struct rpcrdma_error_desc *
rpcrdma_dialect_error(const struct rpcrdma_dialect *dialect, uint32_t value);
RPCRDMA_API const struct rpcrdma_property_desc *
rpcrdma_dialect_property(const struct rpcrdma_dialect *dialect, uint32_t value);

RPCRDMA_END_DECLS

#endif
