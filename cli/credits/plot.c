/* SPDX-License-Identifier: BSD-2-Clause */
#include "credits/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "out/svg.h"
#include "output/file.h"

/* In pixels. */
static const int width = 1200, head = 46, panel_height = 230, foot = 34, left = 74;
static const int area_top = 48; /* within a panel */
static const int area_height = 140, area_width = 1102;
static const int strip = 6; /* below the axis: where the limit was reached */

#define INK "#21262e"
#define GREY "#737a85"
#define GRID "#e0e3e8"
#define AREA "#9ec2e8"
#define EDGE "#1f63ad"
#define GRANTED "#d9730d"
#define REQUESTED "#598c40"
#define ALARM "#cc212e"

struct panel {
    struct out *out;
    const struct plot *plot;
    const struct plot_panel *it;
    double top;     /* y of the drawing area */
    uint64_t y_max; /* value at its upper edge */
};

/* The smallest 1, 2 or 5 times a power of ten that is not below. */
static double round_up(double step)
{
    double power = pow(10, floor(log10(step))), of = step / power;

    return (of <= 1 ? 1 : of <= 2 ? 2 : of <= 5 ? 5 : 10) * power;
}

static double x_of(const struct plot *plot, uint64_t ns)
{
    return left + (double)area_width * (double)ns / (double)plot->length_ns;
}

static double y_of(const struct panel *panel, uint64_t value)
{
    double part = (double)value / (double)panel->y_max;

    return panel->top + area_height * (1 - (part > 1 ? 1 : part));
}

static uint64_t column_end(const struct plot *plot, int x)
{
    return (uint64_t)((double)plot->length_ns * (x + 1) / area_width) + (x + 1 == area_width);
}

/* The axis shows what was in flight and, unless that would flatten it, what was granted. */
static uint64_t axis_top(const struct plot *plot, const struct plot_panel *panel)
{
    struct series_reader reader = {0};
    struct series_column all = series_until(panel->series, &reader, plot->length_ns + 1);
    uint64_t top = all.in_flight.known ? all.in_flight.max : 1, most = top * 64 + 256;

    if (all.granted.known && all.granted.max > top && all.granted.max <= most)
        top = all.granted.max;
    if (all.requested.known && all.requested.max > top && all.requested.max <= most)
        top = all.requested.max;
    return top < 4 ? 4 : top + (top + 11) / 12;
}

static void line(struct out *out, double x1, double y1, double x2, double y2)
{
    svg_path_open(out);
    svg_move(out, x1, y1);
    svg_line(out, x2, y2);
    svg_path_stroke(out, GRID, 1, NULL);
}

static void draw_y_axis(const struct panel *panel)
{
    double step = round_up((double)panel->y_max / 5), middle = panel->top + area_height / 2.0;

    if (step < 1)
        step = 1;
    for (int i = 0; step * i <= (double)panel->y_max; i++) {
        double value = step * i;
        double y = floor(y_of(panel, (uint64_t)value)) + 0.5;
        char text[32];

        line(panel->out, left, y, left + area_width, y);
        snprintf(text, sizeof(text), "%.0f", value);
        svg_text(panel->out, left - 6, y + 4, SVG_END, 11, INK, text);
    }
    out_literal(panel->out, "<g transform=\"translate(18 ");
    svg_number(panel->out, middle);
    out_literal(panel->out, ") rotate(-90)\">");
    svg_text(panel->out, 0, 0, SVG_MIDDLE, 11, GREY, panel->it->counting ? "messages" : "Calls");
    out_literal(panel->out, "</g>\n");
}

struct unit {
    double ns;
    const char *name;
};

static struct unit unit_of(uint64_t length_ns)
{
    static const struct unit units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t i = 0;

    while (i < 3 && (double)length_ns < 2 * units[i].ns)
        i++;
    return units[i];
}

static void draw_x_axis(const struct panel *panel)
{
    struct unit unit = unit_of(panel->plot->length_ns);
    double length = (double)panel->plot->length_ns / unit.ns, step = round_up(length / 12);
    double bottom = panel->top + area_height;

    for (unsigned i = 0; i * step <= length; i++) {
        double x = floor(x_of(panel->plot, (uint64_t)(i * step * unit.ns))) + 0.5;
        char text[32];

        line(panel->out, x, panel->top, x, bottom);
        snprintf(text, sizeof(text), "%.*f %s", step < 1 ? (int)ceil(-log10(step)) : 0, i * step,
                 unit.name);
        svg_text(panel->out, x, bottom + strip + 17, SVG_MIDDLE, 11, INK, text);
    }
}

enum part {
    ALWAYS,   /* as many at all times of a column */
    AT_TIMES, /* as many at some time of it */
    AT_LIMIT,
};

/* One part of what was in flight; columns of the same height become one box. */
static void draw_part(const struct panel *panel, enum part part, const char *colour)
{
    struct series_reader reader = {0};
    double bottom = panel->top + area_height, top = 0, height = 0;
    int from = -1; /* of the box that is not written yet; -1: none */

    svg_path_open(panel->out);
    for (int x = 0; x <= area_width; x++) {
        double y = 0, h = 0;
        bool is = false;

        if (x < area_width) {
            struct series_column column =
                series_until(panel->it->series, &reader, column_end(panel->plot, x));

            if (column.set && column.in_flight.known) {
                double low = y_of(panel, column.in_flight.min);
                double high = y_of(panel, column.in_flight.max);

                is = part != AT_LIMIT || column.at_limit;
                y = part == ALWAYS ? low : part == AT_TIMES ? high - 0.75 : bottom + 2;
                h = part == ALWAYS ? bottom - low : part == AT_TIMES ? low - high + 1.5 : strip - 2;
            }
        }
        if (from >= 0 && (!is || y != top || h != height)) {
            svg_box(panel->out, left + from, top, x - from, height);
            from = -1;
        }
        if (is && from < 0) {
            from = x;
            top = y;
            height = h;
        }
    }
    svg_path_fill(panel->out, colour);
}

