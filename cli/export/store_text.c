/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/complain.h"
#include "export/stores.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <unistd.h>

#include "export/compress.h"
#include "export/text.h"
#include "source/rights/create.h"
#include "source/rights/privilege.h"

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

static bool fail(struct text_store *text, enum table_id table, int error)
{
    if (!text->failed)
        complain("%s/%s: %s", text->folder, text->files[table].name, create_error(error));
    text->failed = true;
    return false;
}

static bool put_row(struct store *store, const struct row *row)
{
    struct text_store *text = (struct text_store *)store;
    struct out *out = text->stream ? text->stream : &text->files[row->table].out;

    text_row(out, row, text->form, text->stream);
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

/* Files that were made here, and have nothing. */
static void take_back(struct text_store *text, int folder)
{
    text->failed = true; /* it was said */
    for (enum table_id table = 0; table < N_TABLES; table++)
        if (text->files[table].open)
            unlinkat(folder, text->files[table].name, 0);
}

struct store *store_files(const char *path, enum text_form form, unsigned wanted, bool compress)
{
    struct text_store *text = new_store(form);
    struct privilege_lent lent;
    int folder;
    bool good;

    text->folder = g_strdup(path);
    folder = text_folder(path);
    good = folder >= 0;
    privilege_lend(&lent);
    for (enum table_id table = 0; good && table < N_TABLES; table++)
        if (wanted >> table & 1)
            good = open_file(text, folder, table, compress) == 0;
    if (!good)
        take_back(text, folder);
    privilege_return(&lent);
    if (folder >= 0)
        close(folder);
    for (enum table_id table = 0; good && table < N_TABLES; table++)
        if (form == TEXT_CSV && text->files[table].open)
            text_header(&text->files[table].out, &tables[table]);
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
    text_header(out, &tables[table]);
}
