/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/grammar.h"

#include <assert.h>
#include <string.h>

#include "upper/xdr_grammar_text.h"
#include "wire/cursor.h"

enum { SMALL = 65536 };

static size_t padded(size_t n)
{
    return n + (-n & 3);
}

static void put_be32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (24 - 8 * i));
}

static size_t captured(const struct sanitize_walk *w, size_t off, size_t n)
{
    if (off >= w->caplen)
        return 0;
    return n < w->caplen - off ? n : w->caplen - off;
}

void sanitize_blank(struct sanitize_walk *w, size_t off, size_t n)
{
    size_t there = captured(w, off, n);

    if (there > 0)
        memset(w->p + off, 0, there);
}

/* Goes n bytes on. What of them was not captured whole is not left: false. */
static bool take(struct sanitize_walk *w, size_t n)
{
    if (!sanitize_walking(w))
        return false;
    if (n > w->len - w->off) {
        w->failed = true;
        return false;
    }
    if (captured(w, w->off, n) < n) {
        w->cut = true;
        return false;
    }
    w->off += n;
    return true;
}

/* The word that was taken last is not what it should be, and so does not stay. */
static void refuse_word(struct sanitize_walk *w)
{
    w->off -= 4;
    w->failed = true;
}

uint32_t sanitize_walk_word(struct sanitize_walk *w)
{
    return take(w, 4) ? rpcrdma_get_be32(w->p + w->off - 4) : 0;
}

static void hyper(struct sanitize_walk *w, bool keep)
{
    uint64_t value;
    uint8_t *p;

    if (!take(w, 8) || keep)
        return;
    p = w->p + w->off - 8;
    value = sanitize_hyper(w->key, rpcrdma_get_be64(p));
    put_be32(p, (uint32_t)(value >> 32));
    put_be32(p + 4, (uint32_t)value);
}

static void word(struct sanitize_walk *w)
{
    if (take(w, 4))
        put_be32(w->p + w->off - 4, sanitize_word(w->key, rpcrdma_get_be32(w->p + w->off - 4)));
}

/* Seconds, and nanoseconds that stay. 0 is no time. */
static void time_of(struct sanitize_walk *w, size_t bytes)
{
    uint8_t *p;

    if (!take(w, bytes) || w->shift_s == 0)
        return;
    p = w->p + w->off - bytes;
    if (bytes == 12) {
        uint64_t seconds = rpcrdma_get_be64(p);

        if (seconds == 0)
            return;
        seconds += (uint64_t)w->shift_s;
        put_be32(p, (uint32_t)(seconds >> 32));
        put_be32(p + 4, (uint32_t)seconds);
    } else if (rpcrdma_get_be32(p) != 0) {
        put_be32(p, rpcrdma_get_be32(p) + (uint32_t)w->shift_s);
    }
}

/* A stateid begins with a count, which stays; of what else names something nothing does. */
static void fixed(struct sanitize_walk *w, size_t n)
{
    enum { STATEID = 16 };
    uint8_t *p;

    if (!take(w, n))
        return;
    p = w->p + w->off - n;
    if (n == STATEID) {
        if (rpcrdma_get_be32(p) >= SMALL)
            sanitize_opaque(w->key, p, 4, 4);
        p += 4;
        n -= 4;
    }
    sanitize_opaque(w->key, p, n, n);
}

/* -- what travels in chunks: as in upper/xdr_grammar.c
 * ------------------------------------------------- */

/* Bytes of an item of n that are in the stream, where a chunk has `carried` of them. */
static size_t left_inline(struct sanitize_walk *w, uint32_t n, uint32_t carried)
{
    size_t whole = padded(n), in_chunk = carried < whole ? carried : whole;
    size_t inlined = whole - in_chunk;

    if (carried >= n && inlined > 0 && !w->reduction->pad_inline) {
        inlined = 0;
        in_chunk = whole;
    }
    w->removed += in_chunk;
    return inlined;
}

/* Whether a chunk has the item; then *inlined bytes of it are here. */
static bool reduced(struct sanitize_walk *w, uint32_t n, bool eligible, size_t *inlined)
{
    const struct rpcrdma_reduction *r = w->reduction;
    uint64_t at = w->off + w->removed;
    uint32_t written;
    bool first = !w->placed;

    if (!r)
        return false;
    if (w->gap < r->n_gaps && r->gaps[w->gap].position <= at) {
        if (r->gaps[w->gap].position < at) {
            w->failed = true;
            *inlined = 0;
            return true;
        }
        *inlined = left_inline(w, n, r->gaps[w->gap++].length);
        return true;
    }
    if (!eligible || w->chunk >= r->n_chunks)
        return false;
    written = r->chunks[w->chunk];
    if (written == 0) {
        if (first) {
            w->placed = true;
            w->chunk++;
        }
        return false;
    }
    if (n == 0 || (!first && written != n && written != padded(n)))
        return false;
    w->placed = true;
    w->chunk++;
    *inlined = left_inline(w, n, written < n ? n : written);
    return true;
}

