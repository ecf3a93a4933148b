/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/skim.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "source/skim_own.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

enum {
    WINDOW = SKIM_WINDOW,
    RECORD = SKIM_RECORD,
    HEADERS = SKIM_HEADERS,
    NOT_WORTH = 4 * 1024 * 1024,
    TRIAL = 1024 * 1024,
    SLOT = 8 * 1024, /* with the next one it is in the processor's nearest cache */
};

static int64_t used_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool skim_tries = true;
uint64_t skim_sparse = 2048;
int64_t (*skim_clock)(void) = used_ns;

/* Who copies in this thread. */
static _Thread_local struct skim *volatile copying;
static _Thread_local sigjmp_buf *volatile back;
static struct sigaction before;
static unsigned all; /* of them that there are: sources are opened and closed by one thread */

/* The file was cut, or cannot be read. Signals of others are for who had them before. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    struct skim *skim = copying;
    uintptr_t at = (uintptr_t)info->si_addr;

    (void)context;
    if (skim && info->si_code > 0 && at >= (uintptr_t)skim->map &&
        at < (uintptr_t)skim->map + skim->size)
        siglongjmp(*back, 1);
    sigaction(number, &before, NULL);
    if (info->si_code <= 0)
        raise(number);
}

bool skim_guarded(struct skim *skim, bool (*work)(struct skim *skim, void *argument),
                  void *argument)
{
    sigjmp_buf cut;
    bool good;

    if (sigsetjmp(cut, 0) != 0) {
        copying = NULL;
        back = NULL;
        return false;
    }
    back = &cut;
    copying = skim;
    good = work(skim, argument);
    copying = NULL;
    back = NULL;
    return good;
}

bool skim_populate(const struct skim *skim, uint64_t window)
{
    uint64_t at = window * WINDOW, left = skim->size - at;

    return at >= skim->size ||
           madvise(skim->map + at, left < WINDOW ? (size_t)left : WINDOW, MADV_POPULATE_READ) == 0;
}

void skim_let_go(const struct skim *skim, uint64_t from, uint64_t to)
{
    uint64_t end = to * WINDOW < skim->size ? to * WINDOW : skim->size;

    if (from * WINDOW < end)
        (void)madvise(skim->map + from * WINDOW, (size_t)(end - from * WINDOW), MADV_DONTNEED);
}

static __attribute__((noinline)) void move(struct skim *skim, uint64_t window)
{
    if (skim->threaded) {
        skim_thread_move(skim, window);
        return;
    }
    skim_let_go(skim, skim->gone, window);
    if (skim->populated < window)
        (void)skim_populate(skim, window);
    skim->populated = window;
    if (skim->whole && skim_populate(skim, window + 1)) /* what is asked for */
        skim->populated = window + 1;
    skim->gone = skim->window = window;
}

/* Places never go back. */
static inline const uint8_t *look(struct skim *skim, uint64_t place)
{
    if (place / WINDOW != skim->window)
        move(skim, place / WINDOW);
    return skim->map + place;
}

/* The record at skim->next, where the thread has copied it; NULL: in the mapping. */
static const uint8_t *given(struct skim *skim)
{
    while (skim->given.place <= skim->next) {
        if (skim->given.place == skim->given.end) {
            if (!skim_thread_more(skim))
                return NULL;
        } else if (skim->given.place == skim->next) {
            skim->given.used = true;
            return skim->given.next;
        } else { /* another chain of records: it may meet this one */
            uint32_t caplen = file_word(skim->given.next + 8, skim->swapped);

            skim->given.next += skim_room(skim_kept(skim->given.next, caplen));
            skim->given.place += RECORD + caplen;
        }
    }
    return NULL;
}

/* Takes the record at skim->next in hand, of which the buffer has room for `room` bytes at `to`.
 * False: it cannot be mapped, or is no record. */
