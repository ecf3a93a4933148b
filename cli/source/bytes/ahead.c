/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>

#include "common/populate.h"
#include "source/bytes/beside.h"
#include "source/bytes/feed.h"

/*
 * Slots are filled in parallel and given in order. Each is claimed by who will fill it: the thread,
 * and where the feed has offsets also the caller, when what it needs is not there; slot k of such a
 * feed has the bytes from k * size on. So the caller seldom sleeps. The thread does until half of
 * its buffers are free, and so does a caller that cannot help until half of them are filled:
 * sleeping and waking cost more than a slot is worth.
 *
 * Both fill buffers of their own, and few: those are in the cache of their processor then, and
 * writing into what is in another's costs as much as reading it.
 */
enum { SLOTS = 6, HELPED = 3, HALF = SLOTS / 2 };
enum who { THREAD, CALLER, N_WHO };

struct slot {
    uint8_t *bytes; /* AHEAD_ROOM, then the slot's; NULL: not claimed */
    size_t n;
    enum who who; /* whose buffer that is */
    bool filled;
};

struct ahead {
    struct feed *feed;
    size_t size;
    uint64_t start; /* the offset of slot 0 */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t filled_some, freed_some;
    /* counts, of slots in the order of the feed: freed <= given <= claimed <= freed + SLOTS */
    uint64_t claimed, freed, given;
    uint64_t end;        /* so many will be given, once that is known */
    uint64_t end_offset; /* the offset where they end */
    unsigned ready;      /* filled and not given */
    bool waiting;        /* the caller is */
    bool stop;
    uint8_t *memory; /* all buffers */
    struct slot slots[SLOTS];
    struct {
        uint8_t *free[SLOTS];
        unsigned n_free, n;
    } buffers[N_WHO];
};

static bool ended(const struct ahead *ahead)
{
    return ahead->end != UINT64_MAX;
}

/* Reads what belongs in a slot: all of it, where it lies at an offset. How many bytes there were.
 */
static size_t read_slot(const struct ahead *ahead, uint64_t number, uint8_t *to)
{
    struct feed *feed = ahead->feed;
    ssize_t got;
    size_t n = 0;

    if (!feed->read_at) {
        got = feed->read(feed, to, ahead->size);
        return got > 0 ? (size_t)got : 0;
    }
    do {
        got = feed->read_at(feed, to + n, ahead->size - n, ahead->start + number * ahead->size + n);
        n += got > 0 ? (size_t)got : 0;
    } while (got > 0 && n < ahead->size);
    return n;
}

/*
 * Claims the next slot and fills it, with the mutex held before and after. Where less than a slot
 * is there the feed ends, or ended then: slots after it, that found more because the file grows,
 * are not given.
 */
static void fill_next(struct ahead *ahead, enum who who)
{
    uint64_t number = ahead->claimed++;
    struct slot *slot = &ahead->slots[number % SLOTS];
    size_t n;

    slot->who = who;
    slot->bytes = ahead->buffers[who].free[--ahead->buffers[who].n_free];
    pthread_mutex_unlock(&ahead->mutex);
    if (number < SLOTS) /* nearly all buffers are used for the first time then */
        populate(slot->bytes + AHEAD_ROOM, ahead->size);
    n = read_slot(ahead, number, slot->bytes + AHEAD_ROOM);
    pthread_mutex_lock(&ahead->mutex);
    slot->n = n;
    slot->filled = true;
    ahead->ready++;
    if ((n == 0 || (n < ahead->size && ahead->feed->read_at)) && number < ahead->end) {
        ahead->end = n > 0 ? number + 1 : number;
        ahead->end_offset = ahead->start + number * ahead->size + n;
    }
}

static bool half_free(const struct ahead *ahead)
{
    return ahead->buffers[THREAD].n_free >= ahead->buffers[THREAD].n / 2;
}

