/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma rules: what check knows, what each rule means and what to do about it. */
#include <string.h>

#include "options/options.h"
#include "out/json_writer.h"
#include "output/finish.h"
#include "rules/set.h"

static void put_names(struct out *out, unsigned set, unsigned n, const char *(*name)(unsigned bit))
{
    const char *between = "";

    for (unsigned bit = 0; bit < n; bit++) {
        if (!(set >> bit & 1))
            continue;
        out_text(out, between);
        out_text(out, name(bit));
        between = ", ";
    }
}

static void put_line(struct out *out, const char *title, const char *text)
{
    if (!text)
        return;
    out_literal(out, "    ");
    out_text(out, title);
    out_blanks(out, 12 - strlen(title));
    out_text(out, text);
    out_line(out);
}

/* Of the rules of one name: a section that none before it has. */
static bool other_section(enum rpcrdma_rule_id first, enum rpcrdma_rule_id id)
{
    const char *section = rpcrdma_rule(id)->section;

    if (!section || rule_set_first(id) != first)
        return false;
    for (int before = (int)first; before < (int)id; before++) {
        const struct rpcrdma_rule *rule = rpcrdma_rule((enum rpcrdma_rule_id)before);

        if (rule->section && rule_set_first(rule->id) == first &&
            strcmp(rule->section, section) == 0)
            return false;
    }
    return true;
}

/* Rules of one name differ by the document that has them: version 1's, or a draft of version 2. */
static void put_sections(struct out *out, enum rpcrdma_rule_id first)
{
    for (int id = (int)first; id < RPCRDMA_RULE_COUNT; id++) {
        const struct rpcrdma_rule *rule = rpcrdma_rule((enum rpcrdma_rule_id)id);

        if (other_section(first, rule->id))
            put_line(out, "section", rule->section);
    }
}

static void put_text(struct out *out, const struct rpcrdma_rule *rule)
{
    const struct rpcrdma_rule_help *help = rpcrdma_rule_help(rule->id);

    out_style(out, OUT_HEADING);
    out_text(out, rule->name);
    out_style(out, OUT_PLAIN);
    out_literal(out, " (");
    out_text(out, rpcrdma_severity_name(rule->severity));
    out_literal(out, "; ");
    put_names(out, help->classes, RPCRDMA_CLASSES, rpcrdma_class_name);
    out_char(out, ')');
    out_line(out);
    put_line(out, "meaning", help->meaning);
    put_line(out, "cause", help->cause);
    put_line(out, "what to do", help->action);
    put_sections(out, rule->id);
    if (help->needs) {
        out_literal(out, "    needs       ");
        put_names(out, help->needs, RPCRDMA_NEEDS, rpcrdma_needs_name);
        out_line(out);
    }
}

static void json_names(struct json *json, struct json_key key, unsigned set, unsigned n,
                       const char *(*name)(unsigned bit))
{
    json_key(json, key);
    json_open(json, '[');
    for (unsigned bit = 0; bit < n; bit++)
        if (set >> bit & 1)
            json_plain(json, name(bit));
    json_close(json, ']');
}

static void put_json(struct json *json, const struct rpcrdma_rule *rule)
{
    const struct rpcrdma_rule_help *help = rpcrdma_rule_help(rule->id);

    json_open(json, '{');
    json_key(json, KEY(name)), json_plain(json, rule->name);
    json_key(json, KEY(severity)), json_plain(json, rpcrdma_severity_name(rule->severity));
    json_names(json, KEY(classes), help->classes, RPCRDMA_CLASSES, rpcrdma_class_name);
    json_key(json, KEY(sections));
    json_open(json, '[');
    for (int id = (int)rule->id; id < RPCRDMA_RULE_COUNT; id++) {
        const struct rpcrdma_rule *other = rpcrdma_rule((enum rpcrdma_rule_id)id);

        if (other_section(rule->id, other->id))
            json_plain(json, other->section);
    }
    json_close(json, ']');
    json_text(json, KEY(meaning), help->meaning);
    json_text(json, KEY(cause), help->cause);
    json_text(json, KEY(action), help->action);
    json_names(json, KEY(needs), help->needs, RPCRDMA_NEEDS, rpcrdma_needs_name);
    json_close(json, '}');
    json_end(json);
}

/* Without names everything is shown. */
static bool wanted(const struct options *options, const struct rpcrdma_rule *rule)
{
    if (rule_set_first(rule->id) != rule->id)
        return false;
    if (options->n_files == 0)
        return true;
    for (guint i = 0; i < options->n_files; i++)
        if (rule_set_names(options->files[i], rule->id))
            return true;
    return false;
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

    for (guint i = 0; status == OPTIONS_GO_ON && i < options.n_files; i++)
        if (!rule_set_known(options.files[i]))
            status = bad_usage(command, "there is no rule \"%s\"", options.files[i]);
    if (status == OPTIONS_GO_ON)
        status = begin_output(&options, &out);
    if (status == OPTIONS_GO_ON) {
        if (!options.json)
            fit_lines(&out, true);
        for (int id = 0; id < RPCRDMA_RULE_COUNT; id++) {
            const struct rpcrdma_rule *rule = rpcrdma_rule((enum rpcrdma_rule_id)id);

            if (!wanted(&options, rule))
                continue;
            if (options.json)
                put_json(&json, rule);
            else
                put_text(&out, rule);
        }
        status = end_output(&out, EXIT_DONE);
    }
    options_free(&options);
    return status;
}

const struct command command_rules = {
    .name = "rules",
    .arguments = "[NAME...]",
    .what = "every rule of check: what it means, its usual cause, what to do; --json",
    .details = "NAME is a rule's name, a class (security), or a pattern: 'credit-*'",
    .run = run,
};
