/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/show.h"

/* walk.h's records and fields as protocol items. */

/* Never more than is there: what a list covers may have been cut. */
static void clip(const struct drawing *d, uint32_t *off, uint32_t *len)
{
    uint32_t captured = tvb_captured_length(d->tvb);

    *off += *len > 0 ? d->shift : 0;
    if (*off > captured)
        *off = captured;
    if (*len > captured - *off)
        *len = captured - *off;
}

static bool element(struct drawing *d, proto_item *item, const char *name)
{
    if (d->number[d->depth] == 0)
        return false;
    proto_item_set_text(item, "%s %u", name, d->number[d->depth]++);
    return true;
}

/* A list without an entry is a word: 0. The field of a list means that there is a chunk. */
static bool no_chunk(const struct rpcrdma_record *record, uint32_t len)
{
    return (record->id == RPCRDMA_RECORD_READ || record->id == RPCRDMA_RECORD_WRITE ||
            record->id == RPCRDMA_RECORD_REPLY || record->id == RPCRDMA_RECORD_CALL) &&
           len <= 4;
}

static void on_begin(void *context, const struct rpcrdma_record *record, uint32_t off, uint32_t len)
{
    struct drawing *d = context;
    proto_item *item;

    d->nothing = no_chunk(record, len);
    if (d->nothing)
        return;
    clip(d, &off, &len);
    item = proto_tree_add_item(d->tree[d->depth], record_hf(record->id), d->tvb, (int)off, (int)len,
                               ENC_NA);
    element(d, item, record->name);
    if (len == 0)
        proto_item_set_generated(item);
    d->empty[d->depth] = false;
    if (d->depth + 1 == DRAWING_DEPTH)
        return;
    d->depth++;
    d->item[d->depth] = item;
    d->tree[d->depth] = proto_item_add_subtree(item, record_ett(record->id));
    d->number[d->depth] = record->shape == RPCRDMA_SHAPE_LIST;
    d->empty[d->depth] = true;
}

static void on_end(void *context, const struct rpcrdma_record *record)
{
    struct drawing *d = context;

    (void)record;
    if (d->nothing) {
        d->nothing = false;
        return;
    }
    if (d->empty[d->depth])
        proto_item_append_text(d->item[d->depth], ": none");
    if (d->depth > 0)
        d->depth--;
}

static proto_item *add_number(struct drawing *d, const struct rpcrdma_value *v, int off, int len)
{
    proto_tree *tree = d->tree[d->depth];
    int hf = field_hf(v->field->id);
    enum ftenum type = proto_registrar_get_ftype(hf);

    switch (type) {
    case FT_STRING: /* by the dialect's names */
        return proto_tree_add_string_format_value(
            tree, hf, d->tvb, off, len,
            v->name ? v->name : wmem_strdup_printf(d->scope, "%" PRIu64, v->number),
            "%s (%" PRIu64 ")", v->name ? v->name : "unknown", v->number);
    case FT_BOOLEAN:
        return proto_tree_add_boolean(tree, hf, d->tvb, off, len, (uint32_t)(v->number != 0));
    case FT_UINT64:
        return proto_tree_add_uint64(tree, hf, d->tvb, off, len, v->number);
    default:
        if (v->field->id == RPCRDMA_FIELD_TYPE) /* by the dialect's own name */
            return proto_tree_add_uint_format_value(tree, hf, d->tvb, off, len, (uint32_t)v->number,
                                                    "%s (%" PRIu64 ")",
                                                    v->name ? v->name : "unknown", v->number);
        if (v->base == RPCRDMA_BASE_BOOL) /* a property whose value is one */
            return proto_tree_add_uint_format_value(tree, hf, d->tvb, off, len, (uint32_t)v->number,
                                                    "%s", v->number ? "True" : "False");
        return proto_tree_add_uint(tree, hf, d->tvb, off, len, (uint32_t)v->number);
    }
}

static void append_value(proto_item *to, const struct rpcrdma_value *v)
{
    switch (v->base) {
    case RPCRDMA_BASE_HEX:
        proto_item_append_text(to, ", %s 0x%0*" PRIx64, v->field->key,
                               (int)(v->field->width + 3) / 4, v->number);
        break;
    case RPCRDMA_BASE_DEC:
        proto_item_append_text(to, ", %s %" PRIu64, v->field->key, v->number);
        break;
    case RPCRDMA_BASE_BOOL:
        proto_item_append_text(to, ", %s %s", v->field->key, v->number ? "true" : "false");
        break;
    case RPCRDMA_BASE_TEXT:
        proto_item_append_text(to, ", %s", v->name);
        break;
    default:
        break;
    }
}

static void on_field(void *context, const struct rpcrdma_value *v)
{
    struct drawing *d = context;
    int hf = field_hf(v->field->id);
    uint32_t off = v->off, len = v->len;
    proto_item *item;

    clip(d, &off, &len);
    switch (v->base) {
    case RPCRDMA_BASE_BYTES:
        item = proto_tree_add_bytes_with_length(d->tree[d->depth], hf, d->tvb, (int)off, (int)len,
                                                v->bytes.data, (int)v->bytes.caplen);
        if (v->bytes.len == 0)
            proto_item_set_text(item, "%s: none", v->field->name);
        break;
    case RPCRDMA_BASE_TEXT:
        item = proto_tree_add_string(d->tree[d->depth], hf, d->tvb, (int)off, (int)len, v->name);
        break;
    case RPCRDMA_BASE_REAL:
        item = proto_tree_add_double(d->tree[d->depth], hf, d->tvb, (int)off, (int)len, v->real);
        break;
    default:
        item = add_number(d, v, (int)off, (int)len);
        break;
    }
    if (len == 0)
        proto_item_set_generated(item);
    /* an element of a list shows itself in a line */
    if (d->depth > 0 && d->number[d->depth - 1] > 0)
        append_value(d->item[d->depth], v);
    d->empty[d->depth] = false;
}

struct rpcrdma_visitor drawing_visitor(struct drawing *drawing, wmem_allocator_t *scope,
                                       tvbuff_t *tvb, proto_tree *tree)
{
    *drawing = (struct drawing){.scope = scope, .tvb = tvb};
    drawing->tree[0] = tree;
    return (struct rpcrdma_visitor){on_begin, on_field, on_end, drawing};
}
