/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "source/clock.h"
#include "source/privilege.h"
#include "source/source.h"

enum {
    KILOBYTE = 1000,
    FLUSH_NS = 500000000,
    AT_ONCE = 64, /* interfaces that are written one by one */
};

struct texts {
    char *name, *description, *filter, *comment;
};

/* Small: there may be as many as a file may have. */
struct capture_interface {
    uint32_t linktype, snaplen;
    uint32_t file, index;             /* it was written to that one last, and is there so */
    struct texts *texts;              /* NULL: none */
    struct pcapng_statistics *counts; /* NULL: nothing is known. Its comment is owned */
};

static void free_interface(gpointer data)
{
    struct capture_interface *one = data;

    if (one->texts) {
        g_free(one->texts->name);
        g_free(one->texts->description);
        g_free(one->texts->filter);
        g_free(one->texts->comment);
    }
    g_free(one->texts);
    if (one->counts)
        g_free((char *)one->counts->comment);
    g_free(one->counts);
}

static struct capture_interface *interface_at(const struct capture_files *files, uint32_t number)
{
    return &g_array_index(files->interfaces, struct capture_interface, number);
}

gboolean capture_limit_parse(const char *name, const char *text, struct capture_limits *limits,
                             GError **error)
{
    uint64_t value;

    if (g_str_has_prefix(text, "duration:")) {
        if (!options_number(name, text + strlen("duration:"), 1000000000, &value, error))
            return FALSE;
        limits->duration_ns = (int64_t)value * 1000000000;
    } else if (g_str_has_prefix(text, "filesize:")) {
        if (!options_number(name, text + strlen("filesize:"), UINT64_MAX / KILOBYTE, &value, error))
            return FALSE;
        limits->bytes = value * KILOBYTE;
    } else if (g_str_has_prefix(text, "files:")) {
        if (!options_number(name, text + strlen("files:"), UINT32_MAX, &limits->files, error))
            return FALSE;
    } else {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "%s needs duration:SECONDS, filesize:KILOBYTES or files:N, not \"%s\"", name,
                    text);
        return FALSE;
    }
    return TRUE;
}

bool capture_files_several(const struct capture_files *files)
{
    return files->next.bytes > 0 || files->next.duration_ns > 0 || files->on_demand;
}

static size_t stem_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');

    return dot && (!slash || dot > slash + 1) ? (size_t)(dot - path) : strlen(path);
}

/* Of several files, as dumpcap names them: NAME_00001_20261120091839.pcapng */
static char *name_next(struct capture_files *files)
{
    time_t seconds = time(NULL);
    struct tm local;
    char stamp[32];
    size_t stem = stem_of(files->path);

    localtime_r(&seconds, &local);
    strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &local);
    return g_strdup_printf("%.*s_%05" G_GUINT64_FORMAT "_%s%s", (int)stem, files->path,
                           ++files->number, stamp, files->path + stem);
}

static void say(struct capture_files *files, int error)
{
    bool readable = error == ENOSPC && files->writer.written > 0;

    if (!files->failed)
        complain("%s: %s%s", files->name, create_error(error),
                 readable ? "; what was written up to here can be read" : "");
    files->failed = true;
}

/* A file without a name is lost when it is closed: nobody learns that packets are in it. */
static void say_if_gone(struct capture_files *files)
{
    uint64_t lost = files->writer.packets - files->before;

    if (files->failed || files->writer.fd < 0 || !create_is_gone(files->writer.fd))
        return;
    complain("%s: it was removed while it was written to: %" G_GUINT64_FORMAT
             " packets in it are lost",
             files->name, lost);
    files->failed = true;
    files->writer.packets -= lost;
    files->bytes -= files->writer.written;
}

