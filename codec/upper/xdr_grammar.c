/* SPDX-License-Identifier: BSD-2-Clause */
#include "upper/xdr_grammar.h"

#include <assert.h>
#include <string.h>

#include "upper/private.h"
#include "upper/xdr_grammar_text.h"

static size_t padded(size_t n)
{
    return n + (-n & 3);
}

static uint64_t unreduced(const struct rpcrdma_xdr *x)
{
    return x->in.off + x->removed;
}

/* An item of n bytes of which a chunk carries `carried` (with padding or without): takes what is
 * left of it in the stream. */
static void step_reduced(struct rpcrdma_xdr *x, uint32_t n, uint32_t carried)
{
    size_t whole = padded(n);
    size_t in_chunk = carried < whole ? carried : whole;
    size_t inlined = whole - in_chunk;

    if (carried >= n && inlined > 0 && !x->reduction->pad_inline) {
        inlined = 0; /* the padding is nowhere: zeros to the receiver */
        in_chunk = whole;
    }
    rpcrdma_cursor_take(&x->in, inlined, "opaque");
    x->removed += in_chunk;
}

static void not_eligible(struct rpcrdma_xdr *x, size_t gap)
{
    if (!x->ineligible)
        x->ineligible_gap = gap;
    x->ineligible = true;
}

static bool step_gap(struct rpcrdma_xdr *x, uint32_t n)
{
    const struct rpcrdma_reduction *r = x->reduction;
    const struct rpcrdma_gap *gap;

    if (x->gap >= r->n_gaps)
        return false;
    gap = &r->gaps[x->gap];
    if (gap->position > unreduced(x)) {
        if (gap->position >= unreduced(x) + n)
            return false;
    } else if (gap->position == unreduced(x)) {
        x->gap++;
        /* a chunk is one item, with its padding or without (RFC 8166 sections 3.4.4.4, 3.4.5.2) */
        if (gap->length > n && gap->length != padded(n))
            not_eligible(x, x->gap - 1);
        step_reduced(x, n, gap->length);
        return true;
    }
    not_eligible(x, x->gap); /* it begins in what is no item that could be taken out */
    rpcrdma_cursor_fail(&x->in, RPCRDMA_MALFORMED, x->in.off, "read chunk position");
    return true;
}

/* Write chunks go to eligible items in order. What decides is whether chunk and item fit, because
 * responders differ: to RFC 8166 an empty item has an (unused) chunk of its own, to others it has
 * none; READ_PLUS returns several items for which there may be one chunk or several. */
static bool step_write_chunk(struct rpcrdma_xdr *x, uint32_t n, bool *placed)
{
    const struct rpcrdma_reduction *r = x->reduction;
    uint32_t written;
    bool first = !*placed;

    if (x->chunk >= r->n_chunks)
        return false;
    written = r->chunks[x->chunk];
    if (written == 0) {
        if (first) {
            *placed = true;
            if (n > 0 && x->places)
                x->places[x->chunk] = (struct rpcrdma_insertion){
                    .inlined = true, .operation = x->operation, .length = n};
            x->chunk++;
        }
        return false;
    }
    if (n == 0 || (!first && written != n && written != padded(n)))
        return false;
    *placed = true;
    if (x->places)
        x->places[x->chunk] = (struct rpcrdma_insertion){
            .placed = true,
            .misfit = written != n && written != padded(n),
            .pad_inline = r->pad_inline && written < padded(n),
            .operation = x->operation,
            .offset = (uint32_t)x->in.off,
            .length = n,
        };
    x->chunk++;
    /* A chunk shorter than its item leaves the item short, not inline: what a peer writes through a
     * chunk it does not send as well. */
    step_reduced(x, n, written < n ? n : written);
    return true;
}

