/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_TABLES_H
#define RPCRDMA_CLI_EXPORT_TABLES_H

/* The tables of `rpcrdma export`, and a row of one. tables.def has them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of a file's first bytes, 1, 2, 4 ... 65536 of them: hashes. */
enum { IDENTITY_HEADS = 17 };

enum table_id {
#define TABLE(id, name, help) TABLE_##id,
#define COLUMN(table, name, type, field, help)
#define TABLE_END(id)
#include "export/tables.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END
    N_TABLES
};

enum column_type {
    COLUMN_ID,
    COLUMN_INT,
    COLUMN_TIME,
    COLUMN_SPAN,
    COLUMN_BYTES,
    COLUMN_BOOL,
    COLUMN_TEXT,
    COLUMN_COUNT, /* as INT and BYTES, and may be 2^63 and more */
    COLUMN_OFFSET,
    COLUMN_TYPES /* how many there are */
};

static inline bool column_unsigned(enum column_type type)
{
    return type == COLUMN_COUNT || type == COLUMN_OFFSET;
}

struct column {
    const char *name;
    enum column_type type;
    const char *field; /* in `rpcrdma fields`; "": none */
    const char *help;
};

struct table {
    const char *name, *help;
    unsigned first; /* enum column_id */
    const struct column *columns;
    size_t n_columns;
};

extern const struct table tables[N_TABLES];

enum { MOST_COLUMNS = 48 };

/* "ns", "bytes", ... */
const char *column_unit(enum column_type type);

/* What it is, in a line. */
const char *column_help(const struct column *column);

/* COLUMN_RPCS_latency_ns: of all columns of all tables. FIRST_RPCS to END_RPCS: those of one. */
enum column_id {
#define TABLE(id, name, help) FIRST_##id, BEFORE_##id = FIRST_##id - 1,
#define COLUMN(table, name, type, field, help) COLUMN_##table##_##name,
#define TABLE_END(id) END_##id, LAST_##id = END_##id - 1,
#include "export/tables.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END
    N_COLUMNS
};

enum cell_kind { CELL_NULL, CELL_INT, CELL_TEXT };

struct cell {
    enum cell_kind kind;
    uint32_t n; /* bytes of the text */
    union {
        int64_t number;
        const char *text;
    } is;
};

/* Texts stay the caller's until the row was written. */
struct row {
    enum table_id table;
    unsigned first; /* of the table */
    bool open;      /* made of what was still open where the packets ended, or of one cut short */
    struct cell cells[MOST_COLUMNS];
};

static inline void row_begin(struct row *row, enum table_id table)
{
    row->table = table;
    row->first = tables[table].first;
    memset(row->cells, 0, tables[table].n_columns * sizeof(row->cells[0]));
}

static inline void row_int(struct row *row, enum column_id column, int64_t number)
{
    row->cells[(unsigned)column - row->first] =
        (struct cell){.kind = CELL_INT, .is.number = number};
}

static inline void row_text_n(struct row *row, enum column_id column, const char *text, size_t n)
{
    row->cells[(unsigned)column - row->first] =
        (struct cell){.kind = CELL_TEXT, .n = (uint32_t)n, .is.text = text};
}

/* NULL is none. */
static inline void row_text(struct row *row, enum column_id column, const char *text)
{
    if (text)
        row_text_n(row, column, text, strlen(text));
}

enum { CELL_SHOWN = 8192 };

/* The text of a cell as it is shown (out/escape.h): names in a capture may hold what a terminal
 * obeys, and what shows a table may not look. *n is its length; of `buffer` it is made where it
 * must be. */
const char *cell_shown(const struct cell *cell, char buffer[CELL_SHOWN], size_t *n);

/* A capture as a store knows it again, also where it is a file that has grown. */
struct store_capture {
    int64_t id, name; /* of captures; a hash of its name */
    uint64_t bytes;   /* 0: no file */
    int64_t heads[IDENTITY_HEADS];
};

/* A packet that may be one that an earlier export read: the hash of all to it, once it has passed,
 * and what it would be had the packet been cut by the end of its file. */
struct store_watch {
    uint64_t frame;
    int64_t packets_hash, cut;
    bool seen;
};

/* Packets one after the other: of each a part of the hash of all to it, and whole that of all
 * before the block's. */
enum { STORE_BLOCK = 256 };
struct store_block {
    int64_t number, before;
    unsigned n;
    uint16_t marks[STORE_BLOCK];
};

/* What is read, with which options (a hash), and how far: that changes meanwhile. */
struct store_input {
    const struct store_capture *captures;
    size_t n;
    int64_t how;
    unsigned tables; /* a bit per table that is wanted */
    int64_t first;   /* a hash of the first packet, but not of what is in it */
    struct _GArray
        *blocks;     /* of struct store_block: the latest, and what `block` was not told of */
    const bool *cut; /* the latest packet is cut by the end of its file */
    const uint64_t *packets;
    const int64_t *time_ns;
    const int64_t *packets_hash; /* a hash of all packets so far */
    const bool *at_end;          /* no more is read: rows are of what is still open */
    const bool *counted_out;     /* because as much was read as was wanted */
    bool complete;
    /* of struct store_watch: `begin` adds, in their order, of what packets from the one in hand on
     * it wants to know the hash */
    struct _GArray *watch;
};

/* Where rows go. */
struct store {
    /* Before the first row, of what others can read again; NULL: it does not matter. False as of
     * `row`. */
    bool (*begin)(struct store *store, const struct store_input *input);
    /* False: it failed, and that was said. */
    bool (*row)(struct store *store, const struct row *row);
    /* The latest of input.blocks is full, and goes; with `begin`. False as of `row`. */
    bool (*block)(struct store *store);
    /* What was given so far stays, whatever happens to this process; NULL: it does anyway. */
    bool (*commit)(struct store *store);
    /* Whether it is time for `commit`; NULL: after a second, or many rows. */
    bool (*due)(struct store *store);
    /* Everything so far can be seen by who reads; `status` that of the command so far. Returns the
     * exit status. */
    int (*end)(struct store *store, int status);
};

#endif
