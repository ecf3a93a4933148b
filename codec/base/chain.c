/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/chain.h"

bool chain_add(struct flow_table *table, struct flow_memory *memory, uint64_t key,
               struct chain *above, struct chain *link)
{
    struct chain *below = above ? above->older : chain_newest(table, key);

    if (!above && !flow_table_put(table, memory, key, link))
        return false;
    *link = (struct chain){.key = key, .older = below, .newer = above, .listed = true};
    if (above)
        above->older = link;
    if (below)
        below->newer = link;
    return true;
}

void chain_remove(struct flow_table *table, struct chain *link)
{
    void **newest;

    if (!link->listed)
        return;
    if (link->older)
        link->older->newer = link->newer;
    if (link->newer)
        link->newer->older = link->older;
    else if (!link->older)
        flow_table_remove(table, link->key);
    else if ((newest = flow_table_at(table, link->key)) != NULL)
        *newest = link->older;
    *link = (struct chain){0};
}
