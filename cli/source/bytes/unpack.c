/* SPDX-License-Identifier: BSD-2-Clause */
/* Compressed files, unpacked while they are read. Every format allows several members, streams or
 * frames one after another; all are read to the end. */
#include "source/bytes/unpack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int input_window_log = 24;

/* What this program was built without: its address is NULL then (C11 6.5.3.2: &*p is p). */
#define NONE (*(const struct unpack_format *)NULL)
#ifndef HAVE_ZLIB
#define unpack_gzip NONE
#endif
#ifndef HAVE_ZSTD
#define unpack_zstd NONE
#endif
#ifndef HAVE_XZ
#define unpack_xz NONE
#endif
#ifndef HAVE_BZIP2
#define unpack_bzip2 NONE
#endif
#ifndef HAVE_LZ4
#define unpack_lz4 NONE
#endif

static const struct {
    const char *name, *library;
    const struct unpack_format *how;
    enum module module;
    size_t n;
    uint8_t magic[6];
    bool skips; /* a file may begin with a skippable frame */
} formats[] = {
    /* RFC 1952 */
    {"gzip", "zlib", &unpack_gzip, MODULE_ZLIB, 2, {0x1f, 0x8b}, false},
    /* RFC 8878 */
    {"zstd", "libzstd", &unpack_zstd, MODULE_ZSTD, 4, {0x28, 0xb5, 0x2f, 0xfd}, true},
    {"xz", "liblzma", &unpack_xz, MODULE_XZ, 6, {0xfd, '7', 'z', 'X', 'Z', 0}, false},
    {"bzip2", "libbz2", &unpack_bzip2, MODULE_BZIP2, 3, {'B', 'Z', 'h'}, false},
    {"lz4", "liblz4", &unpack_lz4, MODULE_LZ4, 4, {0x04, 0x22, 0x4d, 0x18}, true},
};

/* RFC 8878 section 3.1.2: a frame that says nothing, of which pzstd's files begin with one. lz4 has
 * the same. */
static bool skippable(const uint8_t *p)
{
    return (p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18;
}

/* How many bytes of these come first; 0 also where they are too long to look behind them. */
static size_t skippable_bytes(struct input *in)
{
    enum { HEADER = 8, MOST = 64 * 1024 };
    size_t n = 0;

    while (input_need(in, n + HEADER) == INPUT_OK && skippable(in->data + in->pos + n)) {
        const uint8_t *size = in->data + in->pos + n + 4;
        uint64_t bytes = (uint64_t)size[3] << 24 | size[2] << 16 | size[1] << 8 | size[0];

        if (bytes > MOST - n)
            return 0;
        n += HEADER + (size_t)bytes;
    }
    return n;
}

static size_t format_at(struct input *in, size_t at)
{
    const size_t n = sizeof(formats) / sizeof(*formats);

    for (size_t i = 0; i < n; i++)
        if (input_need(in, at + formats[i].n) == INPUT_OK &&
            memcmp(in->data + in->pos + at, formats[i].magic, formats[i].n) == 0)
            return i;
    return n;
}

/* Which format it is, of the table; behind it where it is none. */
static size_t format_of(struct input *in)
{
    const size_t n = sizeof(formats) / sizeof(*formats);
    size_t i = format_at(in, 0);

    if (i < n || input_need(in, 4) != INPUT_OK || !skippable(in->data + in->pos))
        return i;
    i = format_at(in, skippable_bytes(in));
    if (i == n || !formats[i].skips)
        for (i = 0; !formats[i].skips;) /* it says what is wrong */
            i++;
    return i;
}

const char *input_packed(const void *first, size_t n)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (n >= formats[i].n && memcmp(first, formats[i].magic, formats[i].n) == 0)
            return formats[i].name;
    return NULL;
}

void input_unpack_prepare(int fd)
{
    uint8_t first[sizeof(formats->magic)];
    struct stat is;
    bool known = fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode) &&
                 pread(fd, first, sizeof(first), lseek(fd, 0, SEEK_CUR)) == (ssize_t)sizeof(first);

    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (formats[i].how && (!known || memcmp(first, formats[i].magic, formats[i].n) == 0 ||
                               (skippable(first) && formats[i].skips)))
            module_load(formats[i].module);
}

