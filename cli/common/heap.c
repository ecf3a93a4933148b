/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/heap.h"

#include <stdlib.h> /* says which C library it is */

#if defined __linux__ && defined __GLIBC__

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "common/populate.h"

/* A large page is in memory as a whole: one that was begun and is not filled is lost. So the heap
 * has them from LEAST bytes on, which few captures take, and up to MOST. Before and behind these it
 * grows by STEP, whose pages are asked for at once. */
enum { MIB = 1 << 20, LEAST = 5 * MIB, MOST = 40 * MIB, STEP = MIB / 4 };

static struct {
    char *begin, *top;
    enum {
        SMALL,
        ASKED, /* for as much as MOST at once, as a large page has to be there as a whole when it is
                  given */
        LARGE,
        UNKNOWN, /* something else than the heap moved the end of the program's memory */
    } pages;
} heap;

void heap_begin(void)
{
    heap.begin = heap.top = sbrk(0);
}

static void grow_by(int size)
{
    mallopt(M_TOP_PAD, size);
    mallopt(M_TRIM_THRESHOLD, MOST); /* else it goes back with the next thing that is freed */
}

static void grown(char *top)
{
    char *before = heap.top;

    heap.top = top;
    if (top < before || !heap.begin) {
        heap.pages = UNKNOWN;
    } else if (heap.pages == ASKED) {
        large_pages(before, (size_t)(top - before));
        grow_by(STEP);
        heap.pages = LARGE;
    } else {
        if (top - before <= MIB) /* more at once is buffers, which may not be filled */
            populate(before, (size_t)(top - before));
        if (heap.pages == SMALL && top - heap.begin >= LEAST) {
            grow_by(MOST - LEAST);
            heap.pages = ASKED;
        } else if (top - heap.begin >= MIB) {
            grow_by(STEP);
        }
    }
}

void heap_look(void)
{
    char *top = heap.pages == UNKNOWN ? heap.top : sbrk(0);

    if (top != heap.top)
        grown(top);
}

#else

void heap_begin(void)
{
}

void heap_look(void)
{
}

#endif