static bool take(struct skim *skim, uint8_t *to, uint64_t room)
{
    const uint8_t *p = look(skim, skim->next);
    uint32_t caplen, kept;

    skim->from = skim->given.part ? given(skim) : NULL;
    if (skim->from)
        p = skim->from;
    skim->head = room >= HEADERS ? to : skim->own;
    memcpy(skim->head, p, HEADERS);
    caplen = file_word(skim->head + 8, skim->swapped);
    if (caplen > SOURCE_MAX_PACKET)
        return false;
    kept = skim_kept(skim->head, caplen);
    skim->pos = skim->next;
    skim->next += RECORD + caplen;
    skim->keep = skim->pos + kept;
    if (skim->from) {
        skim->given.next += skim_room(kept);
        skim->given.place = skim->next;
    } else if (skim->keep < skim->next) {
        skim_ask(p, caplen);
    }
    return true;
}

/* Copies what is kept of the record in hand between `offset` and `end`. */
static void copy(struct skim *skim, uint8_t *to, uint64_t offset, uint64_t end)
{
    uint64_t place = skim->pos > offset ? skim->pos : offset;
    uint64_t until = skim->keep < end ? skim->keep : end;
    uint64_t headers = skim->pos + HEADERS;

    if (place < headers && place < until) {
        size_t n = (size_t)((headers < until ? headers : until) - place);

        if (skim->head == skim->own)
            memcpy(to + (place - offset), skim->own + (place - skim->pos), n);
        place += n;
    }
    if (skim->from && place < until) {
        memcpy(to + (place - offset), skim->from + (place - skim->pos), (size_t)(until - place));
        return;
    }
    while (place < until) {
        uint64_t n = WINDOW - place % WINDOW;

        n = until - place < n ? until - place : n;
        memcpy(to + (place - offset), look(skim, place), n);
        place += n;
    }
}

/* The page behind what was copied is looked at last: had the file been cut before, so that zeros
 * were copied, the signal would come. */
static bool copy_all(struct skim *skim, uint8_t *to, uint64_t offset, uint64_t end)
{
    uint64_t behind = (end + skim->page - 1) / skim->page * skim->page;

    for (uint64_t place = offset; place < end;) {
        uint64_t n = WINDOW - place % WINDOW;

        n = end - place < n ? end - place : n;
        memcpy(to + (place - offset), look(skim, place), (size_t)n);
        place += n;
    }
    (void)*(const volatile uint8_t *)(skim->map + behind);
    return true;
}

static bool fill(struct skim *skim, uint8_t *to, uint64_t offset, uint64_t end)
{
    uint64_t left_out = 0, records = 0;

    if (skim->whole)
        return copy_all(skim, to, offset, end);
    if (skim->next > offset) /* what lies in two slots */
        copy(skim, to, offset, end);
    for (; skim->next < end; records++) {
        uint64_t place = skim->next;

        if (place < offset) { /* what was read */
            if (!take(skim, NULL, 0))
                return false;
            if (skim->next > offset)
                copy(skim, to, offset, end);
            continue;
        }
        if (!take(skim, to + (place - offset), end - place))
            return false;
        copy(skim, to, offset, end);
        left_out += skim->next - skim->keep;
    }
    if (skim->head != skim->own)
        memcpy(skim->own, skim->head, HEADERS); /* the buffer is the caller's again */
    skim->head = skim->own;
    skim->dense = end - offset < records * skim_sparse;
    skim->worth += 2 * (int64_t)left_out - (int64_t)(end - offset);
    if (skim->worth > NOT_WORTH)
        skim->worth = NOT_WORTH;
    return true;
}

/* All that was mapped was still there. */
static bool is_whole(const struct skim *skim, uint64_t end)
{
    struct stat st;

    return fstat(skim->fd, &st) == 0 && st.st_size >= 0 && (uint64_t)st.st_size >= end;
}

struct slot {
    uint8_t *to;
    uint64_t offset, end;
};

/* As skim_guarded calls it. */
static bool fill_slot(struct skim *skim, void *argument)
{
    const struct slot *slot = argument;

    return fill(skim, slot->to, slot->offset, slot->end);
}

/* What was copied is read, too, to see which takes less. False: reading does. */
static bool try_reading(struct skim *skim, uint8_t *to, size_t n, uint64_t offset, int64_t copy_ns)
{
    int64_t begin = skim_clock();

    if (pread(skim->fd, to, n, (off_t)offset) != (ssize_t)n)
        return false;
    skim->trial.read_ns += skim_clock() - begin;
    skim->trial.copy_ns += copy_ns;
    skim->trial.bytes += n;
    return skim->trial.bytes < TRIAL || skim->trial.copy_ns < skim->trial.read_ns * 5 / 4;
}

