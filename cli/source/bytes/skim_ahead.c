/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that goes ahead of the caller: it maps in what the caller will copy, and lets go of
 * what it has copied. It is never waited for: where the caller comes by, the thread goes on from
 * there.
 */
#include <signal.h>

#include "source/bytes/beside.h"
#include "source/bytes/skim.h"
#include "source/bytes/skim_own.h"

enum {
    LEAD = 4 * 1024 * 1024,    /* bytes that it is ahead, at most, */
    NEAR = LEAD - 1024 * 1024, /* and at least, else it is woken */
    STEP = 256 * 1024,         /* bytes until it looks where the caller is */
    LET_GO = 2 * SKIM_WINDOW,  /* bytes behind the caller that are let go of at once */
    BEHIND = 2 * LET_GO,       /* where it does not, the caller does: 16 MiB are resident at most */
};

bool skim_late;

/* As skim_guarded calls it. False: there is no more. */
static bool touch(struct skim *skim, void *argument)
{
    uint64_t *place = argument;

    skim_touch(skim, *place, *place + STEP);
    *place += STEP;
    return *place < skim->size;
}

/* One step, with the mutex held before and after. False: there is no more. */
static bool go_ahead(struct skim *skim, uint64_t *place)
{
    bool more;

    pthread_mutex_unlock(&skim->mutex);
    more = skim_guarded(skim, touch, place);
    pthread_mutex_lock(&skim->mutex);
    return more;
}

/* Several windows at once, likewise: each time the other processor is interrupted. */
static void let_go(struct skim *skim)
{
    uint64_t from = skim->gone, to = skim_window_of(skim->reached);

    skim->gone = to;
    pthread_mutex_unlock(&skim->mutex);
    skim_let_go(skim, from, to);
    pthread_mutex_lock(&skim->mutex);
}

static void *run_ahead(void *argument)
{
    struct skim *skim = argument;
    uint64_t place = 0;
    bool more = !skim_late;

    pthread_mutex_lock(&skim->mutex);
    while (!skim->stop) {
        if (place < skim->reached)
            place = skim->reached;
        if (more && place < skim->reached + LEAD) {
            more = go_ahead(skim, &place);
        } else if (!skim_late && skim->gone + LET_GO <= skim->reached) {
            let_go(skim);
        } else {
            skim->enough = more ? place - NEAR : UINT64_MAX;
            pthread_cond_wait(&skim->moved, &skim->mutex);
            skim->enough = UINT64_MAX;
        }
    }
    pthread_mutex_unlock(&skim->mutex);
    return NULL;
}

void skim_thread_reach(struct skim *skim, uint64_t place)
{
    uint64_t gone, to = skim_window_of(place);
    bool late;

    pthread_mutex_lock(&skim->mutex);
    skim->reached = place;
    gone = skim->gone;
    late = to > gone + BEHIND;
    if (late)
        skim->gone = to;
    if (place > skim->enough)
        pthread_cond_signal(&skim->moved);
    pthread_mutex_unlock(&skim->mutex);
    if (late)
        skim_let_go(skim, gone, to);
}

static void free_locks(struct skim *skim)
{
    pthread_cond_destroy(&skim->moved);
    pthread_mutex_destroy(&skim->mutex);
}

void skim_thread_begin(struct skim *skim)
{
    pthread_mutex_init(&skim->mutex, NULL);
    pthread_cond_init(&skim->moved, NULL);
    skim->reached = skim->done;
    skim->enough = UINT64_MAX;
    skim->threaded = beside_start(&skim->thread, run_ahead, skim, SIGBUS);
    if (!skim->threaded)
        free_locks(skim);
}

void skim_thread_end(struct skim *skim)
{
    if (!skim->threaded)
        return;
    beside_stop(skim->thread, &skim->mutex, &skim->moved, &skim->stop);
    free_locks(skim);
}
