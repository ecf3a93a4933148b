/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_FILTER_INTERNAL_H
#define RPCRDMA_CLI_FILTER_INTERNAL_H

/* What the files of --where share: words of an expression (lexer.c), values (literal.c), fields. */

#include <glib.h>

#include "filter/filter.h"

enum filter_token {
    TOKEN_END,
    TOKEN_WORD,   /* field, name, number, address, date */
    TOKEN_STRING, /* in quotes; `text` is what it means */
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_BRACE_OPEN,
    TOKEN_BRACE_CLOSE,
    TOKEN_COMMA,
    TOKEN_RANGE,
    TOKEN_NOT,
    TOKEN_AND,
    TOKEN_OR,
    TOKEN_IN,
    TOKEN_RELATION,
    TOKEN_BAD,
};

enum filter_relation { EQ, NE, ALL_EQ, ANY_NE, LT, LE, GT, GE, CONTAINS, MATCHES, IN, EXISTS };

struct lexer {
    const char *text;
    size_t at; /* behind the token */
    /* the token */
    enum filter_token kind;
    size_t begin, length;
    char word[256];
    enum filter_relation relation;
    const char *problem; /* of TOKEN_BAD */
};

void lexer_next(struct lexer *lexer);

/* A value in the expression, as every kind of field may read it. */
struct literal {
    char text[256];
    bool is_number, is_address;
    bool fraction; /* `real` is no whole number */
    bool above;    /* the number is above INT64_MAX */
    double real;
    int64_t number; /* two's complement of what is above INT64_MAX */
    struct rpcrdma_address address;
    unsigned prefix; /* bits of a subnet */
    GRegex *regex;
};

enum node_kind { NODE_AND, NODE_OR, NODE_NOT, NODE_TEST };

struct node {
    enum node_kind kind;
    struct node *left, *right;
    /* a test */
    unsigned slot;
    enum filter_relation relation;
    bool negated;     /* not in */
    GArray *literals; /* of struct literal; of a set: pairs, low and high */
};

struct value {
    enum { VALUE_NUMBER, VALUE_TEXT, VALUE_ADDRESS, VALUE_REAL } kind;
    int64_t number;
    bool is_signed;
    uint8_t digits; /* of a number that is shown as hexadecimal; else 0 */
    double real;
    const char *name; /* of a number */
    size_t text;      /* where it begins in the filter's texts */
    struct rpcrdma_address address;
};

struct slot {
    enum rpcrdma_field_id field;
    unsigned count, room;
    struct value *values;
};

struct filter {
    struct node *root;
    unsigned n_slots;
    struct slot slots[FILTER_FIELDS];
    int8_t slot_of[FILTER_FIELD_COUNT]; /* -1: not asked for */
    GByteArray *texts;                  /* of all values, each with its NUL */
    uint64_t too_many, too_hard;        /* values that did not count, by reason */
};

/* fields.c: a field by its number, below FILTER_FIELD_COUNT. */
const struct rpcrdma_field *filter_field_of(int id);

/* NULL with a text where there is no such field, or several. */
const struct rpcrdma_field *filter_field(filter_records records, const char *name, char *problem,
                                         size_t size);

/* literal.c: what `text` can mean for the field; false with a problem. */
bool literal_parse(struct literal *literal, const struct rpcrdma_field *field, const char *text,
                   bool quoted, enum filter_relation relation, char *problem, size_t size);

#endif
