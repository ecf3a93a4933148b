/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/complain.h"
#include "out/json_writer.h"
#include "source/rights/privilege.h"

static void put_ndjson(struct out *out, const struct row *row, bool named)
{
    const struct table *table = &tables[row->table];
    struct json json = {.out = out};

    json_open(&json, '{');
    if (named)
        json_key(&json, KEY(table)), json_plain(&json, table->name);
    for (size_t i = 0; i < table->n_columns; i++) {
        const struct cell *cell = &row->cells[i];

        if (cell->kind == CELL_NULL)
            continue;
        /* of the table of columns, export/tables.def */
        json_key(&json, (struct json_key){table->columns[i].name});
        if (cell->kind == CELL_TEXT)
            json_string(&json, cell->is.text, cell->n);
        else if (table->columns[i].type == COLUMN_BOOL)
            json_bool(&json, cell->is.number != 0);
        else if (table->columns[i].type == COLUMN_ID) /* a reader's numbers may have 53 bits */
            json_hex(&json, (uint64_t)cell->is.number, 16);
        else if (column_unsigned(table->columns[i].type))
            json_u64(&json, (uint64_t)cell->is.number);
        else
            json_i64(&json, cell->is.number);
    }
    json_close(&json, '}');
    json_end(&json);
}

/*
 * A spreadsheet takes a cell that begins so for a formula, and formulas fetch addresses and start
 * programs. In some languages cells end at semicolons, so one may begin within a text, too; and in
 * some the signs of full width are the same. How many bytes that sign has; 0: there is none.
 */
static size_t formula_sign(const char *text, size_t n)
{
    static const char full_width[][4] = {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
                                         "\xef\xbc\xa0"};

    if (n > 0 && (*text == '=' || *text == '+' || *text == '-' || *text == '@'))
        return 1;
    for (size_t i = 0; i < sizeof(full_width) / sizeof(full_width[0]); i++)
        if (n >= 3 && memcmp(text, full_width[i], 3) == 0)
            return 3;
    return 0;
}

static void put_escaped(struct out *out, char c)
{
    char shown[sizeof("\\xNN")];

    snprintf(shown, sizeof(shown), "\\x%02x", (unsigned char)c);
    out_text(out, shown);
}

/* RFC 4180: quoted where it has to be. What would begin a formula is shown as what a terminal would
 * obey is; "-" alone (standard input) is none. */
static void put_csv_text(struct out *out, const char *text, size_t n)
{
    bool begins = n > 1; /* a cell */
    size_t plain = 0;

    while (plain < n && !strchr("\",;\r\n", text[plain]))
        plain++;
    if (n > 0 && plain == n && text[0] != ' ' && !(begins && formula_sign(text, n) > 0)) {
        out_bytes(out, text, n);
        return;
    }
    out_char(out, '"');
    for (size_t i = 0; i < n; i++) {
        size_t sign = begins ? formula_sign(text + i, n - i) : 0;

        if (text[i] == '"')
            out_char(out, '"');
        for (; sign > 1; sign--)
            put_escaped(out, text[i++]);
        if (sign > 0)
            put_escaped(out, text[i]);
        else
            out_char(out, text[i]);
        begins = text[i] == ';' || (begins && (text[i] == ' ' || text[i] == '"'));
    }
    out_char(out, '"');
}

void text_header(struct out *out, const struct table *table)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        if (i > 0)
            out_char(out, ',');
        out_text(out, table->columns[i].name);
    }
    out_line(out);
}

static void put_csv(struct out *out, const struct row *row)
{
    const struct table *table = &tables[row->table];
    char buffer[CELL_SHOWN];

    for (size_t i = 0; i < table->n_columns; i++) {
        const struct cell *cell = &row->cells[i];

        if (i > 0)
            out_char(out, ',');
        if (cell->kind == CELL_TEXT) {
            size_t n;
            const char *text = cell_shown(cell, buffer, &n);

            put_csv_text(out, text, n);
        } else if (cell->kind == CELL_INT && column_unsigned(table->columns[i].type)) {
            out_u64(out, (uint64_t)cell->is.number);
        } else if (cell->kind == CELL_INT) {
            out_i64(out, cell->is.number);
        }
    }
    out_line(out);
}

void text_row(struct out *out, const struct row *row, enum text_form form, bool named)
{
    if (form == TEXT_NDJSON)
        put_ndjson(out, row, named);
    else
        put_csv(out, row);
}

int text_folder(const char *path)
{
    struct privilege_lent lent;
    int folder, error;

    privilege_lend(&lent);
    folder = mkdir(path, 0777) != 0 && errno != EEXIST
                 ? -1
                 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    error = errno;
    privilege_return(&lent);
    if (folder < 0)
        complain("%s: %s", path,
                 error == ENOTDIR ? "it is no folder, or a symbolic link to one" : strerror(error));
    return folder;
}
