/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/input.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/source.h"

/*
 * A mapping is three times as fast as read() and needs no copy, but a file that is cut short while
 * it is mapped (a ring-buffer capture that comes round) turns its missing pages into SIGBUS. Two
 * things keep that an error: the file's size is checked before every batch of packets is given out,
 * and for the moment between that check and the use of the bytes a handler puts zero pages where
 * the file was and says so in *damaged. Nothing made from such bytes may be printed.
 */

static struct input *mapped;
static struct sigaction before;
static long page;

static void on_sigbus(int number, siginfo_t *info, void *context)
{
    uint8_t *address = info->si_addr;

    (void)number;
    (void)context;
    for (struct input *in = mapped; in; in = in->next_mapped) {
        uint8_t *map = in->map;

        if (!map || address < map || address >= map + in->map_size)
            continue;
        if (mmap(map, in->map_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED)
            break;
        *in->damaged = 1;
        if (in->damaged_too)
            *in->damaged_too = 1;
        return;
    }
    sigaction(SIGBUS, &before, NULL); /* not ours: the instruction runs again, without us */
}

/* The handler is there as long as something is mapped. */
static bool watch(struct input *in)
{
    if (!mapped) {
        struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};

        page = sysconf(_SC_PAGESIZE);
        sigemptyset(&action.sa_mask);
        if (sigaction(SIGBUS, &action, &before) != 0) {
            input_fail(in, "%s", strerror(errno));
            return false;
        }
    }
    in->next_mapped = mapped;
    mapped = in;
    return true;
}

static void unwatch(struct input *in)
{
    for (struct input **p = &mapped; *p; p = &(*p)->next_mapped) {
        if (*p == in) {
            *p = in->next_mapped;
            if (!mapped)
                sigaction(SIGBUS, &before, NULL);
            return;
        }
    }
}

void input_fail(struct input *in, const char *format, ...)
{
    va_list args;
    int n = snprintf(in->error, sizeof(in->error), "%s: ", in->name);

    if (n > 0 && (size_t)n < sizeof(in->error)) {
        va_start(args, format);
        vsnprintf(in->error + n, sizeof(in->error) - (size_t)n, format, args);
        va_end(args);
    }
    in->failed = true;
}

