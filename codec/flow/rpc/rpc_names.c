/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc.h"

#include "base/text.h"
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

static void add_numbered(struct rpcrdma_text *text, const char *prefix, uint32_t number)
{
    rpcrdma_text_add(text, prefix);
    rpcrdma_text_number(text, number);
}

static void add_name(struct rpcrdma_text *text, const struct rpcrdma_transaction *t)
{
    const char *name = NULL;

    if (t->has_program)
        name = rpcrdma_procedure_name(t->program, t->version, t->procedure,
                                      t->direction_known && t->reverse);
    if (t->compound && t->n_operations > 0) {
        for (uint32_t i = 0; i < t->n_operations; i++) {
            const char *operation = rpcrdma_transaction_operation(t, i);

            if (i > 0)
                rpcrdma_text_add(text, "+");
            if (operation)
                rpcrdma_text_add(text, operation);
            else
                add_numbered(text, "OP_", t->operations[i]);
        }
        if (t->operations_cut)
            rpcrdma_text_add(text, "+...");
    } else if (name) {
        rpcrdma_text_add(text, name);
    } else if (t->has_program) {
        add_numbered(text, "PROC_", t->procedure);
    }
}

size_t rpcrdma_transaction_name(const struct rpcrdma_transaction *t, char *buf, size_t size)
{
    struct rpcrdma_text text = {buf, size, 0};

    add_name(&text, t);
    return rpcrdma_text_end(&text);
}

size_t rpcrdma_transaction_title(const struct rpcrdma_transaction *t, char *buf, size_t size)
{
    struct rpcrdma_text text = {buf, size, 0};
    bool reverse = t->direction_known && t->reverse;
    const char *program = rpcrdma_program_name(t->program, t->version, reverse);

    if (!t->has_program) {
        rpcrdma_text_add(&text, "?");
        return rpcrdma_text_end(&text);
    }
    if (program)
        rpcrdma_text_add(&text, program);
    else
        add_numbered(&text, "program ", t->program);
    add_numbered(&text, " V", t->version);
    rpcrdma_text_add(&text, " ");
    add_name(&text, t);
    if (program && reverse)
        rpcrdma_text_add(&text, " (reverse)");
    return rpcrdma_text_end(&text);
}
