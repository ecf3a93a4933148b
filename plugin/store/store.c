/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/store.h"

#include "wireshark/prefs.h"

/*
 * By frame number: frames are many, and looked for on every visit. In pages, so that there is no
 * more of it than frames; and what is kept comes off slabs, which know no headers.
 */
enum { PAGE = 4096, SLAB = 64 << 10, SLAB_MOST = SLAB / 8, ENDS = 1 << 10, SHARED = 1 << 12 };

struct page {
    struct page *next; /* of those that are free */
    uint32_t n_notes;
    struct {
        uint32_t note; /* which of the notes; 0: none */
        uint32_t stream;
    } frames[PAGE];
};

/* The notes, in blocks. */
enum { BLOCK = 1024 };

static struct page **pages;
static uint32_t n_pages;
static struct frame_note **blocks;
static uint32_t n_notes, blocks_size;
static uint64_t bytes_kept;
static uint8_t *slab;
static size_t slab_left;
/* What was given back: things by size, notes by index, pages. */
enum { FREED_MOST = 256 };
static struct freed {
    struct freed *next;
} * freed[FREED_MOST / 8 + 1];
static uint32_t free_note;
static struct page *free_page;
static uint32_t passed_pages;                     /* whose frames are not visited again */
static const struct rpcrdma_endpoint *ends[ENDS]; /* the latest, by hash */
static struct {
    const void *thing;
    size_t n;
} shared[SHARED]; /* likewise */

void store_begin(void)
{
    store_end();
}

void store_end(void)
{
    g_free(pages); /* they, and what they point to, go with the file's scope */
    pages = NULL;
    n_pages = 0;
    g_free(blocks);
    blocks = NULL;
    n_notes = blocks_size = 0;
    bytes_kept = 0;
    slab = NULL;
    slab_left = 0;
    memset(freed, 0, sizeof(freed));
    free_note = 0;
    free_page = NULL;
    passed_pages = 0;
    memset(ends, 0, sizeof(ends));
    memset(shared, 0, sizeof(shared));
}

