/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/skim.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "source/file.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

enum {
    WINDOW = 2 * 1024 * 1024,
    LEAD = 2,   /* windows that the thread is ahead, at most */
    BEHIND = 3, /* that the caller leaves to the thread, at most: 16 MiB are resident in all */
    RECORD = 16,
    HEADERS = 96, /* the record's, and all of a Write's or a response's */
    AHEAD = 6,    /* packets that are asked for, as file_ahead() does */
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

bool skim_tries = true, skim_late;
int64_t (*skim_clock)(void) = used_ns;

struct skim {
    int fd;
    bool swapped;
    uint64_t size;      /* of the file, at least */
    uint8_t *map;       /* all of the file; those pages alone that are in hand take memory */
    uint64_t window;    /* where the caller looks */
    uint64_t populated; /* the last window that is, where there is no thread */
    uint64_t gone;      /* windows before it are let go of, or are just being */
    uint64_t done;      /* where the last call ended */
    uint64_t pos, next; /* the record in hand, and the one behind it */
    uint64_t keep;      /* up to there it is copied */
    uint8_t *head;      /* where its headers are: in the caller's buffer, or these: */
    uint8_t own[HEADERS];
    int64_t worth; /* bytes left out less those copied, at most NOT_WORTH */
    struct {
        uint64_t bytes;           /* that were copied and read, both */
        int64_t copy_ns, read_ns; /* of this thread */
    } trial;
    bool whole; /* all is copied, slot by slot */
    uint64_t page;
    sigjmp_buf cut;
    bool threaded, stop;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t moved; /* window or stop did */
};

/* Who copies in this thread. */
static _Thread_local struct skim *volatile copying;
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
        siglongjmp(skim->cut, 1);
    sigaction(number, &before, NULL);
    if (info->si_code <= 0)
        raise(number);
}

/* Fills the page tables of a window. */
static bool populate(const struct skim *skim, uint64_t window)
{
    uint64_t at = window * WINDOW, left = skim->size - at;

    return at >= skim->size ||
           madvise(skim->map + at, left < WINDOW ? (size_t)left : WINDOW, MADV_POPULATE_READ) == 0;
}

/* Nothing is looked at there any more. The address stays ours, as the thread may be late in filling
 * it; page tables are freed. */
