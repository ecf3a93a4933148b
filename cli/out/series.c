/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/series.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_WIDTH_NS 1000

void series_init(struct series *series, int64_t start_ns)
{
    memset(series, 0, sizeof(*series));
    series->start_ns = start_ns;
    series->width_ns = FIRST_WIDTH_NS;
}

void series_free(struct series *series)
{
    free(series->columns);
    series->columns = NULL;
    series->used = series->size = 0;
}

static void extend(struct series_value *into, const struct series_value *by)
{
    into->open = by->open;
    if (!by->known)
        return;
    if (!into->known) {
        *into = *by;
        return;
    }
    if (by->min < into->min)
        into->min = by->min;
    if (by->max > into->max)
        into->max = by->max;
    into->last = by->last;
}

/* `by` is later. */
static void merge(struct series_column *into, const struct series_column *by)
{
    if (!by->set)
        return;
    if (!into->set) {
        *into = *by;
        return;
    }
    extend(&into->in_flight, &by->in_flight);
    extend(&into->granted, &by->granted);
    extend(&into->requested, &by->requested);
    into->at_limit = into->at_limit || by->at_limit;
    into->ends_at_limit = by->ends_at_limit;
}

static void halve(struct series *series)
{
    uint32_t half = (series->used + 1) / 2;

    for (size_t i = 0; i < half; i++) {
        series->columns[i] = series->columns[2 * i];
        if (2 * i + 1 < series->used)
            merge(&series->columns[i], &series->columns[2 * i + 1]);
    }
    series->used = half;
    series->width_ns *= 2;
}

static bool grow(struct series *series, uint32_t need)
{
    uint32_t size = series->size ? series->size : 64;
    struct series_column *columns;

    while (size < need)
        size *= 2;
    if (size == series->size)
        return true;
    columns = realloc(series->columns, size * sizeof(*columns));
    if (!columns)
        return false;
    series->columns = columns;
    series->size = size;
    return true;
}

static struct series_value value_of(bool known, uint64_t value)
{
    return (struct series_value){known, known, value, value, value};
}

/* The state as it goes on after a column. */
static struct series_column state_after(const struct series_column *column)
{
    struct series_column state = *column;

    state.in_flight = value_of(column->in_flight.open, column->in_flight.last);
    state.granted = value_of(column->granted.open, column->granted.last);
    state.requested = value_of(column->requested.open, column->requested.last);
    state.at_limit = column->ends_at_limit;
    return state;
}

void series_add(struct series *series, const struct rpcrdma_credit_point *point)
{
    uint64_t after = point->time_ns > series->start_ns
                         ? (uint64_t)point->time_ns - (uint64_t)series->start_ns
                         : 0;
    bool at_limit = point->has_limit && point->in_flight >= point->limit;
    struct series_column state = {
        .set = true,
        .at_limit = at_limit,
        .ends_at_limit = at_limit,
        .in_flight = value_of(!point->closed, point->in_flight),
        .granted = value_of(point->has_granted, point->granted),
        .requested = value_of(point->has_requested, point->requested),
    };
    struct series_column *column;
    uint32_t index;

    series->points++;
    while (after / series->width_ns >= SERIES_COLUMNS)
        halve(series);
    index = (uint32_t)(after / series->width_ns);
    if (index + 1 < series->used) /* packets out of order: still the newest state */
        index = series->used - 1;
    if (!grow(series, index + 1)) {
        series->no_memory = true;
        return;
    }
    while (series->used <= index)
        series->columns[series->used++] = (struct series_column){0};
    column = &series->columns[index];
    if (!column->set)
        *column = series->now;
    merge(column, &state);
    series->now = state_after(&state);
}

struct series_column series_until(const struct series *series, struct series_reader *reader,
                                  uint64_t to_ns)
{
    struct series_column all = reader->state;

    for (; reader->at < series->used && reader->at * series->width_ns < to_ns; reader->at++) {
        const struct series_column *column = &series->columns[reader->at];

        if (!column->set)
            continue;
        merge(&all, column);
        reader->state = state_after(column);
    }
    return all;
}

size_t series_sparkline(const struct series *series, uint64_t length_ns, uint64_t top,
                        unsigned cells, char *text)
{
    struct series_reader reader = {0};
    size_t n = 0;

    for (unsigned i = 0; i < cells; i++) {
        struct series_column column =
            series_until(series, &reader, length_ns / cells * (i + 1) + (i + 1 == cells));
        uint64_t value = column.set ? column.in_flight.max : 0;
        unsigned step = 0;

        if (value > 0 && top > 0)
            step = value >= top ? 8 : (unsigned)(1 + value * 7 / top);
        if (step == 0) {
            text[n++] = ' ';
            continue;
        }
        /* U+2581 (one eighth) to U+2588 (full block) */
        text[n++] = '\xe2';
        text[n++] = '\x96';
        text[n++] = (char)(0x80 + step);
    }
    return n;
}
