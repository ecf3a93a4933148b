/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/tables.h"

#include "common/escape.h"
#include "each.h"
#include "fields/results.h"

/* Of all tables, one after the other. */
static const struct column columns[N_COLUMNS] = {
#define TABLE(id, name, help)
#define COLUMN(table, name, type, field, help) {#name, COLUMN_##type, field, help},
#define TABLE_END(id)
#include "export/tables.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END
};

const struct table tables[N_TABLES] = {
#define TABLE(id, name, help)                                                                      \
    [TABLE_##id] = {name, help, FIRST_##id, &columns[FIRST_##id], END_##id - FIRST_##id},
#define COLUMN(table, name, type, field, help)
#define TABLE_END(id)
#include "export/tables.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END
};

#define TABLE(id, name, help)
#define COLUMN(table, name, type, field, help)
#define TABLE_END(id) _Static_assert(END_##id - FIRST_##id <= MOST_COLUMNS, "columns of " #id);
#include "export/tables.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END

static const char *const units[] = {
    [COLUMN_ID] = "hash",   [COLUMN_INT] = "",        [COLUMN_TIME] = "ns since the epoch",
    [COLUMN_SPAN] = "ns",   [COLUMN_BYTES] = "bytes", [COLUMN_BOOL] = "0 or 1",
    [COLUMN_TEXT] = "text", [COLUMN_COUNT] = "",      [COLUMN_OFFSET] = "bytes",
};
RPCRDMA_EACH(units, COLUMN_TYPES);

const char *column_unit(enum column_type type)
{
    return units[type];
}

/* What `rpcrdma fields` says of the field; NULL where it has no such. */
static const char *help_of(const char *name)
{
    char result[RESULT_NAME];

    for (size_t i = 1; i < RPCRDMA_FIELD_COUNT; i++) {
        const struct rpcrdma_field *field = rpcrdma_field((enum rpcrdma_field_id)i);

        if (field && strcmp(field->abbrev, name) == 0)
            return field->help;
    }
    for (size_t i = 0; i < n_results; i++) {
        result_name(&results[i], result);
        if (strcmp(result, name) == 0)
            return results[i].help;
    }
    return NULL;
}

const char *column_help(const struct column *column)
{
    const char *help = column->field[0] ? help_of(column->field) : NULL;

    return help && !column->help[0] ? help : column->help;
}

static bool is_ascii(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] >= 0x7f)
            return false;
    return true;
}

const char *cell_shown(const struct cell *cell, char buffer[CELL_SHOWN], size_t *n)
{
    const char *from = cell->is.text, *end = from + cell->n;

    *n = cell->n;
    if (is_ascii(from, cell->n))
        return from;
    *n = 0;
    while (from < end && *n < CELL_SHOWN - ESCAPE_MOST)
        *n += escape_next(&from, end, buffer + *n);
    return buffer;
}
