/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/region.h"

/* Which region is open where. */

static uint64_t region_key(uint64_t conn, uint8_t end, uint32_t handle)
{
    return flow_hash2(conn << 1 | end, handle);
}

/* What regions are in order of: those of two handles meet where the hashes are the same. */
struct place {
    uint64_t conn;
    uint32_t handle;
    uint8_t end;
    bool spared;
    uint64_t address;
};

static struct flow_region *region_of(const struct splay_node *node)
{
    return (struct flow_region *)(uintptr_t)((const char *)node -
                                             offsetof(struct flow_region, node));
}

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *key, const struct splay_node *node)
{
    const struct place *p = key;
    const struct flow_region *r = region_of(node);

    if (p->handle != r->handle)
        return order(p->handle, r->handle);
    if (p->conn != r->conn)
        return order(p->conn, r->conn);
    if (p->end != r->end)
        return order(p->end, r->end);
    if (p->spared != r->spared)
        return order(p->spared, r->spared);
    return order(p->address, r->offset);
}

static bool same_handle(const struct flow_region *r, const struct place *p)
{
    return r->handle == p->handle && r->conn == p->conn && r->end == p->end &&
           r->spared == p->spared;
}

static struct flow_region *in_handle(const struct splay_node *node, const struct place *p)
{
    struct flow_region *r = node ? region_of(node) : NULL;

    return r && same_handle(r, p) ? r : NULL;
}

/* The one that holds the address: as they do not overlap, it is the last that begins before, on the
 * circle of addresses. */
static struct flow_region *holder(struct splay_node **root, struct place p)
{
    struct flow_region *r = in_handle(splay_at_most(root, &p, compare), &p);
    uint64_t address = p.address;

    if (!r) { /* one may reach over the end of the addresses */
        p.address = UINT64_MAX;
        r = in_handle(splay_at_most(root, &p, compare), &p);
    }
    return r && address - r->offset < r->length ? r : NULL;
}

/* The first that begins in [p.address, p.address + length), on the circle. */
static struct flow_region *first_in(struct splay_node **root, struct place p, uint32_t length)
{
    struct flow_region *r = in_handle(splay_at_least(root, &p, compare), &p);
    uint64_t address = p.address;

    if (!r) {
        p.address = 0;
        r = in_handle(splay_at_least(root, &p, compare), &p);
    }
    return r && r->offset - address < length ? r : NULL;
}

static struct place place_of(const struct flow_region *r)
{
    return (struct place){.conn = r->conn,
                          .handle = r->handle,
                          .end = r->end,
                          .spared = r->spared,
                          .address = r->offset};
}

/* The tree under a key; *root is to be put back. False: there is none. */
static bool take_root(const struct flow_regions *regions, uint64_t key, struct splay_node **root)
{
    struct flow_region *top = flow_table_get(&regions->table, key);

    *root = top ? &top->node : NULL;
    return top;
}

static void put_root(struct flow_regions *regions, uint64_t key, struct splay_node *root)
{
    if (root) /* the key is there: putting it replaces and cannot fail */
        *flow_table_at(&regions->table, key) = region_of(root);
    else
        flow_table_remove(&regions->table, key);
}

static void leave(struct flow_regions *regions, struct splay_node **root, struct flow_region *r)
{
    struct place p = place_of(r);

    splay_remove(root, &p, compare);
    r->open = false;
    if (regions->last == r)
        regions->last = NULL;
}

/* Closes what lies over the new one. */
static void make_way(struct flow_regions *regions, uint64_t key, struct place p, uint32_t length)
{
    struct flow_region *r;
    struct splay_node *root;

    if (!take_root(regions, key, &root))
        return;
    for (int spared = 0; spared < 2; spared++) {
        p.spared = spared;
        while ((r = holder(&root, p)) || (r = first_in(&root, p, length))) {
            regions->displaced = r;
            leave(regions, &root, r);
        }
    }
    put_root(regions, key, root);
}

bool flow_region_open(struct flow_regions *regions, struct flow_region *region)
{
    uint64_t key = region_key(region->conn, region->end, region->handle);
    struct splay_node *root;
    struct place p;

    region->spared = false;
    regions->displaced = NULL;
    if (region->length == 0)
        return true; /* nothing can be moved to it */
    p = place_of(region);
    make_way(regions, key, p, region->length);
    if (take_root(regions, key, &root)) {
        splay_add(&root, &region->node, &p, compare);
        put_root(regions, key, root);
    } else {
        region->node = (struct splay_node){NULL, NULL};
        if (!flow_table_put(&regions->table, regions->memory, key, region))
            return false;
    }
    region->open = true;
    return true;
}

void flow_region_close(struct flow_regions *regions, struct flow_region *region)
{
    uint64_t key = region_key(region->conn, region->end, region->handle);
    struct splay_node *root;

    if (!region->open)
        return;
    take_root(regions, key, &root);
    leave(regions, &root, region);
    put_root(regions, key, root);
}

unsigned flow_region_invalidate(struct flow_regions *regions, uint64_t conn, uint8_t end,
                                uint32_t handle, bool (*spare)(const struct flow_region *region))
{
    uint64_t key = region_key(conn, end, handle);
    struct place p = {.conn = conn, .end = end, .handle = handle};
    struct splay_node *root;
    struct flow_region *r;
    unsigned n = 0;

    if (!take_root(regions, key, &root))
        return 0;
    while ((r = in_handle(splay_at_least(&root, &p, compare), &p)) != NULL) {
        leave(regions, &root, r);
        if (spare && spare(r)) {
            struct place aside;

            r->open = r->spared = true;
            aside = place_of(r);
            splay_add(&root, &r->node, &aside, compare);
        } else {
            n++;
        }
    }
    put_root(regions, key, root);
    return n;
}

struct flow_region *flow_region_find(struct flow_regions *regions, uint64_t conn, uint8_t end,
                                     uint32_t handle, uint64_t address)
{
    uint64_t key;
    struct place p = {.conn = conn, .end = end, .handle = handle, .address = address};
    struct flow_region *r = regions->last;
    struct splay_node *root;

    /* the next packet mostly goes where this one went */
    if (r && r->handle == handle && r->conn == conn && r->end == end &&
        address - r->offset < r->length)
        return r;
    key = region_key(conn, end, handle);
    if (!take_root(regions, key, &root))
        return NULL;
    r = holder(&root, p);
    if (!r) {
        p.spared = true;
        r = holder(&root, p);
    }
    put_root(regions, key, root);
    if (r)
        regions->last = r;
    return r;
}
