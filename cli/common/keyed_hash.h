/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_KEYED_HASH_H
#define RPCRDMA_CLI_COMMON_KEYED_HASH_H

/* SipHash-1-3 with a key of this process, for GHashTables of what a capture names: g_str_hash and
 * its like are known to everybody, and names can be chosen that all have one value. */

#include <stddef.h>

#include <glib.h>

guint keyed_hash(gconstpointer data, size_t n);

/* Of a string, GHashFunc. */
guint keyed_hash_string(gconstpointer string);

/* Of two numbers. */
guint keyed_hash_numbers(guint64 a, guint64 b);

#endif
