/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc.h"

#include "upper/names.h"
#include "upper/nfs4.h"

const char *rpcrdma_transaction_operation(const struct rpcrdma_transaction *t, uint32_t i)
{
    const struct rpcrdma_nfs4_operation *op;

    if (i >= t->n_operations)
        return NULL;
    op = t->callback ? rpcrdma_nfs4_callback(t->operations[i])
                     : rpcrdma_nfs4_operation(t->operations[i]);
    return op ? op->name : NULL;
}

struct text {
    char *buf;
    size_t size, last, at; /* last: the byte that is left for the end; 0: or none */
};

static struct text begin(char *buf, size_t size)
{
    return (struct text){.buf = buf, .size = size, .last = size > 0 ? size - 1 : 0};
}

static void append(struct text *t, const char *s)
{
    for (; *s; s++, t->at++)
        if (t->at < t->last)
            t->buf[t->at] = *s;
}

static void append_number(struct text *t, const char *prefix, uint32_t number)
{
    char digits[sizeof("4294967295")];
    size_t at = sizeof(digits) - 1;

    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    append(t, prefix);
    append(t, &digits[at]);
}

static size_t end(const struct text *t)
{
    if (t->size > 0)
        t->buf[t->at < t->last ? t->at : t->last] = '\0';
    return t->at;
}

static void put_name(struct text *text, const struct rpcrdma_transaction *t)
{
    const char *name = NULL;

    if (t->has_program)
        name = rpcrdma_procedure_name(t->program, t->version, t->procedure,
                                      t->direction_known && t->reverse);
    if (t->compound && t->n_operations > 0) {
        for (uint32_t i = 0; i < t->n_operations; i++) {
            const char *operation = rpcrdma_transaction_operation(t, i);

            if (i > 0)
                append(text, "+");
            if (operation)
                append(text, operation);
            else
                append_number(text, "OP_", t->operations[i]);
        }
        if (t->operations_cut)
            append(text, "+...");
    } else if (name) {
        append(text, name);
    } else if (t->has_program) {
        append_number(text, "PROC_", t->procedure);
    }
}

size_t rpcrdma_transaction_name(const struct rpcrdma_transaction *t, char *buf, size_t size)
{
    struct text text = begin(buf, size);

    put_name(&text, t);
    return end(&text);
}

size_t rpcrdma_transaction_title(const struct rpcrdma_transaction *t, char *buf, size_t size)
{
    struct text text = begin(buf, size);
    bool reverse = t->direction_known && t->reverse;
    const char *program = rpcrdma_program_name(t->program, t->version, reverse);

    if (!t->has_program) {
        append(&text, "?");
        return end(&text);
    }
    if (program)
        append(&text, program);
    else
        append_number(&text, "program ", t->program);
    append_number(&text, " V", t->version);
    append(&text, " ");
    put_name(&text, t);
    if (program && reverse)
        append(&text, " (reverse)");
    return end(&text);
}
