/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_XDR_H
#define RPCRDMA_WIRE_XDR_H

/*
 * Counted things that the headers of version 2 and the xchar messages share, read and written:
 *
 *     opaque<>   uint32 length, bytes, zeros to a multiple of 4        RFC 4506 section 4.10
 *     property   uint32 id, opaque data<>                              ietf-07 section 5.1
 *     propset    uint32 count, property[count]
 *     words      uint32 count, uint32[count]                           (propsubset, xcharsubset)
 *
 * Internal to wire/. Readers report through the cursor; padding that is not zero and bools above 1
 * set *noncanonical. A count or length that cannot fit in what is left on the wire is malformed at
 * its own word, before anything is read by it.
 */

#include <stdbool.h>

#include "wire/cursor.h"
#include "wire/message.h"
#include "wire/writer.h"

/* False when not even the length was readable. Cut short: out->caplen < out->len. The two names are
 * for what could not be read: the length, or the bytes. */
bool rpcrdma_read_opaque(struct rpcrdma_cursor *c, struct rpcrdma_span *out, bool *noncanonical,
                         const char *length_what, const char *what);
bool rpcrdma_read_propset(struct rpcrdma_cursor *c, struct rpcrdma_propset *out,
                          bool *noncanonical);
bool rpcrdma_read_words(struct rpcrdma_cursor *c, struct rpcrdma_words *out);

/* One property without a count before it (xchar's UPD_XCHAR): a set of one. */
void rpcrdma_read_property(struct rpcrdma_cursor *c, struct rpcrdma_propset *out,
                           bool *noncanonical);

void rpcrdma_write_propset(struct rpcrdma_writer *w, const struct rpcrdma_propset *set);
void rpcrdma_write_words(struct rpcrdma_writer *w, const struct rpcrdma_words *words);

/* The entries of a set without its count. */
void rpcrdma_write_properties(struct rpcrdma_writer *w, const struct rpcrdma_propset *set);

#endif
