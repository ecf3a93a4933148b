/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bytes/skim.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "source/bytes/beside.h"
#include "source/bytes/skim_own.h"

enum {
    WINDOW = SKIM_WINDOW,
    NOT_WORTH = 4 * 1024 * 1024,
    ENOUGH = 1024 * 1024, /* to see what packets there are */
    AROUND = 64 * 1024,   /* what the kernel maps in where one page of it is touched */
    TOUCHED = 2 * WINDOW, /* bytes ahead, where there is no thread */
    SPARSE = 2048,        /* bytes of a record, on average */
    PASSED = 256 * 1024,  /* the thread is told by so many bytes */
    SLOT = 8 * 1024,      /* with the next one it is in the processor's nearest cache */
};

static int64_t used_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool skim_tries = true;
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

void skim_touch(const struct skim *skim, uint64_t from, uint64_t to)
{
    const volatile uint8_t *map = skim->map;

    to = to < skim->size ? to : skim->size;
    for (; from < to; from += AROUND)
        (void)map[from];
}

void skim_let_go(const struct skim *skim, uint64_t from, uint64_t to)
{
    to = to < skim->size ? to : skim->size;
    if (from < to)
        (void)madvise(skim->map + from, (size_t)(to - from), MADV_DONTNEED);
}

/* Takes the record at skim->next in hand, of which the buffer has room for `room` bytes at `to`.
 * False: it is no record. */
static bool take(struct skim *skim, uint8_t *to, uint64_t room)
{
    const uint8_t *p = skim->map + skim->next;
    struct skim_record record;

    skim->head = room >= SKIM_FIRST ? to : skim->own;
    memcpy(skim->head, p, SKIM_SHORT);
    if (skim->blocks) {
        memcpy(skim->head + SKIM_SHORT, p + SKIM_SHORT, SKIM_FIRST - SKIM_SHORT);
        if (!skim_block(skim->head, skim->swapped, &record))
            return false;
    } else if (!skim_record(skim->head, skim->swapped, &record)) {
        return false;
    }
    skim_ask(&skim->strides, p, skim->next, record.size);
    skim->pos = skim->next;
    skim->next += record.size;
    skim->keep = skim->pos + record.kept;
    skim->rest = skim->next - record.rest;
    return true;
}

/* Copies what of the mapping between `from` and `until` lies between `offset` and `end`. */
static void copy_between(const struct skim *skim, uint8_t *to, uint64_t offset, uint64_t end,
                         uint64_t from, uint64_t until)
{
    from = from > offset ? from : offset;
    until = until < end ? until : end;
    if (from < until)
        memcpy(to + (from - offset), skim->map + from, (size_t)(until - from));
}

/* Copies what is kept of the record in hand between `offset` and `end`. */
static void copy(struct skim *skim, uint8_t *to, uint64_t offset, uint64_t end)
{
    uint64_t place = skim->pos > offset ? skim->pos : offset;
    uint64_t until = skim->keep < end ? skim->keep : end;
    uint64_t headers = skim->pos + SKIM_SHORT;

    if (place < headers && place < until) {
        size_t n = (size_t)((headers < until ? headers : until) - place);

        if (skim->head == skim->own)
            memcpy(to + (place - offset), skim->own + (place - skim->pos), n);
        place += n;
    }
    copy_between(skim, to, offset, end, place, until);
    if (skim->rest < skim->next)
        copy_between(skim, to, offset, end, skim->rest, skim->next);
}

/* Copies all. The page behind is looked at last: had the file been cut before, so that zeros were
 * copied, the signal would come. */
static void copy_all(struct skim *skim, uint8_t *to, uint64_t offset, uint64_t end)
{
    uint64_t behind = (end + skim->page - 1) / skim->page * skim->page;

    if (!skim->threaded && skim->touched < end + WINDOW) { /* what is asked for next */
        skim_touch(skim, skim->touched > offset ? skim->touched : offset, end + TOUCHED);
        skim->touched = end + TOUCHED;
    }
    memcpy(to, skim->map + offset, (size_t)(end - offset));
    (void)*(const volatile uint8_t *)(skim->map + behind);
}

