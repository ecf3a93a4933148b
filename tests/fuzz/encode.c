/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that are built, encoded and decoded again: what comes out is what was put in. Input: the
 * choices of who builds one (a dialect, a header type, counts, values).
 */
#include "fuzz.h"
#include "wire/message.h"
#include "wire/property.h"

enum { MAX_LIST = 6, MAX_BYTES = 40, MAX_MESSAGE = 16384 };

struct built {
    struct rpcrdma_message message;
    struct rpcrdma_read_segment call[MAX_LIST], read[MAX_LIST];
    struct rpcrdma_segment segments[MAX_LIST + 1][MAX_LIST];
    struct rpcrdma_chunk write[MAX_LIST];
    struct rpcrdma_property properties[4][MAX_LIST];
    uint32_t words[3][MAX_LIST];
};

static struct rpcrdma_segment make_segment(struct fuzz_choices *from)
{
    struct rpcrdma_segment segment = {.handle = fuzz_u32(from), .length = fuzz_u32(from)};

    segment.offset = (uint64_t)fuzz_u32(from) << 32 | segment.handle;
    return segment;
}

static struct rpcrdma_read_list make_reads(struct fuzz_choices *from,
                                           struct rpcrdma_read_segment *to)
{
    uint32_t n = fuzz_u8(from) % (MAX_LIST + 1);

    for (uint32_t i = 0; i < n; i++)
        to[i] = (struct rpcrdma_read_segment){.position = fuzz_u32(from),
                                              .segment = make_segment(from)};
    return (struct rpcrdma_read_list){.segments = to, .count = n};
}

static struct rpcrdma_chunk make_chunk(struct fuzz_choices *from, struct rpcrdma_segment *to)
{
    uint32_t n = fuzz_u8(from) % (MAX_LIST + 1);

    for (uint32_t i = 0; i < n; i++)
        to[i] = make_segment(from);
    return (struct rpcrdma_chunk){.segments = to, .count = n, .declared = n};
}

static struct rpcrdma_propset make_properties(struct fuzz_choices *from,
                                              struct rpcrdma_property *to)
{
    uint32_t n = fuzz_u8(from) % (MAX_LIST + 1);
    size_t got;

    for (uint32_t i = 0; i < n; i++) {
        to[i] = (struct rpcrdma_property){.id = fuzz_u8(from), .state = fuzz_u8(from) % 5};
        to[i].value = fuzz_u32(from);
        if (to[i].id & 1) {
            to[i].data.data = fuzz_bytes(from, fuzz_u8(from) % MAX_BYTES, &got);
            to[i].data.caplen = to[i].data.len = (uint32_t)got;
        }
    }
    return (struct rpcrdma_propset){.properties = to, .count = n, .declared = n};
}

static struct rpcrdma_words make_words(struct fuzz_choices *from, uint32_t *to)
{
    uint32_t n = fuzz_u8(from) % (MAX_LIST + 1);

    for (uint32_t i = 0; i < n; i++)
        to[i] = fuzz_u32(from);
    return (struct rpcrdma_words){.words = to, .count = n, .declared = n};
}

static void make(struct fuzz_choices *from, struct built *b)
{
    struct rpcrdma_message *m = &b->message;
    struct rpcrdma_error *e = &m->error;
    size_t got;

    m->dialect = rpcrdma_dialect(fuzz_u8(from) % RPCRDMA_DIALECT_COUNT);
    m->version = m->dialect->version;
    m->type = m->dialect->types[fuzz_u8(from) % m->dialect->n_types].value;
    m->xid = fuzz_u32(from);
    m->credits = fuzz_u32(from);
    m->flags = fuzz_u32(from);
    m->direction = m->optional.direction = fuzz_u8(from) & 1;
    m->align = fuzz_u32(from);
    m->thresh = fuzz_u32(from);
    m->inv_handle = fuzz_u32(from);
    m->remaining = fuzz_u32(from);
    e->code = fuzz_u8(from) % (uint32_t)(m->dialect->n_errors + 2);
    e->low = e->max = e->chunk_index = e->segment_index = fuzz_u32(from);
    e->high = e->length_needed = fuzz_u32(from);
    e->processed = fuzz_u8(from) & 1;
    m->optional.type = fuzz_u8(from);
    m->call = make_reads(from, b->call);
    m->read = make_reads(from, b->read);
    m->write.count = fuzz_u8(from) % (MAX_LIST + 1);
    m->write.chunks = b->write;
    for (uint32_t i = 0; i < m->write.count; i++)
        b->write[i] = make_chunk(from, b->segments[i]);
    m->reply_present = fuzz_u8(from) & 1;
    if (m->reply_present)
        m->reply = make_chunk(from, b->segments[MAX_LIST]);
    m->properties = make_properties(from, b->properties[0]);
    m->want = make_properties(from, b->properties[1]);
    m->other = make_properties(from, b->properties[2]);
    m->now = make_properties(from, b->properties[3]);
    m->nochg = make_words(from, b->words[0]);
    m->done = make_words(from, b->words[1]);
    m->rejected = make_words(from, b->words[2]);
    m->optional.info.data = fuzz_bytes(from, fuzz_u8(from) % MAX_BYTES, &got);
    m->optional.info.caplen = m->optional.info.len = (uint32_t)got;
    m->payload.data = from->size ? from->data : NULL;
    m->payload.caplen = m->payload.len = from->size < 64 ? (uint32_t)from->size : 64;
}

