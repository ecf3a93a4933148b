/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/opened.h"
#include "source/spill.h"

/*
 * Files are read, not mapped: copying into a buffer that stays in the processor's cache costs what
 * mapping pages does, the bytes are at hand then, and a file that is cut short under us (a
 * ring-buffer capture that comes round) ends early instead of turning into a signal.
 */

static void say(char **to, const char *name, const char *format, va_list args)
{
    char line[FEED_ERROR_SIZE];
    int n = snprintf(line, sizeof(line), "%s: ", name);

    if (n > 0 && n < FEED_ERROR_SIZE)
        vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
    feed_set_error(to, line);
}

void feed_set_error(char **error, const char *line)
{
    char *copy = strdup(line);

    free(*error);
    *error = copy;
}

void feed_fail(struct feed *feed, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(&feed->error, feed->name, format, args);
    va_end(args);
    feed->failed = true;
}

void input_fail(struct input *in, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(&in->error, in->name, format, args);
    va_end(args);
    in->failed = true;
}

/* -- a descriptor as a feed ---------------------------------------------------------------------
 */

struct file_feed {
    struct feed feed;
    int fd;
    bool borrowed; /* it stays open: others read it, too */
    bool regular;
    uint64_t size; /* of a regular file, the most that was seen */
    char *path;    /* to open it again; NULL: it cannot be */
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

