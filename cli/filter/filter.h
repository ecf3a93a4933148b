/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_FILTER_FILTER_H
#define RPCRDMA_CLI_FILTER_FILTER_H

/*
 * --where EXPRESSION: Wireshark's display filter syntax over the fields of `rpcrdma fields`.
 *
 *     expression = term { ("||" | "or") term }
 *     term       = factor { ("&&" | "and") factor }
 *     factor     = ("!" | "not") factor | "(" expression ")" | test
 *     test       = FIELD                                  it is there (a boolean: and is true)
 *                | FIELD relation VALUE
 *                | FIELD ["not"] "in" "{" item { [","] item } "}"
 *     item       = VALUE [ ".." VALUE ]
 *     relation   = "==" eq | "!=" ne | "<" lt | "<=" le | ">" gt | ">=" ge
 *                | "===" all_eq | "!==" any_ne | contains | matches, "~"
 *
 * FIELD is a name as `rpcrdma fields` has it, without "rpcrdma." and the command's own part where
 * that is clear. A field that occurs several times matches where one of its values does; != and
 * === ask it of all of them (as Wireshark 4 has it). VALUE is a number (42, 0x2a; of times: 2ms,
 * 1.5s; of lengths: 64k, 1M), a name or text with or without quotes, true, false, an address or
 * subnet, a date. docs/filter.md says more.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op.h"
#include "wire/field.h"
#include "wire/walk.h"

struct filter;

enum {
    FILTER_FIELDS = 32,    /* in one expression */
    FILTER_VALUES = 65536, /* of one field in one object: as many segments as a message may have */
};

/* What the command works out (results.def), and an expression takes as a field of an RPC: by
 * numbers behind those of the protocol's fields. */
#define FILTER_RDMA_FIRST_FRAME ((enum rpcrdma_field_id)RPCRDMA_FIELD_COUNT)
#define FILTER_RDMA_LAST_FRAME ((enum rpcrdma_field_id)(RPCRDMA_FIELD_COUNT + 1))
/* and of --trigger: for how long the oldest Call of a connection's end has no Reply */
#define FILTER_WAITING ((enum rpcrdma_field_id)(RPCRDMA_FIELD_COUNT + 2))
enum { FILTER_FIELD_COUNT = RPCRDMA_FIELD_COUNT + 3 };

/* What an expression is about: the records whose fields it may name, the main one first; ends with
 * RPCRDMA_RECORD_COUNT. */
typedef const enum rpcrdma_record_id filter_records[];

extern filter_records filter_of_messages, filter_of_findings, filter_of_rpcs, filter_of_extracts,
    filter_of_triggers;

struct filter_error {
    size_t at, length; /* in the text: where the caret goes */
    char text[200];
};

/* NULL with *error set where it is not an expression. */
struct filter *filter_new(const char *text, filter_records records, struct filter_error *error);
/* Says on standard error which values did not count. */
void filter_free(struct filter *filter);

/* Two lines, the expression and a caret below what is wrong with it, for standard error. */
void filter_complain(const char *command, const char *option, const char *text,
                     const struct filter_error *error);

/* -- one object: its values, then whether it matches ------------------------------------------ */

void filter_begin(struct filter *filter);
bool filter_needs(const struct filter *filter, enum rpcrdma_field_id field);
void filter_number(struct filter *filter, enum rpcrdma_field_id field, uint64_t value,
                   const char *name); /* name: of the value, or NULL; borrowed until filter_match */
void filter_signed(struct filter *filter, enum rpcrdma_field_id field, int64_t value);
void filter_text(struct filter *filter, enum rpcrdma_field_id field, const char *text);
void filter_bytes(struct filter *filter, enum rpcrdma_field_id field, const uint8_t *p, size_t n);
void filter_address(struct filter *filter, enum rpcrdma_field_id field,
                    const struct rpcrdma_address *address);
void filter_value(struct filter *filter, const struct rpcrdma_value *value); /* of a walk */
bool filter_match(struct filter *filter);
/* Whether the object has a value of a field that the expression names. */
bool filter_concerns(const struct filter *filter);

#endif
