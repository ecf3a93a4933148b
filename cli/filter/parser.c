/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/complain.h"
#include "filter/internal.h"

#include <inttypes.h>
#include <string.h>

enum { DEPTH = 64 };

struct parser {
    struct lexer lexer;
    struct filter *filter;
    const enum rpcrdma_record_id *records;
    struct filter_error *error;
    bool failed;
    unsigned depth;
};

static struct node *expression(struct parser *p);

static void fail_at(struct parser *p, size_t at, size_t length, const char *text)
{
    if (p->failed)
        return;
    p->failed = true;
    p->error->at = at;
    p->error->length = length > 0 ? length : 1;
    g_strlcpy(p->error->text, text, sizeof(p->error->text));
}

static void fail(struct parser *p, const char *text)
{
    const struct lexer *l = &p->lexer;

    fail_at(p, l->begin, l->length, l->kind == TOKEN_BAD ? l->problem : text);
}

static struct node *node_new(enum node_kind kind, struct node *left, struct node *right)
{
    struct node *node = g_new0(struct node, 1);

    node->kind = kind;
    node->left = left;
    node->right = right;
    return node;
}

static void clear_literal(gpointer p)
{
    struct literal *literal = p;

    if (literal->regex)
        g_regex_unref(literal->regex);
}

static void node_free(struct node *node)
{
    if (!node)
        return;
    node_free(node->left);
    node_free(node->right);
    if (node->literals)
        g_array_free(node->literals, TRUE);
    g_free(node);
}

static unsigned slot_of(struct parser *p, enum rpcrdma_field_id id)
{
    struct filter *f = p->filter;

    if (f->slot_of[id] >= 0)
        return (unsigned)f->slot_of[id];
    if (f->n_slots == FILTER_FIELDS) {
        fail(p, "too many fields");
        return 0;
    }
    f->slots[f->n_slots].field = id;
    f->slot_of[id] = (int8_t)f->n_slots;
    return f->n_slots++;
}

/* A value, which the token is. */
static void value(struct parser *p, struct node *node, const struct rpcrdma_field *field)
{
    struct lexer *l = &p->lexer;
    struct literal literal = {0};
    char problem[160];

    if (l->kind != TOKEN_WORD && l->kind != TOKEN_STRING) {
        fail(p, "a value is missing");
        return;
    }
    if (!literal_parse(&literal, field, l->word, l->kind == TOKEN_STRING, node->relation, problem,
                       sizeof(problem))) {
        fail(p, problem);
        return;
    }
    g_array_append_val(node->literals, literal);
    lexer_next(l);
}

static void set(struct parser *p, struct node *node, const struct rpcrdma_field *field)
{
    struct lexer *l = &p->lexer;

    if (l->kind != TOKEN_BRACE_OPEN) {
        fail(p, "a set begins with {");
        return;
    }
    lexer_next(l);
    while (!p->failed && l->kind != TOKEN_BRACE_CLOSE) {
        value(p, node, field);
        if (!p->failed && l->kind == TOKEN_RANGE) {
            lexer_next(l);
            value(p, node, field);
        } else if (!p->failed) { /* low and high are the same */
            struct literal same =
                g_array_index(node->literals, struct literal, node->literals->len - 1);

            g_array_append_val(node->literals, same);
        }
        if (!p->failed && l->kind == TOKEN_COMMA)
            lexer_next(l);
    }
    if (!p->failed && node->literals->len == 0)
        fail(p, "the set is empty");
    if (!p->failed)
        lexer_next(l);
}

static struct node *test(struct parser *p)
{
    struct lexer *l = &p->lexer;
    const struct rpcrdma_field *field;
    struct node *node;
    char problem[200];

    if (l->kind != TOKEN_WORD) {
        fail(p, "a field's name is expected here; rpcrdma fields lists them");
        return NULL;
    }
    field = filter_field(p->records, l->word, problem, sizeof(problem));
    if (!field) {
        fail(p, problem);
        return NULL;
    }
    node = node_new(NODE_TEST, NULL, NULL);
    node->literals = g_array_new(FALSE, TRUE, sizeof(struct literal));
    g_array_set_clear_func(node->literals, clear_literal);
    node->slot = slot_of(p, field->id);
    node->relation = EXISTS;
    lexer_next(l);
    if (l->kind == TOKEN_NOT) { /* not in */
        lexer_next(l);
        if (l->kind != TOKEN_IN)
            fail(p, "\"in\" is expected here");
        node->negated = true;
    }
    if (l->kind == TOKEN_IN) {
        node->relation = IN;
        lexer_next(l);
        set(p, node, field);
    } else if (l->kind == TOKEN_RELATION) {
        node->relation = l->relation;
        lexer_next(l);
        value(p, node, field);
    }
    return node;
}

static struct node *factor(struct parser *p)
{
    struct lexer *l = &p->lexer;
    struct node *node = NULL;

    if (++p->depth > DEPTH) {
        fail(p, "nested too deeply");
    } else if (l->kind == TOKEN_NOT) {
        lexer_next(l);
        node = node_new(NODE_NOT, factor(p), NULL);
    } else if (l->kind == TOKEN_OPEN) {
        size_t begin = l->begin;

        lexer_next(l);
        node = expression(p);
        if (!p->failed && l->kind != TOKEN_CLOSE) {
            if (l->kind == TOKEN_END)
                fail_at(p, begin, 1, "this parenthesis is not closed");
            else
                fail(p, "an operator or a closing parenthesis is expected here");
        }
        if (!p->failed)
            lexer_next(l);
    } else {
        node = test(p);
    }
    p->depth--;
    return node;
}

static struct node *chain(struct parser *p, enum filter_token token, enum node_kind kind,
                          struct node *(*part)(struct parser *))
{
    struct node *node = part(p);

    while (!p->failed && p->lexer.kind == token) {
        lexer_next(&p->lexer);
        node = node_new(kind, node, part(p));
    }
    return node;
}

static struct node *term(struct parser *p)
{
    return chain(p, TOKEN_AND, NODE_AND, factor);
}

static struct node *expression(struct parser *p)
{
    return chain(p, TOKEN_OR, NODE_OR, term);
}

struct filter *filter_new(const char *text, filter_records records, struct filter_error *error)
{
    struct filter *filter = g_new0(struct filter, 1);
    struct parser p = {
        .lexer = {.text = text}, .filter = filter, .records = records, .error = error};

    memset(filter->slot_of, -1, sizeof(filter->slot_of));
    filter->texts = g_byte_array_new();
    lexer_next(&p.lexer);
    if (p.lexer.kind == TOKEN_END)
        fail(&p, "the expression is empty");
    else
        filter->root = expression(&p);
    if (!p.failed && p.lexer.kind != TOKEN_END)
        fail(&p, "an operator is expected here: == != < <= > >= contains matches in && ||");
    if (!p.failed)
        return filter;
    filter_free(filter);
    return NULL;
}

void filter_free(struct filter *filter)
{
    if (!filter)
        return;
    if (filter->too_hard > 0)
        complain("a regular expression was given up on %" PRIu64
                 " values, which take too long: they count as not matching",
                 filter->too_hard);
    if (filter->too_many > 0)
        complain("an expression sees %d values of a field at most: %" PRIu64 " were left out",
                 FILTER_VALUES, filter->too_many);
    node_free(filter->root);
    g_byte_array_free(filter->texts, TRUE);
    for (unsigned i = 0; i < filter->n_slots; i++)
        g_free(filter->slots[i].values);
    g_free(filter);
}
