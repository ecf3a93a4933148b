/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_PASSED_H
#define RPCRDMA_CLI_EXPORT_PASSED_H

/* Which packets an export has read so far, as hashes: struct store_input has them for the store. */

#include <glib.h>

#include "export/tables.h"
#include "source/source.h"

struct passed {
    int64_t hash;   /* of all packets so far */
    int64_t cut;    /* but not of what is in the latest */
    bool is_cut;    /* that its file cuts */
    int64_t first;  /* store_input.first */
    GArray *blocks; /* store_input.blocks */
    guint watched;  /* of store_input.watch, those that passed */
};

/* The blocks are the store's once it has begun. */
void passed_begin(struct passed *passed);
/* Whether the next packet begins another block. */
bool passed_full(const struct passed *passed);
/* `taken`: the store has the blocks before it. */
void passed_packet(struct passed *passed, const struct source_packet *one, bool taken);
/* Whether the latest packet, which has that number, is one of these. */
void passed_watch(struct passed *passed, GArray *watch, uint64_t frame);

#endif
