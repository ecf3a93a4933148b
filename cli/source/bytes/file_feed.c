/* SPDX-License-Identifier: BSD-2-Clause */
/* A file, or another descriptor, as a feed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/bytes/input.h"
#include "source/bytes/skim.h"
#include "source/rights/opened.h"

/*
 * Files are read, and mapped only for who wants headers alone (skim.h): copying into a buffer that
 * stays in the processor's cache costs what mapping pages does, the bytes are at hand then, and a
 * file that is cut short under us (a ring-buffer capture that comes round) ends early instead of
 * turning into a signal.
 */

struct file_feed {
    struct feed feed;
    int fd;
    bool borrowed; /* it stays open: others read it, too */
    bool regular;
    uint64_t size;     /* of a regular file, the most that was seen */
    struct skim *skim; /* NULL: all of it is read */
    char *path;        /* to open it again; NULL: it cannot be */
    dev_t device;
    ino_t inode;
};

/* The file's descriptor; -1 with errno where it was closed and is not to be had again. */
static int descriptor(struct file_feed *file)
{
    struct stat st;
    int fd;

    if (file->fd >= 0)
        return file->fd;
    fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_dev != file->device || st.st_ino != file->inode)) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    file->fd = fd;
    return fd;
}

static bool file_has_descriptor(const struct feed *feed)
{
    const struct file_feed *file = (const struct file_feed *)feed;

    return file->path && file->fd >= 0 && !file->skim;
}

static void file_rest(struct feed *feed)
{
    struct file_feed *file = (struct file_feed *)feed;

    if (!file_has_descriptor(feed))
        return;
    close(file->fd);
    file->fd = -1;
}

/* The end of a file that was longer before: somebody cut it. */
static ssize_t file_end(struct file_feed *file)
{
    struct stat st;

    if (!file->regular)
        return 0;
    if (descriptor(file) < 0 || fstat(file->fd, &st) != 0) {
        feed_fail(&file->feed, "%s", strerror(errno));
        return -1;
    }
    if ((uint64_t)st.st_size >= file->size) {
        __atomic_store_n(&file->size, (uint64_t)st.st_size, __ATOMIC_RELAXED);
        return 0;
    }
    feed_fail(&file->feed, "byte %" PRIu64 ": the file was cut short while it was read",
              (uint64_t)st.st_size);
    return -1;
}

static ssize_t file_read_at(const struct feed *feed, uint8_t *to, size_t n, uint64_t offset)
{
    /* nobody lets the descriptor rest while another thread reads */
    int fd = descriptor((struct file_feed *)(uintptr_t)feed);
    ssize_t got;

    if (fd < 0)
        return -1;
    do {
        got = pread(fd, to, n, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    return got;
}

static void end_skim(struct file_feed *file)
{
    skim_end(file->skim);
    file->skim = NULL;
    file->feed.skims = false;
    file->feed.soon = NULL;
    file->feed.slot = 0;
}

static ssize_t file_read(struct feed *feed, uint8_t *to, size_t n)
{
    struct file_feed *file = (struct file_feed *)feed;
    ssize_t got;

    if (file->skim && skim_fill(file->skim, to, n, feed->offset)) {
        feed->offset += n;
        feed->soon = skim_soon(file->skim, &feed->slot);
        return (ssize_t)n;
    }
    if (file->skim)
        end_skim(file);
    if (file->regular) {
        got = file_read_at(feed, to, n, feed->offset);
    } else {
        do {
            got = read(file->fd, to, n);
        } while (got < 0 && errno == EINTR);
    }
    if (got < 0)
        feed_fail(feed, "byte %" PRIu64 ": %s", feed->offset, strerror(errno));
    if (got == 0)
        return file_end(file);
    if (got > 0)
        feed->offset += (uint64_t)got;
    return got;
}

static void file_progress(const struct feed *feed, uint64_t offset, uint64_t *read, uint64_t *size)
{
    *read = offset;
    *size = __atomic_load_n(&((const struct file_feed *)feed)->size, __ATOMIC_RELAXED);
}

static void file_skim(struct feed *feed, uint64_t record, bool blocks, bool swapped)
{
    struct file_feed *file = (struct file_feed *)feed;

    if (file->regular && file->fd >= 0 && !file->skim)
        file->skim = skim_begin(file->fd, record, blocks, swapped);
    feed->skims = file->skim != NULL;
}

static void file_free(struct feed *feed)
{
    struct file_feed *file = (struct file_feed *)feed;

    skim_end(file->skim);

    /* whoever reads the same descriptor after us goes on where we stopped */
    if (file->fd == STDIN_FILENO && file->regular)
        (void)lseek(file->fd, (off_t)feed->offset, SEEK_SET);
    if (file->fd > STDIN_FILENO && !file->borrowed)
        close(file->fd);
    free(file->path);
    free(feed->error);
    free(feed->name);
    free(file);
}

/* What the descriptor is. False with the error set. */
static bool file_look(struct file_feed *file, bool *live)
{
    struct stat st;
    off_t at;

    if (fstat(file->fd, &st) != 0) {
        feed_fail(&file->feed, "%s", strerror(errno));
        return false;
    }
    if (S_ISDIR(st.st_mode)) {
        feed_fail(&file->feed, "%s: name the files in it (report and export take folders)",
                  strerror(EISDIR));
        return false;
    }
    file->regular = S_ISREG(st.st_mode);
    *live = !file->regular;
    if (!file->regular)
        return true;
    file->size = (uint64_t)st.st_size;
    file->device = st.st_dev;
    file->inode = st.st_ino;
    at = lseek(file->fd, 0, SEEK_CUR); /* standard input may have been read before */
    file->feed.offset = at > 0 ? (uint64_t)at : 0;
    file->feed.read_at = file_read_at;
    file->feed.progress = file_progress;
    posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return true;
}

/* A file's name as messages have it: of a long one the end, so that there is room for the rest. */
static char *spoken(const char *path)
{
    enum { LONG = 240 };
    size_t n = strlen(path);
    char *name;

    if (n <= LONG)
        return strdup(path);
    name = malloc(LONG + sizeof("..."));
    if (name)
        snprintf(name, LONG + sizeof("..."), "...%s", path + n - LONG);
    return name;
}

struct input *input_open(const char *path, size_t window, char *error, size_t size)
{
    struct file_feed *file = calloc(1, sizeof(*file));
    bool standard_input = strcmp(path, "-") == 0, live = false;
    struct input *in = NULL;

    snprintf(error, size, "out of memory");
    if (file)
        file->feed.name = spoken(standard_input ? "standard input" : path);
    if (!file || !file->feed.name) {
        free(file);
        return NULL;
    }
    file->feed.read = file_read;
    file->feed.has_descriptor = file_has_descriptor;
    file->feed.rest = file_rest;
    file->feed.skim = file_skim;
    file->feed.free = file_free;
    file->fd = standard_input ? STDIN_FILENO : opened_take(path, &file->borrowed);
    if (file->fd < 0) {
        snprintf(error, size, "%s: %s", file->feed.name, strerror(errno));
    } else if (!file_look(file, &live)) {
        snprintf(error, size, "%s", feed_error(&file->feed));
    } else {
        uint64_t offset = file->feed.offset;

        if (file->regular && !file->borrowed && !standard_input)
            file->path = strdup(path);
        in = input_of(&file->feed);
        if (!in)
            return NULL;
        in->base = offset;
        in->live = live;
        if (window > 0 && window < in->window)
            in->window = window;
        return in;
    }
    file_free(&file->feed);
    return NULL;
}
