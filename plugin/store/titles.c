/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/titles.h"

#include "upper/names.h"
#include "upper/nfs4.h"
#include "wireshark/compat.h"

/* What a title is made of. */
struct titled {
    uint32_t program, version, procedure, n_operations;
    bool has_program, reverse, compound, callback, cut;
    uint32_t operations[RPCRDMA_OPERATIONS];
    const struct title *title; /* NULL: nothing yet */
};

enum { TITLED = 64 };

static wmem_map_t *titles;           /* text -> struct title */
static struct titled titled[TITLED]; /* the latest, by hash */

void titles_file(void)
{
    titles = wmem_map_new(wmem_file_scope(), wmem_str_hash, g_str_equal);
    memset(titled, 0, sizeof(titled));
}

void titles_file_end(void)
{
    titles = NULL;
    memset(titled, 0, sizeof(titled));
}

/* How much an operation says of what its COMPOUND is for: those that lead to a file say least. */
static int weight(uint32_t operation, bool callback)
{
    enum { CB_SEQUENCE = 11 };
    enum {
        ACCESS = 3,
        GETATTR = 9,
        GETFH = 10,
        LOOKUP = 15,
        LOOKUPP = 16,
        NVERIFY = 17,
        PUTFH = 22,
        PUTPUBFH = 23,
        PUTROOTFH = 24,
        RESTOREFH = 31,
        SAVEFH = 32,
        VERIFY = 37,
        LAYOUTRETURN = 51,
        SEQUENCE = 53,
    };

    if (callback)
        return operation == CB_SEQUENCE ? 0 : 4;
    switch (operation) {
    case SEQUENCE:
    case GETFH:
    case RESTOREFH:
    case SAVEFH:
        return 0;
    case PUTFH:
    case PUTPUBFH:
    case PUTROOTFH:
        return 1;
    case GETATTR:
    case NVERIFY:
    case VERIFY:
        return 2;
    case ACCESS:
    case LAYOUTRETURN:
    case LOOKUP:
    case LOOKUPP:
        return 3;
    default:
        return 4;
    }
}

/* Of several that weigh the same, the first. */
static uint32_t main_operation(const struct rpcrdma_transaction *from)
{
    uint32_t n = MIN(from->n_operations, RPCRDMA_OPERATIONS), found = 0;

    for (uint32_t i = 1; i < n; i++)
        if (weight(from->operations[i], from->callback) >
            weight(from->operations[found], from->callback))
            found = i;
    return from->operations[found];
}

static char *program_text(const struct rpcrdma_transaction *from, bool reverse)
{
    const char *name = rpcrdma_program_name(from->program, from->version, reverse);
    const char *tail = reverse ? " (reverse)" : "";

    return name ? wmem_strdup_printf(wmem_file_scope(), "%s V%u%s", name, from->version, tail)
                : wmem_strdup_printf(wmem_file_scope(), "program %u V%u%s", from->program,
                                     from->version, tail);
}

static void set_operation(struct title *title, const struct rpcrdma_transaction *from, bool reverse)
{
    const struct rpcrdma_nfs4_operation *operation;

    if (!from->compound || from->n_operations == 0) {
        title->operation_number = from->procedure;
        title->operation =
            rpcrdma_procedure_name(from->program, from->version, from->procedure, reverse);
        if (!title->operation)
            title->operation = wmem_strdup_printf(wmem_file_scope(), "PROC_%u", from->procedure);
        return;
    }
    title->operation_number = main_operation(from);
    operation = from->callback ? rpcrdma_nfs4_callback(title->operation_number)
                               : rpcrdma_nfs4_operation(title->operation_number);
    title->operation =
        operation ? operation->name
                  : wmem_strdup_printf(wmem_file_scope(), "OP_%u", title->operation_number);
}

static const struct title *make(const struct rpcrdma_transaction *from, bool reverse)
{
    char text[1024];
    struct title *title;

    rpcrdma_transaction_title(from, text, sizeof(text));
    title = wmem_map_lookup(titles, text);
    if (title)
        return title;
    title = wmem_new0(wmem_file_scope(), struct title);
    title->text = wmem_strdup(wmem_file_scope(), text);
    if (from->has_program) {
        title->program = program_text(from, reverse);
        title->program_number = from->program;
        title->version = from->version;
        set_operation(title, from, reverse);
    }
    wmem_map_insert(titles, title->text, title);
    return title;
}

const struct title *title_of(const struct rpcrdma_transaction *from)
{
    uint32_t n = from->compound ? MIN(from->n_operations, RPCRDMA_OPERATIONS) : 0, hash;
    bool reverse = from->direction_known && from->reverse;
    struct titled *t;

    hash = (from->program * 31 + from->version) * 31 + from->procedure;
    for (uint32_t i = 0; i < n; i++)
        hash = hash * 31 + from->operations[i];
    t = &titled[hash % TITLED];
    if (t->title && t->program == from->program && t->version == from->version &&
        t->procedure == from->procedure && t->n_operations == n &&
        t->has_program == from->has_program && t->reverse == reverse &&
        t->compound == from->compound && t->callback == from->callback &&
        t->cut == from->operations_cut &&
        memcmp(t->operations, from->operations, n * sizeof(*t->operations)) == 0)
        return t->title;
    t->program = from->program;
    t->version = from->version;
    t->procedure = from->procedure;
    t->n_operations = n;
    t->has_program = from->has_program;
    t->reverse = reverse;
    t->compound = from->compound;
    t->callback = from->callback;
    t->cut = from->operations_cut;
    memcpy(t->operations, from->operations, n * sizeof(*t->operations));
    t->title = make(from, reverse);
    return t->title;
}