static ssize_t unpack_read(struct feed *feed, uint8_t *to, size_t n)
{
    struct unpack *unpack = (struct unpack *)feed;
    ssize_t got;

    if (feed->failed)
        return -1; /* it gave what came before the damage, and is not to go on behind that */
    got = unpack->format->read(unpack, to, n);
    __atomic_store_n(&unpack->held,
                     unpack->format->memory(unpack->state) + input_memory(unpack->packed),
                     __ATOMIC_RELAXED);
    return got;
}

static void unpack_progress(const struct feed *feed, uint64_t offset, uint64_t *read,
                            uint64_t *size)
{
    const struct unpack *unpack = (const struct unpack *)feed;

    (void)offset; /* of what is unpacked */
    *read = *size = 0;
    if (unpack->packed->feed->progress)
        unpack->packed->feed->progress(
            unpack->packed->feed, __atomic_load_n(&unpack->taken, __ATOMIC_RELAXED), read, size);
}

static size_t unpack_memory(const struct feed *feed)
{
    return __atomic_load_n(&((const struct unpack *)feed)->held, __ATOMIC_RELAXED);
}

static bool unpack_has_descriptor(const struct feed *feed)
{
    return input_has_descriptor(((const struct unpack *)feed)->packed);
}

static void unpack_rest(struct feed *feed)
{
    input_rest(((struct unpack *)feed)->packed);
}

static void unpack_free(struct feed *feed)
{
    struct unpack *unpack = (struct unpack *)feed;

    if (unpack->state)
        unpack->format->end(unpack->state);
    input_close(unpack->packed);
    free(feed->error);
    free(feed->name);
    free(unpack);
}

int unpack_more(struct unpack *unpack)
{
    struct input *packed = unpack->packed;
    struct feed *feed = &unpack->feed;

    __atomic_store_n(&unpack->taken, input_offset(packed), __ATOMIC_RELAXED);
    if (input_need(packed, 1) == INPUT_OK)
        return 1;
    if (packed->failed)
        feed_set_error(&feed->error, input_error(packed)), feed->failed = true;
    else if (!unpack->between)
        feed_fail(feed, "byte %" PRIu64 ": the compressed data end too soon", input_offset(packed));
    return feed->failed ? -1 : 0;
}

ssize_t unpack_failed(struct unpack *unpack, const char *format, const char *why)
{
    feed_fail(&unpack->feed, "byte %" PRIu64 ": %s: %s", input_offset(unpack->packed), format, why);
    return -1;
}

/* False with the feed failed. */
static bool begin(struct unpack *unpack, const struct unpack_format *format, enum module module)
{
    char error[1000];
    const void *calls = module_calls(module, format->calls, error, sizeof(error));

    if (!calls) {
        feed_fail(&unpack->feed, "%s", error);
        return false;
    }
    unpack->format = format;
    unpack->state = calloc(1, format->state);
    if (unpack->state && format->begin(unpack->state, calls))
        return true;
    free(unpack->state);
    unpack->state = NULL;
    feed_fail(&unpack->feed, "out of memory");
    return false;
}

struct input *input_unpack(struct input *in, char *error, size_t size)
{
    const size_t n = sizeof(formats) / sizeof(*formats);
    bool live = in->live;
    struct input *out;
    struct unpack *unpack;
    size_t i = format_of(in);

    if (i == n)
        return in;
    if (!formats[i].how) {
        snprintf(error, size, "%s: %s: this program was built without %s", in->name,
                 formats[i].name, formats[i].library);
        input_close(in);
        return NULL;
    }
    snprintf(error, size, "%s: out of memory", in->name);
    unpack = calloc(1, sizeof(*unpack));
    if (!unpack || !(unpack->feed.name = strdup(in->name))) {
        free(unpack);
        input_close(in);
        return NULL;
    }
    unpack->feed.read = unpack_read;
    unpack->feed.free = unpack_free;
    unpack->feed.progress = unpack_progress;
    unpack->feed.memory = unpack_memory;
    unpack->feed.has_descriptor = unpack_has_descriptor;
    unpack->feed.rest = unpack_rest;
    unpack->packed = in;
    in->no_readahead = true; /* but what is unpacked of it is */
    if (!begin(unpack, formats[i].how, formats[i].module)) {
        snprintf(error, size, "%s", feed_error(&unpack->feed));
        unpack_free(&unpack->feed);
        return NULL;
    }
    out = input_of(&unpack->feed);
    if (out)
        out->live = live;
    return out;
}
