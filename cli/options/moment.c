/* SPDX-License-Identifier: BSD-2-Clause */
#include "options/moment.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <glib.h>

#include "common/times.h"

#define HOUR (3600 * SECOND)

/* "12.000000001" seconds: exactly, where that is possible. */
static bool seconds(const char *text, int64_t *ns)
{
    int64_t whole = 0, fraction = 0, digit = SECOND / 10;

    for (; g_ascii_isdigit(*text) && whole < INT64_MAX / SECOND / 10 - 1; text++)
        whole = whole * 10 + (*text - '0');
    if (*text == '.')
        for (text++; g_ascii_isdigit(*text); text++, digit /= 10)
            fraction += (*text - '0') * digit;
    *ns = whole * SECOND + fraction;
    return *text == '\0';
}

bool duration_parse(const char *text, double unit, int64_t *ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},   {"us", 1e3},   {"\xc2\xb5s", 1e3}, {"ms", 1e6},   {"s", 1e9},
                 {"m", 60e9}, {"min", 60e9}, {"h", 3600e9},      {"d", 86400e9}};
    char *end;
    double value = g_ascii_strtod(text, &end);

    if (end == text || !isfinite(value) || (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')))
        return false;
    if (*end) {
        size_t i = 0;

        while (i < G_N_ELEMENTS(units) && strcmp(units[i].name, end) != 0)
            i++;
        if (i == G_N_ELEMENTS(units))
            return false;
        unit = units[i].ns;
    } else if (unit > 1e8 && g_ascii_isdigit(*text) && seconds(text, ns)) {
        return true;
    }
    value *= unit;
    if (value <= -9.2e18 || value >= 9.2e18)
        return false;
    *ns = (int64_t)llround(value);
    return true;
}

/* "07:15", "07:15:30.25": nanoseconds of a day. Returns what follows, or NULL. */
static const char *time_of_day(const char *text, int64_t *ns)
{
    int hour, minute, n = 0;
    double second = 0;
    char *end;

    if (sscanf(text, "%2d:%2d%n", &hour, &minute, &n) != 2 || n < 4 || hour < 0 || hour > 23 ||
        minute < 0 || minute > 59)
        return NULL;
    text += n;
    if (*text == ':') {
        if (!g_ascii_isdigit(text[1]))
            return NULL;
        second = g_ascii_strtod(text + 1, &end);
        if (second < 0 || second >= 61)
            return NULL;
        text = end;
    }
    *ns = (hour * INT64_C(3600) + minute * INT64_C(60)) * SECOND + (int64_t)llround(second * 1e9);
    return text;
}

static bool epoch(int year, int month, int day, int64_t of_day, bool utc, int64_t offset_s,
                  int64_t *ns)
{
    struct tm tm = {.tm_year = year - 1900,
                    .tm_mon = month - 1,
                    .tm_mday = day,
                    .tm_hour = (int)(of_day / SECOND / 3600),
                    .tm_min = (int)(of_day / SECOND / 60 % 60),
                    .tm_sec = (int)(of_day / SECOND % 60),
                    .tm_isdst = -1};
    struct tm asked = tm;
    time_t seconds = utc ? timegm(&tm) : mktime(&tm);

    if (year < 1700 || year > 2200 || tm.tm_mon != asked.tm_mon || tm.tm_mday != asked.tm_mday)
        return false;
    *ns = ((int64_t)seconds - offset_s) * SECOND + of_day % SECOND;
    return true;
}

/* RFC 3339 section 5.6, "+02:00"; also without the colon, as ISO 8601 has it. */
static bool utc_offset(const char *text, int64_t *offset_s)
{
    int hours, minutes, n = 0;

    if ((*text != '+' && *text != '-') || !g_ascii_isdigit(text[1]) ||
        (sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &n) != 2 &&
         sscanf(text + 1, "%2d%2d%n", &hours, &minutes, &n) != 2) ||
        text[1 + n] != '\0' || hours > 23 || minutes < 0 || minutes > 59)
        return false;
    *offset_s = (*text == '-' ? -1 : 1) * (hours * INT64_C(3600) + minutes * INT64_C(60));
    return true;
}

