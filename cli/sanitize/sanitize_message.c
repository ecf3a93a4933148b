/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/sanitize_message.h"

#include <string.h>

#include "wire/cursor.h"
#include "wire/property.h"
#include "wire/writer.h"
#include "wire/xchar.h"

enum { COMMON_WORDS = 16 }; /* bytes: XID, version, credits, type */
enum { ANSWERED = 8 };      /* positions in a request that an answer may name */

static void fill(struct sanitize_message *own, size_t off, size_t n, uint8_t byte)
{
    if (off < own->to->len)
        memset(own->to->data + off, byte, n < own->to->len - off ? n : own->to->len - off);
}

static void blank(struct sanitize_message *own, size_t off, size_t n)
{
    fill(own, off, n, 0);
}

/* Whether there is a list, or one more item of it: 0 or 1. What is more, which receivers take for
 * 1, and is not canonical, is 2. */
static void discriminator(struct sanitize_message *own, size_t off)
{
    if (off + 4 <= own->to->len && rpcrdma_get_be32(own->to->data + off) > 1)
        rpcrdma_put_be32(own->to->data + off, 2);
}

static void read_list(struct sanitize_message *own, const struct rpcrdma_read_list *list)
{
    if (list->wire)
        for (size_t i = 0; i <= list->count; i++)
            discriminator(own, list->off + i * (4 + RPCRDMA_READ_SEGMENT_SIZE));
}

static void lists(struct sanitize_message *own, const struct rpcrdma_message *m)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->write);
    struct rpcrdma_chunk chunk = {0};

    read_list(own, &m->call);
    read_list(own, &m->read);
    while (rpcrdma_write_next(&it, &chunk))
        discriminator(own, chunk.off - 4);
    /* of what follows a chunk that is not all there, nothing is known */
    if (m->write.wire && (m->write.count == 0 || chunk.count == chunk.declared))
        discriminator(own, m->write.off + m->write.size);
    if (m->reply_present)
        discriminator(own, m->reply.off - 4);
}

/* What is not zero is 1. */
static void padding(struct sanitize_message *own, size_t off, size_t n)
{
    for (size_t i = off + n; i < off + n + (-n & 3) && i < own->to->len; i++)
        own->to->data[i] = own->to->data[i] != 0;
}

/*
 * Of a value stays what the dialect defines: a number, or the length of bytes. Of one that it has
 * and that cannot be, nothing does, but that it cannot be.
 */
static void property(struct sanitize_message *own, const struct rpcrdma_property *property)
{
    size_t off = property->data.off, n = property->data.len;
    size_t first = property->desc && n >= 4 ? 4 : 0;

    blank(own, off + first, n - first);
    if (property->state == RPCRDMA_PROPERTY_BAD && first > 0 && off + first <= own->to->len)
        rpcrdma_put_be32(own->to->data + off, UINT32_MAX);
    padding(own, off, n);
}

static void properties(struct sanitize_message *own, const struct rpcrdma_message *m,
                       const struct rpcrdma_propset *set, bool xchar)
{
    struct rpcrdma_property_iter it = rpcrdma_property_begin(set, m->dialect, xchar);
    struct rpcrdma_property one;

    if (!set->wire.data)
        return;
    while (rpcrdma_property_next(&it, &one))
        property(own, &one);
    if (it.pos < set->wire.caplen)
        blank(own, set->wire.off + it.pos, set->wire.caplen - it.pos);
}

/* Of positions in a set those that there may be. */
static void positions(struct sanitize_message *own, const struct rpcrdma_words *words, uint32_t n)
{
    for (uint32_t i = 0; words->wire && i < words->count; i++) {
        size_t off = words->off + 4 + i * 4;
        uint32_t left = n > i * 32 ? n - i * 32 : 0;
        uint32_t mask = left >= 32 ? UINT32_MAX : (1u << left) - 1;

        if (off + 4 <= own->to->len)
            rpcrdma_put_be32(own->to->data + off, rpcrdma_get_be32(own->to->data + off) & mask);
    }
}

/* The characteristics of cel-01. False: it is no message of theirs, or not as it should be. The
 * lengths in it tell dialects apart. */
static bool characteristics(struct sanitize_message *own, const struct rpcrdma_message *m)
{
    struct rpcrdma_xchar x;

    if (!rpcrdma_xchar_decode(m, &x) || x.status != RPCRDMA_OK || x.trailing)
        return false;
    properties(own, m, &x.start, true);
    properties(own, m, &x.want, true);
    properties(own, m, &x.now, true);
    positions(own, &x.nochg, x.start.count);
    positions(own, &x.done, ANSWERED);
    positions(own, &x.rej, ANSWERED);
    positions(own, &x.pend, ANSWERED);
    if (x.present & RPCRDMA_XCHAR_HAS_PENDCLR)
        discriminator(own, m->optional.info.off + m->optional.info.len - 4);
    return true;
}

