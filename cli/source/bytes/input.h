/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_BYTES_INPUT_H
#define RPCRDMA_CLI_SOURCE_BYTES_INPUT_H

/*
 * The bytes of a file, one window at a time. A reader asks for n bytes in one piece, looks at them,
 * and moves past them. What is large is read ahead by a second thread (feed.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/bytes/feed.h"

enum {
    INPUT_READ = 256 * 1024,    /* read at once, by default: what stays in the processor's cache */
    INPUT_BEFORE_READAHEAD = 8, /* so many are read before it is worth starting a thread */
};

enum input_status {
    INPUT_OK,
    INPUT_AGAIN, /* pinned: the bytes may be there, but the window would have to move */
    INPUT_END,   /* fewer are left: those at hand are all there will be */
};

struct input {
    const uint8_t *data; /* the window: in the buffer, or in one that was read ahead */
    size_t pos, end;     /* next byte, and the end of the bytes at hand */
    uint64_t base;       /* where the window begins, in the file or the unpacked stream */
    const char *soon;    /* soon + pos is in memory what is read next for what is at pos; or NULL */
    bool pinned;         /* the caller holds pointers into the window: it must not move */
    bool live;           /* read from a pipe or a socket */
    bool failed;         /* END was reached because of the error below, not by the file's end */
    char *error;         /* its own, as a feed's */
    char *name;

    struct feed *feed; /* its own */
    size_t window;     /* read at once */
    uint8_t *buffer;
    size_t buffer_size;
    struct ahead *ahead; /* reads the feed; NULL: nobody but the input does */
    bool no_readahead;   /* it will not be read ahead */
};

/* Opens `path`, "-" for standard input. `window`: bytes read at once, 0 for the default. Returns
 * NULL with a line in `error`. */
struct input *input_open(const char *path, size_t window, char *error, size_t size);

/* An input of what the feed gives, which it owns in every case. NULL: no memory. */
struct input *input_of(struct feed *feed);

/*
 * If `in` begins like gzip, zstd, xz, bzip2 or lz4: an input of the unpacked bytes, which owns
 * `in`. Else `in` itself. NULL with a line in `error` (and `in` closed) where that cannot be
 * unpacked.
 */
struct input *input_unpack(struct input *in, char *error, size_t size);

/* Before the sandbox is entered: loads what it takes to unpack what the descriptor gives, by its
 * first bytes; for one that they cannot be read of (a pipe; -1: not open yet), for every format. */
void input_unpack_prepare(int fd);
/* How a file is compressed that begins with these bytes ("gzip"); NULL: it is not. */
const char *input_packed(const void *first, size_t n);

/* The binary logarithm of the most memory that unpacking takes: 24 (16 MiB) unless it is set. zstd
 * -19 takes 8 MiB, zstd --long 128; xz -6 takes 8 MiB, xz -9 takes 64; the others never take more.
 */
extern int input_window_log;

static inline const char *input_error(const struct input *in)
{
    return in->error ? in->error : "out of memory";
}

void input_close(struct input *in); /* NULL is fine */

/* Makes n bytes available at data + pos, n at most SOURCE_MAX_PACKET and some. */
enum input_status input_fill(struct input *in, size_t n);

static inline enum input_status input_need(struct input *in, size_t n)
{
    return n <= in->end - in->pos ? INPUT_OK : input_fill(in, n);
}

/* Moves past n bytes, at hand or not. Less than OK leaves the position where it stopped. */
enum input_status input_skip(struct input *in, uint64_t n);

static inline uint64_t input_offset(const struct input *in)
{
    return in->base + in->pos;
}

/* Bytes that it takes: its buffer, and what unpacks. Without what is read ahead. */
size_t input_memory(const struct input *in);

/* Whether its bytes can be read from anywhere, and again. */
bool input_seekable(const struct input *in);

/* Reads n bytes from `offset`. False where they are not there any more, with in->error set. */
bool input_read_at(struct input *in, uint8_t *to, size_t n, uint64_t offset);

/* Of a seekable input that nothing is read ahead of: gives back its buffer. What was at hand is
 * read again. */
void input_let_go(struct input *in);

/* Writes the window, and all there is behind it, to the temporary file (spill.h), and lets go; what
 * takes the memory to unpack it ends. Then it is seekable. False, and failed, where it cannot be.
 */
bool input_spill(struct input *in);

/* Whether it has a descriptor that it can do without for a while, and: let it. */
bool input_has_descriptor(const struct input *in);
void input_rest(struct input *in);

/* How much of the file was read, as it is stored, and its size; 0 where that is not known. */
void input_progress(const struct input *in, uint64_t *read, uint64_t *size);

/* Writes in->name, ": " and the formatted text into in->error, and marks the input failed. */
__attribute__((format(printf, 2, 3))) void input_fail(struct input *in, const char *format, ...);

#endif
