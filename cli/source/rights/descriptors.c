/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/rights/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void descriptors_hold_standard(void)
{
    /* what is open for the other direction fails as a closed one does */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return; /* there is no such file */
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* [from, to] */
static void close_all(int from, int to)
{
    struct rlimit limit;

    if (from > to)
        return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)from, (unsigned)to, 0) == 0)
        return;
#endif
    /* kernels before 5.9 */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= (rlim_t)to)
        to = (int)limit.rlim_cur - 1;
    for (; from <= to; from++)
        close(from);
}

void descriptors_close_but(int *keep, size_t n)
{
    int from = STDERR_FILENO + 1;

    qsort(keep, n, sizeof(*keep), by_number);
    for (size_t i = 0; i < n; i++) {
        close_all(from, keep[i] - 1);
        from = keep[i] >= from ? keep[i] + 1 : from;
    }
    close_all(from, INT_MAX);
}

/* In an option's value, too. Returns where it goes on; NULL: there is none. */
static const char *next_named(const char *text, int *fd)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};
    const char *first = NULL;

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        const char *at = strstr(text, folders[i]);

        if (at && (!first || at < first))
            first = at + strlen(folders[i]);
    }
    if (first)
        *fd = atoi(first);
    return first;
}

void descriptors_close_unnamed(int argc, char **argv)
{
    enum { MOST = 256 };
    int keep[MOST];
    size_t n = 0;

    for (int i = 1; i < argc; i++) {
        const char *text = argv[i];
        int fd;

        while ((text = next_named(text, &fd)))
            if (fd > STDERR_FILENO && n < MOST)
                keep[n++] = fd;
    }
    descriptors_close_but(keep, n);
}
