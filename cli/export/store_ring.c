/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file per table again and again. Rows come while packets are looked at, by a process that may
 * open nothing: a creator has the folder. All tables go on to their next file together, between
 * packets; a table has none where it had no row.
 */
#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "capture/limits.h"
#include "common/complain.h"
#include "export/compress.h"
#include "export/stores.h"
#include "export/text.h"
#include "source/clock.h"
#include "source/rights/creator.h"

enum { FORMS = 2 * N_TABLES + 1 }; /* each as it is written, and whole; NULL */

struct ring_file {
    struct out out;
    struct compress *compress;
    char *name; /* NULL: none is open */
    uint64_t written;
};

struct ring {
    struct store store;
    struct ring_task task;
    char *folder;
    struct creator creator;
    uint64_t number; /* of the files that are written */
    char stamp[32];
    int64_t opened_ns; /* the first of them, by the clock of task.now_ns */
    bool open;         /* there is one */
    struct ring_file files[N_TABLES];
    GQueue sets; /* of names of whole files, GPtrArray, the oldest first */
    bool failed;
};

static const char *suffix(const struct ring_task *task)
{
    static const char *const all[2][2] = {{".ndjson", ".ndjson.zst"}, {".csv", ".csv.zst"}};

    return all[task->form == TEXT_CSV][task->compress];
}

static bool fail(struct ring *ring, const char *name, int error)
{
    if (!ring->failed)
        complain("%s/%s: %s", ring->folder, name, create_error(error));
    ring->failed = true;
    return false;
}

static int on_write(void *context, const char *bytes, size_t n)
{
    struct ring_file *file = context;

    file->written += n;
    return out_write_all(file->out.fd, bytes, n);
}

static int64_t now(const struct ring *ring)
{
    return ring->task.now_ns ? *ring->task.now_ns : clock_now(CLOCK_MONOTONIC);
}

static void begin_set(struct ring *ring)
{
    time_t seconds = time(NULL);
    struct tm local;

    localtime_r(&seconds, &local);
    strftime(ring->stamp, sizeof(ring->stamp), "%Y%m%d%H%M%S", &local);
    ring->number++;
    ring->opened_ns = now(ring);
    ring->open = true;
}

/* The descriptor is its, or closed. False with errno. */
static bool begin_out(struct ring_file *file, int fd, bool compress)
{
    bool good = out_open(&file->out, fd);

    if (good && compress) {
        file->compress = compress_begin(&file->out);
        if (!file->compress)
            out_close(&file->out);
        good = file->compress;
    } else if (good) {
        file->out.write = on_write;
        file->out.write_context = file;
    }
    if (good)
        return true;
    close(fd);
    errno = ENOMEM;
    return false;
}

static bool open_file(struct ring *ring, enum table_id table)
{
    struct ring_file *file = &ring->files[table];
    int fd;

    if (!ring->open)
        begin_set(ring);
    file->name = g_strdup_printf("%s_%05" G_GUINT64_FORMAT "_%s%s" CREATOR_PART, tables[table].name,
                                 ring->number, ring->stamp, suffix(&ring->task));
    file->written = 0;
    fd = creator_create(&ring->creator, file->name);
    if (fd < 0 || !begin_out(file, fd, ring->task.compress)) {
        fail(ring, file->name, errno);
        g_clear_pointer(&file->name, g_free);
        return false;
    }
    if (ring->task.form == TEXT_CSV)
        text_header(&file->out, &tables[table]);
    return true;
}

static bool put_row(struct store *store, const struct row *row)
{
    struct ring *ring = (struct ring *)store;
    struct ring_file *file = &ring->files[row->table];

    if (ring->failed || (!file->name && !open_file(ring, row->table)))
        return false;
    text_row(&file->out, row, ring->task.form, false);
    return file->out.error == 0 || fail(ring, file->name, file->out.error);
}

/* What is compressed is counted when it comes out. */
static uint64_t bytes_of(const struct ring_file *file)
{
    return file->compress ? compress_written(file->compress) : file->written + file->out.n;
}

static bool due(struct store *store)
{
    struct ring *ring = (struct ring *)store;

    if (!ring->open || ring->failed)
        return false;
    if (ring->task.duration_ns > 0 &&
        capture_limit_passed(&ring->opened_ns, now(ring), ring->task.duration_ns))
        return true;
    for (enum table_id table = 0; table < N_TABLES && ring->task.bytes > 0; table++)
        if (ring->files[table].name && bytes_of(&ring->files[table]) >= ring->task.bytes)
            return true;
    return false;
}

