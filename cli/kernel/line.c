/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NS_DIGITS = 9 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_blanks_back(const char *line, const char *end)
{
    while (end > line && end[-1] == ' ')
        end--;
    return end;
}

/* "[003]": where it begins, and *end behind it. What runs may have brackets in its name. */
static char *find_cpu(char *line, char **end)
{
    for (char *at = strchr(line, '['); at; at = strchr(at + 1, '[')) {
        char *p = at + 1;

        while (is_digit(*p))
            p++;
        if (p > at + 1 && *p == ']' && at > line && at[-1] == ' ') {
            *end = p + 1;
            return at;
        }
    }
    return NULL;
}

/* "nfsd-240     [000]"; with tracefs' option record-tgid "nfsd-240     (    238) [000]", or
 * "(-------)". */
static const char *find_pid(const char *line, const char *cpu)
{
    const char *end = skip_blanks_back(line, cpu);

    if (end > line && end[-1] == ')') {
        while (end > line && *end != '(')
            end--;
        end = skip_blanks_back(line, end);
    }
    while (end > line && is_digit(end[-1]))
        end--;
    return end;
}

/* "127.844602:" */
static bool parse_time(const char *word, size_t n, int64_t *ns)
{
    uint64_t value = 0;
    size_t i = 0;
    int digits = -1;

    for (; i + 1 < n; i++) {
        if (word[i] == '.' && digits < 0 && i > 0) {
            digits = 0;
            continue;
        }
        if (!is_digit(word[i]) || digits == NS_DIGITS || value > UINT64_MAX / 100)
            return false;
        value = value * 10 + (uint64_t)(word[i] - '0');
        digits += digits >= 0;
    }
    if (digits <= 0 || word[n - 1] != ':')
        return false;
    for (; digits < NS_DIGITS; digits++) {
        if (value > INT64_MAX / 10)
            return false;
        value *= 10;
    }
    *ns = (int64_t)(value & INT64_MAX);
    return true;
}

bool kernel_line_parse(char *line, struct kernel_line *parsed)
{
    char *at, *cpu = find_cpu(line, &at), *colon;

    if (!cpu)
        return false;
    parsed->pid = (uint32_t)strtoul(find_pid(line, cpu), NULL, 10);
    for (;;) { /* what flags there are, then the time */
        size_t n;

        at += strspn(at, " ");
        n = strcspn(at, " ");
        if (n == 0)
            return false;
        if (parse_time(at, n, &parsed->time_ns)) {
            at += n;
            break;
        }
        at += n;
    }
    at += strspn(at, " ");
    colon = strstr(at, ": ");
    if (!colon) {
        colon = at + strlen(at);
        if (colon == at || colon[-1] != ':')
            return false;
        colon--;
    }
    *colon = '\0';
    parsed->event = strchr(at, ':') ? strchr(at, ':') + 1 : at; /* "sunrpc:rpc_request" */
    if (*parsed->event == '\0' || strchr(parsed->event, ' '))
        return false;
    at = colon + 1;
    parsed->arguments = at + strspn(at, " ");
    return true;
}

bool kernel_argument(const struct kernel_line *line, const char *name, int base, uint64_t *value)
{
    const char *at = line->arguments;
    size_t n = strlen(name);

    while ((at = strstr(at, name)) != NULL) {
        char *end;

        if ((at == line->arguments || at[-1] == ' ') && isxdigit((unsigned char)at[n])) {
            *value = strtoull(at + n, &end, base);
            return end > at + n;
        }
        at += n;
    }
    return false;
}

static bool after(const char **line, const char *text)
{
    size_t n = strlen(text);

    if (strncmp(*line, text, n) != 0)
        return false;
    *line += n;
    return true;
}

uint64_t kernel_line_lost(const char *line)
{
    char *end;

    if (after(&line, "# entries-in-buffer/entries-written: ")) {
        uint64_t kept = strtoull(line, &end, 10);
        uint64_t written = *end == '/' ? strtoull(end + 1, NULL, 10) : 0;

        return written > kept ? written - kept : 0;
    }
    if (!after(&line, "CPU:"))
        return 0;
    line += strspn(line, "0123456789");
    if (!after(&line, " ["))
        return 0;
    after(&line, "LOST ");
    if (is_digit(*line)) {
        uint64_t lost = strtoull(line, &end, 10);

        return strncmp(end, " EVENTS", 7) == 0 ? lost : 0;
    }
    return strncmp(line, "EVENTS", 6) == 0;
}
