/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "mutate.h"
#include "wire/cursor.h"
#include "wire/message.h"
#include "wire/writer.h"

enum { LIST = 8, CHUNKS = 4 };

/* A message that can be changed: lists in arrays. */
struct open {
    struct rpcrdma_message m;
    struct rpcrdma_read_segment call[LIST], read[LIST];
    struct rpcrdma_segment segment[CHUNKS + 1][LIST];
    struct rpcrdma_chunk write[CHUNKS];
};

static void open_reads(struct rpcrdma_read_list *list, struct rpcrdma_read_segment *to)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    uint32_t n = 0;

    while (n < LIST && rpcrdma_read_next(&it, &to[n]))
        n++;
    *list = (struct rpcrdma_read_list){.segments = to, .count = n};
}

static void open_chunk(struct rpcrdma_chunk *chunk, struct rpcrdma_segment *to)
{
    uint32_t n = chunk->count < LIST ? chunk->count : LIST;

    for (uint32_t i = 0; i < n; i++)
        to[i] = rpcrdma_chunk_segment(chunk, i);
    *chunk = (struct rpcrdma_chunk){.segments = to, .count = n, .declared = n};
}

static void open_writes(struct open *o)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&o->m.write);
    uint32_t n = 0;

    for (; n < CHUNKS && rpcrdma_write_next(&it, &o->write[n]); n++)
        open_chunk(&o->write[n], o->segment[n]);
    o->m.write = (struct rpcrdma_write_list){.chunks = o->write, .count = n};
}

static struct rpcrdma_segment a_segment(const struct mutate_list *list)
{
    struct rpcrdma_segment segment = {.handle = mutate_random(), .length = mutate_below(9000)};

    if (list->n_segments > 0 && mutate_below(4)) {
        const struct mutate_segment *s = &list->segment[mutate_below((uint32_t)list->n_segments)];

        segment = (struct rpcrdma_segment){s->handle, s->length, s->offset};
    } else {
        segment.offset = (uint64_t)mutate_random() << mutate_below(33);
    }
    return segment;
}

static void change_segment(struct rpcrdma_segment *segment)
{
    switch (mutate_below(4)) {
    case 0:
        segment->handle = mutate_number(segment->handle);
        break;
    case 1:
        segment->length = mutate_number(segment->length);
        break;
    case 2:
        segment->offset += segment->length;
        break;
    case 3:
        segment->offset = UINT64_MAX - mutate_below(4096);
        break;
    }
}

static void change_reads(const struct mutate_list *list, struct rpcrdma_read_list *reads,
                         struct rpcrdma_read_segment *to)
{
    uint32_t at = reads->count ? mutate_below(reads->count) : 0;

    switch (mutate_below(4)) {
    case 0:
        if (reads->count < LIST) {
            to[reads->count].position =
                reads->count ? to[reads->count - 1].position : mutate_below(256);
            to[reads->count++].segment = a_segment(list);
        }
        break;
    case 1:
        if (reads->count > 0)
            to[at] = to[--reads->count];
        break;
    case 2:
        if (reads->count > 0)
            to[at].position = mutate_number(to[at].position);
        break;
    case 3:
        if (reads->count > 0)
            change_segment(&to[at].segment);
        break;
    }
}

static void change_chunk(const struct mutate_list *list, struct rpcrdma_chunk *chunk,
                         struct rpcrdma_segment *to)
{
    chunk->segments = to;
    switch (mutate_below(3)) {
    case 0:
        if (chunk->count < LIST)
            to[chunk->count++] = a_segment(list);
        break;
    case 1:
        chunk->count -= chunk->count > 0;
        break;
    case 2:
        if (chunk->count > 0)
            change_segment(&to[mutate_below(chunk->count)]);
        break;
    }
    chunk->declared = chunk->count;
}