void *store_new(size_t n)
{
    void *at;

    n = (n + 7) & ~(size_t)7;
    if (n <= FREED_MOST && freed[n / 8]) {
        at = freed[n / 8];
        freed[n / 8] = freed[n / 8]->next;
        return memset(at, 0, n);
    }
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

void store_free(void *thing, size_t n)
{
    struct freed *first = thing;

    n = (n + 7) & ~(size_t)7;
    if (!thing || n > FREED_MOST)
        return;
    first->next = freed[n / 8];
    freed[n / 8] = first;
}

const void *store_share(const void *thing, size_t n)
{
    uint64_t hash = n, word;
    void *copy;

    for (size_t i = 0; i + sizeof(word) <= n; i += sizeof(word)) {
        memcpy(&word, (const uint8_t *)thing + i, sizeof(word));
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
    }
    hash %= SHARED;
    if (shared[hash].n == n && memcmp(shared[hash].thing, thing, n) == 0)
        return shared[hash].thing;
    copy = store_new(n);
    memcpy(copy, thing, n);
    shared[hash].thing = copy;
    shared[hash].n = n;
    return copy;
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

static struct page *find_page(uint32_t frame)
{
    uint32_t n = frame / PAGE;

    return n < n_pages ? pages[n] : NULL;
}

static struct page *get_page(uint32_t frame)
{
    uint32_t n = frame / PAGE;

    if (n >= n_pages) {
        uint32_t more = MAX(n + 1, 2 * n_pages);

        pages = g_renew(struct page *, pages, more);
        memset(pages + n_pages, 0, (more - n_pages) * sizeof(*pages));
        n_pages = more;
    }
    if (pages[n])
        return pages[n];
    pages[n] = free_page;
    if (free_page) {
        free_page = free_page->next;
        memset(pages[n], 0, sizeof(*pages[n]));
    } else {
        pages[n] = wmem_new0(wmem_file_scope(), struct page);
    }
    return pages[n];
}

static struct frame_note *note_at(uint32_t index)
{
    return &blocks[index / BLOCK][index % BLOCK];
}

struct frame_note *store_find(uint32_t frame)
{
    const struct page *page = find_page(frame);
    uint32_t index = page ? page->frames[frame % PAGE].note : 0;

    return index != 0 ? note_at(index) : NULL;
}

static uint32_t new_note(void)
{
    uint32_t index = n_notes == 0 ? 1 : n_notes, block = index / BLOCK;

    if (free_note != 0) {
        index = free_note;
        free_note = note_at(index)->dst_qpn;
        *note_at(index) = (struct frame_note){0};
        return index;
    }
    if (block == blocks_size) {
        blocks_size = MAX(64, 2 * blocks_size);
        blocks = g_renew(struct frame_note *, blocks, blocks_size);
    }
    if (n_notes == 0 || index % BLOCK == 0)
        blocks[block] = wmem_alloc0_array(wmem_file_scope(), struct frame_note, BLOCK);
    n_notes = index + 1;
    return index;
}

struct frame_note *store_get(uint32_t frame)
{
    struct page *page = get_page(frame);
    uint32_t *index = &page->frames[frame % PAGE].note;

    if (*index == 0) {
        *index = new_note();
        page->n_notes++;
    }
    return note_at(*index);
}

static void forget(uint32_t frame)
{
    struct page *page = find_page(frame);

    if (!page)
        return;
    page->frames[frame % PAGE].stream = 0;
    if (page->frames[frame % PAGE].note == 0)
        return;
    page->frames[frame % PAGE].note = 0;
    page->n_notes--;
}

static void free_page_of(uint32_t frame)
{
    struct page *page = find_page(frame);

    if (!page || page->n_notes > 0 || frame / PAGE >= passed_pages)
        return;
    pages[frame / PAGE] = NULL;
    page->next = free_page;
    free_page = page;
}

void store_note_free(uint32_t frame)
{
    struct page *page = find_page(frame);
    uint32_t index = page ? page->frames[frame % PAGE].note : 0;

    if (index == 0)
        return;
    note_at(index)->dst_qpn = free_note;
    free_note = index;
    forget(frame);
    free_page_of(frame);
}

void store_passed(uint32_t frame)
{
    while (passed_pages < frame / PAGE)
        free_page_of(passed_pages++ * PAGE);
}

uint32_t store_stream(uint32_t frame)
{
    const struct page *page = find_page(frame);

    return page ? page->frames[frame % PAGE].stream : 0;
}

void store_stream_set(uint32_t frame, uint32_t stream)
{
    get_page(frame)->frames[frame % PAGE].stream = stream;
}

struct frame_more *store_more(uint32_t frame)
{
    struct frame_note *note = store_get(frame);

    if (!note->more)
        note->more = store_new(sizeof(*note->more));
    return note->more;
}

const struct frame_more *note_more(const struct frame_note *note)
{
    static const struct frame_more none;

    return note->more ? note->more : &none;
}

const struct extra *note_extra(const struct message_note *message_note)
{
    static const struct extra none;

    return message_note->extra ? message_note->extra : &none;
}

struct extra *store_extra(struct message_note *message_note)
{
    if (!message_note->extra)
        message_note->extra = store_new(sizeof(*message_note->extra));
    return message_note->extra;
}

struct transacted *transacted_next(const struct transacted *t, uint32_t frame)
{
    return t->next[frame != t->call_frame];
}

struct message_note *store_message_note(const struct frame_note *note, bool held_back, uint32_t xid,
                                        uint32_t len)
{
    for (struct message_note *message_note = note->messages; message_note;
         message_note = message_note->next)
        if (message_note->held_back == held_back && message_note->xid == xid &&
            (len == 0 || message_note->place.len == len))
            return message_note;
    return NULL;
}

bool store_left_alone(const struct message_note *message_note)
{
    return settings.leave_version1 && message_note->kind->dialect->version == 1;
}

void *store_bytes(size_t n)
{
    uint64_t limit = (uint64_t)settings.memory_mib << 20;

    if (n > limit - MIN(limit, bytes_kept))
        return NULL;
    bytes_kept += n;
    return wmem_alloc(wmem_file_scope(), n);
}
