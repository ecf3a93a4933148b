/* SPDX-License-Identifier: BSD-2-Clause */
/* The values of one object, and whether they are what the expression asks for. */
#include "filter/internal.h"

#include <stdio.h>
#include <string.h>

#include "common/columns.h"
#include "common/escape.h"
#include "out/address.h"

void filter_begin(struct filter *f)
{
    for (unsigned i = 0; i < f->n_slots; i++)
        f->slots[i].count = 0;
    g_byte_array_set_size(f->texts, 0);
}

bool filter_concerns(const struct filter *f)
{
    for (unsigned i = 0; i < f->n_slots; i++)
        if (f->slots[i].count > 0)
            return true;
    return false;
}

bool filter_needs(const struct filter *f, enum rpcrdma_field_id field)
{
    return f->slot_of[field] >= 0;
}

/* The place for a further value; NULL where nobody asks for it, or there are too many. */
static struct value *add(struct filter *f, enum rpcrdma_field_id field)
{
    struct slot *slot;
    struct value *value;

    if (f->slot_of[field] < 0)
        return NULL;
    slot = &f->slots[f->slot_of[field]];
    if (slot->count == FILTER_VALUES) {
        f->too_many++;
        return NULL;
    }
    if (slot->count == slot->room) {
        slot->room = slot->room ? 2 * slot->room : 4;
        slot->values = g_renew(struct value, slot->values, slot->room);
    }
    value = &slot->values[slot->count++];
    value->name = NULL;
    value->is_signed = false;
    value->digits = 0;
    return value;
}

static void set_text(struct filter *f, struct value *value, const char *text)
{
    value->text = f->texts->len;
    g_byte_array_append(f->texts, (const guint8 *)text, (guint)strlen(text) + 1);
}

void filter_number(struct filter *f, enum rpcrdma_field_id field, uint64_t number, const char *name)
{
    struct value *value = add(f, field);
    const struct rpcrdma_field *of = filter_field_of((int)field);

    if (!value)
        return;
    if (of->base == RPCRDMA_BASE_HEX)
        value->digits = (uint8_t)((of->width + 3) / 4);
    value->kind = VALUE_NUMBER;
    value->number = (int64_t)number;
    value->name = name;
    if (of->base == RPCRDMA_BASE_BOOL) /* as JSON has it */
        value->name = number ? "true" : "false";
}

void filter_signed(struct filter *f, enum rpcrdma_field_id field, int64_t number)
{
    struct value *value = add(f, field);

    if (!value)
        return;
    value->kind = VALUE_NUMBER;
    value->number = number;
    value->is_signed = true;
}

void filter_text(struct filter *f, enum rpcrdma_field_id field, const char *text)
{
    struct value *value = add(f, field);

    if (!value)
        return;
    value->kind = VALUE_TEXT;
    set_text(f, value, text);
}

void filter_bytes(struct filter *f, enum rpcrdma_field_id field, const uint8_t *p, size_t n)
{
    struct value *value = add(f, field);
    char *digits;

    if (!value)
        return;
    value->kind = VALUE_TEXT;
    value->text = f->texts->len;
    g_byte_array_set_size(f->texts, (guint)(value->text + 2 * n + 1));
    digits = (char *)f->texts->data + value->text;
    digits[0] = '\0';
    for (size_t i = 0; i < n; i++)
        snprintf(digits + 2 * i, 3, "%02x", p[i]);
}

void filter_address(struct filter *f, enum rpcrdma_field_id field,
                    const struct rpcrdma_address *address)
{
    char text[ADDRESS_SIZE];
    struct value *value;

    if (address->family == RPCRDMA_ADDRESS_NONE || !(value = add(f, field)))
        return;
    value->kind = VALUE_ADDRESS;
    value->address = *address;
    if (address->family == RPCRDMA_ADDRESS_IPV4) /* of any network */
        memset(value->address.bytes + 4, 0, sizeof(value->address.bytes) - 4);
    text[address_format(address, text)] = '\0';
    set_text(f, value, text);
}

void filter_value(struct filter *f, const struct rpcrdma_value *v)
{
    enum rpcrdma_field_id id = v->field->id;
    struct value *value;

    if (f->slot_of[id] < 0)
        return;
    switch (v->base) {
    case RPCRDMA_BASE_BYTES:
        filter_bytes(f, id, v->bytes.data, v->bytes.data ? v->bytes.caplen : 0);
        break;
    case RPCRDMA_BASE_TEXT:
        filter_text(f, id, v->name);
        break;
    case RPCRDMA_BASE_REAL:
        value = add(f, id);
        if (value) {
            value->kind = VALUE_REAL;
            value->real = v->real;
        }
        break;
    default:
        filter_number(f, id, v->number, v->name);
    }
}

static bool in_subnet(const struct rpcrdma_address *a, const struct literal *l)
{
    unsigned bits = l->prefix;

    if (a->family != l->address.family)
        return false;
    for (unsigned i = 0; bits > 0; i++) {
        unsigned n = bits < 8 ? bits : 8;
        uint8_t mask = (uint8_t)(0xff00u >> n);

        if ((a->bytes[i] ^ l->address.bytes[i]) & mask)
            return false;
        bits -= n;
    }
    return true;
}

