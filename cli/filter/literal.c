/* SPDX-License-Identifier: BSD-2-Clause */
/* What a value in an expression means for the field it is compared with. */
#include "filter/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "options/moment.h"

#define STEPS_MOST "100000" /* of a regular expression in one text: a millisecond or two */

static bool is_address(const struct rpcrdma_field *field)
{
    static const char *const keys[] = {"src", "dst", "client", "server"};

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        if (field->base == RPCRDMA_BASE_TEXT && strcmp(field->key, keys[i]) == 0)
            return true;
    return false;
}

static bool whole_number(const char *text, struct literal *literal)
{
    bool negative = *text == '-';
    const char *digits = text + negative;
    uint64_t number;
    char *end;

    if (!g_ascii_isdigit(*digits))
        return false;
    errno = 0;
    if (digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B'))
        number = strtoull(digits + 2, &end, 2);
    else
        number = strtoull(digits, &end, digits[0] == '0' && digits[1] ? 0 : 10);
    if (*end != '\0' || errno != 0 || (negative && number > INT64_MAX))
        return false;
    literal->above = number > INT64_MAX;
    literal->number = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

/* 64k, 1M: of lengths and counts; 2ms, 1.5s of times; 1.5 of everything. */
static bool scaled_number(const char *text, const struct rpcrdma_field *field,
                          struct literal *literal)
{
    char *end;

    if (g_str_has_suffix(field->key, "_ns") && duration_parse(text, 1, &literal->number)) {
        literal->real = (double)literal->number;
        return true;
    }
    if (!g_ascii_isdigit(*text) && *text != '-' && *text != '.')
        return false;
    literal->real = g_ascii_strtod(text, &end);
    if (end == text || !isfinite(literal->real))
        return false;
    if (strcmp(end, "k") == 0 || strcmp(end, "K") == 0 || strcmp(end, "KiB") == 0)
        literal->real *= 1024;
    else if (strcmp(end, "M") == 0 || strcmp(end, "MiB") == 0)
        literal->real *= 1024 * 1024;
    else if (strcmp(end, "G") == 0 || strcmp(end, "GiB") == 0)
        literal->real *= 1024 * 1024 * 1024;
    else if (*end)
        return false;
    if (fabs(literal->real) > 9e18)
        return false;
    literal->number = (int64_t)literal->real;
    literal->fraction = (double)literal->number != literal->real;
    return true;
}

static bool number(struct literal *literal, const struct rpcrdma_field *field, const char *text)
{
    struct moment moment;

    if (whole_number(text, literal)) {
        literal->real =
            literal->above ? (double)(uint64_t)literal->number : (double)literal->number;
        return true;
    }
    if (scaled_number(text, field, literal))
        return true;
    if (g_str_has_suffix(field->key, "time_ns") && moment_parse(text, &moment) &&
        moment.kind == MOMENT_ABSOLUTE) {
        literal->number = moment.ns;
        return true;
    }
    return false;
}

static bool address(struct literal *literal, const char *text, char *problem, size_t size)
{
    char copy[80];
    char *slash;
    unsigned most;

    g_strlcpy(copy, text, sizeof(copy));
    slash = strchr(copy, '/');
    if (slash)
        *slash++ = '\0';
    if (inet_pton(AF_INET, copy, literal->address.bytes) == 1) {
        literal->address.family = RPCRDMA_ADDRESS_IPV4;
        most = 32;
    } else if (inet_pton(AF_INET6, copy, literal->address.bytes) == 1) {
        literal->address.family = RPCRDMA_ADDRESS_IPV6;
        most = 128;
    } else {
        g_snprintf(problem, size, "this is no IP address, and no subnet");
        return false;
    }
    literal->prefix = most;
    if (slash) {
        char *end;
        unsigned long bits = strtoul(slash, &end, 10);

        if (!g_ascii_isdigit(*slash) || *end || bits > most) {
            g_snprintf(problem, size, "a prefix of %u bits at most follows the /", most);
            return false;
        }
        literal->prefix = (unsigned)bits;
    }
    literal->is_address = true;
    return true;
}

bool literal_parse(struct literal *literal, const struct rpcrdma_field *field, const char *text,
                   bool quoted, enum filter_relation relation, char *problem, size_t size)
{
    bool numeric = field->base == RPCRDMA_BASE_DEC || field->base == RPCRDMA_BASE_HEX ||
                   field->base == RPCRDMA_BASE_REAL;

    g_strlcpy(literal->text, text, sizeof(literal->text));
    if (relation == MATCHES) {
        GError *error = NULL;
        char *limited;

        if (!g_utf8_validate(text, -1, NULL)) {
            g_strlcpy(problem, "a regular expression is UTF-8", size);
            return false;
        }
        /* what is matched comes from the wire: no text may take seconds */
        limited = g_strconcat("(*LIMIT_MATCH=" STEPS_MOST ")", text, NULL);
        literal->regex = g_regex_new(limited, G_REGEX_CASELESS, 0, &error);
        g_free(limited);
        if (!literal->regex) { /* the message is of what was asked for */
            GRegex *plain;

            g_clear_error(&error);
            plain = g_regex_new(text, G_REGEX_CASELESS, 0, &error);
            g_snprintf(problem, size, "no regular expression: %s",
                       error ? error->message : "it is too large");
            g_clear_error(&error);
            g_clear_pointer(&plain, g_regex_unref);
        }
        return literal->regex != NULL;
    }
    if (relation == CONTAINS)
        return true;
    if (is_address(field) && !(g_str_has_prefix(text, "LID ") && quoted))
        return address(literal, text, problem, size);
    if (field->base == RPCRDMA_BASE_BOOL) {
        literal->is_number = true;
        literal->number = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
        if (literal->number || strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
            return true;
        g_snprintf(problem, size, "%s is true or false", field->key);
        return false;
    }
    literal->is_number = number(literal, field, text);
    if (numeric && !literal->is_number) {
        g_snprintf(problem, size, "%s is a number%s", field->key,
                   g_str_has_suffix(field->key, "time_ns") ? ", or a date"
                   : g_str_has_suffix(field->key, "_ns")   ? ", or one with ns, us, ms, s"
                                                           : "");
        return false;
    }
    if (field->base == RPCRDMA_BASE_NAME && field->names && !literal->is_number) {
        for (const struct rpcrdma_value_name *one = field->names; one->name; one++)
            if (g_ascii_strcasecmp(one->name, text) == 0)
                return true;
        g_snprintf(problem, size, "%s is never called that; see rpcrdma fields --json %s",
                   field->key, field->abbrev);
        return false;
    }
    return true;
}