/* The bytes of an opaque; padding is zeros. */
static void replace(struct sanitize_walk *w, size_t off, size_t n, bool data, bool attributes)
{
    size_t there = captured(w, off, n);

    if (w->blank || (data && !w->text_data))
        sanitize_blank(w, off, n);
    else if (attributes)
        sanitize_attributes(w, off, n);
    else if (there > 0)
        sanitize_opaque(w->key, w->p + off, there, n);
    sanitize_blank(w, off + n, padded(n) - n);
}

static void opaque(struct sanitize_walk *w, bool data, bool attributes)
{
    uint32_t n = sanitize_walk_word(w);
    size_t bytes, off = w->off;

    if (!sanitize_walking(w))
        return;
    if (reduced(w, n, data, &bytes)) {
        if (!w->taken_out)
            w->taken_out_off = off;
        w->taken_out = true;
        sanitize_blank(w, off, bytes);
    } else {
        bytes = padded(n);
        if (n > w->len - off || bytes > w->len - off) {
            refuse_word(w);
            return;
        }
        replace(w, off, n, data, attributes);
    }
    if (bytes > w->len - off)
        w->failed = true;
    else if (captured(w, off, bytes) < bytes)
        w->off = w->caplen, w->cut = true; /* what there is of it was replaced */
    else
        w->off += bytes;
}

/* -- the grammar ------------------------------------------------------------------------------- */

static const char *group(struct sanitize_walk *w, const char *g);

static const char *array(struct sanitize_walk *w, const char *g)
{
    uint32_t n = sanitize_walk_word(w);
    size_t off = w->off;

    if (sanitize_walking(w) && n > (w->len - w->off) / 4)
        refuse_word(w);
    if (g[0] == 'u' && g[1] == ']') {
        if (!take(w, (size_t)n * 4))
            return g + 2;
        w->bitmap_off = off;
        w->bitmap_words = n;
        if (g[2] == 's') {
            opaque(w, false, true);
            return g + 3;
        }
        return g + 2;
    }
    for (; n > 0 && sanitize_walking(w); n--)
        group(w, g);
    return rpcrdma_grammar_end(g) + 1;
}

static const char *list(struct sanitize_walk *w, const char *g)
{
    for (;;) {
        uint32_t more = sanitize_walk_word(w);

        if (!sanitize_walking(w) || more == 0)
            return rpcrdma_grammar_end(g) + 1;
        group(w, g);
    }
}

static const char *choice(struct sanitize_walk *w, const char *g)
{
    uint32_t value = sanitize_walk_word(w);
    const char *arm = rpcrdma_grammar_arm(&g, value);

    if (sanitize_walking(w) && arm)
        group(w, arm);
    else if (sanitize_walking(w))
        refuse_word(w);
    return g;
}

/* Returns the character that ends the group. */
static const char *group(struct sanitize_walk *w, const char *g)
{
    for (;;) {
        if (!sanitize_walking(w))
            return rpcrdma_grammar_end(g);
        switch (*g++) {
        case 'u':
            sanitize_walk_word(w);
            break;
        case 'b':
            if (take(w, 4))
                sanitize_blank(w, w->off - 4, 4);
            break;
        case 'w':
            word(w);
            break;
        case 'h':
            hyper(w, w->plain_hyper && *g != 's');
            break;
        case 'k':
            hyper(w, false);
            break;
        case 't':
            time_of(w, 12);
            break;
        case 'T':
            time_of(w, 8);
            break;
        case 'x':
            fixed(w, rpcrdma_grammar_number(&g));
            break;
        case 's':
        case 'd':
            opaque(w, g[-1] == 'd', false);
            break;
        case '[':
            g = array(w, g);
            break;
        case '{':
            g = list(w, g);
            break;
        case '<':
            g = choice(w, g);
            break;
        default:
            return g - 1;
        }
    }
}

void sanitize_walk(struct sanitize_walk *w, const char *grammar)
{
    const struct rpcrdma_reduction *r = w->reduction;
    const char *end;

    w->placed = false;
    end = group(w, grammar);
    assert(*end == '\0');
    (void)end;
    if (sanitize_walking(w) && r && !w->placed && w->chunk < r->n_chunks &&
        r->chunks[w->chunk] == 0 && strchr(grammar, 'd'))
        w->chunk++;
}
