/* SPDX-License-Identifier: BSD-2-Clause */
#include "plot.h"

#include <cairo-svg.h>
#include <cairo.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * Few runs draw, and cairo with what it needs is half of the program's libraries: loading them
 * takes a third of the time before a capture is read. So that is done when a picture is asked for.
 */
/* clang-format off */
#define CALLS(F) \
    F(create) F(destroy) F(fill) F(image_surface_create) F(line_to) F(move_to) F(paint) \
    F(rectangle) F(rel_move_to) F(restore) F(rotate) F(save) F(select_font_face) F(set_dash) \
    F(set_font_size) F(set_line_width) F(set_source_rgb) F(show_text) F(status) \
    F(status_to_string) F(stroke) F(surface_destroy) F(surface_finish) F(surface_status) \
    F(surface_write_to_png) F(svg_surface_create) F(text_extents)
/* clang-format on */

static struct {
#define MEMBER(name) __typeof__(cairo_##name) *name;
    CALLS(MEMBER)
#undef MEMBER
} cairo;

/* NULL, or what is wrong. */
static const char *load(void)
{
    void *library = dlopen("libcairo.so.2", RTLD_NOW);
    bool good = library != NULL;

#define FIND(name) good = good && (*(void **)&cairo.name = dlsym(library, "cairo_" #name)) != NULL;
    CALLS(FIND)
#undef FIND
    return good ? NULL : dlerror();
}

/* In units of the picture: a pixel of PNG, a point of SVG. */
enum {
    WIDTH = 1200,
    HEAD = 46,
    PANEL = 230,
    FOOT = 34,
    LEFT = 74,
    RIGHT = 24,
    AREA_TOP = 48, /* within a panel */
    AREA_HEIGHT = 140,
    AREA_WIDTH = WIDTH - LEFT - RIGHT,
    STRIP = 6, /* below the axis: where the limit was reached */
};

struct colour {
    double r, g, b;
};

static const struct colour ink = {0.13, 0.15, 0.18}, grey = {0.45, 0.48, 0.52},
                           grid = {0.88, 0.89, 0.91}, area = {0.62, 0.76, 0.91},
                           edge = {0.12, 0.39, 0.68}, grant_line = {0.85, 0.45, 0.05},
                           request_line = {0.35, 0.55, 0.25}, alarm = {0.80, 0.13, 0.18};

struct panel {
    cairo_t *cr;
    const struct plot *plot;
    const struct plot_panel *it;
    double top;     /* y of the drawing area */
    uint64_t y_max; /* value at its upper edge */
};

static void set(cairo_t *cr, struct colour c)
{
    cairo.set_source_rgb(cr, c.r, c.g, c.b);
}

enum align { ALIGN_LEFT, ALIGN_CENTRE, ALIGN_RIGHT };

static double text_width(cairo_t *cr, const char *text)
{
    cairo_text_extents_t extents;

    cairo.text_extents(cr, text, &extents);
    return extents.x_advance;
}

static void put_text(cairo_t *cr, double x, double y, enum align align, const char *text)
{
    double width = text_width(cr, text);

    cairo.move_to(cr,
                  align == ALIGN_LEFT    ? x
                  : align == ALIGN_RIGHT ? x - width
                                         : x - width / 2,
                  y);
    cairo.show_text(cr, text);
}

/* Cuts at a character's boundary, so that the text fits. */
static void put_fitting(cairo_t *cr, double x, double y, double room, const char *text)
{
    char cut[400];
    size_t n = strlen(text);

    if (n >= sizeof(cut) - 4)
        n = sizeof(cut) - 5;
    memcpy(cut, text, n);
    cut[n] = '\0';
    while (n > 0 && text_width(cr, cut) > room) {
        n--;
        while (n > 0 && ((unsigned char)cut[n] & 0xc0) == 0x80)
            n--;
        memcpy(cut + n, "\xe2\x80\xa6", 4);
    }
    put_text(cr, x, y, ALIGN_LEFT, cut);
}

/* The smallest 1, 2 or 5 times a power of ten that is not below. */
static double nice(double step)
{
    double power = pow(10, floor(log10(step))), of = step / power;

    return (of <= 1 ? 1 : of <= 2 ? 2 : of <= 5 ? 5 : 10) * power;
}

static double x_of(const struct plot *plot, uint64_t ns)
{
    return LEFT + (double)AREA_WIDTH * (double)ns / (double)plot->length_ns;
}

static double y_of(const struct panel *panel, uint64_t value)
{
    double part = (double)value / (double)panel->y_max;

    return panel->top + AREA_HEIGHT * (1 - (part > 1 ? 1 : part));
}