static void let_go(const struct skim *skim, uint64_t from, uint64_t to)
{
    (void)mmap(skim->map + from * WINDOW, (size_t)(to - from) * WINDOW, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Populates windows before the caller comes to them, and lets go of those behind, one at a time. It
 * is never waited for: where it is late, the caller does either. */
static void *run_ahead(void *argument)
{
    struct skim *skim = argument;
    uint64_t window = 0, gone;

    pthread_mutex_lock(&skim->mutex);
    while (!skim->stop) {
        window = window > skim->window ? window : skim->window + 1;
        if (skim_late) {
            pthread_cond_wait(&skim->moved, &skim->mutex);
        } else if (window <= skim->window + LEAD && window <= skim->size / WINDOW) {
            pthread_mutex_unlock(&skim->mutex);
            (void)populate(skim, window++);
            pthread_mutex_lock(&skim->mutex);
        } else if (skim->gone < skim->window) {
            gone = skim->gone++;
            pthread_mutex_unlock(&skim->mutex);
            let_go(skim, gone, gone + 1);
            pthread_mutex_lock(&skim->mutex);
        } else {
            pthread_cond_wait(&skim->moved, &skim->mutex);
        }
    }
    pthread_mutex_unlock(&skim->mutex);
    return NULL;
}

static __attribute__((noinline)) void move(struct skim *skim, uint64_t window)
{
    uint64_t gone;

    if (!skim->threaded) {
        let_go(skim, skim->gone, window);
        if (skim->populated < window)
            (void)populate(skim, window);
        skim->populated = window;
        if (skim->whole && populate(skim, window + 1)) /* what is asked for */
            skim->populated = window + 1;
        skim->gone = skim->window = window;
        return;
    }
    pthread_mutex_lock(&skim->mutex);
    gone = skim->gone;
    skim->window = window;
    if (window > gone + BEHIND)
        skim->gone = window;
    pthread_cond_signal(&skim->moved);
    pthread_mutex_unlock(&skim->mutex);
    if (window > gone + BEHIND)
        let_go(skim, gone, window);
}

/* Places never go back. */
static inline const uint8_t *look(struct skim *skim, uint64_t place)
{
    if (place / WINDOW != skim->window)
        move(skim, place / WINDOW);
    return skim->map + place;
}

/* A packet of an RDMA Write, or of a Read response, of RoCEv2 over IPv4 without options, and with
 * nothing behind it but a frame check sequence: switches write times there. */
static bool is_bulk(const uint8_t *p, uint32_t caplen)
{
    enum { ETHERNET = 14, UDP = 34, BTH = 42, BEHIND_MOST = 8 };
    enum { WRITE_FIRST = 6, RESPONSE_FIRST = 13, RESPONSE_LAST = 16, RESERVED = 12 };
    uint32_t ip = (uint32_t)p[16] << 8 | p[17], udp = (uint32_t)p[38] << 8 | p[39];
    uint8_t opcode;

    if (p[12] != 8 || p[13] != 0 || p[ETHERNET] != 0x45 || p[23] != 17 || p[20] & 0x3f ||
        p[21] != 0 || p[UDP + 2] != 4791 >> 8 || p[UDP + 3] != (4791 & 0xff))
        return false;
    opcode = p[BTH];
    return (p[BTH + 1] & 0x0f) == 0 && opcode >= WRITE_FIRST && opcode <= RESPONSE_LAST &&
           opcode != RESERVED && ip == udp + 20 && ETHERNET + ip + BEHIND_MOST >= caplen;
}

/* Takes the record at skim->next in hand, of which the buffer has room for `room` bytes at `to`.
 * False: it cannot be mapped, or is no record. */
static bool take(struct skim *skim, uint8_t *to, uint64_t room)
{
    const uint8_t *p = look(skim, skim->next);
    uint32_t caplen;

    skim->head = room >= HEADERS ? to : skim->own;
    memcpy(skim->head, p, HEADERS);
    caplen = file_word(skim->head + 8, skim->swapped);
    if (caplen > SOURCE_MAX_PACKET)
        return false;
    skim->pos = skim->next;
    skim->next += RECORD + caplen;
    skim->keep = skim->next;
    if (caplen > HEADERS && is_bulk(skim->head + RECORD, caplen)) {
        size_t ahead = AHEAD * (size_t)(RECORD + caplen);

        skim->keep = skim->pos + HEADERS;
        __builtin_prefetch(p + ahead);
        __builtin_prefetch(p + ahead + 64);
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
    uint64_t left_out = 0;

    if (skim->whole)
        return copy_all(skim, to, offset, end);
    if (skim->next > offset) /* what lies in two slots */
        copy(skim, to, offset, end);
    while (skim->next < end) {
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

/* False also where the signal came. */
static bool fill_guarded(struct skim *skim, uint8_t *to, uint64_t offset, uint64_t end)
{
    bool good;

    if (sigsetjmp(skim->cut, 0) != 0) {
        copying = NULL;
        return false;
    }
    copying = skim;
    good = fill(skim, to, offset, end);
    copying = NULL;
    return good;
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
    return skim->trial.bytes < TRIAL || skim->trial.copy_ns < skim->trial.read_ns;
}

bool skim_fill(struct skim *skim, uint8_t *to, size_t n, uint64_t offset)
{
    uint64_t end = offset + n;
    bool tries = skim_tries && skim->trial.bytes < TRIAL, good;
    int64_t begin = tries ? skim_clock() : 0;

    if (offset < skim->done || n > skim->size || end + HEADERS + 2 * skim->page > skim->size)
        return false;
    skim->done = end;
    if (!fill_guarded(skim, to, offset, end))
        return false;
    if (skim->whole)
        return true;
    if (!is_whole(skim, end + HEADERS))
        return false;
    good = !tries || try_reading(skim, to, n, offset, skim_clock() - begin);
    if (skim->worth < (good ? -NOT_WORTH : 0))
        skim->whole = good = true;
    return good;
}

const char *skim_soon(const struct skim *skim, size_t *slot)
{
    *slot = skim->whole ? SLOT - (size_t)(skim->done % SLOT) : 0;
    return skim->whole ? (const char *)skim->map + skim->done : NULL;
}

/* One that populates ahead, where there is a processor for it. */
static void begin_thread(struct skim *skim)
{
    cpu_set_t set;
    sigset_t every, before_it;

    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) < 2)
        return;
    pthread_mutex_init(&skim->mutex, NULL);
    pthread_cond_init(&skim->moved, NULL);
    sigfillset(&every); /* signals are for the program's thread */
    pthread_sigmask(SIG_BLOCK, &every, &before_it);
    skim->threaded = pthread_create(&skim->thread, NULL, run_ahead, skim) == 0;
    pthread_sigmask(SIG_SETMASK, &before_it, NULL);
}

static void end_thread(struct skim *skim)
{
    if (!skim->threaded)
        return;
    pthread_mutex_lock(&skim->mutex);
    skim->stop = true;
    pthread_cond_signal(&skim->moved);
    pthread_mutex_unlock(&skim->mutex);
    pthread_join(skim->thread, NULL);
    pthread_cond_destroy(&skim->moved);
    pthread_mutex_destroy(&skim->mutex);
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
    if (!populate(skim, skim->window) || (all == 0 && sigaction(SIGBUS, &action, &before) != 0)) {
        munmap(skim->map, (size_t)skim->size);
        free(skim);
        return NULL;
    }
    skim->trial.copy_ns = (skim_clock() - begin_ns) / (WINDOW / TRIAL);
    all++;
    begin_thread(skim);
    return skim;
}

void skim_end(struct skim *skim)
{
    if (!skim)
        return;
    end_thread(skim);
    if (--all == 0)
        sigaction(SIGBUS, &before, NULL);
    munmap(skim->map, (size_t)skim->size);
    free(skim);
}
