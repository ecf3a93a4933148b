/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * LD_PRELOADed into the command. FAULT_AT=N: the N-th allocation that it and librpcrdma
 * ask for fails, and no other library's does. FAULT_READS=N: read() and pread() give at most N
 * bytes at a time, and are interrupted by a signal every third time. FAULT_BYTE=N: pread() gives no
 * byte from that of the file on.
 */

#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* a packager's: the C library's own pread64, in line, would stand in for the one below */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static struct { /* the program, and the library where that is not in it */
    uintptr_t begin, end;
} ours[2];
static size_t n_ours;
static unsigned long fail_at, allocations, read_at_most, bad_byte;
static atomic_ulong reads; /* by two threads */

static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off64_t);

static int find(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    /* the program has no name */
    if ((info->dlpi_name[0] != '\0' && !strstr(info->dlpi_name, "librpcrdma.so")) || n_ours == 2)
        return 0;
    ours[n_ours].begin = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t to = from + info->dlpi_phdr[i].p_memsz;

        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        ours[n_ours].begin = from < ours[n_ours].begin ? from : ours[n_ours].begin;
        ours[n_ours].end = to > ours[n_ours].end ? to : ours[n_ours].end;
    }
    n_ours++;
    return 0;
}

__attribute__((constructor)) static void start(void)
{
    const char *at = getenv("FAULT_AT"), *most = getenv("FAULT_READS");
    const char *byte = getenv("FAULT_BYTE");

    dl_iterate_phdr(find, NULL);
    fail_at = at ? strtoul(at, NULL, 10) : 0;
    read_at_most = most ? strtoul(most, NULL, 10) : 0;
    bad_byte = byte ? strtoul(byte, NULL, 10) : 0;
    *(void **)&real_read = dlsym(RTLD_NEXT, "read");
    *(void **)&real_pread = dlsym(RTLD_NEXT, "pread64");
}

/* The n-th allocation failed: told by a file descriptor of its own, so that the test knows when
 * there was none any more. */
static bool fails(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    bool by_us = false;

    for (size_t i = 0; i < n_ours; i++)
        by_us = by_us || (at >= ours[i].begin && at < ours[i].end);
    if (!by_us || ++allocations != fail_at)
        return false;
    if (getenv("FAULT_TELL") && write(atoi(getenv("FAULT_TELL")), "!", 1) != 1)
        abort();
    return true;
}

void *malloc(size_t n)
{
    if (!fails(__builtin_return_address(0)))
        return __libc_malloc(n);
    errno = ENOMEM;
    return NULL;
}

void *calloc(size_t n, size_t size)
{
    if (!fails(__builtin_return_address(0)))
        return __libc_calloc(n, size);
    errno = ENOMEM;
    return NULL;
}

void *realloc(void *p, size_t n)
{
    if (!fails(__builtin_return_address(0)))
        return __libc_realloc(p, n);
    errno = ENOMEM;
    return NULL;
}

static bool interrupted(void)
{
    if (read_at_most == 0 || ++reads % 3 != 0)
        return false;
    errno = EINTR;
    return true;
}

static size_t at_most(size_t n)
{
    return read_at_most > 0 && n > read_at_most ? read_at_most : n;
}

ssize_t read(int fd, void *buffer, size_t n)
{
    return interrupted() ? -1 : real_read(fd, buffer, at_most(n));
}

ssize_t pread64(int fd, void *buffer, size_t n, off64_t offset)
{
    if (interrupted())
        return -1;
    if (bad_byte > 0 && (unsigned long)offset >= bad_byte) {
        errno = EIO;
        return -1;
    }
    n = at_most(n);
    if (bad_byte > 0 && n > bad_byte - (unsigned long)offset)
        n = bad_byte - (unsigned long)offset;
    return real_pread(fd, buffer, n, offset);
}

/* where offsets are as wide as they can be that is another name for it */
ssize_t pread(int fd, void *buffer, size_t n, off_t offset)
{
    return pread64(fd, buffer, n, offset);
}
