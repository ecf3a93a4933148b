/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bytes/input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bounded_text.h"
#include "source/bytes/spill.h"

static void say(char **to, const char *name, const char *format, va_list args)
{
    char line[FEED_ERROR_SIZE];
    int n = snprintf(line, sizeof(line), "%s: ", name);

    if (n > 0 && n < FEED_ERROR_SIZE)
        bounded_text(line + n, sizeof(line) - (size_t)n, format, args);
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
static enum input_status fill_directly(struct input *in, size_t n)
{
    size_t size = in->buffer_size < n ? n + in->window : in->buffer_size;

    if (!to_buffer(in, size))
        return INPUT_END;
    while (in->end < n) {
        size_t room = in->buffer_size - in->end;
        ssize_t got = -1;

        if (room > in->window)
            room = in->window;
        if (in->feed->slot > 0 && room > in->feed->slot)
            room = in->feed->slot;
        if (!in->feed->failed)
            got = in->feed->read(in->feed, in->buffer + in->end, room);
        if (got < 0 && !in->failed) {
            feed_set_error(&in->error, feed_error(in->feed));
            in->failed = true;
        }
        if (got <= 0)
            return INPUT_END;
        in->soon = in->feed->soon ? in->feed->soon - in->end : NULL;
        in->end += (size_t)got;
    }
    return INPUT_OK;
}

static void drop_buffer(struct input *in)
{
    free(in->buffer);
    in->buffer = NULL;
    in->buffer_size = 0;
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
    in->soon = NULL;
    in->data = bytes - left;
    in->base += in->pos;
    in->pos = 0;
    in->end = left + n;
    if (in->buffer)
        drop_buffer(in);
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
            return good ? fill_directly(in, n) : INPUT_END;
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
    if (!in->no_readahead && !in->live && !in->feed->skims &&
        in->base + in->end >= (uint64_t)INPUT_BEFORE_READAHEAD * in->window) {
        in->no_readahead = true; /* asked once */
        in->ahead = ahead_begin(in->feed, in->window);
    }
    return in->ahead ? fill_ahead(in, n) : fill_directly(in, n);
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
    drop_buffer(in);
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
    in->no_readahead = true;
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