static ssize_t read_fd(struct input *in, uint8_t *to, size_t n)
{
    ssize_t got;

    do {
        got = read(in->fd, to, n);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        input_fail(in, "byte %" PRIu64 ": %s", in->base + in->end, strerror(errno));
    return got;
}

static bool size_now(struct input *in, uint64_t *size)
{
    struct stat st;

    if (fstat(in->fd, &st) != 0) {
        input_fail(in, "%s", strerror(errno));
        return false;
    }
    *size = (uint64_t)st.st_size;
    return true;
}

static void unmap(struct input *in)
{
    if (in->map)
        munmap(in->map, in->map_size);
    in->map = NULL;
    in->data = NULL;
}

bool input_intact(struct input *in)
{
    uint64_t size;

    if (in->read)
        return true;
    if (!size_now(in, &size))
        return false;
    if (size >= input_offset(in) && !*in->damaged)
        return true;
    input_fail(in, "byte %" PRIu64 ": the file was cut short while it was read", size);
    return false;
}

/* Maps the window that begins at or just before the current position. */
static enum input_status fill_mapped(struct input *in, size_t n)
{
    uint64_t at = input_offset(in), start = at & ~(uint64_t)(page - 1), size;
    size_t length, want = n + (size_t)(at - start);
    void *map;

    if (!input_intact(in) || !size_now(in, &size))
        return INPUT_END;
    if (size <= at || size == in->base + in->end)
        return INPUT_END; /* nothing there that is not at hand */
    length = want > in->window ? want : in->window;
    if (length > size - start)
        length = (size_t)(size - start);
    unmap(in);
    map = mmap(NULL, length, PROT_READ, MAP_SHARED, in->fd, (off_t)start);
    in->base = start;
    in->pos = (size_t)(at - start);
    in->end = in->pos;
    if (map == MAP_FAILED) {
        input_fail(in, "byte %" PRIu64 ": %s", at, strerror(errno));
        return INPUT_END;
    }
    madvise(map, length, MADV_SEQUENTIAL);
    in->map = map;
    in->map_size = length;
    in->data = map;
    in->end = length;
    return n <= in->end - in->pos ? INPUT_OK : INPUT_END;
}

static enum input_status fill_read(struct input *in, size_t n)
{
    size_t left = in->end - in->pos;

    if (n > in->buffer_size) {
        size_t size = n + in->window;
        uint8_t *buffer = realloc(in->buffer, size);

        if (!buffer) {
            input_fail(in, "byte %" PRIu64 ": out of memory", input_offset(in));
            return INPUT_END;
        }
        in->buffer = buffer;
        in->buffer_size = size;
        in->data = buffer;
    }
    if (in->pos > 0) {
        memmove(in->buffer, in->buffer + in->pos, left);
        in->base += in->pos;
        in->pos = 0;
        in->end = left;
    }
    while (in->end < n) {
        ssize_t got =
            in->failed ? 0 : in->read(in, in->buffer + in->end, in->buffer_size - in->end);

        if (got <= 0)
            return INPUT_END;
        in->end += (size_t)got;
    }
    return INPUT_OK;
}

enum input_status input_fill(struct input *in, size_t n)
{
    if (in->pinned)
        return INPUT_AGAIN;
    return in->read ? fill_read(in, n) : fill_mapped(in, n);
}

enum input_status input_skip(struct input *in, uint64_t n)
{
    while (n > in->end - in->pos) {
        enum input_status status;

        n -= in->end - in->pos;
        in->pos = in->end;
        if (!in->read && !in->pinned) { /* a gap in a mapped file needs no look at its bytes */
            uint64_t size, at = input_offset(in);

            if (!input_intact(in) || !size_now(in, &size) || size < at)
                return INPUT_END;
            unmap(in);
            in->base = n < size - at ? at + n : size;
            in->pos = in->end = 0;
            return n <= size - at ? INPUT_OK : INPUT_END;
        }
        status = input_fill(in, 1);
        if (status != INPUT_OK)
            return status;
    }
    in->pos += (size_t)n;
    return INPUT_OK;
}

static bool set_up(struct input *in, volatile sig_atomic_t *damaged, bool standard_input)
{
    struct stat st;

    if (fstat(in->fd, &st) != 0) {
        input_fail(in, "%s", strerror(errno));
        return false;
    }
    if (S_ISDIR(st.st_mode)) {
        input_fail(in, "%s", strerror(EISDIR));
        return false;
    }
    in->live = !S_ISREG(st.st_mode);
    if (!in->live && st.st_size == 0) {
        input_fail(in, "empty file");
        return false;
    }
    if (!in->live) {
        off_t at = standard_input ? lseek(in->fd, 0, SEEK_CUR) : 0;
        void *probe = mmap(NULL, 1, PROT_READ, MAP_SHARED, in->fd, 0);

        if (probe != MAP_FAILED && at >= 0) {
            munmap(probe, 1);
            in->damaged = damaged;
            in->base = (uint64_t)at;
            return watch(in);
        }
    }
    in->read = read_fd;
    return true;
}

static struct input *begin(const char *path, int fd, size_t window, volatile sig_atomic_t *damaged,
                           volatile sig_atomic_t *damaged_too, char *error, size_t size)
{
    struct input *in = calloc(1, sizeof(*in));
    bool standard_input = fd < 0 && strcmp(path, "-") == 0;
    bool good = false;

    if (!in) {
        if (fd >= 0)
            close(fd);
        goto out;
    }
    in->fd = fd;
    in->damaged_too = damaged_too;
    in->window = window > 0 && window < INPUT_WINDOW ? window : INPUT_WINDOW;
    in->name = strdup(standard_input ? "standard input" : path);
    if (!in->name)
        goto out;
    if (fd < 0)
        in->fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0)
        input_fail(in, "%s", strerror(errno));
    else
        good = set_up(in, damaged, standard_input);
out:
    if (!good) {
        snprintf(error, size, "%s", in && in->failed ? in->error : "out of memory");
        input_close(in);
        return NULL;
    }
    if (in->read && in->window > INPUT_READ)
        in->window = INPUT_READ;
    return in;
}

struct input *input_open(const char *path, size_t window, volatile sig_atomic_t *damaged,
                         volatile sig_atomic_t *damaged_too, char *error, size_t size)
{
    return begin(path, -1, window, damaged, damaged_too, error, size);
}

struct input *input_open_fd(int fd, const char *name, volatile sig_atomic_t *damaged, char *error,
                            size_t size)
{
    return begin(name, fd, 0, damaged, NULL, error, size);
}

void input_close(struct input *in)
{
    if (!in)
        return;
    unwatch(in);
    unmap(in);
    if (in->free_context)
        in->free_context(in->context);
    if (in->fd > STDIN_FILENO)
        close(in->fd);
    free(in->buffer);
    free(in->name);
    free(in);
}
