/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/rights/opened.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SPARE = 48 }; /* descriptors for everything else, those of files opened later included */

struct opened {
    const char *path;
    int fd, error;
    bool regular;
    bool later; /* there was no descriptor left; error: why it cannot be read anyway */
};

static struct opened *all;
static size_t n_all;

/* For n files: root may have more than its limit says. */
static void make_room(size_t n)
{
    struct rlimit limit, more;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    more = limit;
    more.rlim_cur = n + SPARE;
    if (more.rlim_cur > more.rlim_max)
        more.rlim_max = more.rlim_cur;
    if (setrlimit(RLIMIT_NOFILE, &more) == 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* How many descriptors there may be. */
static size_t room(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= INT32_MAX)
        return INT32_MAX;
    return limit.rlim_cur > SPARE ? (size_t)limit.rlim_cur - SPARE : 0;
}

/* False: there is no descriptor left. */
static bool add(const char *path)
{
    struct opened *one = &all[n_all];
    struct stat st;

    if (n_all == room())
        return false;
    *one = (struct opened){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (one->fd < 0)
        one->error = errno;
    if (one->fd < 0 && (errno == EMFILE || errno == ENFILE))
        return false;
    one->regular = one->fd >= 0 && fstat(one->fd, &st) == 0 && S_ISREG(st.st_mode);
    n_all++;
    return true;
}

static int by_path(const void *left, const void *right)
{
    const struct opened *a = left, *b = right;

    return strcmp(a->path, b->path);
}

/* Those of a capture that this process read earlier. */
static void close_all(void)
{
    for (size_t i = 0; i < n_all; i++)
        if (all[i].fd >= 0)
            close(all[i].fd);
    free(all);
    all = NULL;
    n_all = 0;
}

bool opened_before(char *const *paths, size_t n, size_t *left)
{
    close_all();
    *left = 0;
    if (n > room())
        make_room(n);
    all = calloc(n > 0 ? n : 1, sizeof(*all));
    if (!all)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (*left == 0 && (strcmp(paths[i], "-") == 0 || add(paths[i])))
            continue;
        ++*left;
        all[n_all++] = (struct opened){
            .path = paths[i],
            .fd = -1,
            .later = true,
            .error = faccessat(AT_FDCWD, paths[i], R_OK, AT_EACCESS) != 0 ? errno : 0,
        };
    }
    qsort(all, n_all, sizeof(*all), by_path);
    return true;
}

static const struct opened *find(const char *path)
{
    const struct opened wanted = {.path = path};

    return n_all > 0 ? bsearch(&wanted, all, n_all, sizeof(*all), by_path) : NULL;
}

/* One that may not be opened any more, for want of descriptors before. */
static int open_later(const struct opened *one)
{
    int fd = open(one->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 && errno == EACCES)
        errno = one->error != 0 ? one->error : EMFILE;
    return fd;
}

int opened_take(const char *path, bool *borrowed)
{
    const struct opened *one = find(path);

    *borrowed = one && one->regular;
    if (one && one->later)
        return open_later(one);
    if (!one)
        return open(path, O_RDONLY | O_CLOEXEC);
    errno = one->error;
    return one->fd < 0 || one->regular ? one->fd : fcntl(one->fd, F_DUPFD_CLOEXEC, 0);
}

int opened_look(const char *path)
{
    const struct opened *one = find(path);

    return one ? one->fd : -1;
}

int opened_stat(const char *path, struct stat *out)
{
    const struct opened *one = find(path);

    if (!one || one->later)
        return stat(path, out);
    errno = one->error;
    return one->fd < 0 ? -1 : fstat(one->fd, out);
}
