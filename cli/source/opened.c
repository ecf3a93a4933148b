/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/opened.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SPARE = 48 }; /* descriptors for everything else, those that are taken included */

struct opened {
    const char *path;
    int fd, error;
};

static struct opened *all;
static size_t n_all, next; /* where the one that is asked for is looked for first */

static void make_room(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
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

    if (n_all == room())
        return false;
    *one = (struct opened){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (one->fd < 0)
        one->error = errno;
    if (one->fd < 0 && (errno == EMFILE || errno == ENFILE))
        return false;
    n_all++;
    return true;
}

bool opened_before(char *const *paths, size_t n, size_t *left)
{
    *left = 0;
    if (n > room())
        make_room();
    all = calloc(n, sizeof(*all));
    if (!all)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(paths[i], "-") == 0 || add(paths[i]))
            continue;
        *left = n - i;
        break;
    }
    return true;
}

static const struct opened *find(const char *path)
{
    for (size_t i = 0; i < n_all; i++) {
        const struct opened *one = &all[(next + i) % n_all];

        if (one->path == path || strcmp(one->path, path) == 0) {
            next = (next + i + 1) % n_all;
            return one;
        }
    }
    return NULL;
}

int opened_take(const char *path)
{
    const struct opened *one = find(path);

    if (!one)
        return open(path, O_RDONLY | O_CLOEXEC);
    errno = one->error;
    return one->fd < 0 ? -1 : fcntl(one->fd, F_DUPFD_CLOEXEC, 0);
}

int opened_stat(const char *path, struct stat *out)
{
    const struct opened *one = find(path);

    if (!one)
        return stat(path, out);
    errno = one->error;
    return one->fd < 0 ? -1 : fstat(one->fd, out);
}