static void change_writes(const struct mutate_list *list, struct open *o)
{
    uint32_t n = o->m.write.count;

    if (n < CHUNKS && mutate_below(3) == 0) {
        o->write[n] = (struct rpcrdma_chunk){.segments = o->segment[n]};
        change_chunk(list, &o->write[n], o->segment[n]);
        o->m.write.count++;
    } else if (n > 0 && mutate_below(3) == 0) {
        o->m.write.count--;
    } else if (n > 0) {
        n = mutate_below(n);
        change_chunk(list, &o->write[n], o->segment[n]);
    }
}

/* Another version or format: what does not have a part leaves it out. */
static void change_dialect(struct rpcrdma_message *m)
{
    m->dialect = rpcrdma_dialect(mutate_below(RPCRDMA_DIALECT_COUNT));
    m->version = m->dialect->version;
    m->type = m->dialect->types[mutate_below((uint32_t)m->dialect->n_types)].value;
    m->present = 0;
}

static void change(const struct mutate_list *list, struct open *o)
{
    struct rpcrdma_message *m = &o->m;

    switch (mutate_below(12)) {
    case 0:
    case 1:
        change_reads(list, &m->read, o->read);
        break;
    case 2:
        change_reads(list, &m->call, o->call);
        break;
    case 3:
    case 4:
        change_writes(list, o);
        break;
    case 5:
        if (!m->reply_present || mutate_below(3))
            change_chunk(list, &m->reply, o->segment[CHUNKS]);
        m->reply_present = mutate_below(4) != 0;
        break;
    case 6:
        m->type = m->dialect->types[mutate_below((uint32_t)m->dialect->n_types)].value;
        m->present = 0;
        break;
    case 7:
        if (mutate_below(4) == 0)
            change_dialect(m);
        else
            m->remaining = mutate_number(m->remaining);
        break;
    case 8:
        m->credits = mutate_number(m->credits);
        break;
    case 9:
        m->xid = mutate_number(m->xid);
        break;
    case 10:
        m->flags ^= 1u << mutate_below(4);
        m->direction = mutate_below(2);
        m->inv_handle = mutate_number(m->inv_handle);
        break;
    case 11:
        m->error.code = mutate_below(12);
        m->error.body = RPCRDMA_ERROR_VOID;
        m->error.low = m->error.high = m->error.length_needed = mutate_number(1);
        break;
    }
}

size_t mutate_message(const struct mutate_list *list, const uint8_t *data, size_t size,
                      uint8_t *out, size_t max)
{
    static uint8_t payload[MUTATE_PACKET];
    const struct rpcrdma_dialect *dialect =
        mutate_below(2) ? NULL : rpcrdma_dialect(mutate_below(RPCRDMA_DIALECT_COUNT));
    struct open o;
    size_t n;

    memset(&o, 0, sizeof(o));
    if (rpcrdma_message_decode(dialect, data, size, size, &o.m) != RPCRDMA_OK) {
        n = size < max ? size : max;
        memcpy(out, data, n);
        return LLVMFuzzerMutate(out, n, max);
    }
    open_reads(&o.m.call, o.call);
    open_reads(&o.m.read, o.read);
    open_writes(&o);
    open_chunk(&o.m.reply, o.segment[CHUNKS]);
    n = o.m.payload.len;
    if (n > 0)
        memcpy(payload, o.m.payload.data, n);
    if (n >= 8 && mutate_below(4) == 0)
        n = LLVMFuzzerMutate(payload + 4, n - 4, n + 60 < 4096 ? n + 60 : n - 4) + 4;
    else
        change(list, &o);
    if (n >= 4)
        rpcrdma_put_be32(payload, o.m.xid);
    o.m.payload.data = n ? payload : NULL;
    o.m.payload.caplen = o.m.payload.len = (uint32_t)n;
    if (rpcrdma_message_encode(&o.m, out, max, &n) != RPCRDMA_OK) {
        n = size < max ? size : max;
        memcpy(out, data, n);
    }
    return n;
}
