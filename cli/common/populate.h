/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_POPULATE_H
#define RPCRDMA_CLI_COMMON_POPULATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined __linux__ && !defined MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/*
 * Memory that is about to be written: the kernel gives all its pages at once, not one at each first
 * write. In a guest whose hypervisor keeps page tables of its own a first write costs some 12 us, a
 * page of many less than 1 us. A kernel that does not know this gives them one by one.
 */
static inline void populate(const void *begin, size_t size)
{
#ifdef MADV_POPULATE_WRITE
    enum { PAGE = 4096 }; /* of a larger page its part is enough */
    uintptr_t from = ((uintptr_t)begin + PAGE - 1) & -(uintptr_t)PAGE;
    uintptr_t to = ((uintptr_t)begin + size) & -(uintptr_t)PAGE;

    if (to > from)
        (void)madvise((void *)from, to - from, MADV_POPULATE_WRITE);
#else
    (void)begin, (void)size;
#endif
}

/* Asks for large pages, of which each costs one fault for 2 MiB, where all of the memory will be
 * used. The kernel may not have them, or be told not to give any. */
static inline void large_pages(const void *begin, size_t size)
{
#ifdef MADV_HUGEPAGE
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)begin + page - 1) & -page;
    uintptr_t to = ((uintptr_t)begin + size) & -page;

    if (to > from)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)begin, (void)size;
#endif
}

#endif
