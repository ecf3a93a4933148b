/* SPDX-License-Identifier: BSD-2-Clause */
#include "mutate.h"

#include <string.h>

static uint64_t state;
static uint8_t arena[1 << 20];
static size_t arena_used;

uint32_t mutate_random(void) /* xorshift64* */
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * UINT64_C(2685821657736338717)) >> 32);
}

uint32_t mutate_number(uint32_t was)
{
    static const uint32_t interesting[] = {
        0,   1,    2,    3,    4,          5,          8,          16,         28,     32,
        255, 1024, 4096, 8192, 0x00ffffff, 0x7fffffff, 0x80000000, 0xfffffffc, 100003, UINT32_MAX,
    };

    switch (mutate_below(4)) {
    case 0:
        return was + mutate_below(9) - 4;
    case 1:
        return was ^ UINT32_C(1) << mutate_below(32);
    case 2:
        return mutate_random();
    default:
        return interesting[mutate_below(sizeof(interesting) / sizeof(interesting[0]))];
    }
}

uint8_t *mutate_room(size_t n)
{
    uint8_t *room = arena + arena_used;

    if (n > sizeof(arena) - arena_used)
        return NULL;
    arena_used += n;
    return room;
}

/* A packet more, at `at`. */
static bool insert(struct mutate_list *list, size_t at, struct mutate_packet packet)
{
    if (list->n == MUTATE_PACKETS)
        return false;
    memmove(&list->packet[at + 1], &list->packet[at], (list->n - at) * sizeof(list->packet[0]));
    list->packet[at] = packet;
    list->n++;
    return true;
}

static void drop(struct mutate_list *list, size_t at, size_t n)
{
    memmove(&list->packet[at], &list->packet[at + n], (list->n - at - n) * sizeof(list->packet[0]));
    list->n -= n;
}

static void swap(struct mutate_list *list, size_t a, size_t b)
{
    struct mutate_packet one = list->packet[a];

    list->packet[a] = list->packet[b];
    list->packet[b] = one;
}

/* A run of packets again: a retransmission, or another connection once they are changed. */
static void again(struct mutate_list *list, size_t at, size_t to)
{
    size_t n = 1 + mutate_below(8);

    for (size_t i = 0; i < n && at < list->n && insert(list, to, list->packet[at]); i++) {
        at += to <= at ? 2 : 1;
        to++;
    }
}

static void change_list(struct mutate_list *list)
{
    size_t at = mutate_below((uint32_t)list->n), other = mutate_below((uint32_t)list->n), n;
    struct mutate_packet one = list->packet[at], second = one;

    switch (mutate_below(8)) {
    case 0:
        insert(list, other, one);
        break;
    case 1:
        n = 1 + mutate_below(mutate_below(8) == 0 ? 16 : 2);
        if (list->n > at + n)
            drop(list, at, n);
        break;
    case 2:
        if (at + 1 < list->n)
            swap(list, at, at + 1);
        break;
    case 3:
        swap(list, at, other);
        break;
    case 4:
        again(list, at, other);
        break;
    case 5:
        mutate_splice(&list->packet[at], &list->packet[other]);
        break;
    case 6:
        if (mutate_split(&one, &second) && insert(list, at + 1, second))
            list->packet[at] = one;
        break;
    case 7: /* cut by the capture */
        n = mutate_below(one.caplen + 1);
        list->packet[at].more += one.caplen - (uint32_t)n;
        list->packet[at].caplen = (uint32_t)n;
        break;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static struct mutate_list list;
    uint32_t changes;

    state = (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    arena_used = 0;
    memset(&list, 0, sizeof(list));
    if (mutate_below(8) == 0 || !mutate_read(data, size, &list) || list.n == 0)
        return LLVMFuzzerMutate(data, size, max);
    mutate_collect(&list);
    changes = 1 + mutate_below(4);
    while (changes-- > 0 && list.n > 0) {
        if (mutate_below(3) == 0)
            change_list(&list);
        else
            mutate_packet(&list, &list.packet[mutate_below((uint32_t)list.n)]);
    }
    return mutate_write(&list, data, max);
}
