/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/compress.h"

#include <errno.h>
#include <stdlib.h>

#ifdef HAVE_ZSTD

#include "module/calls_zstd.h"

static const struct zstd_calls *lib;

struct compress {
    ZSTD_CStream *zstd;
    int fd;
    uint64_t written;
    size_t size;
    char buffer[];
};

/* Of all that is in `p`, with ZSTD_e_end the frame's end, too. */
static int feed(struct compress *c, const char *p, size_t n, ZSTD_EndDirective how)
{
    ZSTD_inBuffer in = {p, n, 0};
    size_t left;

    do {
        ZSTD_outBuffer out = {c->buffer, c->size, 0};
        int error;

        left = lib->ZSTD_compressStream2(c->zstd, &out, &in, how);
        if (lib->ZSTD_isError(left))
            return lib->ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation ? ENOMEM : EIO;
        error = out_write_all(c->fd, c->buffer, out.pos);
        if (error != 0)
            return error;
        c->written += out.pos;
    } while (in.pos < in.size || (how == ZSTD_e_end && left > 0));
    return 0;
}

static int on_write(void *context, const char *p, size_t n)
{
    return feed(context, p, n, ZSTD_e_continue);
}

bool compress_built(void)
{
    return true;
}

bool compress_prepare(char *error, size_t size)
{
    lib = module_calls(MODULE_ZSTD, sizeof(*lib), error, size);
    return lib != NULL;
}

struct compress *compress_begin(struct out *out)
{
    size_t size = lib->ZSTD_CStreamOutSize();
    struct compress *c = malloc(sizeof(*c) + size);

    if (!c)
        return NULL;
    *c = (struct compress){.zstd = lib->ZSTD_createCStream(), .fd = out->fd, .size = size};
    if (!c->zstd) {
        free(c);
        return NULL;
    }
    out->write = on_write;
    out->write_context = c;
    return c;
}

uint64_t compress_written(const struct compress *c)
{
    return c->written;
}

int compress_end(struct compress *c)
{
    int error = feed(c, NULL, 0, ZSTD_e_end);

    lib->ZSTD_freeCStream(c->zstd);
    free(c);
    return error;
}

#else

bool compress_built(void)
{
    return false;
}

bool compress_prepare(char *error, size_t size)
{
    (void)error;
    (void)size;
    return false;
}

struct compress *compress_begin(struct out *out)
{
    (void)out;
    return NULL;
}

uint64_t compress_written(const struct compress *compress)
{
    (void)compress;
    return 0;
}

int compress_end(struct compress *compress)
{
    (void)compress;
    return 0;
}

#endif