static void *fill(void *argument)
{
    struct ahead *ahead = argument;

    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->stop && !ended(ahead)) {
        if (ahead->buffers[THREAD].n_free == 0) {
            while (!ahead->stop && !half_free(ahead))
                pthread_cond_wait(&ahead->freed_some, &ahead->mutex);
            continue;
        }
        fill_next(ahead, THREAD);
        if (ahead->waiting && (ahead->feed->read_at || ahead->ready >= HALF || ended(ahead)))
            pthread_cond_signal(&ahead->filled_some);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

uint8_t *ahead_next(struct ahead *ahead, size_t *n)
{
    struct slot *slot = &ahead->slots[ahead->given % SLOTS];
    uint8_t *bytes = NULL;

    pthread_mutex_lock(&ahead->mutex);
    while (ahead->given < ahead->end && !slot->filled) {
        if (ahead->buffers[CALLER].n_free > 0 && !ended(ahead)) {
            fill_next(ahead, CALLER);
            continue;
        }
        ahead->waiting = true;
        pthread_cond_wait(&ahead->filled_some, &ahead->mutex);
        ahead->waiting = false;
    }
    if (ahead->given < ahead->end) {
        ahead->given++;
        ahead->ready--;
        slot->filled = false;
        bytes = slot->bytes + AHEAD_ROOM;
        *n = slot->n;
    }
    pthread_mutex_unlock(&ahead->mutex);
    return bytes;
}

void ahead_done(struct ahead *ahead, bool all)
{
    uint64_t until = all || ahead->given == 0 ? ahead->given : ahead->given - 1;

    pthread_mutex_lock(&ahead->mutex);
    for (; ahead->freed < until; ahead->freed++) {
        struct slot *slot = &ahead->slots[ahead->freed % SLOTS];

        ahead->buffers[slot->who].free[ahead->buffers[slot->who].n_free++] = slot->bytes;
        slot->bytes = NULL;
    }
    if (half_free(ahead))
        pthread_cond_signal(&ahead->freed_some);
    pthread_mutex_unlock(&ahead->mutex);
}

static void release(struct ahead *ahead)
{
    free(ahead->memory);
    pthread_cond_destroy(&ahead->filled_some);
    pthread_cond_destroy(&ahead->freed_some);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead);
}

void ahead_end(struct ahead *ahead)
{
    if (!ahead)
        return;
    beside_stop(ahead->thread, &ahead->mutex, &ahead->freed_some, &ahead->stop);
    if (ahead->feed->read_at)
        ahead->feed->offset = ahead->given == ahead->end
                                  ? ahead->end_offset
                                  : ahead->start + ahead->given * ahead->size;
    release(ahead);
}

/*
 * Buffers for all slots, next to each other: of the default size they fill a large page, which
 * costs one fault, where 4 KiB pages cost one each, and in a guest whose hypervisor keeps page
 * tables of its own the hypervisor's, too. The kernel copies to the beginning of a page in three
 * quarters of the time that it takes to copy to 16 bytes behind it, where malloc's memory is.
 */
static bool get_buffers(struct ahead *ahead)
{
    enum { PAGE = 4096, LARGE = 2 * 1024 * 1024 };
    size_t one = (AHEAD_ROOM + ahead->size + PAGE - 1) / PAGE * PAGE;
    size_t all = (SLOTS * one + LARGE - 1) / LARGE * LARGE;

    _Static_assert(AHEAD_ROOM % PAGE == 0, "what is read begins where a page does");
    ahead->memory = aligned_alloc(LARGE, all);
    if (!ahead->memory)
        return false;
    large_pages(ahead->memory, all);
    ahead->buffers[THREAD].n = ahead->feed->read_at ? HELPED : SLOTS;
    ahead->buffers[CALLER].n = SLOTS - ahead->buffers[THREAD].n;
    for (int i = 0, k = 0; i < N_WHO; i++)
        while (ahead->buffers[i].n_free < ahead->buffers[i].n)
            ahead->buffers[i].free[ahead->buffers[i].n_free++] = ahead->memory + one * (size_t)k++;
    return true;
}

struct ahead *ahead_begin(struct feed *feed, size_t size)
{
    struct ahead *ahead = calloc(1, sizeof(*ahead));

    if (!ahead)
        return NULL;
    ahead->feed = feed;
    ahead->size = size;
    ahead->start = feed->offset;
    ahead->end = UINT64_MAX;
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->filled_some, NULL);
    pthread_cond_init(&ahead->freed_some, NULL);
    if (get_buffers(ahead) && beside_start(&ahead->thread, fill, ahead, 0))
        return ahead;
    release(ahead);
    return NULL;
}
