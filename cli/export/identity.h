/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_IDENTITY_H
#define RPCRDMA_CLI_EXPORT_IDENTITY_H

/*
 * Keys that hold anywhere: what they name has the same one whenever, wherever and with whatever
 * else its capture is read. SipHash-2-4 with the key 0 of what the wire names; docs/sql.md has the
 * exact bytes. 64 bits: of 100 million rows of a table two have the same one with a probability of
 * 0.0003.
 */

#include <stdint.h>

#include "export/tables.h"
#include "flow/flow.h"
#include "options/options.h"

/* What goes into a key, word after word. */
struct identity {
    uint64_t words[16];
    unsigned n;
};

/* Begins with another key, or what kind of thing it is. */
struct identity identity_of(uint64_t first);
void identity_add(struct identity *identity, uint64_t word);
void identity_add_bytes(struct identity *identity, const void *bytes, size_t n); /* at most 64 */
int64_t identity_end(const struct identity *identity);

/* Carrier, addresses, QP numbers or ports of both ends, the lower one first. */
int64_t identity_path(const struct rpcrdma_connection *connection);

/* Which end is the lower one there: what its rows name as 0. */
int identity_first_end(const struct rpcrdma_connection *connection);

/* Of a file by its size and first bytes, 64 KiB at most; of anything else by its name and a time.
 * heads: zeros, which become hashes of its first 1, 2, 4 ... bytes; NULL: nobody asks. */
int64_t identity_file(uint64_t size, const void *head, size_t n, int64_t heads[IDENTITY_HEADS]);
/* And by its last bytes, where it has more than these. */
int64_t identity_tail(int64_t file, const void *tail, size_t n);
/* Which of them a file had already when it was that long. */
unsigned identity_head(uint64_t bytes);

/* Of a packet and all before it: `contents` of those before, 0 of none. By its link type, time and
 * length, so that it is the same of one that is cut at its file's end, and whole later. */
int64_t identity_packet(int64_t contents, const struct rpcrdma_packet *packet);
/* And with what is in it. */
int64_t identity_contents(int64_t of, const struct rpcrdma_packet *packet);

/* Of options that make other rows of the same packets, or choose other packets. */
int64_t identity_reading(const struct options *options);

#endif
