/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/xdr.h"

#include "wire/property.h"

enum {
    WORD_SIZE = 4,
    PROPERTY_MIN = 8, /* id and length of an empty value */
};

/* Reads the count of items of at least `size` bytes each. False: not readable. */
static bool read_count(struct rpcrdma_cursor *c, uint32_t size, uint32_t *declared,
                       const char *what)
{
    size_t off = c->off;
    const uint8_t *p = rpcrdma_cursor_take(c, WORD_SIZE, what);

    if (!p)
        return false;
    *declared = rpcrdma_get_be32(p);
    if (*declared > rpcrdma_cursor_left(c) / size)
        rpcrdma_cursor_fail(c, RPCRDMA_MALFORMED, off, what);
    return true;
}

bool rpcrdma_read_opaque(struct rpcrdma_cursor *c, struct rpcrdma_span *out, bool *noncanonical,
                         const char *length_what, const char *what)
{
    uint32_t length, padding;
    size_t off = c->off;

    if (!read_count(c, 1, &length, length_what))
        return false;
    *out = (struct rpcrdma_span){.off = (uint32_t)c->off, .len = length};
    if (c->status != RPCRDMA_OK)
        return true;
    padding = -length & 3;
    if (padding > rpcrdma_cursor_left(c) - length) { /* cannot wrap: read_count looked */
        rpcrdma_cursor_fail(c, RPCRDMA_MALFORMED, off, length_what);
        return true;
    }
    out->caplen = length;
    if (out->caplen > rpcrdma_cursor_captured(c))
        out->caplen = (uint32_t)rpcrdma_cursor_captured(c);
    out->data = rpcrdma_cursor_take(c, out->caplen, what);
    if (out->caplen < length) {
        rpcrdma_cursor_take(c, length - out->caplen, what); /* fails: not captured */
        return true;
    }
    const uint8_t *p = rpcrdma_cursor_take(c, padding, what);
    for (uint32_t i = 0; p && i < padding; i++)
        if (p[i])
            *noncanonical = true;
    return true;
}

/* Reads the property at the cursor and adds it to `out` if it is whole. */
static void add_property(struct rpcrdma_cursor *c, struct rpcrdma_propset *out, bool *noncanonical)
{
    struct rpcrdma_span data;

    rpcrdma_cursor_be32(c, "property id");
    rpcrdma_read_opaque(c, &data, noncanonical, "property length", "property data");
    if (c->status != RPCRDMA_OK)
        return;
    out->count++;
    out->wire.len = out->wire.caplen = (uint32_t)c->off - out->wire.off;
}

static void start_propset(const struct rpcrdma_cursor *c, struct rpcrdma_propset *out)
{
    out->wire.data = c->base + c->off;
    out->wire.off = (uint32_t)c->off;
}

void rpcrdma_read_property(struct rpcrdma_cursor *c, struct rpcrdma_propset *out,
                           bool *noncanonical)
{
    *out = (struct rpcrdma_propset){.declared = 1};
    if (c->status != RPCRDMA_OK)
        return;
    start_propset(c, out);
    add_property(c, out, noncanonical);
}

bool rpcrdma_read_propset(struct rpcrdma_cursor *c, struct rpcrdma_propset *out, bool *noncanonical)
{
    *out = (struct rpcrdma_propset){0};
    if (!read_count(c, PROPERTY_MIN, &out->declared, "property count"))
        return false;
    start_propset(c, out);
    for (uint32_t i = 0; c->status == RPCRDMA_OK && i < out->declared; i++)
        add_property(c, out, noncanonical);
    return true;
}

bool rpcrdma_read_words(struct rpcrdma_cursor *c, struct rpcrdma_words *out)
{
    size_t captured;

    *out = (struct rpcrdma_words){.off = (uint32_t)c->off};
    if (!read_count(c, WORD_SIZE, &out->declared, "property subset length"))
        return false;
    out->wire = c->base + c->off;
    if (c->status != RPCRDMA_OK)
        return true;
    captured = rpcrdma_cursor_captured(c) / WORD_SIZE;
    out->count = out->declared < captured ? out->declared : (uint32_t)captured;
    rpcrdma_cursor_take(c, (size_t)out->count * WORD_SIZE, "property subset");
    if (out->count < out->declared)
        rpcrdma_cursor_take(c, WORD_SIZE, "property subset"); /* fails: not captured */
    return true;
}

static void write_property(struct rpcrdma_writer *w, const struct rpcrdma_property *property)
{
    rpcrdma_writer_be32(w, property->id);
    if (property->data.data) {
        rpcrdma_writer_opaque(w, property->data.data, property->data.caplen);
    } else if (property->state == RPCRDMA_PROPERTY_VALUE ||
               property->state == RPCRDMA_PROPERTY_BOOL) {
        rpcrdma_writer_be32(w, WORD_SIZE);
        rpcrdma_writer_be32(w, property->value);
    } else {
        rpcrdma_writer_be32(w, 0);
    }
}

void rpcrdma_write_properties(struct rpcrdma_writer *w, const struct rpcrdma_propset *set)
{
    struct rpcrdma_property property;
    struct rpcrdma_property_iter it =
        rpcrdma_property_begin(set, rpcrdma_dialect(RPCRDMA_IETF_07), false);

    /* Only ids and bytes are written: which dialect explains them does not matter. */
    if (set->wire.data)
        while (rpcrdma_property_next(&it, &property))
            write_property(w, &property);
    else
        for (uint32_t i = 0; i < set->count; i++)
            write_property(w, &set->properties[i]);
}

void rpcrdma_write_propset(struct rpcrdma_writer *w, const struct rpcrdma_propset *set)
{
    rpcrdma_writer_be32(w, set->count);
    rpcrdma_write_properties(w, set);
}

void rpcrdma_write_words(struct rpcrdma_writer *w, const struct rpcrdma_words *words)
{
    rpcrdma_writer_be32(w, words->count);
    for (uint32_t i = 0; i < words->count; i++)
        rpcrdma_writer_be32(w, rpcrdma_words_get(words, i));
}
