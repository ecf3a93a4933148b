/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "source/feed.h"

/*
 * A ring of slots. Whoever has to wait does so until half of the ring is as it wants it: sleeping
 * and waking cost more than a slot is worth.
 */
enum { SLOTS = 8, HALF = SLOTS / 2 };

struct ahead {
    struct feed *feed;
    size_t size;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t filled_some, freed_some;
    /* counts, of slots in the order of the ring: freed <= given <= filled <= freed + SLOTS */
    uint64_t filled, freed;
    uint64_t given; /* the reader's own */
    bool ended, stop;
    struct {
        uint8_t *bytes; /* AHEAD_ROOM, then the slot's */
        size_t n;
    } slots[SLOTS];
};

/* Waits for a slot to fill. False: nobody wants it any more. */
static bool wait_for_room(struct ahead *ahead)
{
    bool stop;

    pthread_mutex_lock(&ahead->mutex);
    if (ahead->filled - ahead->freed == SLOTS)
        while (!ahead->stop && ahead->filled - ahead->freed > HALF)
            pthread_cond_wait(&ahead->freed_some, &ahead->mutex);
    stop = ahead->stop;
    pthread_mutex_unlock(&ahead->mutex);
    return !stop;
}

static void *fill(void *argument)
{
    struct ahead *ahead = argument;
    ssize_t n = 1;

    while (n > 0 && wait_for_room(ahead)) {
        /* only this thread changes `filled` */
        uint64_t at = ahead->filled % SLOTS;

        n = ahead->feed->read(ahead->feed, ahead->slots[at].bytes + AHEAD_ROOM, ahead->size);
        pthread_mutex_lock(&ahead->mutex);
        if (n > 0) {
            ahead->slots[at].n = (size_t)n;
            ahead->filled++;
        }
        ahead->ended = n <= 0;
        if (ahead->ended || ahead->filled - ahead->given >= HALF)
            pthread_cond_signal(&ahead->filled_some);
        pthread_mutex_unlock(&ahead->mutex);
    }
    return NULL;
}

uint8_t *ahead_next(struct ahead *ahead, size_t *n)
{
    uint8_t *bytes = NULL;

    pthread_mutex_lock(&ahead->mutex);
    if (ahead->filled == ahead->given)
        while (!ahead->ended && ahead->filled - ahead->given < HALF)
            pthread_cond_wait(&ahead->filled_some, &ahead->mutex);
    if (ahead->filled > ahead->given) {
        uint64_t at = ahead->given++ % SLOTS;

        bytes = ahead->slots[at].bytes + AHEAD_ROOM;
        *n = ahead->slots[at].n;
    }
    pthread_mutex_unlock(&ahead->mutex);
    return bytes;
}

void ahead_done(struct ahead *ahead, bool all)
{
    pthread_mutex_lock(&ahead->mutex);
    ahead->freed = all || ahead->given == 0 ? ahead->given : ahead->given - 1;
    if (ahead->filled - ahead->freed <= HALF)
        pthread_cond_signal(&ahead->freed_some);
    pthread_mutex_unlock(&ahead->mutex);
}

static void release(struct ahead *ahead)
{
    for (int i = 0; i < SLOTS; i++)
        free(ahead->slots[i].bytes);
    pthread_cond_destroy(&ahead->filled_some);
    pthread_cond_destroy(&ahead->freed_some);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead);
}

void ahead_end(struct ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->mutex);
    ahead->stop = true;
    pthread_cond_signal(&ahead->freed_some);
    pthread_mutex_unlock(&ahead->mutex);
    pthread_join(ahead->thread, NULL);
    release(ahead);
}

static bool second_processor(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) > 1;
}

static bool start(struct ahead *ahead)
{
    sigset_t all, before;
    bool good;

    for (int i = 0; i < SLOTS; i++) {
        ahead->slots[i].bytes = malloc(AHEAD_ROOM + ahead->size);
        if (!ahead->slots[i].bytes)
            return false;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are for the program's thread */
    good = pthread_create(&ahead->thread, NULL, fill, ahead) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return good;
}

struct ahead *ahead_begin(struct feed *feed, size_t size)
{
    struct ahead *ahead = second_processor() ? calloc(1, sizeof(*ahead)) : NULL;

    if (!ahead)
        return NULL;
    ahead->feed = feed;
    ahead->size = size;
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->filled_some, NULL);
    pthread_cond_init(&ahead->freed_some, NULL);
    if (start(ahead))
        return ahead;
    release(ahead);
    return NULL;
}
