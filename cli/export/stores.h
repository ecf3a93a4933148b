/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_STORES_H
#define RPCRDMA_CLI_EXPORT_STORES_H

/*
 * Where rows go. Each is opened before the sandbox forbids it, and says itself what goes wrong;
 * NULL: it was said.
 */

#include "export/tables.h"
#include "options/options.h"
#include "out/out.h"

enum text_form { TEXT_NDJSON, TEXT_CSV };

/* A file per table in the folder: rpcs.ndjson, rpcs.csv; with `compress` rpcs.ndjson.zst. */
struct store *store_files(const char *folder, enum text_form form, unsigned tables, bool compress);

/* A file per table again and again, of rows that are whole: each is written as NAME.part, and
 * renamed when the next begins. */
struct ring_task {
    const char *folder;
    enum text_form form;
    unsigned tables;
    bool compress, no_sandbox;
    uint64_t bytes;        /* when a file has so many, the next ones begin; 0: whatever they have */
    int64_t duration_ns;   /* or when they are so old; 0: however old they are */
    const int64_t *now_ns; /* by this time, the packets'; NULL: by our clock */
    uint64_t files;        /* keep so many of a table; 0: all */
};
struct store *store_ring(const struct ring_task *task);

/* All of them in one stream: NDJSON, each object with its "table" first; CSV: one table only. */
struct store *store_stream(struct out *out, enum text_form form);
/* The first line of CSV. */
void store_stream_header(struct out *out, enum table_id table);

/*
 * An SQLite database: made, or added to; what is in it already stays and is not added again, but
 * what an earlier export of the same captures left open (past.h). A row of captures replaces the
 * one before. Without store_sqlite_finish, by a process that may open files, the database is whole,
 * but its keys, indexes and views are made by the next export only.
 */
struct database_name {
    const char *given; /* for messages */
    char *resolved;    /* no symbolic link leads to it */
    int fd;            /* of it; -1: none */
};

bool store_sqlite_built(void);
/* Whether there can be one, before the others, and before the sandbox is entered; else with one
 * line in `error`. */
bool store_sqlite_prepare(char *error, size_t size);
/* bytes: of its cache. `quiet`: rows that are left out, being there, are not told. `shared`: others
 * read what is committed meanwhile. */
struct store *store_sqlite(const struct database_name *name, size_t bytes, bool quiet, bool shared);
/* An exit status. */
int store_sqlite_finish(const struct database_name *name, size_t bytes, bool quiet);

#endif
