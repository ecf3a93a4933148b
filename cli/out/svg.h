/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_SVG_H
#define RPCRDMA_CLI_OUT_SVG_H

/*
 * The few elements of SVG 1.1 that charts are made of. Text is set by the program that shows the
 * file, so no font is read here and no width of a text is known, only estimated.
 */

#include "out/out.h"

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

/* The root element with a white background; sizes in pixels. */
void svg_open(struct out *out, int width, int height);
void svg_close(struct out *out);

/* A number with at most two decimals, the same in every locale. */
void svg_number(struct out *out, double value);

/* Text from outside: markup is escaped; bytes that are not UTF-8 and characters that XML forbids
 * become U+FFFD. `colour` is "#rrggbb". */
void svg_text(struct out *out, double x, double y, enum svg_anchor anchor, double size,
              const char *colour, const char *text);

/* The same, cut at a character's boundary where it is estimated to need more than `room`. */
void svg_text_fitting(struct out *out, double x, double y, double room, double size,
                      const char *colour, const char *text);

/* How much room ASCII text of this size is estimated to need; rather too much. */
double svg_text_width(double size, const char *text);

void svg_rectangle(struct out *out, double x, double y, double width, double height,
                   const char *colour);

/* A path: svg_path_open, steps, then svg_path_fill or svg_path_stroke, which close the element.
 * `dashes` is a stroke-dasharray or NULL. */
void svg_path_open(struct out *out);
void svg_move(struct out *out, double x, double y);
void svg_line(struct out *out, double x, double y);
void svg_box(struct out *out, double x, double y, double width, double height);
void svg_path_fill(struct out *out, const char *colour);
void svg_path_stroke(struct out *out, const char *colour, double width, const char *dashes);

#endif
