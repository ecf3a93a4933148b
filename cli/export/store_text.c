/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/stores.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/compress.h"
#include "out/json_writer.h"
#include "source/create.h"
#include "source/privilege.h"

struct text_store {
    struct store store;
    enum text_form form;
    struct out *stream; /* NULL: files */
    char *folder;
    struct {
        struct out out;
        struct compress *compress;
        char name[64];
        bool open;
    } files[N_TABLES];
    bool failed;
};

static void put_ndjson(struct out *out, const struct row *row, bool named)
{
    const struct table *table = &tables[row->table];
    struct json json = {.out = out};

    json_open(&json, '{');
    if (named)
        json_key(&json, KEY(table)), json_plain(&json, table->name);
    for (size_t i = 0; i < table->n_columns; i++) {
        const struct cell *cell = &row->cells[i];

        if (cell->kind == CELL_NULL)
            continue;
        /* of the table of columns, export/tables.def */
        json_key(&json, (struct json_key){table->columns[i].name});
        if (cell->kind == CELL_TEXT)
            json_string(&json, cell->is.text, cell->n);
        else if (table->columns[i].type == COLUMN_BOOL)
            json_bool(&json, cell->is.number != 0);
        else if (table->columns[i].type == COLUMN_ID) /* a reader's numbers may have 53 bits */
            json_hex(&json, (uint64_t)cell->is.number, 16);
        else
            json_i64(&json, cell->is.number);
    }
    json_close(&json, '}');
    json_end(&json);
}

/* RFC 4180: quoted where it has to be. A formula, for a spreadsheet, is text like any other. */
static void put_csv_text(struct out *out, const char *text, size_t n)
{
    size_t plain = 0;

    while (plain < n && !strchr("\",\r\n", text[plain]))
        plain++;
    if (n > 0 && plain == n) {
        out_bytes(out, text, n);
        return;
    }
    out_char(out, '"');
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"')
            out_char(out, '"');
        out_char(out, text[i]);
    }
    out_char(out, '"');
}

static void put_csv_header(struct out *out, const struct table *table)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        if (i > 0)
            out_char(out, ',');
        out_text(out, table->columns[i].name);
    }
    out_line(out);
}

static void put_csv(struct out *out, const struct row *row)
{
    const struct table *table = &tables[row->table];
    char buffer[CELL_SHOWN];

    for (size_t i = 0; i < table->n_columns; i++) {
        const struct cell *cell = &row->cells[i];

        if (i > 0)
            out_char(out, ',');
        if (cell->kind == CELL_TEXT) {
            size_t n;
            const char *text = cell_shown(cell, buffer, &n);

            put_csv_text(out, text, n);
        } else if (cell->kind == CELL_INT) {
            out_i64(out, cell->is.number);
        }
    }
    out_line(out);
}

static bool fail(struct text_store *text, enum table_id table, int error)
{
    if (!text->failed)
        complain("%s/%s: %s", text->folder, text->files[table].name, strerror(error));
    text->failed = true;
    return false;
}

static bool put_row(struct store *store, const struct row *row)
{
    struct text_store *text = (struct text_store *)store;
    struct out *out = text->stream ? text->stream : &text->files[row->table].out;

    if (text->form == TEXT_NDJSON)
        put_ndjson(out, row, text->stream);
    else
        put_csv(out, row);
    if (out->error == 0)
        return true;
    return text->stream ? false : fail(text, row->table, out->error);
}

static int end(struct store *store, int status)
{
    struct text_store *text = (struct text_store *)store;

    for (enum table_id table = 0; table < N_TABLES; table++) {
        struct out *out = &text->files[table].out;
        int fd = out->fd, error;

        if (!text->files[table].open)
            continue;
        out_flush(out);
        error = text->files[table].compress ? compress_end(text->files[table].compress) : 0;
        if (out_close(out) != 0)
            error = out->error;
        if (create_is_gone(fd)) {
            if (!text->failed)
                complain("%s/%s: it was removed while it was written to: all of it is lost",
                         text->folder, text->files[table].name);
            text->failed = true;
        }
        if (close(fd) != 0 && error == 0)
            error = errno;
        if (error != 0)
            fail(text, table, error);
    }
    if (text->failed)
        status = EXIT_UNUSABLE;
    g_free(text->folder);
    g_free(text);
    return status;
}

static struct text_store *new_store(enum text_form form)
{
    struct text_store *text = g_new0(struct text_store, 1);

    text->store.row = put_row;
    text->store.end = end;
    text->form = form;
    return text;
}

static int open_file(struct text_store *text, int folder, enum table_id table, bool compress)
{
    char *name = text->files[table].name;
    int fd;

    snprintf(name, sizeof(text->files[table].name), "%s.%s%s", tables[table].name,
             text->form == TEXT_CSV ? "csv" : "ndjson", compress ? ".zst" : "");
    fd = create_at(folder, name, CREATE_NEW, 0666);
    if (fd < 0) {
        int error = errno;

        complain("%s/%s: %s", text->folder, name, create_error(error));
        return -1;
    }
    if (!out_open(&text->files[table].out, fd)) {
        close(fd);
        complain("out of memory");
        return -1;
    }
    text->files[table].open = true;
    if (!compress)
        return 0;
    text->files[table].compress = compress_begin(&text->files[table].out);
    if (text->files[table].compress)
        return 0;
    complain("out of memory");
    return -1;
}

struct store *store_files(const char *path, enum text_form form, unsigned wanted, bool compress)
{
    struct text_store *text = new_store(form);
    struct privilege_lent lent;
    int folder, error;
    bool good;

    text->folder = g_strdup(path);
    privilege_lend(&lent);
    folder = mkdir(path, 0777) != 0 && errno != EEXIST
                 ? -1
                 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    error = errno;
    good = folder >= 0;
    if (!good)
        complain("%s: %s", path,
                 error == ENOTDIR ? "it is no folder, or a symbolic link to one" : strerror(error));
    for (enum table_id table = 0; good && table < N_TABLES; table++)
        if (wanted >> table & 1)
            good = open_file(text, folder, table, compress) == 0;
    privilege_return(&lent);
    if (folder >= 0)
        close(folder);
    for (enum table_id table = 0; good && table < N_TABLES; table++)
        if (form == TEXT_CSV && text->files[table].open)
            put_csv_header(&text->files[table].out, &tables[table]);
    if (good)
        return &text->store;
    end(&text->store, EXIT_UNUSABLE);
    return NULL;
}

struct store *store_stream(struct out *out, enum text_form form)
{
    struct text_store *text = new_store(form);

    text->stream = out;
    return &text->store;
}

void store_stream_header(struct out *out, enum table_id table)
{
    put_csv_header(out, &tables[table]);
}
