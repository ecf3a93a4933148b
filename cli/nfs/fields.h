/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_NFS_FIELDS_H
#define RPCRDMA_CLI_NFS_FIELDS_H

/* Fields of arguments and results, and COMPOUND: what arguments.c and compound.c share. */

#include <string.h>

#include "nfs/arguments.h"
#include "upper/compound.h"
#include "wire/cursor.h"

static inline struct rpcrdma_cursor nfs_cursor_of(const struct rpcrdma_payload_stream *s)
{
    return rpcrdma_cursor_init(s->data, s->caplen, s->len);
}

/* opaque<> or string<> with its padding; NULL where it is not whole: then nothing behind it
 * is read. */
static inline const uint8_t *nfs_opaque(struct rpcrdma_cursor *c, uint32_t *length)
{
    const uint8_t *p;

    *length = rpcrdma_cursor_be32(c, "length");
    p = rpcrdma_cursor_take(c, *length, "bytes");
    rpcrdma_cursor_skip(c, -*length & 3, "padding");
    return c->status == RPCRDMA_OK ? p : NULL;
}

static inline void nfs_take_handle(struct rpcrdma_cursor *c, struct nfs_handle *handle)
{
    uint32_t length;
    const uint8_t *p = nfs_opaque(c, &length);

    handle->length = 0;
    handle->root = false;
    if (!p || length == 0 || length > NFS_HANDLE)
        return;
    handle->length = (uint8_t)length;
    memcpy(handle->bytes, p, length);
}

/* False: it is not there, or too long. */
static inline bool nfs_add_name(struct nfs_name *name, const uint8_t *p, uint32_t length)
{
    size_t at = name->length > 0 ? name->length + 1u : 0;

    if (!p || length == 0 || at + length > NFS_NAME)
        return false;
    if (at > 0)
        name->text[at - 1] = '/';
    memcpy(name->text + at, p, length);
    name->length = (uint16_t)(at + length);
    return true;
}

static inline bool nfs_take_name(struct rpcrdma_cursor *c, struct nfs_name *name)
{
    uint32_t length;
    const uint8_t *p = nfs_opaque(c, &length);

    return nfs_add_name(name, p, length);
}

static inline void nfs_take_range(struct rpcrdma_cursor *c, struct nfs_arguments *a)
{
    a->offset = rpcrdma_cursor_be64(c, "offset");
    a->has_offset = c->status == RPCRDMA_OK;
    a->count = rpcrdma_cursor_be32(c, "count");
    a->has_count = c->status == RPCRDMA_OK;
}

/* Arguments and results of an NFSv4 COMPOUND, no callback. */
void nfs_compound_call(const struct rpcrdma_payload_stream *stream, struct rpcrdma_compound *it,
                       struct nfs_arguments *a);
void nfs_compound_reply(const struct rpcrdma_payload_stream *stream, struct rpcrdma_compound *it,
                        struct nfs_arguments *a, const struct nfs_learned *learned);

#endif
