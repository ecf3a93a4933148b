/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TEST_SINK_H
#define RPCRDMA_TEST_SINK_H

/* The plainest views there can be: they know no record and no field, only shapes and bases. What
 * they make of a walk is what any view that loops can make of it. */

#include <stdbool.h>

#include "wire/walk.h"

struct sink {
    char text[65536];
    size_t n;
    int depth;
    bool first[32]; /* nothing was printed yet at this depth */
    enum rpcrdma_record_shape shape[32];
};

/* JSON without spaces, of one object; call sink_end for its closing brace. */
struct rpcrdma_visitor json_sink(struct sink *sink);
/* Records and fields by name, one a line, indented. */
struct rpcrdma_visitor text_sink(struct sink *sink);
void json_end(struct sink *sink);
/* JSON of the message whose bytes these are, of which caplen were captured. */
void sink_walk(struct sink *sink, enum rpcrdma_dialect_id dialect, const char *hex, int direction,
               size_t caplen);

#endif
