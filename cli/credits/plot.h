/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CREDITS_PLOT_H
#define RPCRDMA_CLI_CREDITS_PLOT_H

/* A chart of credits over time, in SVG: a panel per direction of each connection. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "out/out.h"
#include "out/series.h"

enum { PLOT_PANELS_MAX = 40 };

struct plot_panel {
    const struct series *series;
    bool counting;
    const char *title; /* UTF-8 */
    const char *note;  /* the verdict */
};

struct plot {
    const struct plot_panel *panels;
    size_t n_panels;
    int64_t start_ns; /* the x axis counts from here */
    uint64_t length_ns;
    const char *title;
};

/* Whether the file's name is that of a chart, or standard output. NULL, or what is wrong. */
const char *plot_refuses(const char *file);

/* Writes the chart; `out` says at its end what went wrong. */
void plot_write(const struct plot *plot, struct out *out);

#endif