/* "2026-11-22", and what may follow. */
static bool iso(const char *text, struct moment *out)
{
    int year, month, day, n = 0;
    int64_t of_day = 0, offset = 0;
    bool utc = false;
    const char *p;

    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &n) != 3 || n < 8)
        return false;
    p = text + n;
    if ((*p == 'T' || *p == ' ') && p[1]) {
        p = time_of_day(p + 1, &of_day);
        if (!p)
            return false;
    }
    if (strcmp(p, "Z") == 0) {
        utc = true;
    } else if (*p) {
        utc = true;
        if (!utc_offset(p, &offset))
            return false;
    }
    out->kind = MOMENT_ABSOLUTE;
    return epoch(year, month, day, of_day, utc, offset, &out->ns);
}

enum { LEAP_YEAR = 2024 };

/* RFC 3164 section 4.1.2: "Nov 22 07:15:30" */
static bool syslog_form(const char *text, struct moment *out)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char name[4] = "";
    int day, n = 0;
    const char *found, *p;

    if (sscanf(text, "%3[A-Za-z] %2d%n", name, &day, &n) != 2 || strlen(name) != 3)
        return false;
    found = strstr(months, name);
    if (!found || (found - months) % 3 != 0 || text[n] != ' ')
        return false;
    p = time_of_day(text + n + 1, &out->ns);
    out->kind = MOMENT_OF_YEAR;
    out->month = (int)(found - months) / 3 + 1;
    out->day = day;
    return p && *p == '\0' && g_date_valid_dmy((GDateDay)day, (GDateMonth)out->month, LEAP_YEAR);
}

bool moment_parse(const char *text, struct moment *out)
{
    const char *p;

    *out = (struct moment){0};
    while (*text == ' ')
        text++;
    if (*text == '@') {
        out->kind = MOMENT_ABSOLUTE;
        return duration_parse(text + 1, 1e9, &out->ns);
    }
    if (iso(text, out) || syslog_form(text, out))
        return true;
    p = time_of_day(text, &out->ns);
    if (p && *p == '\0') {
        out->kind = MOMENT_OF_DAY;
        return true;
    }
    out->kind = MOMENT_RELATIVE;
    return g_ascii_isdigit(*text) && duration_parse(text, 1e9, &out->ns);
}

/* By the calendar: a day on which a clock is set has 23 or 25 hours. */
static int64_t on_next_day(const struct tm *day, int64_t of_day)
{
    struct tm noon = {.tm_year = day->tm_year,
                      .tm_mon = day->tm_mon,
                      .tm_mday = day->tm_mday + 1,
                      .tm_hour = 12,
                      .tm_isdst = -1};
    int64_t ns = 0;

    (void)mktime(&noon); /* for its fields */
    epoch(noon.tm_year + 1900, noon.tm_mon + 1, noon.tm_mday, of_day, false, 0, &ns);
    return ns;
}

/* In the year that brings it nearest to the capture's beginning; February 29 is not in each, and
 * not in 1900. */
static int64_t of_year(const struct moment *moment, int year, int64_t start_ns)
{
    int64_t nearest = 0, ns;
    uint64_t least = UINT64_MAX, away;

    for (int one = year - 8; one <= year + 8; one++) {
        if (!epoch(one, moment->month, moment->day, moment->ns, false, 0, &ns))
            continue;
        away = (uint64_t)(ns > start_ns ? time_less(ns, start_ns) : time_less(start_ns, ns));
        if (away >= least)
            continue;
        least = away;
        nearest = ns;
    }
    return nearest;
}

int64_t moment_ns(const struct moment *moment, int64_t start_ns)
{
    time_t start = (time_t)(start_ns / SECOND);
    struct tm tm;
    int64_t ns = 0;

    switch (moment->kind) {
    case MOMENT_NONE:
        return 0;
    case MOMENT_ABSOLUTE:
        return moment->ns;
    case MOMENT_RELATIVE:
        return time_plus(start_ns, moment->ns);
    case MOMENT_OF_DAY:
        localtime_r(&start, &tm);
        epoch(tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, moment->ns, false, 0, &ns);
        /* a capture over midnight: 00:10 of one that begins at 23:50 is the next day's */
        return ns < start_ns - 12 * HOUR ? on_next_day(&tm, moment->ns) : ns;
    case MOMENT_OF_YEAR:
        localtime_r(&start, &tm);
        return of_year(moment, tm.tm_year + 1900, start_ns);
    }
    return 0;
}