bool capture_files_prepare(struct capture_files *files, bool no_sandbox)
{
    struct privilege_lent lent;
    const char *name;
    char error[200] = "";
    int folder;

    files->creator.socket = -1;
    if (strcmp(files->path, "-") == 0 || create_standard(files->path) >= 0)
        return true;
    privilege_lend(&lent);
    folder = create_folder(files->path, &name);
    if (folder < 0)
        snprintf(error, sizeof(error), "%s", strerror(errno));
    privilege_return(&lent);
    if (folder >= 0) {
        static const char *const ring[] = {"_#_#", NULL}, *const one[] = {"", NULL};
        size_t stem = stem_of(files->path);
        struct creator_task task = {
            .folder = folder,
            .how = capture_files_several(files) ? CREATE_NEW : CREATE_OVER,
            .mode = 0600, /* what is in it is nobody else's business */
            .names = {.stem = name,
                      .stem_length = stem - (size_t)(name - files->path),
                      .forms = capture_files_several(files) ? ring : one,
                      .suffix = files->path + stem},
            /* the one that is written to may stay empty, and goes too */
            .removable = capture_files_several(files) ? (size_t)files->next.files + 1 : 0};

        creator_begin(&files->creator, &task, no_sandbox, error, sizeof(error));
        close(folder);
    }
    if (*error)
        complain("%s: %s", files->path, error);
    return !*error;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* A name of a ring that is taken, or was meant to be found, is left alone: the next number is free.
 */
static int create_one(struct capture_files *files)
{
    enum { TRIES = 1000 };
    int fd = -1;

    for (int i = 0; i < TRIES; i++) {
        g_free(files->name);
        files->name = capture_files_several(files) ? name_next(files) : g_strdup(files->path);
        fd = creator_create(&files->creator, last_part(files->name));
        if (fd >= 0 || errno != EEXIST || !capture_files_several(files))
            break;
    }
    return fd;
}

static int open_next(struct capture_files *files)
{
    struct stat st;
    int fd, standard = create_standard(files->path);

    if (strcmp(files->path, "-") == 0)
        standard = STDOUT_FILENO;
    if (standard < 0) {
        fd = create_one(files);
        if (!capture_files_several(files)) { /* there is nothing more to do for it */
            int error = errno;

            creator_end(&files->creator);
            errno = error;
        }
    } else {
        fd = fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        files->name = g_strdup(standard == STDOUT_FILENO ? "standard output" : files->path);
    }
    if (fd < 0) {
        say(files, errno);
        return -1;
    }
    files->awaited = fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
    files->count++;
    files->before = files->writer.packets;
    files->opened_ns = clock_now(CLOCK_MONOTONIC);
    return fd;
}

/* Whatever becomes of us, each file can be read from its beginning on. */
static void write_now(struct capture_files *files)
{
    if (!files->failed && !pcapng_writer_flush(&files->writer)) {
        if (files->writer.error != EPIPE)
            say(files, files->writer.error);
        files->failed = true;
    }
}

bool capture_files_open(struct capture_files *files)
{
    int fd;

    files->interfaces = g_array_new(FALSE, FALSE, sizeof(struct capture_interface));
    g_array_set_clear_func(files->interfaces, free_interface);
    files->present = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    files->current = 1;
    files->names = g_queue_new();
    fd = files->on_demand ? -1 : open_next(files);
    if (fd < 0 && !files->on_demand)
        return false;
    if (pcapng_writer_open(&files->writer, fd, NULL)) {
        if (files->on_demand)
            files->writer.n = 0; /* there is no file yet */
        write_now(files);
        return true;
    }
    complain("out of memory");
    files->failed = true;
    return false;
}

/* A copy; NULL where there is no room. */
static char *keep(struct capture_files *files, const char *text)
{
    size_t size = text ? strlen(text) + SOURCE_TEXT_ADDED : 0;

    if (!text)
        return NULL;
    if (files->texts + size > source_texts_most) {
        files->texts_left_out++;
        return NULL;
    }
    files->texts += size;
    return g_strdup(text);
}

/* Of the current file. */
static void write_interface(struct capture_files *files, uint32_t number)
{
    static const struct texts none;
    struct capture_interface *one = interface_at(files, number);
    const struct texts *texts = one->texts ? one->texts : &none;

    one->file = files->current;
    one->index = files->present->len;
    g_array_append_val(files->present, number);
    pcapng_write_interface(&files->writer, &(struct pcapng_interface){
                                               .linktype = one->linktype,
                                               .snaplen = one->snaplen,
                                               .name = texts->name,
                                               .description = texts->description,
                                               .filter = texts->filter,
                                               .comment = texts->comment,
                                           });
}

void capture_files_interface(struct capture_files *files, const struct pcapng_interface *one)
{
    struct texts texts = {keep(files, one->name), keep(files, one->description),
                          keep(files, one->filter), keep(files, one->comment)};
    struct capture_interface copy = {.linktype = one->linktype, .snaplen = one->snaplen};

    if (texts.name || texts.description || texts.filter || texts.comment) {
        copy.texts = g_memdup2(&texts, sizeof(texts));
        files->texts += sizeof(texts) + SOURCE_TEXT_ADDED;
    }
    g_array_append_val(files->interfaces, copy);
    if (files->by_packet)
        return;
    write_interface(files, files->interfaces->len - 1);
    if (files->interfaces->len <= AT_ONCE)
        write_now(files);
}

void capture_files_statistics(struct capture_files *files, uint32_t number,
                              const struct pcapng_statistics *counts)
{
    struct capture_interface *one = interface_at(files, number);

    if (!counts->comment && !counts->received_known && !counts->interface_dropped_known &&
        !counts->dropped_known && !counts->delivered_known)
        return;
    if (!one->counts)
        one->counts = g_new0(struct pcapng_statistics, 1);
    if (one->counts->comment)
        files->texts -= strlen(one->counts->comment) + SOURCE_TEXT_ADDED;
    g_free((char *)one->counts->comment);
    *one->counts = *counts;
    one->counts->comment = keep(files, counts->comment);
}

/* Of a ring a file in which nothing arrived is of no use to anybody; its first file shows that
 * there was nothing. */
static void remove_empty(struct capture_files *files)
{
    bool empty = files->writer.written == 0 ||
                 (files->by_packet && files->writer.interfaces == 0 && files->count > 1);

    if (!capture_files_several(files) || !empty || files->writer.swallowed)
        return;
    if (creator_remove(&files->creator, last_part(files->name))) {
        files->count--;
        files->bytes -= files->writer.written;
    }
}

/* The end of a file: the counts so far. Of a full disk the block that did not fit was taken back,
 * and there may be room for this, if there was for the interface. */
static void end_file(struct capture_files *files)
{
    int error;

    pcapng_writer_flush(&files->writer);
    error = files->writer.error;
    files->writer.error = 0;
    for (guint i = 0; i < files->writer.interfaces && !files->writer.swallowed; i++) {
        const struct capture_interface *one =
            interface_at(files, g_array_index(files->present, uint32_t, i));

        if (one->counts && (error == 0 || error == ENOSPC || error == EDQUOT))
            pcapng_write_statistics(&files->writer, i, clock_now(CLOCK_REALTIME), one->counts);
    }
    if (!pcapng_writer_flush(&files->writer) && error == 0)
        error = files->writer.error;
    files->bytes += files->writer.written;
    say_if_gone(files);
    files->packets = files->writer.packets;
    if (files->writer.fd >= 0 && close(files->writer.fd) != 0 && error == 0)
        error = errno;
    files->writer.error = error;
    if (error == EPIPE)
        files->failed = true; /* the reader has enough */
    else if (error != 0)
        say(files, error);
    remove_empty(files);
}

static bool enough_files(struct capture_files *files)
{
    files->enough |= files->stop.files > 0 && files->count >= files->stop.files;
    return files->enough;
}

void capture_files_close(struct capture_files *files)
{
    for (guint i = 0; i < files->present->len; i++)
        files->refresh(files->context, g_array_index(files->present, uint32_t, i));
    end_file(files);
    files->writer.fd = -1;
    if (files->next.files > 0 && !files->failed)
        g_queue_push_tail(files->names, g_strdup(files->name));
    if (files->on_demand)
        enough_files(files);
}

bool capture_files_begin(struct capture_files *files, const char *comment)
{
    int fd;

    if (files->failed || files->enough)
        return false;
    if (files->next.files > 0 && files->names->length >= files->next.files) {
        char *oldest = g_queue_pop_head(files->names);

        if (!creator_remove(&files->creator, last_part(oldest)) && errno != ENOENT)
            complain("%s: %s", oldest, create_error(errno));
        g_free(oldest);
    }
    fd = open_next(files);
    if (fd < 0) {
        files->writer.error = EBADF;
        return false;
    }
    pcapng_writer_again(&files->writer, fd, comment);
    g_array_set_size(files->present, 0);
    files->current++;
    return true;
}

static void begin_next(struct capture_files *files, uint64_t frame)
{
    if (enough_files(files))
        return;
    capture_files_close(files);
    if (!capture_files_begin(files, NULL))
        return;
    for (guint i = 0; !files->by_packet && i < files->interfaces->len; i++)
        write_interface(files, i);
    if (files->began)
        files->began(files->context, frame);
    write_now(files);
}

void capture_files_replay(struct capture_files *files, uint32_t number,
                          const struct rpcrdma_packet *packet)
{
    if (files->failed)
        return;
    if (interface_at(files, number)->file != files->current)
        write_interface(files, number);
    pcapng_write_packet(&files->writer, interface_at(files, number)->index, packet,
                        SOURCE_REPLAYED);
    /* it was counted, unless there was no room for it */
    files->writer.packets = files->before;
}

void capture_files_packet(struct capture_files *files, uint32_t number,
                          const struct rpcrdma_packet *packet, const char *comment)
{
    if (files->enough || files->failed)
        return;
    if ((files->next.bytes > 0 && files->writer.written >= files->next.bytes) ||
        (files->next.duration_ns > 0 &&
         clock_now(CLOCK_MONOTONIC) - files->opened_ns >= files->next.duration_ns))
        begin_next(files, packet->frame);
    if (files->enough || files->failed)
        return;
    if (interface_at(files, number)->file != files->current)
        write_interface(files, number);
    pcapng_write_packet(&files->writer, interface_at(files, number)->index, packet, comment);
    files->packets = files->writer.packets;
    if (files->writer.error != 0) {
        if (files->writer.error != EPIPE)
            say(files, files->writer.error);
        files->failed = true;
        return;
    }
    if (files->stop.bytes > 0 && files->writer.written >= files->stop.bytes)
        files->enough = true;
}

void capture_files_flush(struct capture_files *files)
{
    int64_t at = clock_now(CLOCK_MONOTONIC);

    if (!files->awaited && at - files->flushed_ns < FLUSH_NS)
        return;
    files->flushed_ns = at;
    write_now(files);
    say_if_gone(files);
    files->packets = files->writer.packets;
}

bool capture_files_counts(const struct capture_files *files, uint32_t number, const char **name,
                          const struct pcapng_statistics **counts)
{
    const struct capture_interface *one = interface_at(files, number);

    *name = one->texts && one->texts->name ? one->texts->name : "?";
    *counts = one->counts;
    return one->counts != NULL;
}

bool capture_files_end(struct capture_files *files)
{
    if (files->writer.buffer && files->writer.fd >= 0)
        end_file(files);
    /* a reader that went away is no failure */
    return !files->failed || files->writer.error == EPIPE;
}

void capture_files_free(struct capture_files *files)
{
    creator_end(&files->creator);
    free(files->writer.buffer);
    if (files->interfaces)
        g_array_free(files->interfaces, TRUE);
    if (files->present)
        g_array_free(files->present, TRUE);
    if (files->names)
        g_queue_free_full(files->names, g_free);
    g_free(files->name);
}
