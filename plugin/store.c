/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store.h"

/* By frame number: frames are many, and looked for on every visit. */
static struct frame_note **notes;
static uint32_t n_notes;
static uint64_t bytes_kept;

void store_begin(void)
{
    store_end();
}

void store_end(void)
{
    g_free(notes); /* what they point to goes with the file's scope */
    notes = NULL;
    n_notes = 0;
    bytes_kept = 0;
}

struct frame_note *store_find(uint32_t frame)
{
    return frame < n_notes ? notes[frame] : NULL;
}

struct frame_note *store_get(uint32_t frame)
{
    if (frame >= n_notes) {
        uint32_t more = MAX(frame + 1, n_notes + n_notes / 2);

        more = MAX(more, 1024);
        notes = g_renew(struct frame_note *, notes, more);
        memset(notes + n_notes, 0, (more - n_notes) * sizeof(*notes));
        n_notes = more;
    }
    if (!notes[frame])
        notes[frame] = wmem_new0(wmem_file_scope(), struct frame_note);
    return notes[frame];
}

void store_forget(uint32_t frame)
{
    if (frame < n_notes)
        notes[frame] = NULL;
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