/* A value that moves in steps; both ends of what it was within a column. */
static void draw_line(const struct panel *panel, size_t offset, const char *colour,
                      const char *dashes)
{
    struct series_reader reader = {0};
    struct out *out = panel->out;
    bool pen = false;
    double at = 0; /* where the pen is, vertically */
    int x;

    svg_path_open(out);
    for (x = 0; x < area_width; x++) {
        struct series_column column =
            series_until(panel->it->series, &reader, column_end(panel->plot, x));
        struct series_value value;
        double y;

        memcpy(&value, (const char *)&column + offset, sizeof(value));
        if (!value.known) {
            if (pen)
                svg_line(out, left + x, at);
            pen = false;
            continue;
        }
        y = y_of(panel, value.last);
        if (!pen)
            svg_move(out, left + x, y);
        else if (value.min != value.max || y != at)
            svg_line(out, left + x + 0.5, at);
        if (value.min != value.max) {
            svg_line(out, left + x + 0.5, y_of(panel, value.min));
            svg_line(out, left + x + 0.5, y_of(panel, value.max));
        }
        if (pen && (value.min != value.max || y != at))
            svg_line(out, left + x + 0.5, y);
        pen = true;
        at = y;
    }
    if (pen)
        svg_line(out, left + x, at);
    svg_path_stroke(out, colour, 1.6, dashes);
}

enum mark { MARK_AREA, MARK_LINE, MARK_DASHES };

static double legend_entry(struct out *out, double right, double y, const char *colour,
                           const char *text, enum mark mark)
{
    double x = right - svg_text_width(11, text);

    svg_text(out, x, y, SVG_START, 11, INK, text);
    if (mark == MARK_AREA)
        svg_rectangle(out, x - 22, y - 9, 17, 10, colour);
    else
        svg_rectangle(out, x - 22, y - 5, mark == MARK_LINE ? 17 : 7, 2, colour);
    if (mark == MARK_DASHES)
        svg_rectangle(out, x - 12, y - 5, 7, 2, colour);
    return x - 36;
}

static bool above(const struct panel *panel, const struct series_value *value)
{
    return value->known && value->max > panel->y_max;
}

/* Returns where it begins. */
static double draw_legend(const struct panel *panel)
{
    struct series_reader reader = {0};
    struct series_column all = series_until(panel->it->series, &reader, panel->plot->length_ns + 1);
    double x = left + area_width, y = panel->top - 30;
    char text[64];

    x = legend_entry(panel->out, x, y, ALARM, "at the limit", MARK_AREA);
    if (all.requested.known) {
        snprintf(text, sizeof(text),
                 above(panel, &all.requested) ? "requested (%llu, beyond)" : "requested",
                 (unsigned long long)all.requested.max);
        x = legend_entry(panel->out, x, y, REQUESTED, text, MARK_DASHES);
    }
    if (all.granted.known) {
        snprintf(text, sizeof(text), above(panel, &all.granted) ? "%s (%llu, beyond)" : "%s",
                 panel->it->counting ? "allowed" : "granted", (unsigned long long)all.granted.max);
        x = legend_entry(panel->out, x, y, GRANTED, text, MARK_LINE);
    }
    return legend_entry(panel->out, x, y, EDGE, "in flight", MARK_AREA);
}

static void draw_panel(const struct panel *panel)
{
    double legend = draw_legend(panel);
    struct out *out = panel->out;

    svg_text_fitting(out, left, panel->top - 29, legend - left - 10, 13, INK, panel->it->title);
    svg_text_fitting(out, left, panel->top - 11, area_width, 11.5, GREY, panel->it->note);
    draw_y_axis(panel);
    draw_x_axis(panel);
    draw_part(panel, ALWAYS, AREA);
    draw_part(panel, AT_TIMES, EDGE);
    draw_part(panel, AT_LIMIT, ALARM);
    draw_line(panel, offsetof(struct series_column, granted), GRANTED, NULL);
    draw_line(panel, offsetof(struct series_column, requested), REQUESTED, "5 4");
    svg_path_open(out);
    svg_box(out, left + 0.5, panel->top + 0.5, area_width - 1, area_height);
    svg_path_stroke(out, GREY, 1, NULL);
}

void plot_write(const struct plot *plot, struct out *out)
{
    int height = head + (int)plot->n_panels * panel_height + foot;

    svg_open(out, width, height);
    svg_text_fitting(out, left, 28, area_width, 15, INK, plot->title);
    for (size_t i = 0; i < plot->n_panels; i++) {
        struct panel panel = {.out = out,
                              .plot = plot,
                              .it = &plot->panels[i],
                              .top = head + (double)i * panel_height + area_top,
                              .y_max = axis_top(plot, &plot->panels[i])};

        draw_panel(&panel);
    }
    svg_text(out, left + area_width / 2.0, height - 12, SVG_MIDDLE, 11, GREY,
             "time since the first packet of the capture");
    svg_close(out);
}

const char *plot_refuses(const char *file)
{
    size_t n = strlen(file);

    if ((n > 4 && strcasecmp(file + n - 4, ".svg") == 0) || output_standard(file))
        return NULL;
    return "a chart is SVG: its name ends in .svg";
}