static void transport_header(struct sanitize_message *own, const struct rpcrdma_message *m)
{
    lists(own, m);
    if (m->version == 1)
        return;
    if (m->status != RPCRDMA_OK) {
        blank(own, COMMON_WORDS, own->to->len);
        return;
    }
    properties(own, m, &m->properties, false);
    properties(own, m, &m->want, false);
    properties(own, m, &m->other, false);
    properties(own, m, &m->now, false);
    if (m->present & RPCRDMA_HAS_OPTIONAL) {
        if (!characteristics(own, m))
            fill(own, m->optional.info.off, m->optional.info.len, UINT8_MAX);
        padding(own, m->optional.info.off, m->optional.info.len);
    }
}

static void read_chunks(struct sanitize_message *own, const struct rpcrdma_message *m)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(&m->read);
    struct rpcrdma_read_segment segment;

    g_array_set_size(own->gaps, 0);
    while (rpcrdma_read_next(&it, &segment)) {
        struct rpcrdma_gap gap = {segment.position, segment.segment.length}, *last;

        if (segment.position == 0)
            continue;
        last = own->gaps->len > 0
                   ? &g_array_index(own->gaps, struct rpcrdma_gap, own->gaps->len - 1)
                   : NULL;
        if (last && last->position == segment.position)
            last->length += segment.segment.length;
        else
            g_array_append_val(own->gaps, gap);
    }
}

static void write_chunks(struct sanitize_message *own, const struct rpcrdma_message *m)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->write);
    struct rpcrdma_chunk chunk;

    g_array_set_size(own->written, 0);
    while (rpcrdma_write_next(&it, &chunk)) {
        uint64_t length = rpcrdma_chunk_length(&chunk);
        uint32_t bytes = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;

        g_array_append_val(own->written, bytes);
    }
}

/* Of the first part of a continued message: how much tells that the RPC message begins there, and
 * what it calls. What follows is unknown: zeros. */
static uint32_t kept_of_part(const struct rpcrdma_flow_message *message)
{
    enum { TO_TYPE = 4, TO_STAT = 8, TO_CREDENTIAL = 24 };
    const struct rpcrdma_rpc *rpc = message->rpc;
    uint32_t kept;

    if (message->part != 1 || !rpc || rpc->status == RPCRDMA_MALFORMED ||
        rpc->xid != message->message->xid)
        return 0;
    kept = !(rpc->present & RPCRDMA_RPC_HAS_TYPE) ? TO_TYPE
           : rpc->type == RPCRDMA_RPC_CALL        ? TO_CREDENTIAL
                                                  : TO_STAT;
    return kept < message->message->payload.caplen ? kept : message->message->payload.caplen;
}

static bool payload(struct sanitize_message *own, const struct rpcrdma_flow_message *message)
{
    const struct rpcrdma_message *m = message->message;
    struct sanitize_rpc rpc = {.key = own->key,
                               .shift_s = own->shift_s,
                               .rpc = message->rpc,
                               .call = message->call,
                               .reverse = message->reverse,
                               .from = m->payload.data,
                               .caplen = m->payload.caplen,
                               .len = m->payload.len};

    if (m->payload.caplen == 0)
        return true;
    if (!message->rpc || m->trailing || message->part > 0 || m->present & RPCRDMA_HAS_ALIGN) {
        uint32_t kept = m->trailing ? 0 : kept_of_part(message);

        blank(own, m->payload.off + kept, m->payload.caplen - kept);
        return false;
    }
    if (message->rpc->type == RPCRDMA_RPC_CALL)
        rpc.call = message->rpc;
    read_chunks(own, m);
    g_array_set_size(own->written, 0);
    if (message->rpc->type == RPCRDMA_RPC_REPLY)
        write_chunks(own, m);
    rpc.reduction = (struct rpcrdma_reduction){
        .gaps = (const struct rpcrdma_gap *)(const void *)own->gaps->data,
        .n_gaps = own->gaps->len,
        .chunks = (const uint32_t *)(const void *)own->written->data,
        .n_chunks = own->written->len};
    return sanitize_rpc(&rpc, own->to->data + m->payload.off);
}

bool sanitize_message(struct sanitize_message *own, const struct rpcrdma_flow_message *message)
{
    const struct rpcrdma_message *m = message->message;

    if (m->status == RPCRDMA_MALFORMED)
        return false;
    g_byte_array_set_size(own->to, m->caplen);
    if (m->caplen > 0)
        memcpy(own->to->data, m->base, m->caplen);
    transport_header(own, m);
    if (!payload(own, message))
        own->unknown++;
    return true;
}
