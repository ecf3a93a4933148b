/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_PAST_PRIVATE_H
#define RPCRDMA_CLI_EXPORT_PAST_PRIVATE_H

/* past.c has the rows, past_known.c which exports this one goes on from. */

#include <glib.h>

#include "export/past.h"

enum past_statement { RECORD, LIST, FIND, SHARE, TAKE, N_STATEMENTS };

/* Another export that is in the database. This one goes on from it where both have the same options
 * and it read what this one reads first, so that rows other than the open ones are the same: the
 * hash of packets is the same where it ended. */
struct earlier {
    int64_t export, packets_hash;
    uint64_t packets;
    bool ours;     /* it has this one's options */
    bool begins;   /* that is known; else `watch` tells */
    bool named;    /* files that have grown have their names: it is of these in any case */
    bool known;    /* all of its files are among this one's, as they begin */
    bool of_these; /* some are, as they are or by name */
    bool complete;
    guint watch;  /* in input->watch; beyond it: nothing tells */
    bool touched; /* this one made rows that it left open */
    uint64_t met; /* how many, and has them open, too */
};

struct past {
    const struct sqlite_calls *lib;
    sqlite3 *db;
    sqlite3_stmt *statement[N_STATEMENTS];
    bool any;                        /* rows are open: else none is looked for */
    const struct store_input *input; /* NULL: what nobody can go on with, as a device */
    int64_t own;                     /* this export's number */
    GArray *before;                  /* of struct earlier: the others */
    GHashTable *by_export;           /* these, by their numbers */
    bool again; /* its captures were exported before, to their end: then the number is that */
    int64_t again_hash;   /* of the packets that they had */
    bool goes_on;         /* or in part, or other_options */
    bool other_files;     /* they are more, or longer, than before */
    bool other_options;   /* they are there as other options have them, as far as is known */
    uint64_t far_packets; /* what it needs to read to know more than before */
    int64_t far_ns;
    /* of the row that was found last: who left it open that this one goes on from */
    GArray *taken; /* of int64_t */
    bool shared;
    struct past_told told;
};

bool past_prepare(const struct past *past, const char *sql, sqlite3_stmt **statement);
bool past_ask(const struct past *past, const char *sql, int64_t *value);

/* What it read is what this one read first, as far as is known by now: where it is not, this one
 * has not come as far. */
bool past_is_read(const struct past *past, const struct earlier *one);
/* And this one goes on from it. */
bool past_is_beginning(const struct past *past, const struct earlier *one);

#endif