static uint64_t column_end(const struct plot *plot, int x)
{
    return (uint64_t)((double)plot->length_ns * (x + 1) / AREA_WIDTH) + (x + 1 == AREA_WIDTH);
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

static void draw_y_axis(const struct panel *panel)
{
    cairo_t *cr = panel->cr;
    double step = nice((double)panel->y_max / 5);

    if (step < 1)
        step = 1;
    cairo.set_font_size(cr, 11);
    for (double value = 0; value <= (double)panel->y_max; value += step) {
        double y = floor(y_of(panel, (uint64_t)value)) + 0.5;
        char text[32];

        set(cr, grid);
        cairo.move_to(cr, LEFT, y);
        cairo.line_to(cr, LEFT + AREA_WIDTH, y);
        cairo.stroke(cr);
        snprintf(text, sizeof(text), "%.0f", value);
        set(cr, ink);
        put_text(cr, LEFT - 6, y + 4, ALIGN_RIGHT, text);
    }
    cairo.save(cr);
    cairo.move_to(cr, 18, panel->top + AREA_HEIGHT / 2.0);
    cairo.rotate(cr, -M_PI / 2);
    set(cr, grey);
    cairo.rel_move_to(cr, -text_width(cr, panel->it->counting ? "messages" : "Calls") / 2, 0);
    cairo.show_text(cr, panel->it->counting ? "messages" : "Calls");
    cairo.restore(cr);
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
    cairo_t *cr = panel->cr;
    struct unit unit = unit_of(panel->plot->length_ns);
    double length = (double)panel->plot->length_ns / unit.ns, step = nice(length / 12);
    double bottom = panel->top + AREA_HEIGHT;

    cairo.set_font_size(cr, 11);
    for (unsigned i = 0; i * step <= length; i++) {
        double x = floor(x_of(panel->plot, (uint64_t)(i * step * unit.ns))) + 0.5;
        char text[32];

        set(cr, grid);
        cairo.move_to(cr, x, panel->top);
        cairo.line_to(cr, x, bottom);
        cairo.stroke(cr);
        snprintf(text, sizeof(text), step < 1 ? "%.*f %s" : "%.*f %s",
                 step < 1 ? (int)ceil(-log10(step)) : 0, i * step, unit.name);
        set(cr, ink);
        put_text(cr, x, bottom + STRIP + 17, ALIGN_CENTRE, text);
    }
}

static void draw_in_flight(const struct panel *panel)
{
    struct series_reader reader = {0};
    cairo_t *cr = panel->cr;
    double bottom = panel->top + AREA_HEIGHT;

    for (int x = 0; x < AREA_WIDTH; x++) {
        struct series_column column =
            series_until(panel->it->series, &reader, column_end(panel->plot, x));
        double low, high;

        if (!column.set || !column.in_flight.known)
            continue;
        low = y_of(panel, column.in_flight.min);
        high = y_of(panel, column.in_flight.max);
        set(cr, area); /* at all times in this column */
        cairo.rectangle(cr, LEFT + x, low, 1, bottom - low);
        cairo.fill(cr);
        set(cr, edge); /* at some time */
        cairo.rectangle(cr, LEFT + x, high - 0.75, 1, low - high + 1.5);
        cairo.fill(cr);
        if (column.at_limit) {
            set(cr, alarm);
            cairo.rectangle(cr, LEFT + x, bottom + 2, 1, STRIP - 2);
            cairo.fill(cr);
        }
    }
}

/* A value that moves in steps; both ends of what it was within a column. */
static void draw_line(const struct panel *panel, size_t offset, struct colour colour, bool dashed)
{
    static const double dashes[] = {5, 4};
    struct series_reader reader = {0};
    cairo_t *cr = panel->cr;
    bool pen = false;

    set(cr, colour);
    cairo.set_line_width(cr, 1.6);
    if (dashed)
        cairo.set_dash(cr, dashes, 2, 0);
    for (int x = 0; x < AREA_WIDTH; x++) {
        struct series_column column =
            series_until(panel->it->series, &reader, column_end(panel->plot, x));
        struct series_value value;

        memcpy(&value, (const char *)&column + offset, sizeof(value));
        if (!value.known) {
            pen = false;
            continue;
        }
        if (!pen)
            cairo.move_to(cr, LEFT + x, y_of(panel, value.last));
        pen = true;
        if (value.min != value.max) {
            cairo.line_to(cr, LEFT + x + 0.5, y_of(panel, value.min));
            cairo.line_to(cr, LEFT + x + 0.5, y_of(panel, value.max));
        }
        cairo.line_to(cr, LEFT + x + 0.5, y_of(panel, value.last));
        cairo.line_to(cr, LEFT + x + 1, y_of(panel, value.last));
    }
    cairo.stroke(cr);
    cairo.set_dash(cr, NULL, 0, 0);
    cairo.set_line_width(cr, 1);
}

enum mark { MARK_AREA, MARK_LINE, MARK_DASHES };

static double legend_entry(cairo_t *cr, double right, double y, struct colour colour,
                           const char *text, enum mark mark)
{
    double x = right - text_width(cr, text);

    set(cr, ink);
    put_text(cr, x, y, ALIGN_LEFT, text);
    set(cr, colour);
    if (mark == MARK_AREA)
        cairo.rectangle(cr, x - 22, y - 9, 17, 10);
    else
        cairo.rectangle(cr, x - 22, y - 5, mark == MARK_LINE ? 17 : 7, 2);
    if (mark == MARK_DASHES)
        cairo.rectangle(cr, x - 12, y - 5, 7, 2);
    cairo.fill(cr);
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
    double x = LEFT + AREA_WIDTH, y = panel->top - 30;
    cairo_t *cr = panel->cr;
    char text[64];

    cairo.set_font_size(cr, 11);
    x = legend_entry(cr, x, y, alarm, "at the limit", MARK_AREA);
    if (all.requested.known) {
        snprintf(text, sizeof(text),
                 above(panel, &all.requested) ? "requested (%llu, beyond)" : "requested",
                 (unsigned long long)all.requested.max);
        x = legend_entry(cr, x, y, request_line, text, MARK_DASHES);
    }
    if (all.granted.known) {
        snprintf(text, sizeof(text), above(panel, &all.granted) ? "%s (%llu, beyond)" : "%s",
                 panel->it->counting ? "allowed" : "granted", (unsigned long long)all.granted.max);
        x = legend_entry(cr, x, y, grant_line, text, MARK_LINE);
    }
    return legend_entry(cr, x, y, edge, "in flight", MARK_AREA);
}

static void draw_panel(struct panel *panel)
{
    double legend = draw_legend(panel);
    cairo_t *cr = panel->cr;

    cairo.set_font_size(cr, 13);
    set(cr, ink);
    put_fitting(cr, LEFT, panel->top - 29, legend - LEFT - 10, panel->it->title);
    cairo.set_font_size(cr, 11.5);
    set(cr, grey);
    put_fitting(cr, LEFT, panel->top - 11, AREA_WIDTH, panel->it->note);
    cairo.set_line_width(cr, 1);
    draw_y_axis(panel);
    draw_x_axis(panel);
    draw_in_flight(panel);
    draw_line(panel, offsetof(struct series_column, granted), grant_line, false);
    draw_line(panel, offsetof(struct series_column, requested), request_line, true);
    set(cr, grey);
    cairo.rectangle(cr, LEFT + 0.5, panel->top + 0.5, AREA_WIDTH - 1, AREA_HEIGHT);
    cairo.stroke(cr);
}

static void draw(cairo_t *cr, const struct plot *plot, int height)
{
    cairo.set_source_rgb(cr, 1, 1, 1);
    cairo.paint(cr);
    cairo.select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo.set_font_size(cr, 15);
    set(cr, ink);
    put_fitting(cr, LEFT, 28, AREA_WIDTH, plot->title);
    for (size_t i = 0; i < plot->n_panels; i++) {
        struct panel panel = {.cr = cr,
                              .plot = plot,
                              .it = &plot->panels[i],
                              .top = HEAD + (double)i * PANEL + AREA_TOP,
                              .y_max = axis_top(plot, &plot->panels[i])};

        draw_panel(&panel);
    }
    cairo.set_font_size(cr, 11);
    set(cr, grey);
    put_text(cr, LEFT + AREA_WIDTH / 2.0, height - 12, ALIGN_CENTRE,
             "time since the first packet of the capture");
}

static bool ends_in(const char *file, const char *end)
{
    size_t n = strlen(file), m = strlen(end);

    return n > m && strcasecmp(file + n - m, end) == 0;
}

const char *plot_refuses(const char *file)
{
    if (ends_in(file, ".svg") || ends_in(file, ".png"))
        return load();
    return "a picture's name ends in .svg or .png";
}

const char *plot_write(const struct plot *plot, const char *file)
{
    int height = HEAD + (int)plot->n_panels * PANEL + FOOT;
    bool png = ends_in(file, ".png");
    cairo_surface_t *surface = png ? cairo.image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, height)
                                   : cairo.svg_surface_create(file, WIDTH, height);
    cairo_t *cr = cairo.create(surface);
    cairo_status_t status;

    draw(cr, plot, height);
    status = cairo.status(cr);
    cairo.destroy(cr);
    if (status == CAIRO_STATUS_SUCCESS && png)
        status = cairo.surface_write_to_png(surface, file);
    cairo.surface_finish(surface); /* writes the rest of an SVG */
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo.surface_status(surface);
    cairo.surface_destroy(surface);
    return status == CAIRO_STATUS_SUCCESS ? NULL : cairo.status_to_string(status);
}
