/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that fills page tables before the caller comes to them. Where payload is left out it
 * copies, too: a window at a time, the one behind the caller's. Where the first record begins there
 * it guesses, from then on one record follows the other. Once the caller's walk comes to a record
 * that the thread has copied, the records behind it are the same, whatever the guess was; where
 * it does not come to one, the caller copies by itself. When the caller has used all that the
 * thread has copied of a window so far, it goes on by itself there and the thread goes to the next
 * one, so that neither waits for the other.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "source/skim.h"
#include "source/skim_own.h"

enum {
    BEHIND =
        3, /* windows that the caller leaves to the thread, at most: 16 MiB are resident in all */
    CHAIN = 16,     /* records that follow one another are no accident */
    NEAR = 3600,    /* seconds that they are from each other, at most */
    LET_GO = 3,     /* windows, at once: each time the other processor is interrupted */
    WRONG_MOST = 4, /* guesses, until no more are made */
    PUBLISHED = 64, /* records at once */
    BILLION = 1000000000,
};

bool skim_late, skim_patient;
unsigned skim_used, skim_wrong;

/* Whether records follow each other from there on, as far as headers tell. */
static bool is_chain(const struct skim *skim, uint64_t place, uint32_t seconds)
{
    for (unsigned i = 0; i < CHAIN; i++) {
        const uint8_t *p = skim->map + place;
        uint32_t caplen;

        if (place + SKIM_RECORD > skim->size)
            return false;
        if (file_word(p, skim->swapped) - seconds + NEAR > 2 * NEAR ||
            file_word(p + 4, skim->swapped) >= BILLION)
            return false;
        caplen = file_word(p + 8, skim->swapped);
        if (caplen > SOURCE_MAX_PACKET || file_word(p + 12, skim->swapped) < caplen)
            return false;
        place += SKIM_RECORD + caplen;
    }
    return true;
}

/* Windows that are copied, and still mapped in. */
struct copied {
    uint64_t from, to;
};

struct walk {
    struct skim_part *part;
    uint64_t window; /* the part's may be taken from it meanwhile */
    uint64_t start;  /* of the first record; 0: to be guessed */
    uint64_t next;   /* where the walk has come to; 0: nowhere */
    uint32_t seconds;
};

/* Where a record seems to begin in the window; 0: nowhere. */
static uint64_t guess(const struct skim *skim, const struct walk *walk)
{
    uint64_t place = walk->window * SKIM_WINDOW, end = place + SKIM_WINDOW / 4;

    for (; place < end; place++)
        if (is_chain(skim, place, walk->seconds))
            return place;
    return 0;
}

/* The caller sees what was copied up to `end`. False: the thread has to leave. */
static bool publish(struct skim *skim, struct skim_part *part, uint64_t end, size_t n)
{
    bool stay;

    pthread_mutex_lock(&skim->mutex);
    part->end = end;
    part->n = n;
    stay = !part->taken && !skim->astray && skim->divided && !skim->stop;
    pthread_mutex_unlock(&skim->mutex);
    return stay;
}

/* Copies a window's records. False: not all. */
static bool walk_window(struct skim *skim, void *argument)
{
    struct walk *walk = argument;
    struct skim_part *part = walk->part;
    const uint64_t until = (walk->window + 1) * SKIM_WINDOW;
    uint64_t place = walk->start > 0 ? walk->start : guess(skim, walk);
    size_t n = 0;

    if (place == 0)
        return false;
    part->first = place; /* not seen before some are published */
    for (unsigned records = 1; place < until; records++) {
        const uint8_t *p = skim->map + place;
        uint8_t *to = part->bytes + n;
        uint32_t caplen, kept;

        if (place + SKIM_HEADERS > skim->size || n + SKIM_HEADERS > SKIM_PART)
            return false;
        memcpy(to, p, SKIM_HEADERS);
        caplen = file_word(to + 8, skim->swapped);
        if (caplen > SOURCE_MAX_PACKET)
            return false;
        kept = skim_kept(to, caplen);
        if (place + kept > skim->size || n + skim_room(kept) > SKIM_PART)
            return false;
        if (kept > SKIM_HEADERS)
            memcpy(to + SKIM_HEADERS, p + SKIM_HEADERS, kept - SKIM_HEADERS);
        if (kept < SKIM_RECORD + caplen)
            skim_ask(p, caplen);
        n += skim_room(kept);
        place += SKIM_RECORD + caplen;
        if (records % PUBLISHED == 0 && !publish(skim, part, place, n))
            return false;
    }
    walk->next = place;
    return publish(skim, part, place, n);
}

