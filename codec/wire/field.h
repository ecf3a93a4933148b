/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_FIELD_H
#define RPCRDMA_WIRE_FIELD_H

/*
 * The field table: every record and every field of the protocol, described once (field.def).
 * The command's text, JSON and `rpcrdma fields`, and the Wireshark plugin only loop over it.
 */

#include <stddef.h>
#include <stdint.h>

#include "../export.h"

RPCRDMA_BEGIN_DECLS

enum rpcrdma_base {
    RPCRDMA_BASE_DEC,   /* JSON: a number */
    RPCRDMA_BASE_HEX,   /* JSON: a string "0x..." of the field's width */
    RPCRDMA_BASE_BOOL,  /* JSON: true or false */
    RPCRDMA_BASE_NAME,  /* JSON: the value's name; the number where it has none */
    RPCRDMA_BASE_BYTES, /* JSON: a string of hex digits */
    RPCRDMA_BASE_TEXT,  /* JSON: a string */
    RPCRDMA_BASE_REAL,  /* JSON: a number with a fraction */
};

enum rpcrdma_record_shape {
    RPCRDMA_SHAPE_OBJECT,
    RPCRDMA_SHAPE_LIST,
};

enum rpcrdma_record_id {
#define RECORD_NUMBER(number, id) RPCRDMA_RECORD_##id = (number),
#define FIELD_NUMBER(number, id)
#include "field_number.def"
#undef RECORD_NUMBER
#undef FIELD_NUMBER
    RPCRDMA_RECORD_COUNT /* one more than the highest number */
};

enum rpcrdma_field_id {
#define RECORD_NUMBER(number, id)
#define FIELD_NUMBER(number, id) RPCRDMA_FIELD_##id = (number),
#include "field_number.def"
#undef RECORD_NUMBER
#undef FIELD_NUMBER
    RPCRDMA_FIELD_COUNT /* one more than the highest number */
};

struct rpcrdma_value_name {
    uint64_t value;
    const char *name;
};

struct rpcrdma_record {
    enum rpcrdma_record_id id;
    const char *key;    /* "read": JSON key, last part of the Wireshark name. Not used where the
                         * record is an element of a list; empty where no other record holds it */
    const char *abbrev; /* "rpcrdma.read": the Wireshark name; "rpcrdma." where key is empty */
    enum rpcrdma_record_shape shape;
    const char *name;    /* "Read list" */
    const char *section; /* where it is specified */
    const char *help;    /* one line of what it is */
};

struct rpcrdma_field {
    enum rpcrdma_field_id id;
    enum rpcrdma_record_id record;
    const char *key;    /* "position": JSON key, last part of the Wireshark name. Not used where the
                         * field is an element of a list */
    const char *abbrev; /* "rpcrdma.read.position": the Wireshark name */
    int32_t offset;     /* in its record's wire form; -1 where it moves or is not on the wire */
    uint32_t width;     /* bits of the value; 0: variable */
    enum rpcrdma_base base;
    const struct rpcrdma_value_name *names; /* ends with a NULL name; NULL: none here (types and
                                             * errors have theirs in each dialect) */
    const char *name;                       /* "Position" */
    const char
        *section;     /* where it is specified; "this program": it is worked out, not on the wire */
    const char *help; /* one line of what it is */
};

/* The table's entries; never NULL for a valid id. Static storage. */
RPCRDMA_API const struct rpcrdma_record *rpcrdma_record(enum rpcrdma_record_id id);
RPCRDMA_API const struct rpcrdma_field *rpcrdma_field(enum rpcrdma_field_id id);

/* The name of `value`, or NULL where it has none or names is NULL. */
RPCRDMA_API const char *rpcrdma_value_name(const struct rpcrdma_value_name *names, uint64_t value);

RPCRDMA_END_DECLS

#endif