    return file->path && file->fd >= 0;
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

static ssize_t file_read(struct feed *feed, uint8_t *to, size_t n)
{
    struct file_feed *file = (struct file_feed *)feed;
    ssize_t got;

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

static void file_free(struct feed *feed)
{
    struct file_feed *file = (struct file_feed *)feed;

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
        feed_fail(&file->feed, "%s", strerror(EISDIR));
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

static struct input *begin(const char *path, int fd, size_t window, char *error, size_t size)
{
    struct file_feed *file = calloc(1, sizeof(*file));
    bool standard_input = fd < 0 && strcmp(path, "-") == 0, live = false;
    struct input *in = NULL;

    snprintf(error, size, "out of memory");
    if (file)
        file->feed.name = spoken(standard_input ? "standard input" : path);
    if (!file || !file->feed.name) {
        free(file);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    file->feed.read = file_read;
    file->feed.has_descriptor = file_has_descriptor;
    file->feed.rest = file_rest;
    file->feed.free = file_free;
    file->fd = fd >= 0 ? fd : standard_input ? STDIN_FILENO : opened_take(path, &file->borrowed);
    if (file->fd < 0) {
        snprintf(error, size, "%s: %s", file->feed.name, strerror(errno));
    } else if (!file_look(file, &live)) {
        snprintf(error, size, "%s", feed_error(&file->feed));
    } else {
        uint64_t offset = file->feed.offset;

        if (file->regular && !file->borrowed && fd < 0 && !standard_input)
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

struct input *input_open(const char *path, size_t window, char *error, size_t size)
{
    return begin(path, -1, window, error, size);
}

struct input *input_open_fd(int fd, const char *name, char *error, size_t size)
{
    return begin(name, fd, 0, error, size);
}

/* -- any feed -----------------------------------------------------------------------------------
 */

struct input *input_of(struct feed *feed)
{
    struct input *in = calloc(1, sizeof(*in));

    if (in)
        in->name = strdup(feed->name);
    if (!in || !in->name) {
        free(in);
        feed->free(feed);
        return NULL;
    }
    in->feed = feed;
    in->window = INPUT_READ;
    return in;
}

static bool no_memory(struct input *in)
{
    input_fail(in, "byte %" PRIu64 ": out of memory", input_offset(in));
    return false;
}

/* Brings what is left of the window to the start of the buffer, and makes that `size` bytes. */
static bool to_buffer(struct input *in, size_t size)
{
    size_t left = in->end - in->pos;

    if (size > in->buffer_size) {
        uint8_t *buffer = malloc(size);

        if (!buffer)
            return no_memory(in);
        if (left > 0)
            memcpy(buffer, in->data + in->pos, left);
        free(in->buffer);
        in->buffer = buffer;
        in->buffer_size = size;
    } else if (left > 0) {
        memmove(in->buffer, in->data + in->pos, left);
    }
    in->data = in->buffer;
    in->base += in->pos;
    in->pos = 0;
    in->end = left;
    return true;
}

/* Reads until n bytes are at hand. */
static enum input_status fill_alone(struct input *in, size_t n)
{
    size_t size = in->buffer_size < n ? n + in->window : in->buffer_size;

    if (!to_buffer(in, size))
        return INPUT_END;
    while (in->end < n) {
        size_t room = in->buffer_size - in->end;
        ssize_t got = -1;

        if (room > in->window)
            room = in->window;
        if (!in->feed->failed)
            got = in->feed->read(in->feed, in->buffer + in->end, room);
        if (got < 0 && !in->failed) {
            feed_set_error(&in->error, feed_error(in->feed));
            in->failed = true;
        }
        if (got <= 0)
            return INPUT_END;
        in->end += (size_t)got;
    }
    return INPUT_OK;
}

/* The next slot becomes the window, with what is left of the one before copied to its front; or,
 * where that is much, both go to the buffer. */
static bool take_slot(struct input *in, uint8_t *bytes, size_t n)
{
    size_t left = in->end - in->pos;

    if (left > AHEAD_ROOM) {
        if (!to_buffer(in, left + n > in->buffer_size ? 2 * (left + n) : in->buffer_size))
            return false;
        memcpy(in->buffer + in->end, bytes, n);
        in->end += n;
        ahead_done(in->ahead, true);
        return true;
    }
    if (left > 0)
        memcpy(bytes - left, in->data + in->pos, left);
    in->data = bytes - left;
    in->base += in->pos;
    in->pos = 0;
    in->end = left + n;
    ahead_done(in->ahead, false);
    return true;
}

static enum input_status fill_ahead(struct input *in, size_t n)
{
    while (in->end - in->pos < n) {
        size_t got;
        uint8_t *bytes = ahead_next(in->ahead, &got);

        if (!bytes) { /* the end, or it was: the file may have grown since */
            bool good = to_buffer(in, in->buffer_size < n ? n + in->window : in->buffer_size);

            ahead_end(in->ahead);
            in->ahead = NULL;
            return good ? fill_alone(in, n) : INPUT_END;
        }
        if (!take_slot(in, bytes, got))
            return INPUT_END;
    }
    return INPUT_OK;
}

enum input_status input_fill(struct input *in, size_t n)
{
    if (in->pinned)
        return INPUT_AGAIN;
    if (!in->alone && !in->live && in->base + in->end >= (uint64_t)INPUT_ALONE * in->window) {
        in->alone = true; /* asked once */
        in->ahead = ahead_begin(in->feed, in->window);
    }
    return in->ahead ? fill_ahead(in, n) : fill_alone(in, n);
}

enum input_status input_skip(struct input *in, uint64_t n)
{
    while (n > in->end - in->pos) {
        enum input_status status;

        n -= in->end - in->pos;
        in->pos = in->end;
        status = input_fill(in, 1);
        if (status != INPUT_OK)
            return status;
    }
    in->pos += (size_t)n;
    return INPUT_OK;
}

size_t input_memory(const struct input *in)
{
    return in->buffer_size + (in->feed->memory ? in->feed->memory(in->feed) : 0);
}

bool input_has_descriptor(const struct input *in)
{
    return in->feed->has_descriptor && in->feed->has_descriptor(in->feed);
}

void input_rest(struct input *in)
{
    if (in->feed->rest && !in->ahead)
        in->feed->rest(in->feed);
}

bool input_seekable(const struct input *in)
{
    return in->feed->read_at && !in->ahead;
}

bool input_read_at(struct input *in, uint8_t *to, size_t n, uint64_t offset)
{
    while (n > 0) {
        ssize_t got = in->feed->read_at(in->feed, to, n, offset);

        if (got <= 0) {
            input_fail(in, "byte %" PRIu64 ": %s", offset,
                       got < 0 ? strerror(errno) : "the file was cut short while it was read");
            return false;
        }
        to += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

void input_let_go(struct input *in)
{
    free(in->buffer);
    in->buffer = NULL;
    in->buffer_size = 0;
    in->data = NULL;
    in->base += in->pos;
    in->feed->offset = in->base;
    in->pos = in->end = 0;
}

bool input_spill(struct input *in)
{
    uint64_t from = in->base, at = in->base + in->pos;
    struct spilled spilled;
    struct feed *feed;

    spill_begin(&spilled, in->feed, from);
    if (in->end > 0)
        spill_write(&spilled, in->data, in->end);
    do {
        in->pos = in->end;
    } while (!spilled.error && input_fill(in, 1) == INPUT_OK &&
             spill_write(&spilled, in->data + in->pos, in->end - in->pos));
    if (spilled.error) {
        input_fail(in,
                   "not read: unpacking it takes more memory than --max-memory leaves, and "
                   "there is no temporary file: %s",
                   spilled.error);
        return false;
    }
    feed = spill_end(&spilled, in->failed ? input_error(in) : NULL);
    if (!feed) {
        no_memory(in);
        return false;
    }
    in->feed->free(in->feed);
    in->feed = feed;
    in->alone = true;
    in->failed = false;
    in->pos = in->end = 0;
    in->base = at;
    input_let_go(in);
    return true;
}

void input_progress(const struct input *in, uint64_t *read, uint64_t *size)
{
    *read = *size = 0;
    if (in->feed->progress)
        in->feed->progress(in->feed, input_offset(in), read, size);
}

void input_close(struct input *in)
{
    if (!in)
        return;
    ahead_end(in->ahead);
    if (in->feed)
        in->feed->free(in->feed);
    free(in->buffer);
    free(in->error);
    free(in->name);
    free(in);
}
