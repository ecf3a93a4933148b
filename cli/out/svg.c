/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/svg.h"

#include <stdbool.h>

#define FONT "sans-serif"
#define REPLACEMENT "\xef\xbf\xbd"
#define ELLIPSIS "\xe2\x80\xa6"

void svg_number(struct out *out, double value)
{
    int64_t hundredths = (int64_t)(value * 100 + (value < 0 ? -0.5 : 0.5));
    unsigned rest;

    if (hundredths < 0) {
        out_char(out, '-');
        hundredths = -hundredths;
    }
    out_i64(out, hundredths / 100);
    rest = (unsigned)(hundredths % 100);
    if (rest == 0)
        return;
    out_char(out, '.');
    out_char(out, (char)('0' + rest / 10));
    if (rest % 10 != 0)
        out_char(out, (char)('0' + rest % 10));
}

static void attribute(struct out *out, const char *name, double value)
{
    out_char(out, ' ');
    out_text(out, name);
    out_literal(out, "=\"");
    svg_number(out, value);
    out_char(out, '"');
}

static void attribute_text(struct out *out, const char *name, const char *value)
{
    out_char(out, ' ');
    out_text(out, name);
    out_literal(out, "=\"");
    out_text(out, value);
    out_char(out, '"');
}

void svg_open(struct out *out, int width, int height)
{
    out_literal(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\"");
    attribute(out, "width", width);
    attribute(out, "height", height);
    out_literal(out, " viewBox=\"0 0 ");
    out_i64(out, width);
    out_char(out, ' ');
    out_i64(out, height);
    out_literal(out, "\" font-family=\"" FONT "\">\n");
    svg_rectangle(out, 0, 0, width, height, "#ffffff");
}

void svg_close(struct out *out)
{
    out_literal(out, "</svg>\n");
}

/* The length of the UTF-8 character at p (RFC 3629), or 0. The text ends with a NUL byte, which
 * continues no character. */
static size_t character(const unsigned char *p, uint32_t *value)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;

    if (n == 1) {
        *value = p[0];
        return 1;
    }
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    *value = p[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *value = *value << 6 | (p[i] & 0x3f);
    }
    return *value < least[n] || *value > 0x10ffff ? 0 : n;
}

/* Char of XML 1.0, section 2.2; but a text has no line break and no control character at all. */
static bool allowed(uint32_t c)
{
    return c >= 0x20 && (c < 0x7f || c > 0x9f) && (c < 0xd800 || c > 0xdfff) && c != 0xfffe &&
           c != 0xffff;
}

static const char *entity(uint32_t c)
{
    return c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : NULL;
}

static double character_width(double size)
{
    return size * 0.6;
}

double svg_text_width(double size, const char *text)
{
    return character_width(size) * (double)strlen(text);
}

/* `most`: so many characters, the ellipsis included; 0: all. */
static void put(struct out *out, const char *text, size_t most)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t written = 0;

    while (*p != '\0') {
        uint32_t c = 0;
        size_t n = character(p, &c);
        const char *name;

        if (most > 0 && written + 1 >= most && p[n > 0 ? n : 1] != '\0') {
            out_literal(out, ELLIPSIS);
            return;
        }
        name = n > 0 ? entity(c) : NULL;
        if (n == 0 || !allowed(c))
            out_literal(out, REPLACEMENT);
        else if (name)
            out_text(out, name);
        else
            out_bytes(out, (const char *)p, n);
        p += n > 0 ? n : 1;
        written++;
    }
}

static void text_element(struct out *out, double x, double y, enum svg_anchor anchor, double size,
                         const char *colour)
{
    out_literal(out, "<text");
    attribute(out, "x", x);
    attribute(out, "y", y);
    if (anchor != SVG_START)
        attribute_text(out, "text-anchor", anchor == SVG_MIDDLE ? "middle" : "end");
    attribute(out, "font-size", size);
    attribute_text(out, "fill", colour);
    out_char(out, '>');
}

void svg_text(struct out *out, double x, double y, enum svg_anchor anchor, double size,
              const char *colour, const char *text)
{
    text_element(out, x, y, anchor, size, colour);
    put(out, text, 0);
    out_literal(out, "</text>\n");
}

void svg_text_fitting(struct out *out, double x, double y, double room, double size,
                      const char *colour, const char *text)
{
    double characters = room / character_width(size);

    text_element(out, x, y, SVG_START, size, colour);
    put(out, text, characters < 1 ? 1 : (size_t)characters);
    out_literal(out, "</text>\n");
}

void svg_rectangle(struct out *out, double x, double y, double width, double height,
                   const char *colour)
{
    out_literal(out, "<rect");
    attribute(out, "x", x);
    attribute(out, "y", y);
    attribute(out, "width", width);
    attribute(out, "height", height);
    attribute_text(out, "fill", colour);
    out_literal(out, "/>\n");
}

static void pair(struct out *out, char letter, double x, double y)
{
    out_char(out, letter);
    svg_number(out, x);
    out_char(out, ' ');
    svg_number(out, y);
}

void svg_path_open(struct out *out)
{
    out_literal(out, "<path d=\"");
}

void svg_move(struct out *out, double x, double y)
{
    pair(out, 'M', x, y);
}

void svg_line(struct out *out, double x, double y)
{
    pair(out, 'L', x, y);
}

void svg_box(struct out *out, double x, double y, double width, double height)
{
    pair(out, 'M', x, y);
    out_char(out, 'h');
    svg_number(out, width);
    out_char(out, 'v');
    svg_number(out, height);
    out_char(out, 'h');
    svg_number(out, -width);
    out_char(out, 'z');
}

void svg_path_fill(struct out *out, const char *colour)
{
    out_char(out, '"');
    attribute_text(out, "fill", colour);
    out_literal(out, "/>\n");
}

void svg_path_stroke(struct out *out, const char *colour, double width, const char *dashes)
{
    out_literal(out, "\" fill=\"none\"");
    attribute_text(out, "stroke", colour);
    attribute(out, "stroke-width", width);
    if (dashes)
        attribute_text(out, "stroke-dasharray", dashes);
    out_literal(out, "/>\n");
}
