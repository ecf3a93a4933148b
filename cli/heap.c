/* SPDX-License-Identifier: BSD-2-Clause */
#include "heap.h"

#include <stdlib.h> /* says which C library it is */

#if defined __linux__ && defined __GLIBC__

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* A large page is in memory as a whole: one that was begun and is not filled is lost. So the heap
 * has them from LEAST bytes on, which few captures take (what is read ahead is below that, and not
 * filled), and up to MOST. */
enum { MIB = 1 << 20, LEAST = 5 * MIB, MOST = 40 * MIB };

static struct {
    char *begin, *top;
    bool asked; /* for as much as MOST at once, as a page has to be there as a whole when it is
                   given */
    bool done;
} heap;

void heap_begin(void)
{
    heap.begin = heap.top = sbrk(0);
}

static void grown(char *top)
{
    char *before = heap.top;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)before + page - 1) & -page, to = (uintptr_t)top & -page;

    heap.top = top;
    if (top < before || !heap.begin) {
        heap.done = true; /* not what is known of it */
    } else if (heap.asked) {
        heap.done = true;
        /* the kernel may not have them, or be told not to give any */
        if (to > from)
            (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
    } else if (top - heap.begin >= LEAST) {
        heap.asked = true;
        mallopt(M_TOP_PAD, MOST - LEAST);
        mallopt(M_TRIM_THRESHOLD, MOST); /* else it goes back with the next thing that is freed */
    }
}

void heap_look(void)
{
    char *top = heap.done ? heap.top : sbrk(0);

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