/* The file is whole, has its name and stands in `set`. One that is not keeps the name that says so.
 */
static void end_file(struct ring *ring, struct ring_file *file, GPtrArray *set)
{
    int fd = file->out.fd, error;

    out_flush(&file->out);
    error = file->compress ? compress_end(file->compress) : 0;
    file->compress = NULL;
    if (out_close(&file->out) != 0)
        error = file->out.error;
    if (error == 0 && create_is_gone(fd))
        error = ENOENT;
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error == 0 && !creator_publish(&ring->creator, file->name))
        error = errno;
    if (error != 0)
        fail(ring, file->name, error);
    else
        g_ptr_array_add(set, g_strndup(file->name, strlen(file->name) - strlen(CREATOR_PART)));
    g_clear_pointer(&file->name, g_free);
}

static void remove_set(struct ring *ring, GPtrArray *set)
{
    for (guint i = 0; i < set->len; i++)
        if (!creator_remove(&ring->creator, set->pdata[i]) && errno != ENOENT)
            complain("%s/%s: %s", ring->folder, (char *)set->pdata[i], create_error(errno));
    g_ptr_array_free(set, TRUE);
}

static bool commit(struct store *store)
{
    struct ring *ring = (struct ring *)store;
    GPtrArray *set = g_ptr_array_new_with_free_func(g_free);

    for (enum table_id table = 0; table < N_TABLES; table++)
        if (ring->files[table].name)
            end_file(ring, &ring->files[table], set);
    ring->open = false;
    g_queue_push_tail(&ring->sets, set);
    while (ring->task.files > 0 && ring->sets.length > ring->task.files)
        remove_set(ring, g_queue_pop_head(&ring->sets));
    if (ring->task.files == 0) /* nobody asks for them */
        g_ptr_array_free(g_queue_pop_head(&ring->sets), TRUE);
    return !ring->failed;
}

static int end(struct store *store, int status)
{
    struct ring *ring = (struct ring *)store;

    if (ring->open)
        commit(store);
    if (ring->failed)
        status = EXIT_UNUSABLE;
    while (!g_queue_is_empty(&ring->sets))
        g_ptr_array_free(g_queue_pop_head(&ring->sets), TRUE);
    creator_end(&ring->creator);
    g_free(ring->folder);
    g_free(ring);
    return status;
}

/* It may create what this writes and nothing else. */
static bool begin_creator(struct ring *ring, int folder)
{
    char *forms[FORMS] = {NULL}, error[200] = "";
    struct creator_task task = {
        .folder = folder,
        .how = CREATE_NEW,
        .mode = 0666,
        .names = {.stem = "", .forms = (const char *const *)forms, .suffix = ""}};
    unsigned n = 0;

    for (enum table_id table = 0; table < N_TABLES; table++) {
        if (!(ring->task.tables >> table & 1))
            continue;
        forms[n] = g_strconcat(tables[table].name, "_#_#", suffix(&ring->task), NULL);
        forms[n + 1] = g_strconcat(forms[n], CREATOR_PART, NULL);
        n += 2;
    }
    task.removable = ring->task.files > 0 ? (ring->task.files + 1) * (n / 2) : 0;
    creator_begin(&ring->creator, &task, ring->task.no_sandbox, error, sizeof(error));
    for (unsigned i = 0; i < n; i++)
        g_free(forms[i]);
    if (*error)
        complain("%s: %s", ring->folder, error);
    return !*error;
}

struct store *store_ring(const struct ring_task *task)
{
    struct ring *ring;
    int folder = text_folder(task->folder);
    bool good;

    if (folder < 0)
        return NULL;
    ring = g_new0(struct ring, 1);
    *ring = (struct ring){
        .store = {.row = put_row, .commit = commit, .due = due, .end = end},
        .task = *task,
        .folder = g_strdup(task->folder),
        .creator = {.socket = -1, .child = -1},
    };
    g_queue_init(&ring->sets);
    good = begin_creator(ring, folder);
    close(folder);
    if (good)
        return &ring->store;
    end(&ring->store, EXIT_UNUSABLE);
    return NULL;
}
