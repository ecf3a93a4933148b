/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether mapping a file takes less of the processor than reading it. That depends on the pages
 * that its page cache is made of, large ones or small. A file that was read from a disk begins with
 * small ones, as the kernel asks for more each time; and both kinds alternate behind its beginning.
 * So small pieces are tried, in many places. In a guest whose hypervisor keeps page tables of its
 * own mapping takes ten times as much in one place as in another.
 */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/populate.h"
#include "source/bytes/skim.h"
#include "source/bytes/skim_own.h"

enum {
    PLACES = 8,         /* at most, */
    APART = 4,          /* and so many windows from one to the next */
    PIECE = 128 * 1024, /* of a window */
    BUFFER = 64 * 1024,
    LINE = 1024,      /* a header is looked at so often */
    LOST_NS = 200000, /* enough time lost by trying */
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
    uint64_t windows = skim->size / SKIM_WINDOW, places = windows / APART;
    int64_t read_ns = 0, map_ns = 0;

    places = places < 2 ? 2 : places > PLACES ? PLACES : places;
    populate(buffer, sizeof(buffer));
    if (pread(skim->fd, buffer, BUFFER, 0) != BUFFER) /* the buffer's pages are there then */
        return SKIM_DEAR;
    for (uint64_t i = 1; i <= places && map_ns < 2 * read_ns + LOST_NS; i++) {
        uint64_t place = windows * i / (places + 1) * SKIM_WINDOW;
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
