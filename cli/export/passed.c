/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/passed.h"

#include "export/identity.h"

static struct store_block *latest(const struct passed *p)
{
    return &g_array_index(p->blocks, struct store_block, p->blocks->len - 1);
}

void passed_begin(struct passed *p)
{
    const struct store_block block = {0};

    p->blocks = g_array_new(FALSE, FALSE, sizeof(struct store_block));
    g_array_append_val(p->blocks, block);
}

bool passed_full(const struct passed *p)
{
    return latest(p)->n == STORE_BLOCK;
}

/* One that its file cuts may be whole later. */
void passed_packet(struct passed *p, const struct source_packet *one, bool taken)
{
    struct store_block *block = latest(p);

    if (block->n == STORE_BLOCK) {
        const struct store_block next = {.number = block->number + 1, .before = p->hash};

        if (taken)
            g_array_set_size(p->blocks, 0);
        g_array_append_val(p->blocks, next);
        block = latest(p);
    }
    p->cut = identity_packet(p->hash, &one->packet);
    p->hash = one->cut ? p->cut : identity_contents(p->cut, &one->packet);
    p->is_cut = one->cut;
    if (block->number == 0 && block->n == 0)
        p->first = p->cut;
    block->marks[block->n++] = (uint16_t)p->hash;
}

void passed_watch(struct passed *p, GArray *watch, uint64_t frame)
{
    for (; watch && p->watched < watch->len; p->watched++) {
        struct store_watch *one = &g_array_index(watch, struct store_watch, p->watched);

        if (frame < one->frame)
            break;
        one->seen = frame == one->frame;
        one->packets_hash = p->hash;
        one->cut = p->cut;
    }
}
