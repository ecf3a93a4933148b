/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_PAST_H
#define RPCRDMA_CLI_EXPORT_PAST_H

/*
 * What earlier exports into an SQLite database left open. What is read later does not change rows
 * that were made between packets; those that were made of what was still open where the packets
 * ended (connections, unanswered Calls, findings of that) it does. So the database has, in tables
 * of its own,
 *
 *   exports        of what captures each export is, and how far it came
 *   packet_marks   hashes of all packets to each of those that it read
 *   open_rows      which rows it made at that end
 *
 * An export goes on from an earlier one, with the same options, whose packets it reads first, from
 * whatever files: it replaces the rows that the earlier left open, and takes out those that it does
 * not make again, once it has come as far. All others stay as they are, whoever made them. What an
 * export makes at its end does not go in where an earlier one read all its packets, and more.
 */

#include <stdbool.h>
#include <stdint.h>

#include "export/tables.h"
#include "module/calls_sqlite.h"

/* The statements that make its tables. */
extern const char past_schema[];

struct past;

/* Functions return false where SQLite failed: its errmsg says why. */
bool past_new(const struct sqlite_calls *lib, sqlite3 *db, struct past **past);
void past_free(struct past *past);

/* Of what captures the rows are. It stays the caller's, and is looked at until the end. */
bool past_begin(struct past *past, const struct store_input *input);

/* Whether the row belongs there: not if an earlier export came further, and it is of the end. */
bool past_wants(struct past *past, const struct row *row);
/* A row was put where none with its key was. */
bool past_added(struct past *past, const struct row *row);
enum past_row {
    PAST_STAYS,
    PAST_STAYS_OTHERS, /* as an export made it that this one does not go on from, and may have
                          otherwise: as it was at its end, or with other options */
    PAST_REPLACE,      /* this one goes in its place */
};
/* One is there. */
bool past_there(struct past *past, const struct row *row, enum past_row *is);

/* The blocks of input->blocks are full, and go. */
bool past_block(struct past *past);
/* How far it is: between packets, and at the end; the latter takes out what is no longer so. */
bool past_commit(struct past *past);
bool past_end(struct past *past);
/* What stays of earlier exports that this one does not go on from. After past_end. */
struct past_told {
    bool
        other_packets; /* an earlier one of the same captures, as far as they are known, had them */
    bool beside;       /* one of some of these files read first what this one does not */
    bool other_options; /* one of these packets, or connections, had other options */
    uint64_t not_made;  /* rows that were open at their ends, and this one did not make */
};
const struct past_told *past_told(const struct past *past);
/* An earlier export came further, which then is what the database has. */
bool past_came_further(struct past *past);

#endif
