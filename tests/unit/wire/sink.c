/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink.h"

#include "test.h"
#include "vectors.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void put(struct sink *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    s->n += (size_t)vsnprintf(s->text + s->n, sizeof(s->text) - s->n, format, args);
    va_end(args);
    assert(s->n < sizeof(s->text));
}

static void put_number(struct sink *s, const struct rpcrdma_value *v, const char *quote)
{
    if (v->base == RPCRDMA_BASE_HEX)
        put(s, "%s0x%0*" PRIx64 "%s", quote, (int)v->field->width / 4, v->number, quote);
    else if (v->base == RPCRDMA_BASE_BOOL)
        put(s, "%s", v->number ? "true" : "false");
    else if (v->base == RPCRDMA_BASE_REAL)
        put(s, "%g", v->real);
    else
        put(s, "%" PRIu64, v->number);
}

static void put_hex(struct sink *s, const struct rpcrdma_value *v)
{
    for (uint32_t i = 0; i < v->bytes.caplen; i++)
        put(s, "%02x", v->bytes.data[i]);
}

/* A comma where one is due, and the key where the surroundings are an object. */
static void json_key(struct sink *s, const char *key)
{
    if (!s->first[s->depth])
        put(s, ",");
    s->first[s->depth] = false;
    if (s->shape[s->depth] == RPCRDMA_SHAPE_OBJECT)
        put(s, "\"%s\":", key);
}

static void json_begin(void *context, const struct rpcrdma_record *record, uint32_t off,
                       uint32_t len)
{
    struct sink *s = context;

    (void)off;
    (void)len;
    json_key(s, record->key);
    put(s, record->shape == RPCRDMA_SHAPE_LIST ? "[" : "{");
    s->depth++;
    s->first[s->depth] = true;
    s->shape[s->depth] = record->shape;
}

static void json_field(void *context, const struct rpcrdma_value *v)
{
    struct sink *s = context;

    json_key(s, v->field->key);
    if (v->base == RPCRDMA_BASE_TEXT || (v->base == RPCRDMA_BASE_NAME && v->name)) {
        put(s, "\"%s\"", v->name);
    } else if (v->base == RPCRDMA_BASE_BYTES) {
        put(s, "\"");
        put_hex(s, v);
        put(s, "\"");
    } else {
        put_number(s, v, "\"");
    }
}

static void json_record_end(void *context, const struct rpcrdma_record *record)
{
    struct sink *s = context;

    assert(s->depth > 0 && s->shape[s->depth] == record->shape);
    s->depth--;
    put(s, record->shape == RPCRDMA_SHAPE_LIST ? "]" : "}");
}

struct rpcrdma_visitor json_sink(struct sink *s)
{
    s->n = 0;
    s->depth = 0;
    s->first[0] = true;
    s->shape[0] = RPCRDMA_SHAPE_OBJECT;
    put(s, "{");
    return (struct rpcrdma_visitor){json_begin, json_field, json_record_end, s};
}

void json_end(struct sink *s)
{
    assert(s->depth == 0);
    put(s, "}");
}

static void text_begin(void *context, const struct rpcrdma_record *record, uint32_t off,
                       uint32_t len)
{
    struct sink *s = context;

    (void)off;
    (void)len;
    put(s, "%*s%s\n", 2 * s->depth, "", record->name);
    s->depth++;
}

static void text_field(void *context, const struct rpcrdma_value *v)
{
    struct sink *s = context;

    put(s, "%*s%s: ", 2 * s->depth, "", v->field->name);
    if (v->base == RPCRDMA_BASE_TEXT)
        put(s, "%s", v->name);
    else if (v->base == RPCRDMA_BASE_BYTES)
        put_hex(s, v);
    else if (v->base == RPCRDMA_BASE_NAME && v->name)
        put(s, "%s (%" PRIu64 ")", v->name, v->number);
    else
        put_number(s, v, "");
    put(s, "\n");
}

static void text_end(void *context, const struct rpcrdma_record *record)
{
    struct sink *s = context;

    (void)record;
    s->depth--;
}

struct rpcrdma_visitor text_sink(struct sink *s)
{
    s->n = 0;
    s->depth = 0;
    s->text[0] = '\0';
    return (struct rpcrdma_visitor){text_begin, text_field, text_end, s};
}

void sink_walk(struct sink *sink, enum rpcrdma_dialect_id dialect, const char *hex, int direction,
               size_t caplen)
{
    size_t len;
    unsigned char *bytes = unhex(hex, &len);
    struct rpcrdma_visitor json = json_sink(sink);
    struct rpcrdma_message m;
    uint8_t *copy;

    caplen = caplen < len ? caplen : len;
    copy = heap_copy(bytes, caplen);
    rpcrdma_message_decode(rpcrdma_dialect(dialect), copy, caplen, len, &m);
    rpcrdma_walk_message(&m, direction, &json);
    json_end(sink);
    free(copy);
    free(bytes);
}
