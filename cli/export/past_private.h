/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_PAST_PRIVATE_H
#define RPCRDMA_CLI_EXPORT_PAST_PRIVATE_H

/* past.c has the rows, past_known.c which exports this one goes on from. */

#include <glib.h>

#include "export/past.h"

enum past_statement {
    RECORD,
    MARK,
    LIST,
    FIND,
    SHARE,
    TAKE,
    COUNT_OPEN,
    OF_EXPORT,
    OF_FIRST,
    OF_CAPTURE,
    OF_HEAD,
    OF_NAME,
    WITHIN,
    N_STATEMENTS
};

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
    bool same;     /* they are this one's, as they are */
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
    struct known *known;             /* its captures */
    GPtrArray *before;               /* of struct earlier: those that may be of the same packets */
    GHashTable *by_export;           /* these, by their numbers, and others that were met */
    bool whole;                      /* its files were exported before, to their end */
    bool other_options; /* they are there as other options have them, as far as is known */
    uint64_t asked;     /* after so many packets whether an earlier one came further: */
    bool further;
    bool failed;
    /* of the row that was found last: who left it open that this one goes on from */
    GArray *taken; /* of int64_t */
    bool shared;
    struct past_told told;
};

bool past_ask(const struct past *past, const char *sql, int64_t *value);
void past_bind(const struct past *past, enum past_statement which, const int64_t *numbers, int n);

/*
 * Packets are the same where the hash of all to them is; three things are asked of that. Whether
 * what another read is what this one read first, as far as is known by now: where it is not, this
 * one has not come as far.
 */
bool past_is_read(const struct past *past, const struct earlier *one);
/* And this one goes on from it. */
bool past_is_beginning(const struct past *past, const struct earlier *one);
/* Whether this one's packets are what another with its options, which has more, read first. */
bool past_is_within(struct past *past);

/* That with this number; NULL: none, or it is not known, and past->failed. */
struct earlier *past_earlier(struct past *past, int64_t export);
void past_known_free(struct known *known);

#endif
