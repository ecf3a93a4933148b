/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma fields: the field table, as it is. */
#include <fnmatch.h>
#include <stdio.h>

#include "fields/results.h"
#include "options/options.h"
#include "out/json_writer.h"
#include "output/finish.h"
#include "wire/field.h"

/* "uint32", "bool", "bytes": what the JSON value is made of. */
static void type_name(const struct rpcrdma_field *field, char text[16])
{
    if (field->id == RPCRDMA_FIELD_PROPERTY_VALUE || field->id == RPCRDMA_FIELD_XCHAR_VALUE) {
        snprintf(text, 16, "uint32|bool"); /* by the property */
        return;
    }
    switch (field->base) {
    case RPCRDMA_BASE_BYTES:
        snprintf(text, 16, "bytes");
        break;
    case RPCRDMA_BASE_TEXT:
        snprintf(text, 16, "text");
        break;
    case RPCRDMA_BASE_REAL:
        snprintf(text, 16, "real");
        break;
    case RPCRDMA_BASE_BOOL:
        snprintf(text, 16, "bool");
        break;
    case RPCRDMA_BASE_NAME:
        snprintf(text, 16, "enum%u", (unsigned)field->width);
        break;
    case RPCRDMA_BASE_HEX:
        snprintf(text, 16, "hex%u", (unsigned)field->width);
        break;
    default:
        snprintf(text, 16, "uint%u", (unsigned)field->width);
        break;
    }
}

static void put_text(struct out *out, const char *name, const char *type, const char *help,
                     const char *section)
{
    size_t n = strlen(name), m = strlen(type);

    out_text(out, name);
    out_blanks(out, n < 44 ? 44 - n : 1);
    out_text(out, type);
    out_blanks(out, m < 8 ? 8 - m : 1);
    out_text(out, help);
    out_literal(out, " (");
    out_text(out, section);
    out_char(out, ')');
    out_line(out);
}

static void put_json(struct json *json, const struct rpcrdma_field *field, const char *type)
{
    char place[RESULT_NAME];

    result_place(field, place);
    json_open(json, '{');
    json_key(json, KEY(name)), json_plain(json, field->abbrev);
    json_key(json, KEY(key)), json_plain(json, field->key);
    json_key(json, KEY(type)), json_plain(json, type);
    if (place[0])
        json_key(json, KEY(path)), json_plain(json, place);
    json_text(json, KEY(title), field->name);
    if (field->offset >= 0)
        json_key(json, KEY(offset)), json_i64(json, field->offset);
    if (field->width > 0)
        json_key(json, KEY(bits)), json_u64(json, field->width);
    json_text(json, KEY(text), field->help);
    json_text(json, KEY(section), field->section);
    if (field->names) {
        json_key(json, KEY(values));
        json_open(json, '{');
        for (const struct rpcrdma_value_name *one = field->names; one->name; one++) {
            char number[24];

            snprintf(number, sizeof(number), "%llu", (unsigned long long)one->value);
            json_key(json, (struct json_key){number});
            json_plain(json, one->name);
        }
        json_close(json, '}');
    }
    json_close(json, '}');
    json_end(json);
}

static const char this_program[] = "this program";

static void put_result_json(struct json *json, const struct result *r, const char *name)
{
    json_open(json, '{');
    json_key(json, KEY(name)), json_plain(json, name);
    json_key(json, KEY(key)), json_plain(json, strrchr(name, '.') + 1);
    json_key(json, KEY(type)), json_plain(json, r->type ? r->type : "object");
    json_key(json, KEY(path)), json_plain(json, r->path);
    if (r->of)
        json_key(json, KEY(of)), json_plain(json, r->of);
    json_text(json, KEY(title), r->title);
    json_text(json, KEY(text), r->help);
    json_key(json, KEY(section)), json_plain(json, this_program);
    json_close(json, '}');
    json_end(json);
}

static void put_result(struct out *out, const struct result *r, const char *name)
{
    char help[256];

    if (r->of)
        snprintf(help, sizeof(help), "%s: as rpcrdma.%s", r->help, r->of);
    put_text(out, name, r->type ? r->type : "object", r->of ? help : r->help, this_program);
}

static bool matches(const char *pattern, const char *name)
{
    return fnmatch(pattern, name, 0) == 0 || strcmp(pattern, strrchr(name, '.') + 1) == 0;
}

/* Without patterns everything is shown. */
static bool wanted(const struct options *options, const char *name)
{
    if (options->n_files == 0)
        return true;
    for (guint i = 0; i < options->n_files; i++)
        if (matches(options->files[i], name))
            return true;
    return false;
}

static bool matches_any(const char *pattern)
{
    char name[RESULT_NAME];

    for (int id = 0; id < RPCRDMA_FIELD_COUNT; id++)
        if (matches(pattern, rpcrdma_field((enum rpcrdma_field_id)id)->abbrev))
            return true;
    for (size_t i = 0; i < n_results; i++) {
        result_name(&results[i], name);
        if (matches(pattern, name))
            return true;
    }
    return false;
}

static int check_names(const struct command *command, const struct options *options)
{
    for (guint i = 0; i < options->n_files; i++)
        if (!matches_any(options->files[i]))
            return bad_usage(command, "no field is called \"%s\"", options->files[i]);
    return OPTIONS_GO_ON;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    GOptionEntry own[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object per line", NULL},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse_plain(&options, command, own, argc, argv);
    struct out out;
    struct json json = {.out = &out};

    if (status == OPTIONS_GO_ON)
        status = check_names(command, &options);
    if (status == OPTIONS_GO_ON)
        status = begin_output(&options, &out);
    if (status == OPTIONS_GO_ON) {
        if (!options.json)
            fit_lines(&out, true);
        for (int id = 0; id < RPCRDMA_FIELD_COUNT; id++) {
            const struct rpcrdma_field *field = rpcrdma_field((enum rpcrdma_field_id)id);
            char type[16];

            if (!wanted(&options, field->abbrev))
                continue;
            type_name(field, type);
            if (options.json)
                put_json(&json, field, type);
            else
                put_text(&out, field->abbrev, type, field->help, field->section);
        }
        for (size_t i = 0; i < n_results; i++) {
            char name[RESULT_NAME];

            result_name(&results[i], name);
            if (!wanted(&options, name))
                continue;
            if (options.json)
                put_result_json(&json, &results[i], name);
            else
                put_result(&out, &results[i], name);
        }
        status = end_output(&out, EXIT_DONE);
    }
    options_free(&options);
    return status;
}

const struct command command_fields = {
    .name = "fields",
    .arguments = "[NAME...]",
    .what = "every field: name, type, what it is, where it is specified",
    .details = "NAME is a field's name, its last part, or a pattern: 'rpcrdma.read.*'",
    .run = run,
};