static bool same_segment(const struct rpcrdma_segment *a, const struct rpcrdma_segment *b)
{
    return a->handle == b->handle && a->length == b->length && a->offset == b->offset;
}

static void same_reads(const struct rpcrdma_read_list *in, const struct rpcrdma_read_list *out)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(out);
    struct rpcrdma_read_segment one;

    MUST(in->count == out->count);
    for (uint32_t i = 0; rpcrdma_read_next(&it, &one); i++)
        MUST(one.position == in->segments[i].position &&
             same_segment(&one.segment, &in->segments[i].segment));
}

static void same_chunk(const struct rpcrdma_chunk *in, const struct rpcrdma_chunk *out)
{
    uint64_t sum = 0;

    MUST(in->count == out->count && out->declared == in->count);
    for (uint32_t i = 0; i < in->count; i++) {
        struct rpcrdma_segment one = rpcrdma_chunk_segment(out, i);

        MUST(same_segment(&one, &in->segments[i]));
        sum += one.length;
    }
    MUST(sum == rpcrdma_chunk_length(out));
}

static void same_properties(const struct rpcrdma_propset *in, const struct rpcrdma_propset *out,
                            const struct rpcrdma_dialect *dialect)
{
    struct rpcrdma_property_iter it = rpcrdma_property_begin(out, dialect, false);
    struct rpcrdma_property one;

    MUST(in->count == out->count);
    for (uint32_t i = 0; rpcrdma_property_next(&it, &one); i++) {
        const struct rpcrdma_property *was = &in->properties[i];

        MUST(one.id == was->id);
        if (was->data.data) {
            MUST(one.data.caplen == was->data.caplen);
            MUST(memcmp(one.data.data, was->data.data, one.data.caplen) == 0);
        } else if (was->state <= RPCRDMA_PROPERTY_BOOL) {
            MUST(one.data.caplen == 4);
            MUST(one.state != RPCRDMA_PROPERTY_VALUE || one.value == was->value);
        } else {
            MUST(one.data.caplen == 0);
        }
    }
}

static void same_words(const struct rpcrdma_words *in, const struct rpcrdma_words *out)
{
    MUST(in->count == out->count);
    for (uint32_t i = 0; i < in->count; i++)
        MUST(rpcrdma_words_get(out, i) == in->words[i]);
}

static void same_error(const struct rpcrdma_error *in, const struct rpcrdma_error *out)
{
    MUST(in->code == out->code);
    switch (out->body) {
    case RPCRDMA_ERROR_VOID:
        break;
    case RPCRDMA_ERROR_RANGE:
        MUST(out->low == in->low && out->high == in->high);
        break;
    case RPCRDMA_ERROR_MAX_CHUNKS:
    case RPCRDMA_ERROR_MAX_SEGMENTS:
        MUST(out->max == in->max);
        break;
    case RPCRDMA_ERROR_WRITE:
        MUST(out->chunk_index == in->chunk_index && out->length_needed == in->length_needed);
        break;
    case RPCRDMA_ERROR_LENGTH:
        MUST(out->length_needed == in->length_needed);
        break;
    case RPCRDMA_ERROR_CANT_REPLY:
        MUST(out->processed == in->processed);
        MUST(out->segment_index == in->segment_index && out->length_needed == in->length_needed);
        break;
    case RPCRDMA_ERROR_SEGMENT_LENGTH:
        MUST(out->segment_index == in->segment_index && out->length_needed == in->length_needed);
        break;
    }
}

