/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/check_options.h"

#include <string.h>

#include "filter/where.h"

/* As given, before they are looked at. */
struct given {
    gboolean notes, summary;
    char **rules, **ignored, **classes;
    char *severity, *fail_on, *format, *where;
    gint64 limit; /* NO_LIMIT_GIVEN: none was */
};

#define NO_LIMIT_GIVEN G_MININT64

static bool among(char **names, enum rpcrdma_rule_id id)
{
    for (; names && *names; names++)
        if (rule_set_names(*names, id))
            return true;
    return false;
}

static bool in_classes(char **classes, enum rpcrdma_rule_id id)
{
    unsigned bit;

    for (; classes && *classes; classes++)
        if (rule_set_class(*classes, &bit) && rpcrdma_rule_help(id)->classes >> bit & 1)
            return true;
    return false;
}

static int choose_rules(struct check_options *check, const struct given *given,
                        const struct command *command)
{
    bool any = false;
    unsigned bit;

    for (char **name = given->rules; name && *name; name++)
        if (!rule_set_known(*name))
            return bad_usage(command, "there is no rule \"%s\": see rpcrdma rules", *name);
    for (char **name = given->ignored; name && *name; name++)
        if (!rule_set_known(*name))
            return bad_usage(command, "there is no rule \"%s\": see rpcrdma rules", *name);
    for (char **name = given->classes; name && *name; name++)
        if (!rule_set_class(*name, &bit))
            return bad_usage(command, "there is no class of rules \"%s\": see rpcrdma rules",
                             *name);
    for (int i = 0; i < RPCRDMA_RULE_COUNT; i++) {
        enum rpcrdma_rule_id id = (enum rpcrdma_rule_id)i;

        check->wanted[i] = (!given->rules || among(given->rules, id)) &&
                           (!given->classes || in_classes(given->classes, id)) &&
                           !among(given->ignored, id);
        any |= check->wanted[i];
    }
    if (!any)
        return bad_usage(command, "--rule, --class and --ignore leave no rule to look at");
    return OPTIONS_GO_ON;
}

static int choose_severities(struct check_options *check, const struct given *given,
                             const struct command *command)
{
    check->least = given->notes ? RPCRDMA_NOTE : RPCRDMA_WARNING;
    check->fail_on = RPCRDMA_WARNING;
    if (given->severity && !rule_set_severity(given->severity, &check->least))
        return bad_usage(command, "--severity needs note, warning or error, not \"%s\"",
                         given->severity);
    if (given->severity && given->notes)
        return bad_usage(command, "-n is --severity note: choose one");
    if (given->fail_on && strcmp(given->fail_on, "never") == 0)
        check->fail_on = (enum rpcrdma_severity)(RPCRDMA_ERROR + 1);
    else if (given->fail_on && !rule_set_severity(given->fail_on, &check->fail_on))
        return bad_usage(command, "--fail-on needs note, warning, error or never, not \"%s\"",
                         given->fail_on);
    return OPTIONS_GO_ON;
}

static int choose_format(struct check_options *check, const struct given *given,
                         const struct options *options, const struct command *command)
{
    static const char *const names[] = {"text", "json", "junit", "sarif", "tap"};
    size_t n = sizeof(names) / sizeof(names[0]), i = 0;

    while (given->format && i < n && strcmp(names[i], given->format) != 0)
        i++;
    if (i == n)
        return bad_usage(command, "--format needs text, json, junit, sarif or tap, not \"%s\"",
                         given->format);
    if (options->json && i != CHECK_TEXT && i != CHECK_JSON)
        return bad_usage(command, "--json and --format: choose one");
    check->format = options->json ? CHECK_JSON : (enum check_format)i;
    if (options->verbose && (check->format != CHECK_TEXT || given->summary))
        return bad_usage(command, "-V is for text that shows messages: choose one");
    if (given->summary && check->format > CHECK_JSON)
        return bad_usage(command, "--summary and --format %s: choose one", given->format);
    check->summary = given->summary;
    /* what fails in them is what the exit status says */
    if ((check->format == CHECK_JUNIT || check->format == CHECK_TAP) &&
        check->fail_on < check->least)
        check->least = check->fail_on;
    if (given->limit < 0 && given->limit != NO_LIMIT_GIVEN)
        return bad_usage(command, "--limit needs a number");
    check->limit = given->limit == 0 ? UINT64_MAX : (uint64_t)given->limit;
    if (given->limit == NO_LIMIT_GIVEN) /* JSON is for programs, which would not look for a count */
        check->limit = check->format == CHECK_JSON ? UINT64_MAX : 100;
    return OPTIONS_GO_ON;
}

int check_options_parse(struct check_options *check, struct options *options,
                        const struct command *command, int argc, char **argv)
{
    struct given given = {.limit = NO_LIMIT_GIVEN};
    GOptionEntry own[] = {
        {"notes", 'n', 0, G_OPTION_ARG_NONE, &given.notes,
         "Show notes, too: what was not captured or could not be decided", NULL},
        {"severity", 0, 0, G_OPTION_ARG_STRING, &given.severity,
         "Show what is at least that severe: note, warning (default), error", "SEVERITY"},
        {"rule", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.rules,
         "Look for these rules only: a name, a class, a pattern; repeatable", "NAME"},
        {"ignore", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.ignored,
         "Leave these rules out: a name, a class, a pattern; repeatable", "NAME"},
        {"class", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.classes,
         "Look for rules of that class: security, chunk, credit ...; repeatable", "CLASS"},
        {"summary", 0, 0, G_OPTION_ARG_NONE, &given.summary,
         "Show each rule by count and connection, and what could not be checked", NULL},
        WHERE_OPTION(&given.where),
        {"limit", 0, 0, G_OPTION_ARG_INT64, &given.limit,
         "Show a rule's first N findings, then how many more; 0: all (default 100, JSON all)", "N"},
        {"fail-on", 0, 0, G_OPTION_ARG_STRING, &given.fail_on,
         "Exit with 1 at that severity: note, warning (default), error, never", "SEVERITY"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &given.format,
         "text (default), json, junit, sarif or tap", "FORMAT"},
        {"verbose", 'V', 0, G_OPTION_ARG_NONE, &options->verbose,
         "Show every field of the messages with findings", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "One JSON object per line", NULL},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(options, command, own, argc, argv);

    if (status == OPTIONS_GO_ON)
        status = choose_rules(check, &given, command);
    if (status == OPTIONS_GO_ON)
        status = choose_severities(check, &given, command);
    if (status == OPTIONS_GO_ON)
        status = choose_format(check, &given, options, command);
    if (status == OPTIONS_GO_ON)
        status = where_compile(command, given.where, filter_of_findings, &check->filter);
    g_free(given.where);
    g_strfreev(given.rules);
    g_strfreev(given.ignored);
    g_strfreev(given.classes);
    g_free(given.severity);
    g_free(given.fail_on);
    g_free(given.format);
    return status;
}