/* Each page that is mapped is dear, as in a guest of a hypervisor that keeps page tables of its
 * own: then all is read. By twice, as at the beginning mapping seems to take a quarter more where
 * it takes less over the file. */
static bool is_dear(const struct skim *skim)
{
    return skim->trial.bytes > 0 && skim->trial.copy_ns / 2 > skim->trial.read_ns;
}

bool skim_fill(struct skim *skim, uint8_t *to, size_t n, uint64_t offset)
{
    uint64_t end = offset + n;
    bool tries = skim_tries && skim->trial.bytes < TRIAL, good;
    int64_t begin = tries ? skim_clock() : 0;

    if (offset < skim->done || n > skim->size || end + HEADERS + 2 * skim->page > skim->size)
        return false;
    skim->done = end;
    if (!skim_guarded(skim, fill_slot, &(struct slot){to, offset, end}))
        return false;
    if (skim->whole)
        return true;
    if (!is_whole(skim, end + HEADERS))
        return false;
    good = !tries || try_reading(skim, to, n, offset, skim_clock() - begin);
    if (skim->worth < (good ? -NOT_WORTH : 0) && !is_dear(skim))
        skim->whole = good = true;
    if (tries && good && skim->trial.bytes >= TRIAL) /* not before it is seen that mapping gains */
        skim_thread_begin(skim);
    if (skim->threaded)
        skim_thread_divide(skim, !skim->whole && skim->worth > 0 && skim->dense);
    return good;
}

const char *skim_soon(const struct skim *skim, size_t *slot)
{
    *slot = skim->whole ? SLOT - (size_t)(skim->done % SLOT) : 0;
    return skim->whole ? (const char *)skim->map + skim->done : NULL;
}

/* Nobody counts addresses, of which the file would take as many as it has bytes; and the signal
 * comes to the handler. */
static bool is_allowed(void)
{
    struct rlimit addresses;
    sigset_t blocked;

    return getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur == RLIM_INFINITY &&
           pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && !sigismember(&blocked, SIGBUS);
}

struct skim *skim_begin(int fd, uint64_t record, bool swapped)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct skim *skim;
    struct stat st;
    int64_t begin_ns;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < SKIM_LEAST ||
        (uint64_t)st.st_size > SIZE_MAX / 4 || !is_allowed())
        return NULL;
    skim = calloc(1, sizeof(*skim));
    if (!skim)
        return NULL;
    skim->fd = fd;
    skim->swapped = swapped;
    skim->size = (uint64_t)st.st_size;
    skim->next = skim->done = record;
    skim->head = skim->own;
    skim->window = skim->gone = skim->populated = record / WINDOW;
    skim->page = (uint64_t)sysconf(_SC_PAGESIZE);
    skim->map = mmap(NULL, (size_t)skim->size, PROT_READ, MAP_SHARED, fd, 0);
    if (skim->map == MAP_FAILED) {
        free(skim);
        return NULL;
    }
    (void)madvise(skim->map, (size_t)skim->size, MADV_SEQUENTIAL); /* read ahead from the disk */
    sigemptyset(&action.sa_mask);
    begin_ns = skim_clock();
    if (!skim_populate(skim, skim->window) ||
        (all == 0 && sigaction(SIGBUS, &action, &before) != 0)) {
        munmap(skim->map, (size_t)skim->size);
        free(skim);
        return NULL;
    }
    skim->trial.copy_ns = (skim_clock() - begin_ns) / (WINDOW / TRIAL);
    all++;
    if (!skim_tries) /* else skim_fill does, after the trial */
        skim_thread_begin(skim);
    return skim;
}

void skim_end(struct skim *skim)
{
    if (!skim)
        return;
    skim_thread_end(skim);
    if (--all == 0)
        sigaction(SIGBUS, &before, NULL);
    munmap(skim->map, (size_t)skim->size);
    free(skim);
}
