/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether mapping a file takes less of the processor than reading it. That depends on the pages
 * that its page cache is made of, large ones or small. A file that was read from a disk begins with
 * small ones, as the kernel asks for more each time: its beginning says little of the rest, so that
 * it is tried further on.
 */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "source/bytes/populate.h"
#include "source/bytes/skim.h"
#include "source/bytes/skim_own.h"

enum {
    PLACES = 2,
    PIECE = 1024 * 1024, /* of a window */
    BUFFER = 64 * 1024,
    LINE = 1024, /* a header is looked at so often */
};

/* Whether a piece's ends are in memory: else its disk is what takes time. Where the file system
 * cannot tell, all is taken to be. */
static bool is_cached(const struct skim *skim, uint64_t place)
{
    const uint64_t ends[] = {place, place + PIECE - 1};

    for (size_t i = 0; i < 2; i++) {
        uint8_t byte;
        struct iovec to = {&byte, 1};

        if (preadv2(skim->fd, &to, 1, (off_t)ends[i], RWF_NOWAIT) != 1 && errno == EAGAIN)
            return false;
    }
    return true;
}

static bool read_piece(const struct skim *skim, uint64_t place, uint8_t *buffer)
{
    for (uint64_t end = place + PIECE; place < end; place += BUFFER)
        if (pread(skim->fd, buffer, BUFFER, (off_t)place) != BUFFER)
            return false;
    return true;
}

/* As skim_guarded calls it. */
static bool map_piece(struct skim *skim, void *argument)
{
    uint64_t place = *(const uint64_t *)argument;
    const volatile uint8_t *piece = skim->map + place;

    for (uint64_t i = 0; i < PIECE; i += LINE)
        (void)piece[i];
    skim_let_go(skim, place, place + PIECE);
    return true;
}

enum skim_gain skim_try(struct skim *skim)
{
    static uint8_t buffer[BUFFER];
    uint64_t windows = skim->size / SKIM_WINDOW;
    int64_t read_ns = 0, map_ns = 0;

    populate(buffer, sizeof(buffer));
    for (uint64_t i = 1; i <= PLACES; i++) {
        uint64_t place = windows * i / (PLACES + 1) * SKIM_WINDOW;
        uint64_t other = place - SKIM_WINDOW; /* mapped: what is read is in a cache */
        int64_t begin, between;

        if (!is_cached(skim, place) || !is_cached(skim, other))
            continue;
        begin = skim_clock();
        if (!read_piece(skim, place, buffer))
            return SKIM_DEAR;
        between = skim_clock();
        if (!skim_guarded(skim, map_piece, &other))
            return SKIM_DEAR;
        map_ns += skim_clock() - between;
        read_ns += between - begin;
    }
    if (map_ns >= 2 * read_ns)
        return SKIM_DEAR;
    return map_ns < read_ns ? SKIM_GAINS : SKIM_EVEN;
}
