/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_INPUT_H
#define RPCRDMA_CLI_SOURCE_INPUT_H

/*
 * The bytes of a file, one window at a time: mapped where that is possible, else read. A reader
 * asks for n bytes in one piece, looks at them, and moves past them.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    INPUT_WINDOW = 16 * 1024 * 1024, /* default, and the most that is mapped at once */
    INPUT_READ = 1024 * 1024,        /* read at once: more is not faster, and would be touched */
    INPUT_ERROR_SIZE = 400,
};

enum input_status {
    INPUT_OK,
    INPUT_AGAIN, /* pinned: the bytes may be there, but the window would have to move */
    INPUT_END,   /* fewer are left: those at hand are all there will be */
};

struct input {
    const uint8_t *data; /* the window */
    size_t pos, end;     /* next byte, and the end of the bytes at hand */
    uint64_t base;       /* where the window begins, in the file or the unpacked stream */
    bool pinned;         /* the caller holds pointers into the window: it must not move */
    bool live;           /* read from a pipe or a socket */
    bool failed;         /* END was reached because of the error below, not by the file's end */
    char error[INPUT_ERROR_SIZE];
    char *name;

    /* mapped */
    void *map; /* page aligned; NULL when nothing is mapped */
    size_t map_size, window;
    /* set to 1 by the signal handler when mapped bytes are gone; the second may be NULL */
    volatile sig_atomic_t *damaged, *damaged_too;
    struct input *next_mapped;

    /* read */
    uint8_t *buffer;
    size_t buffer_size;
    /* Up to n bytes, n > 0. Returns how many, 0 at the end, -1 with in->error set. */
    ssize_t (*read)(struct input *in, uint8_t *to, size_t n);
    void *context; /* of read; freed by free_context */
    void (*free_context)(void *context);
    int fd;
};

/*
 * Opens `path`, "-" for standard input. `damaged` and `damaged_too` (or NULL) are where to note
 * that mapped bytes vanished.
 * Returns NULL with a line in `error`.
 */
struct input *input_open(const char *path, size_t window, volatile sig_atomic_t *damaged,
                         volatile sig_atomic_t *damaged_too, char *error, size_t size);

/* The same of an open descriptor, which it owns in every case; `name` is for messages. */
struct input *input_open_fd(int fd, const char *name, volatile sig_atomic_t *damaged, char *error,
                            size_t size);

/*
 * If `in` begins like gzip or zstd: an input of the unpacked bytes, which owns `in`. Else `in`
 * itself. NULL with a line in `error` (and `in` closed) where that cannot be unpacked.
 */
struct input *input_unpack(struct input *in, char *error, size_t size);

void input_close(struct input *in); /* NULL is fine */

/* Makes n bytes available at data + pos, n at most SOURCE_MAX_PACKET and some. */
enum input_status input_fill(struct input *in, size_t n);

static inline enum input_status input_need(struct input *in, size_t n)
{
    return n <= in->end - in->pos ? INPUT_OK : input_fill(in, n);
}

/* Moves past n bytes, at hand or not. Less than OK leaves the position where it stopped. */
enum input_status input_skip(struct input *in, uint64_t n);

/* Whether the file still has the bytes that were passed; false with in->error set if it was cut. */
bool input_intact(struct input *in);

static inline uint64_t input_offset(const struct input *in)
{
    return in->base + in->pos;
}

/* Writes in->name, ": " and the formatted text into in->error, and marks the input failed. */
__attribute__((format(printf, 2, 3))) void input_fail(struct input *in, const char *format, ...);

#endif
