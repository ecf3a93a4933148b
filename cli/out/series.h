/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_SERIES_H
#define RPCRDMA_CLI_OUT_SERIES_H

/*
 * Credits over time in flat memory, for a picture: columns of time with the least and the most of
 * each value in them, not a sample. When time outgrows the columns, two become one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/credit.h"

enum { SERIES_COLUMNS = 4096 }; /* at least half of them are used: more than a picture has pixels */

struct series_value {
    bool known, open; /* at some time; at the end */
    uint64_t min, max, last;
};

struct series_column {
    bool set; /* else nothing happened in it: the values before go on */
    bool at_limit, ends_at_limit;
    struct series_value in_flight, granted, requested;
};

struct series {
    int64_t start_ns;
    uint64_t width_ns;             /* of a column */
    struct series_column *columns; /* owned */
    uint32_t used, size;
    uint64_t points;
    struct series_column now; /* the state, as a column that nothing happens in */
    bool no_memory;
};

void series_init(struct series *series, int64_t start_ns);
void series_free(struct series *series);
void series_add(struct series *series, const struct rpcrdma_credit_point *point);

/* Reads a series from left to right. Start with {0}. */
struct series_reader {
    uint32_t at;
    struct series_column state;
};

/* What happened until to_ns after start_ns, since the call before; the state at its beginning
 * included. Not `set` where nothing is known yet. */
struct series_column series_until(const struct series *series, struct series_reader *reader,
                                  uint64_t to_ns);

/* `cells` block characters (UTF-8) for the most in flight, full height being `top`. Returns the
 * length; `text` has room for 3 bytes per cell. */
size_t series_sparkline(const struct series *series, uint64_t length_ns, uint64_t top,
                        unsigned cells, char *text);

#endif
