/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store.h"

/*
 * By frame number: frames are many, and looked for on every visit. In pages, so that there is no
 * more of it than frames; and what is kept comes off slabs, which know no headers.
 */
enum { PAGE = 4096, SLAB = 64 << 10, SLAB_MOST = SLAB / 8, ENDS = 1 << 10 };

struct page {
    struct frame_note *notes[PAGE];
};

static struct page **pages;
static uint32_t n_pages;
static uint64_t bytes_kept;
static uint8_t *slab;
static size_t slab_left;
static const struct rpcrdma_endpoint *ends[ENDS]; /* the latest, by hash */

void store_begin(void)
{
    store_end();
}

void store_end(void)
{
    g_free(pages); /* they, and what they point to, go with the file's scope */
    pages = NULL;
    n_pages = 0;
    bytes_kept = 0;
    slab = NULL;
    slab_left = 0;
    memset(ends, 0, sizeof(ends));
}

void *store_new(size_t n)
{
    void *at;

    n = (n + 7) & ~(size_t)7;
    if (n > SLAB_MOST)
        return wmem_alloc0(wmem_file_scope(), n);
    if (n > slab_left) {
        slab = wmem_alloc0(wmem_file_scope(), SLAB);
        slab_left = SLAB;
    }
    at = slab;
    slab += n;
    slab_left -= n;
    return at;
}

const struct rpcrdma_endpoint *store_end_point(const struct rpcrdma_endpoint *end)
{
    const struct rpcrdma_endpoint **known;
    struct rpcrdma_endpoint *copy;
    uint64_t half[2], hash;

    memcpy(half, end->address.bytes, sizeof(half));
    hash = (half[0] ^ half[1] * 31 ^ (uint64_t)end->qpn << 16 ^ end->port) * 0x9e3779b97f4a7c15;
    known = &ends[hash >> 54];
    if (*known && memcmp(&(*known)->address, &end->address, sizeof(end->address)) == 0 &&
        (*known)->qpn == end->qpn && (*known)->port == end->port &&
        (*known)->has_qpn == end->has_qpn)
        return *known;
    copy = store_new(sizeof(*copy));
    *copy = *end;
    *known = copy;
    return copy;
}

struct frame_note *store_find(uint32_t frame)
{
    uint32_t n = frame / PAGE;

    return n < n_pages && pages[n] ? pages[n]->notes[frame % PAGE] : NULL;
}

static struct frame_note **slot(uint32_t frame)
{
    uint32_t n = frame / PAGE;

    if (n >= n_pages) {
        uint32_t more = MAX(n + 1, 2 * n_pages);

        pages = g_renew(struct page *, pages, more);
        memset(pages + n_pages, 0, (more - n_pages) * sizeof(*pages));
        n_pages = more;
    }
    if (!pages[n])
        pages[n] = wmem_new0(wmem_file_scope(), struct page);
    return &pages[n]->notes[frame % PAGE];
}

struct frame_note *store_get(uint32_t frame)
{
    struct frame_note **note = slot(frame);

    if (!*note)
        *note = store_new(sizeof(**note));
    return *note;
}

void store_forget(uint32_t frame)
{
    if (store_find(frame))
        *slot(frame) = NULL;
}

struct told *store_told(const struct frame_note *note, bool early, uint32_t xid, uint32_t len)
{
    for (struct told *told = note->messages; told; told = told->next)
        if (told->early == early && told->xid == xid && (len == 0 || told->place.len == len))
            return told;
    return NULL;
}

void *store_bytes(size_t n)
{
    uint64_t limit = (uint64_t)settings.memory_mib << 20;

    if (n > limit - MIN(limit, bytes_kept))
        return NULL;
    bytes_kept += n;
    return wmem_alloc(wmem_file_scope(), n);
}