/* Frees page tables of the windows that the thread has copied whole, with the mutex held before and
 * after: several at once, as the other processor is interrupted each time. */
static void let_go(struct skim *skim, struct copied *copied)
{
    if (copied->from == copied->to)
        return;
    pthread_mutex_unlock(&skim->mutex);
    skim_let_go(skim, copied->from, copied->to);
    pthread_mutex_lock(&skim->mutex);
    copied->from = copied->to = 0;
}

/* Copies the window at copied->to, or behind it, with the mutex held before and after. Where the
 * next record is; 0: not known. */
static uint64_t copy_window(struct skim *skim, uint64_t *next, uint64_t start,
                            struct copied *copied)
{
    uint64_t window = (*next)++;
    struct skim_part *part = &skim->parts[window % SKIM_PARTS];
    struct walk walk = {.part = part, .window = window, .start = start, .seconds = skim->seconds};
    bool whole;

    part->window = window;
    part->n = 0;
    part->over = part->taken = false;
    if (copied->to != window || copied->to - copied->from >= LET_GO)
        let_go(skim, copied);
    pthread_mutex_unlock(&skim->mutex);
    whole = skim_populate(skim, window) && skim_guarded(skim, walk_window, &walk);
    pthread_mutex_lock(&skim->mutex);
    part->over = true;
    pthread_cond_signal(&skim->came);
    if (whole || window < skim->gone) { /* else it is let go of with the caller's */
        if (copied->from == copied->to)
            copied->from = window;
        copied->to = window + 1;
    }
    /* the caller is soon at the next one, too */
    if (part->taken && part->n > 0 && part->end % SKIM_WINDOW > SKIM_WINDOW / 2)
        ++*next;
    return whole ? walk.next : 0;
}

/* The caller has all that it needs of the thread, for now. */
static void wait(struct skim *skim)
{
    skim->waits = true;
    pthread_cond_signal(&skim->came);
    pthread_cond_wait(&skim->moved, &skim->mutex);
    skim->waits = false;
}

/* Fills page tables, or lets go of a window, one at a time. It is never waited for: where it is
 * late, the caller does either. */
static void help(struct skim *skim, uint64_t *window)
{
    uint64_t gone;

    if (*window <= skim->window + SKIM_LEAD && *window <= skim->size / SKIM_WINDOW) {
        pthread_mutex_unlock(&skim->mutex);
        (void)skim_populate(skim, *window);
        pthread_mutex_lock(&skim->mutex);
        gone = (*window)++;
        if (gone >= skim->gone)
            return;
    } else if (skim->gone < skim->window) {
        gone = skim->gone++;
    } else {
        wait(skim);
        return;
    }
    pthread_mutex_unlock(&skim->mutex);
    skim_let_go(skim, gone, gone + 1);
    pthread_mutex_lock(&skim->mutex);
}

static void *run_ahead(void *argument)
{
    struct skim *skim = argument;
    struct copied copied = {0, 0};
    uint64_t window = 0, start = 0;

    pthread_mutex_lock(&skim->mutex);
    while (!skim->stop) {
        if (skim->astray || start / SKIM_WINDOW <= skim->window)
            start = 0;
        if (start / SKIM_WINDOW == skim->window + 1) {
            window = skim->window + 2;
            start = 0;
        }
        if (start > 0)
            window = start / SKIM_WINDOW;
        else if (skim->astray || window <= skim->window)
            window = skim->window + 1;
        skim->astray = false;
        if (skim_late)
            wait(skim);
        else if (!skim->divided)
            help(skim, &window);
        else if (window > skim->window + SKIM_LEAD || window > skim->size / SKIM_WINDOW)
            wait(skim);
        else
            start = copy_window(skim, &window, start, &copied);
    }
    pthread_mutex_unlock(&skim->mutex);
    return NULL;
}

