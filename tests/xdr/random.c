/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <assert.h>

static uint64_t state = 1;

void random_seed(uint64_t seed)
{
    state = seed | 1;
}

/* xorshift64* */
static uint32_t next(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * UINT64_C(0x2545f4914f6cdd1d)) >> 32);
}

uint32_t random_below(uint32_t n)
{
    return next() % n;
}

/* An edge, a small number or any. */
static uint32_t random_word(void)
{
    static const uint32_t edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};

    switch (random_below(4)) {
    case 0:
        return edges[random_below(sizeof(edges) / sizeof(edges[0]))];
    case 1:
        return random_below(100);
    default:
        return next();
    }
}

/* How many of something: mostly few, now and then many. */
static uint32_t count(uint32_t used)
{
    uint32_t n = random_below(8) ? random_below(4) : random_below(24);

    return n < RANDOM_ITEMS - used ? n : RANDOM_ITEMS - used;
}

static struct rpcrdma_segment segment(void)
{
    return (struct rpcrdma_segment){random_word(), random_word(),
                                    (uint64_t)random_word() << 32 | random_word()};
}

static struct rpcrdma_span bytes(struct random_message *r, uint32_t n)
{
    struct rpcrdma_span span = {.data = r->bytes + r->n_bytes, .caplen = n, .len = n};

    assert(r->n_bytes + n <= RANDOM_BYTES);
    for (uint32_t i = 0; i < n; i++)
        r->bytes[r->n_bytes++] = (uint8_t)next();
    return span;
}

static struct rpcrdma_read_list reads(struct random_message *r)
{
    struct rpcrdma_read_list list = {.segments = r->reads + r->n_reads, .count = count(r->n_reads)};

    for (uint32_t i = 0; i < list.count; i++)
        r->reads[r->n_reads++] = (struct rpcrdma_read_segment){random_word(), segment()};
    return list;
}

static struct rpcrdma_chunk chunk(struct random_message *r)
{
    struct rpcrdma_chunk chunk = {.segments = r->segments + r->n_segments,
                                  .count = count(r->n_segments)};

    chunk.declared = chunk.count;
    for (uint32_t i = 0; i < chunk.count; i++)
        r->segments[r->n_segments++] = segment();
    return chunk;
}

static struct rpcrdma_write_list writes(struct random_message *r)
{
    struct rpcrdma_write_list list = {.chunks = r->chunks + r->n_chunks,
                                      .count = count(r->n_chunks)};

    for (uint32_t i = 0; i < list.count; i++)
        r->chunks[r->n_chunks++] = chunk(r);
    return list;
}

static struct rpcrdma_property property(struct random_message *r)
{
    struct rpcrdma_property p = {.id = random_below(4) ? random_below(9) : random_word()};

    if (random_below(3)) {
        p.state = RPCRDMA_PROPERTY_OPAQUE;
        p.data = bytes(r, random_below(3) ? random_below(13) : 4);
    } else { /* as one builds it: a number without bytes */
        p.state = random_below(2) ? RPCRDMA_PROPERTY_VALUE : RPCRDMA_PROPERTY_DEFAULT;
        p.value = random_word();
    }
    return p;
}

static struct rpcrdma_propset set_of(struct random_message *r, uint32_t n)
{
    struct rpcrdma_propset set = {
        .properties = r->properties + r->n_properties, .count = n, .declared = n};

    for (uint32_t i = 0; i < n; i++)
        r->properties[r->n_properties++] = property(r);
    return set;
}

static struct rpcrdma_propset set(struct random_message *r)
{
    return set_of(r, count(r->n_properties));
}

static struct rpcrdma_words words(struct random_message *r)
{
    struct rpcrdma_words w = {.words = r->words + r->n_words, .count = count(r->n_words)};

    w.declared = w.count;
    for (uint32_t i = 0; i < w.count; i++)
        r->words[r->n_words++] = random_word();
    return w;
}

static struct rpcrdma_error error(const struct rpcrdma_dialect *dialect, bool closed)
{
    struct rpcrdma_error e = {.low = random_word(),
                              .high = random_word(),
                              .max = random_word(),
                              .chunk_index = random_word(),
                              .length_needed = random_word(),
                              .processed = random_below(2),
                              .segment_index = random_word()};

    if (closed || random_below(8))
        e.code = dialect->errors[random_below((uint32_t)dialect->n_errors)].value;
    else
        e.code = random_word();
    return e;
}

static void start(struct random_message *r, const struct rpcrdma_dialect *dialect)
{
    r->n_reads = r->n_segments = r->n_chunks = r->n_properties = r->n_words = r->n_bytes = 0;
    r->m = (struct rpcrdma_message){.dialect = dialect,
                                    .xid = random_word(),
                                    .version = dialect->version,
                                    .credits = random_word()};
}

void random_message(struct random_message *r, const struct rpcrdma_dialect *dialect,
                    const struct rpcrdma_type_desc *type, bool closed, bool first_word)
{
    struct rpcrdma_message *m = &r->m;
    uint32_t parts = type->parts;

    start(r, dialect);
    m->type = type->value;
    m->kind = type->kind;
    /* Words the type does not have are set, too: the encoder must leave them out. */
    m->flags = random_word();
    m->direction = m->optional.direction = random_below(2);
    m->align = random_word();
    m->thresh = random_word();
    m->inv_handle = random_word();
    m->remaining = random_word();
    if (parts & RPCRDMA_HAS_CALL)
        m->call = reads(r);
    if (parts & RPCRDMA_HAS_READ)
        m->read = reads(r);
    if (parts & RPCRDMA_HAS_WRITE)
        m->write = writes(r);
    if (parts & RPCRDMA_HAS_REPLY && random_below(2)) {
        m->reply_present = true;
        m->reply = chunk(r);
    }
    if (parts & RPCRDMA_HAS_ERROR)
        m->error = error(dialect, closed);
    if (parts & RPCRDMA_HAS_PROPERTIES)
        m->properties = set(r);
    if (parts & RPCRDMA_HAS_NOCHG)
        m->nochg = words(r);
    if (parts & RPCRDMA_HAS_WANT)
        m->want = set(r);
    if (parts & RPCRDMA_HAS_DONE)
        m->done = words(r);
    if (parts & RPCRDMA_HAS_REJECTED)
        m->rejected = words(r);
    if (parts & RPCRDMA_HAS_OTHER)
        m->other = set(r);
    if (parts & RPCRDMA_HAS_NOW)
        m->now = set(r);
    if (parts & RPCRDMA_HAS_OPTIONAL) {
        m->optional.type = random_word();
        m->optional.info = bytes(r, random_below(40));
    }
    if (first_word || (parts & RPCRDMA_HAS_PAYLOAD && random_below(2)))
        m->payload = bytes(r, 4 + random_below(60));
}

void random_xchar(struct random_message *r, uint32_t type, struct rpcrdma_xchar *x)
{
    start(r, rpcrdma_dialect(RPCRDMA_CEL_01));
    *x = (struct rpcrdma_xchar){.type = type};
    switch (type) {
    case RPCRDMA_XCHAR_INIT:
        x->start = set(r);
        x->nochg = words(r);
        break;
    case RPCRDMA_XCHAR_REQ:
        x->want = set(r);
        break;
    case RPCRDMA_XCHAR_RESP:
        x->done = words(r);
        x->rej = words(r);
        x->pend = words(r);
        break;
    case RPCRDMA_XCHAR_UPD:
        x->now = set_of(r, 1);
        x->pendclr = random_below(2);
        break;
    default:
        assert(false);
    }
}
