/* SPDX-License-Identifier: BSD-2-Clause */
#include "vectors.h"
#include "test.h"

#include <ctype.h>
#include <stdio.h>

#include "wire/property.h"

const struct vector_table *const *vector_tables(void)
{
    static const struct vector_table *const tables[] = {&v1_vectors, &union_vectors, &flags_vectors,
                                                        &htype_vectors, NULL};
    return tables;
}

static unsigned digit(char c)
{
    return (unsigned)(isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10);
}

unsigned char *unhex(const char *hex, size_t *len)
{
    unsigned char *bytes = malloc(strlen(hex) + 1), *exact;
    size_t digits = 0;

    if (!bytes)
        abort();
    for (; *hex; hex++) {
        if (!isxdigit((unsigned char)*hex))
            continue;
        if (digits % 2 == 0)
            bytes[digits / 2] = (unsigned char)(digit(*hex) << 4);
        else
            bytes[digits / 2] |= (unsigned char)digit(*hex);
        digits++;
    }
    if (digits % 2)
        abort();
    *len = digits / 2;
    exact = heap_copy(bytes, *len);
    free(bytes);
    return exact;
}

void for_each_vector_bytes(void (*check)(const struct vector *, unsigned char *, size_t))
{
    for (const struct vector_table *const *t = vector_tables(); *t; t++)
        for (size_t i = 0; i < (*t)->count; i++) {
            size_t len;
            unsigned char *bytes = unhex((*t)->vectors[i].hex, &len);

            check(&(*t)->vectors[i], bytes, len);
            free(bytes);
        }
}

/* Prints a message as text that has no pointers in it; two messages are equal when theirs is. */
struct text {
    char *buf;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(t->buf + t->used, t->size - t->used, format, args);
    va_end(args);
    if (n > 0)
        t->used += (size_t)n < t->size - t->used ? (size_t)n : t->size - t->used - 1;
}

static void say_segment(struct text *t, const struct rpcrdma_segment *s)
{
    say(t, " %x/%u/%llx", s->handle, s->length, (unsigned long long)s->offset);
}

static void say_reads(struct text *t, const char *name, const struct rpcrdma_read_list *list)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment entry;

    say(t, "%s:", name);
    while (rpcrdma_read_next(&it, &entry)) {
        say(t, " @%u", entry.position);
        say_segment(t, &entry.segment);
    }
    say(t, "\n");
}

static void say_chunk(struct text *t, const struct rpcrdma_chunk *chunk)
{
    say(t, " [%u, %llu bytes:", chunk->count, (unsigned long long)rpcrdma_chunk_length(chunk));
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct rpcrdma_segment segment = rpcrdma_chunk_segment(chunk, i);
        say_segment(t, &segment);
    }
    say(t, "]");
}

static void say_writes(struct text *t, const struct rpcrdma_write_list *list)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(list);
    struct rpcrdma_chunk chunk;

    say(t, "write:");
    while (rpcrdma_write_next(&it, &chunk))
        say_chunk(t, &chunk);
    say(t, "\n");
}

static void say_span(struct text *t, const struct rpcrdma_span *span)
{
    say(t, " %u/%u:", span->caplen, span->len);
    for (uint32_t i = 0; span->data && i < span->caplen; i++)
        say(t, "%02x", span->data[i]);
}

static void say_set(struct text *t, const char *name, const struct rpcrdma_propset *set,
                    const struct rpcrdma_dialect *dialect)
{
    struct rpcrdma_property_iter it = rpcrdma_property_begin(set, dialect, false);
    struct rpcrdma_property p;

    say(t, "%s:", name);
    while (rpcrdma_property_next(&it, &p)) {
        bool number = p.state == RPCRDMA_PROPERTY_VALUE || p.state == RPCRDMA_PROPERTY_BOOL;

        say(t, " %u state %d %u", p.id, p.state, number ? p.value : 0);
        if (!number)
            say_span(t, &p.data);
    }
    say(t, "\n");
}

static void say_words(struct text *t, const char *name, const struct rpcrdma_words *words)
{
    say(t, "%s:", name);
    for (uint32_t i = 0; i < words->count; i++)
        say(t, " %x", rpcrdma_words_get(words, i));
    say(t, "\n");
}

static void say_message(struct text *t, const struct rpcrdma_message *m)
{
    const struct rpcrdma_error *e = &m->error;

    say(t, "dialect: %s kind %d\n", m->dialect->name, m->kind);
    say(t, "common: %x %u %u %u\n", m->xid, m->version, m->credits, m->type);
    say(t, "words: flags %x direction %u align %u thresh %u inv_handle %x remaining %u\n", m->flags,
        m->direction, m->align, m->thresh, m->inv_handle, m->remaining);
    say_reads(t, "call", &m->call);
    say_reads(t, "read", &m->read);
    say_writes(t, &m->write);
    say(t, "reply: %d", m->reply_present);
    say_chunk(t, &m->reply);
    say(t, "\nerror: %u body %d %u %u, %u, %u %u, %u %u\n", e->code, e->body, e->low, e->high,
        e->max, e->chunk_index, e->length_needed, e->processed, e->segment_index);
    say_set(t, "properties", &m->properties, m->dialect);
    say_words(t, "nochg", &m->nochg);
    say_set(t, "want", &m->want, m->dialect);
    say_words(t, "done", &m->done);
    say_words(t, "rejected", &m->rejected);
    say_set(t, "other", &m->other, m->dialect);
    say_set(t, "now", &m->now, m->dialect);
    say(t, "optional: %u %u", m->optional.direction, m->optional.type);
    say_span(t, &m->optional.info);
    say(t, "\npayload: trailing %d", m->trailing);
    say_span(t, &m->payload);
    say(t, "\n");
}

bool messages_differ(const struct rpcrdma_message *a, const struct rpcrdma_message *b, char *buf,
                     size_t size)
{
    static char left[16384], right[16384];
    struct text x = {left, sizeof(left), 0}, y = {right, sizeof(right), 0};
    const char *p = left, *q = right;

    say_message(&x, a);
    say_message(&y, b);
    while (*p && *q) {
        size_t m = strcspn(p, "\n"), n = strcspn(q, "\n");

        if (m != n || memcmp(p, q, m)) {
            snprintf(buf, size, "got \"%.*s\", want \"%.*s\"", (int)m, p, (int)n, q);
            return true;
        }
        p += m + (p[m] != 0);
        q += n + (q[n] != 0);
    }
    return *p || *q;
}