static void step_opaque(struct rpcrdma_xdr *x, bool eligible, bool *placed)
{
    uint32_t n = rpcrdma_cursor_be32(&x->in, "count of an opaque");

    if (x->in.status != RPCRDMA_OK)
        return;
    if (eligible && x->bulk && !x->bulk->found) {
        struct rpcrdma_bulk *bulk = x->bulk;
        size_t at = bulk->header + x->in.off;

        bulk->found = true;
        bulk->offset = (uint32_t)x->in.off;
        bulk->pad = bulk->align ? (uint32_t)((bulk->align - at % bulk->align) % bulk->align) : 0;
        rpcrdma_cursor_take(&x->in, bulk->pad, "alignment");
    }
    if (x->reduction) {
        if (step_gap(x, n)) {
            if (!eligible)
                not_eligible(x, x->gap - 1);
            return;
        }
        if (eligible && step_write_chunk(x, n, placed))
            return;
    }
    if (x->in.status == RPCRDMA_OK && n > rpcrdma_cursor_left(&x->in)) {
        rpcrdma_cursor_fail(&x->in, RPCRDMA_MALFORMED, x->in.off - 4, "count of an opaque");
        return;
    }
    rpcrdma_cursor_take(&x->in, padded(n), "opaque");
}

static const char *step_group(struct rpcrdma_xdr *x, const char *g, bool *placed);

static const char *step_array(struct rpcrdma_xdr *x, const char *g, bool *placed)
{
    uint32_t n = rpcrdma_cursor_be32(&x->in, "count of an array");

    if (x->in.status == RPCRDMA_OK && n > rpcrdma_cursor_left(&x->in) / 4)
        rpcrdma_cursor_fail(&x->in, RPCRDMA_MALFORMED, x->in.off - 4, "count of an array");
    if (g[0] == 'u' && g[1] == ']') {
        rpcrdma_cursor_take(&x->in, (size_t)n * 4, "array");
        return g + 2;
    }
    for (; n > 0 && x->in.status == RPCRDMA_OK; n--)
        step_group(x, g, placed);
    return rpcrdma_grammar_end(g) + 1;
}

static const char *step_list(struct rpcrdma_xdr *x, const char *g, bool *placed)
{
    for (;;) {
        uint32_t more = rpcrdma_cursor_be32(&x->in, "list");

        if (x->in.status != RPCRDMA_OK || more == 0)
            return rpcrdma_grammar_end(g) + 1;
        step_group(x, g, placed);
    }
}

static const char *step_union(struct rpcrdma_xdr *x, const char *g, bool *placed)
{
    uint32_t value = rpcrdma_cursor_be32(&x->in, "discriminator");
    const char *arm = rpcrdma_grammar_arm(&g, value);

    if (x->in.status == RPCRDMA_OK) {
        if (arm)
            step_group(x, arm, placed);
        else
            rpcrdma_cursor_fail(&x->in, RPCRDMA_MALFORMED, x->in.off - 4, "discriminator");
    }
    return g;
}

/* Steps over one group, returns the character that ends it. Once the status is set nothing more is
 * read, and only the end is looked for. */
static const char *step_group(struct rpcrdma_xdr *x, const char *g, bool *placed)
{
    for (;;) {
        if (x->in.status != RPCRDMA_OK)
            return rpcrdma_grammar_end(g);
        switch (*g) {
        case 'u':
            rpcrdma_cursor_take(&x->in, 4, "integer");
            g++;
            break;
        case 'h':
            rpcrdma_cursor_take(&x->in, 8, "hyper");
            g++;
            break;
        case 'x':
            g++;
            rpcrdma_cursor_take(&x->in, rpcrdma_grammar_number(&g), "opaque");
            break;
        case 's':
        case 'd':
            step_opaque(x, *g == 'd', placed);
            g++;
            break;
        case '[':
            g = step_array(x, g + 1, placed);
            break;
        case '{':
            g = step_list(x, g + 1, placed);
            break;
        case '<':
            g = step_union(x, g + 1, placed);
            break;
        default:
            return g;
        }
    }
}

void rpcrdma_xdr_step(struct rpcrdma_xdr *x, const char *grammar)
{
    const struct rpcrdma_reduction *r = x->reduction;
    bool placed = false;
    const char *end = step_group(x, grammar, &placed);

    assert(*end == '\0');
    (void)end;
    if (x->in.status == RPCRDMA_OK && r && !placed && x->chunk < r->n_chunks &&
        r->chunks[x->chunk] == 0 && strchr(grammar, 'd'))
        x->chunk++;
}
