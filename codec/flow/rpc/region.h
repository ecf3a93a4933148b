/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_REGION_H
#define RPCRDMA_FLOW_RPC_REGION_H

/*
 * Memory that one end of a connection advertised as a segment, and what RDMA moved into it or out
 * of it. A region is open, and found by its handle, from the message that advertised it until its
 * transaction ends, the handle is invalidated, or the handle is advertised again for the same
 * addresses: a new generation. Bytes are kept only where `keep` says so. What passed on the wire
 * and what of it was captured are counted apart there; elsewhere what passed counts as captured.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/splay.h"
#include "base/table.h"

/* Bytes [start, start + length) of a region. */
struct flow_extent {
    uint32_t start, length;
    bool captured;
    uint8_t *data; /* NULL: not kept */
};

struct flow_block; /* storage */

struct flow_region {
    uint64_t conn; /* id of the connection */
    uint64_t offset;
    uint32_t handle, length;
    uint8_t end;             /* who advertised it */
    uint8_t use;             /* the owner's */
    bool open, keep, spared; /* spared: outlived an invalidation of its handle */
    bool dropped;            /* bytes were not kept because memory was short */
    uint32_t seen, captured; /* bytes, each counted once */

    struct flow_extent *extents; /* by start; they do not overlap */
    uint32_t n_extents, extents_size;
    struct flow_block *blocks; /* newest first */

    struct splay_node node; /* those of one handle, by address */
    void *owner;            /* the owner's, and: */
    uint64_t before;        /* bytes of its chunk before it */
};

/* Open regions of one handle do not overlap: a new one closes those it lies over. A peer that has
 * one handle for all its memory has many of them, so they are a tree. */
struct flow_regions {
    struct flow_table table; /* (connection, end, handle) -> top of the tree */
    struct flow_memory *memory;
    struct flow_region *displaced; /* by the region opened last; NULL: none */
    struct flow_region *last;      /* found last; NULL: none that is open */
};

/* Opens a region, of which the caller has set conn, end, handle, offset, length and keep; what this
 * file has of it is zero. An open one that the same end advertised under the same handle and that
 * overlaps it is closed: its bytes stay, its time is over. False: no memory for it to be found. */
bool flow_region_open(struct flow_regions *regions, struct flow_region *region);

/* From now on it is not found. Its bytes stay. */
void flow_region_close(struct flow_regions *regions, struct flow_region *region);

/* Closes it and drops what it holds. The struct is the caller's. */
void flow_region_clear(struct flow_regions *regions, struct flow_region *region);

/* The handle is no longer valid: closes what `end` advertised under it, but what `spare` (may be
 * NULL) is true of. Of what was spared once it is true for good: it is not looked at again. Returns
 * how many were closed. */
unsigned flow_region_invalidate(struct flow_regions *regions, uint64_t conn, uint8_t end,
                                uint32_t handle, bool (*spare)(const struct flow_region *region));

/* The open region that holds `address`, NULL if there is none. */
struct flow_region *flow_region_find(struct flow_regions *regions, uint64_t conn, uint8_t end,
                                     uint32_t handle, uint64_t address);

/*
 * len bytes passed on the wire to or from `start` in the region, caplen of them captured. Bytes
 * that came before are overwritten, as memory would be. False when a part lies outside of the
 * region; what lies inside is taken.
 */
bool flow_region_place(struct flow_regions *regions, struct flow_region *region, uint64_t start,
                       const uint8_t *data, uint32_t caplen, uint32_t len);

/* Bytes of [0, length) that passed on the wire. */
uint32_t flow_region_seen(const struct flow_region *region, uint32_t length);

/* Whether all of [*at, length) passed; *at moves to the first byte that did not. */
bool flow_region_passed(const struct flow_region *region, uint32_t *at, uint32_t length);

/* A run of [*at, length) that is of one kind: an extent, or what was never seen (returns false in
 * *seen). Moves *at behind it. False at the end. */
bool flow_region_next(const struct flow_region *region, uint32_t *at, uint32_t length,
                      struct flow_extent *run, bool *seen);

#endif