/* What was seen of the window that the caller leaves says whether the guess was right. */
static void judge(struct skim *skim)
{
    if (skim->given.used) {
        skim_used++;
        skim->wrong = 0;
    } else if (skim->given.begun) {
        skim_wrong++;
        skim->wrong++;
        skim->astray = true;
        for (unsigned i = 0; i < SKIM_PARTS; i++)
            skim->parts[i].window = UINT64_MAX;
        if (skim->wrong >= WRONG_MOST)
            skim->divided = false;
    }
}

/* Whether the thread is at that window, or was. */
static bool find_part(struct skim *skim, uint64_t window)
{
    struct skim_part *part = &skim->parts[window % SKIM_PARTS];

    memset(&skim->given, 0, sizeof(skim->given));
    while (skim_patient && skim->divided && !skim->waits && !(part->window == window && part->over))
        pthread_cond_wait(&skim->came, &skim->mutex);
    if (!skim->divided || part->window != window)
        return false;
    skim->given.begun = part->n > 0 || part->over;
    if (part->n > 0) {
        skim->given.part = part;
        skim->given.next = part->bytes;
        skim->given.place = part->first;
        skim->given.end = part->end;
    } else {
        part->taken = true;
    }
    return true;
}

void skim_thread_move(struct skim *skim, uint64_t window)
{
    uint64_t gone;
    bool found, divided, late;

    pthread_mutex_lock(&skim->mutex);
    judge(skim);
    divided = skim->divided;
    gone = skim->gone;
    skim->window = window;
    skim->seconds = file_word(skim->head, skim->swapped);
    late = window > gone + BEHIND;
    if (late)
        skim->gone = window;
    skim->waits = false; /* though it may take its time to wake up */
    pthread_cond_signal(&skim->moved);
    found = find_part(skim, window);
    pthread_mutex_unlock(&skim->mutex);
    if (late)
        skim_let_go(skim, gone, window);
    if (divided && !found)
        (void)skim_populate(skim, window);
}

bool skim_thread_more(struct skim *skim)
{
    struct skim_part *part = skim->given.part;
    bool more;

    pthread_mutex_lock(&skim->mutex);
    more = part->window == skim->window && part->end > skim->given.end;
    if (more)
        skim->given.end = part->end;
    else
        part->taken = true;
    pthread_mutex_unlock(&skim->mutex);
    if (!more)
        skim->given.part = NULL;
    return more;
}

void skim_thread_divide(struct skim *skim, bool divides)
{
    if (divides == skim->divides)
        return;
    skim->divides = divides;
    pthread_mutex_lock(&skim->mutex);
    skim->divided = divides && skim->wrong < WRONG_MOST;
    pthread_cond_signal(&skim->moved);
    pthread_mutex_unlock(&skim->mutex);
}

static bool get_parts(struct skim *skim)
{
    for (unsigned i = 0; i < SKIM_PARTS; i++) {
        skim->parts[i].window = UINT64_MAX;
        skim->parts[i].bytes = malloc(SKIM_PART);
        if (!skim->parts[i].bytes)
            return false;
    }
    return true;
}

static void free_parts(struct skim *skim)
{
    for (unsigned i = 0; i < SKIM_PARTS; i++)
        free(skim->parts[i].bytes);
}

void skim_thread_begin(struct skim *skim)
{
    cpu_set_t set;
    sigset_t every, before_it;

    if ((sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) < 2) || !get_parts(skim))
        return;
    pthread_mutex_init(&skim->mutex, NULL);
    pthread_cond_init(&skim->moved, NULL);
    pthread_cond_init(&skim->came, NULL);
    sigfillset(&every); /* signals are for the program's thread */
    sigdelset(&every, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &every, &before_it);
    skim->threaded = pthread_create(&skim->thread, NULL, run_ahead, skim) == 0;
    pthread_sigmask(SIG_SETMASK, &before_it, NULL);
}

void skim_thread_end(struct skim *skim)
{
    if (skim->threaded) {
        pthread_mutex_lock(&skim->mutex);
        skim->stop = true;
        pthread_cond_signal(&skim->moved);
        pthread_mutex_unlock(&skim->mutex);
        pthread_join(skim->thread, NULL);
        pthread_cond_destroy(&skim->moved);
        pthread_cond_destroy(&skim->came);
        pthread_mutex_destroy(&skim->mutex);
    }
    free_parts(skim);
}