static bool fill(struct skim *skim, uint8_t *to, uint64_t offset, uint64_t end)
{
    uint64_t left_out = 0;

    if (skim->whole) {
        copy_all(skim, to, offset, end);
        return true;
    }
    if (skim->next > offset) /* what lies in two slots */
        copy(skim, to, offset, end);
    for (; skim->next < end; skim->records++) {
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
        left_out += skim->rest - skim->keep;
    }
    if (skim->head != skim->own)
        memcpy(skim->own, skim->head, SKIM_SHORT); /* the buffer is the caller's again */
    skim->head = skim->own;
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

/* The caller comes to `end`: pages behind it are let go of. */
static void pass(struct skim *skim, uint64_t end)
{
    uint64_t to = skim_window_of(end);

    if (skim->threaded) {
        if (end / PASSED != skim->done / PASSED)
            skim_thread_reach(skim, end);
    } else if (skim->gone < to) {
        skim_let_go(skim, skim->gone, to);
        skim->gone = to;
    }
    skim->done = end;
}

/* Whether reading all takes less time than leaving payload out: where mapping gains nothing; and of
 * packets so small that two processors, which share reading, read all sooner than one has copied
 * the headers. */
static bool reading_is_sooner(const struct skim *skim)
{
    return skim_tries &&
           (skim->even || (skim->given < skim->records * SPARSE && beside_possible()));
}

/* Once there is enough to see what packets there are. False: it is read from here on. */
static bool decide(struct skim *skim)
{
    bool reads = reading_is_sooner(skim);

    skim->decided = true;
    if (reads && skim->worth >= 0)
        return false;
    skim->whole = reads; /* there is little to leave out */
    if (!skim->threaded)
        skim_thread_begin(skim);
    return true;
}

bool skim_fill(struct skim *skim, uint8_t *to, size_t n, uint64_t offset)
{
    uint64_t end = offset + n;

    if (offset < skim->done || n > skim->size || end + SKIM_MOST + 2 * skim->page > skim->size)
        return false;
    if (!skim_guarded(skim, fill_slot, &(struct slot){to, offset, end}))
        return false;
    pass(skim, end);
    if (skim->whole)
        return true;
    skim->given += n;
    if (!is_whole(skim, end + SKIM_MOST))
        return false;
    if (!skim->decided && skim->given >= ENOUGH)
        return decide(skim);
    skim->whole = skim->worth < -NOT_WORTH;
    return true;
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

struct skim *skim_begin(int fd, uint64_t record, bool blocks, bool swapped)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct skim *skim;
    struct stat st;
    enum skim_gain gain;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < SKIM_LEAST ||
        (uint64_t)st.st_size > SIZE_MAX / 4 || !is_allowed())
        return NULL;
    skim = calloc(1, sizeof(*skim));
    if (!skim)
        return NULL;
    skim->fd = fd;
    skim->blocks = blocks;
    skim->swapped = swapped;
    skim->size = (uint64_t)st.st_size;
    skim->next = skim->done = record;
    skim->head = skim->own;
    skim->gone = skim_window_of(record);
    skim->page = (uint64_t)sysconf(_SC_PAGESIZE);
    skim->map = mmap(NULL, (size_t)skim->size, PROT_READ, MAP_SHARED, fd, 0);
    if (skim->map == MAP_FAILED) {
        free(skim);
        return NULL;
    }
    (void)madvise(skim->map, (size_t)skim->size, MADV_SEQUENTIAL); /* read ahead from the disk */
    sigemptyset(&action.sa_mask);
    if (all == 0 && sigaction(SIGBUS, &action, &before) != 0) {
        munmap(skim->map, (size_t)skim->size);
        free(skim);
        return NULL;
    }
    all++;
    gain = skim_tries ? skim_try(skim) : SKIM_GAINS;
    skim->even = gain == SKIM_EVEN;
    if (gain == SKIM_DEAR) {
        skim_end(skim);
        return NULL;
    }
    if (!skim_tries)
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