/* What a value is called: for contains and matches, and for text. A number is as JSON has it. */
static const char *text_of(const struct filter *f, const struct value *v, char buf[32])
{
    if (v->kind == VALUE_REAL)
        snprintf(buf, 32, "%g", v->real);
    else if (v->kind != VALUE_NUMBER)
        return (const char *)f->texts->data + v->text;
    else if (v->name)
        return v->name;
    else if (v->is_signed)
        snprintf(buf, 32, "%lld", (long long)v->number);
    else if (v->digits > 0)
        snprintf(buf, 32, "0x%0*llx", v->digits, (unsigned long long)v->number);
    else
        snprintf(buf, 32, "%llu", (unsigned long long)v->number);
    return buf;
}

/* Of 64 bits each, either of which may be signed: as two numbers, not as two patterns of bits. */
static int compare_whole(const struct value *v, const struct literal *l)
{
    bool v_below = v->is_signed && v->number < 0, l_below = !l->above && l->number < 0;

    if (v_below != l_below)
        return v_below ? -1 : 1;
    return (uint64_t)v->number < (uint64_t)l->number ? -1
                                                     : (uint64_t)v->number > (uint64_t)l->number;
}

/* Less than 0, 0, more: as v is less than, equal to, more than l. */
static int compare(const struct filter *f, const struct value *v, const struct literal *l)
{
    char buf[32];

    switch (v->kind) {
    case VALUE_ADDRESS:
        if (l->is_address && v->address.family == l->address.family)
            return in_subnet(&v->address, l)
                       ? 0
                       : memcmp(v->address.bytes, l->address.bytes, sizeof(v->address.bytes));
        return strcmp(text_of(f, v, buf), l->text);
    case VALUE_REAL:
        return v->real < l->real ? -1 : v->real > l->real;
    case VALUE_NUMBER:
        if (l->is_number && l->fraction) {
            double number = v->is_signed ? (double)v->number : (double)(uint64_t)v->number;

            return number < l->real ? -1 : number > l->real;
        }
        if (l->is_number)
            return compare_whole(v, l);
        return g_ascii_strcasecmp(text_of(f, v, buf), l->text);
    default:
        return strcmp(text_of(f, v, buf), l->text);
    }
}

/* GLib takes it for granted that text is UTF-8; a name from the wire need not be. */
static bool matches(struct filter *f, const GRegex *regex, const char *text)
{
    char *valid = g_utf8_validate(text, -1, NULL) ? NULL : g_utf8_make_valid(text, -1);
    GError *error = NULL;
    bool result = g_regex_match_full(regex, valid ? valid : text, -1, 0, 0, NULL, &error);

    f->too_hard += error != NULL;
    g_clear_error(&error);
    g_free(valid);
    return result;
}

static bool holds(struct filter *f, const struct node *n, const struct value *v)
{
    const struct literal *l = (const void *)n->literals->data; /* NULL where it asks for none */
    char buf[32];

    switch (n->relation) {
    case EQ:
    case ALL_EQ:
        return compare(f, v, l) == 0;
    case NE:
    case ANY_NE:
        return compare(f, v, l) != 0;
    case LT:
        return compare(f, v, l) < 0;
    case LE:
        return compare(f, v, l) <= 0;
    case GT:
        return compare(f, v, l) > 0;
    case GE:
        return compare(f, v, l) >= 0;
    case CONTAINS:
        return strstr(text_of(f, v, buf), l->text) != NULL;
    case MATCHES:
        return matches(f, l->regex, text_of(f, v, buf));
    case IN:
        for (guint i = 0; i + 1 < n->literals->len; i += 2)
            if (compare(f, v, &l[i]) >= 0 && compare(f, v, &l[i + 1]) <= 0)
                return true;
        return false;
    case EXISTS:
        return true;
    }
    return false;
}

static bool test(struct filter *f, const struct node *n)
{
    const struct slot *slot = &f->slots[n->slot];
    bool all = n->relation == NE || n->relation == ALL_EQ;

    if (n->relation == EXISTS && slot->count > 0 &&
        filter_field_of((int)slot->field)->base == RPCRDMA_BASE_BOOL)
        return slot->values[0].number != 0;
    if (slot->count == 0)
        return false;
    for (unsigned i = 0; i < slot->count; i++)
        if (holds(f, n, &slot->values[i]) != all)
            return !all != n->negated;
    return all != n->negated;
}

static bool match(struct filter *f, const struct node *n)
{
    switch (n->kind) {
    case NODE_AND:
        return match(f, n->left) && match(f, n->right);
    case NODE_OR:
        return match(f, n->left) || match(f, n->right);
    case NODE_NOT:
        return !match(f, n->left);
    case NODE_TEST:
        return test(f, n);
    }
    return false;
}

bool filter_match(struct filter *f)
{
    return match(f, f->root);
}

void filter_complain(const char *command, const char *option, const char *text,
                     const struct filter_error *error)
{
    char shown[1024], caret[1100], before[1024], *part;
    size_t column, n;

    escape_text(shown, sizeof(shown), text);
    part = g_strndup(text, error->at);
    escape_text(before, sizeof(before), part);
    g_free(part);
    column = columns_of_text(before, strlen(before));
    n = error->length < 60 ? error->length : 60;
    memset(caret, ' ', column);
    caret[column] = '^';
    memset(caret + column + 1, '~', n - 1);
    caret[column + n] = '\0';
    fprintf(stderr, "rpcrdma %s: %s: %s\n    %s\n    %s\n", command, option, error->text, shown,
            caret);
}
