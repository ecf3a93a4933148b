/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/table.h"

#include "base/siphash.h"

enum { FIRST_SIZE = 16 };

static void place(struct flow_table *table, uint64_t key, void *value)
{
    size_t i = flow_table_home(table, key);

    while (table->slots[i].value)
        i = (i + 1) & table->mask;
    table->slots[i] = (struct flow_slot){key, value};
}

bool flow_table_grow(struct flow_table *table, struct flow_memory *memory)
{
    size_t size = table->slots ? table->mask + 1 : 0;
    struct flow_table bigger = {.mask = (size ? size * 2 : FIRST_SIZE) - 1, .count = table->count};

    if (table->slots) {
        memcpy(bigger.secret, table->secret, sizeof(bigger.secret));
    } else {
        struct siphash_key key = siphash_key();

        bigger.secret[0] = key.k[0] | 1;
        bigger.secret[1] = key.k[1];
    }
    bigger.slots = flow_alloc(memory, (bigger.mask + 1) * sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < size; i++)
        if (table->slots[i].value)
            place(&bigger, table->slots[i].key, table->slots[i].value);
    flow_table_free(table, memory);
    *table = bigger;
    return true;
}

bool flow_table_add(struct flow_table *table, struct flow_memory *memory, uint64_t key, void *value)
{
    if (!flow_table_ready(table, memory))
        return false;
    place(table, key, value);
    table->count++;
    return true;
}

bool flow_table_put(struct flow_table *table, struct flow_memory *memory, uint64_t key, void *value)
{
    void **at = flow_table_at(table, key);

    if (!at)
        return flow_table_add(table, memory, key, value);
    *at = value;
    return true;
}

/* Where the key is, or a free slot. */
static size_t find(const struct flow_table *table, uint64_t key)
{
    size_t i = flow_table_home(table, key);

    while (table->slots[i].value && table->slots[i].key != key)
        i = (i + 1) & table->mask;
    return i;
}

static void empty(struct flow_table *table, size_t i)
{
    size_t j;

    /* close the hole: an entry may move back if its home does not lie after the hole */
    for (j = (i + 1) & table->mask; table->slots[j].value; j = (j + 1) & table->mask) {
        size_t h = flow_table_home(table, table->slots[j].key);

        if (((j - h) & table->mask) >= ((j - i) & table->mask)) {
            table->slots[i] = table->slots[j];
            i = j;
        }
    }
    table->slots[i].value = NULL;
    table->count--;
}

void *flow_table_remove(struct flow_table *table, uint64_t key)
{
    size_t i;
    void *value;

    if (!table->slots)
        return NULL;
    i = find(table, key);
    value = table->slots[i].value;
    if (value)
        empty(table, i);
    return value;
}

void flow_table_remove_value(struct flow_table *table, uint64_t key, const void *value)
{
    size_t i;

    if (!table->slots)
        return;
    i = find(table, key);
    if (table->slots[i].value == value)
        empty(table, i);
}

void flow_table_free(struct flow_table *table, struct flow_memory *memory)
{
    if (table->slots)
        flow_release(memory, table->slots, (table->mask + 1) * sizeof(*table->slots));
    *table = (struct flow_table){0};
}