static void same(const struct rpcrdma_message *in, const struct rpcrdma_message *out)
{
    MUST(out->dialect == in->dialect && out->version == in->version && out->type == in->type);
    MUST(out->xid == in->xid && out->credits == in->credits);
#define WHERE(bit, condition) MUST(!(out->present & RPCRDMA_HAS_##bit) || (condition))
    WHERE(FLAGS, out->flags == in->flags);
    WHERE(DIRECTION, out->direction == in->direction);
    WHERE(ALIGN, out->align == in->align);
    WHERE(THRESH, out->thresh == in->thresh);
    WHERE(INV_HANDLE, out->inv_handle == in->inv_handle);
    WHERE(REMAINING, out->remaining == in->remaining);
    WHERE(REPLY, out->reply_present == in->reply_present);
    WHERE(OPTIONAL, out->optional.type == in->optional.type &&
                        out->optional.info.caplen == in->optional.info.caplen &&
                        (in->optional.info.caplen == 0 ||
                         memcmp(out->optional.info.data, in->optional.info.data,
                                in->optional.info.caplen) == 0));
#undef WHERE
    if (out->present & RPCRDMA_HAS_CALL)
        same_reads(&in->call, &out->call);
    if (out->present & RPCRDMA_HAS_READ)
        same_reads(&in->read, &out->read);
    if (out->present & RPCRDMA_HAS_WRITE) {
        struct rpcrdma_write_iter it = rpcrdma_write_begin(&out->write);
        struct rpcrdma_chunk chunk;

        MUST(in->write.count == out->write.count);
        for (uint32_t i = 0; rpcrdma_write_next(&it, &chunk); i++)
            same_chunk(&in->write.chunks[i], &chunk);
    }
    if (out->present & RPCRDMA_HAS_REPLY && out->reply_present)
        same_chunk(&in->reply, &out->reply);
    if (out->present & RPCRDMA_HAS_ERROR)
        same_error(&in->error, &out->error);
    if (out->present & RPCRDMA_HAS_PROPERTIES)
        same_properties(&in->properties, &out->properties, in->dialect);
    if (out->present & RPCRDMA_HAS_WANT)
        same_properties(&in->want, &out->want, in->dialect);
    if (out->present & RPCRDMA_HAS_OTHER)
        same_properties(&in->other, &out->other, in->dialect);
    if (out->present & RPCRDMA_HAS_NOW)
        same_properties(&in->now, &out->now, in->dialect);
    if (out->present & RPCRDMA_HAS_NOCHG)
        same_words(&in->nochg, &out->nochg);
    if (out->present & RPCRDMA_HAS_DONE)
        same_words(&in->done, &out->done);
    if (out->present & RPCRDMA_HAS_REJECTED)
        same_words(&in->rejected, &out->rejected);
}

/* A flags family's ERR_VERS of 28 bytes could be a version 1 peer's: message.c says which wins. */
static bool could_be_version_1(const struct rpcrdma_message *m, size_t len)
{
    return m->dialect->family == RPCRDMA_FAMILY_FLAGS && m->type == 4 && len == 28 && m->flags == 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[MAX_MESSAGE];
    struct fuzz_choices from = {data, size};
    struct built b = {0};
    struct rpcrdma_message out;
    const struct rpcrdma_type_desc *type;
    size_t len, n;
    uint8_t *copy;

    make(&from, &b);
    MUST(rpcrdma_message_encode(&b.message, bytes, sizeof(bytes), &len) == RPCRDMA_OK);
    MUST(len <= sizeof(bytes));
    copy = fuzz_copy(bytes, len);
    MUST(rpcrdma_message_encode(&b.message, copy, len ? len - 1 : 0, &n) == RPCRDMA_NO_SPACE);
    MUST(n == len);
    memcpy(copy, bytes, len);
    rpcrdma_message_decode(b.message.dialect, copy, len, len, &out);
    if (!could_be_version_1(&b.message, len)) {
        MUST(out.status == RPCRDMA_OK && !out.noncanonical);
        same(&b.message, &out);
        type = rpcrdma_dialect_type(out.dialect, out.type);
        MUST((out.present & type->parts & ~(uint32_t)RPCRDMA_HAS_PAYLOAD & 0xffffff) ==
                 (type->parts & ~(uint32_t)RPCRDMA_HAS_PAYLOAD & 0xffffff) ||
             out.kind == RPCRDMA_KIND_ERROR);
        MUST(out.payload.len == (b.message.payload.data ? b.message.payload.len : 0));
        MUST(out.trailing == (out.payload.len > 0 && !(type->parts & RPCRDMA_HAS_PAYLOAD)));
    }
    free(copy);
    return 0;
}
