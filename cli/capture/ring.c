/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/complain.h"
#include "source/rights/privilege.h"

static size_t stem_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');

    return dot && (!slash || dot > slash + 1) ? (size_t)(dot - path) : strlen(path);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Of several files, as dumpcap names them: NAME_00001_20261120091839.pcapng */
static char *name_next(struct ring *ring)
{
    time_t seconds = time(NULL);
    struct tm local;
    char stamp[32];
    size_t stem = stem_of(ring->path);

    localtime_r(&seconds, &local);
    strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &local);
    return g_strdup_printf("%.*s_%05" G_GUINT64_FORMAT "_%s%s", (int)stem, ring->path,
                           ++ring->number, stamp, ring->path + stem);
}

bool ring_prepare(struct ring *ring, const char *path, bool several, uint64_t most, bool no_sandbox)
{
    struct privilege_lent lent;
    const char *name;
    char error[200] = "";
    int folder;

    *ring = (struct ring){.path = path,
                          .several = several,
                          .most = most,
                          .names = g_queue_new(),
                          .creator = {.socket = -1}};
    if (create_standard(path) >= 0)
        return true;
    privilege_lend(&lent);
    folder = create_folder(path, &name);
    if (folder < 0)
        snprintf(error, sizeof(error), "%s", strerror(errno));
    privilege_return(&lent);
    if (folder >= 0) {
        static const char *const forms[] = {"_#_#", NULL}, *const one[] = {"", NULL};
        size_t stem = stem_of(path);
        struct creator_task task = {.folder = folder,
                                    .how = several ? CREATE_NEW : CREATE_OVER,
                                    .mode = 0600, /* what is in it is nobody else's business */
                                    .names = {.stem = name,
                                              .stem_length = stem - (size_t)(name - path),
                                              .forms = several ? forms : one,
                                              .suffix = path + stem},
                                    /* the one that is written to may stay empty, and goes too */
                                    .removable = several ? (size_t)most + 1 : 0};

        creator_begin(&ring->creator, &task, no_sandbox, error, sizeof(error));
        close(folder);
    }
    if (*error)
        complain("%s: %s", path, error);
    return !*error;
}

/* A name of a ring that is taken, or was meant to be found, is left alone: the next number is
 * free. */
static int create_one(struct ring *ring)
{
    enum { TRIES = 1000 };
    int fd = -1;

    for (int i = 0; i < TRIES; i++) {
        g_free(ring->name);
        ring->name = ring->several ? name_next(ring) : g_strdup(ring->path);
        fd = creator_create(&ring->creator, last_part(ring->name));
        if (fd >= 0 || errno != EEXIST || !ring->several)
            break;
    }
    return fd;
}

int ring_create(struct ring *ring)
{
    int fd, error, standard = create_standard(ring->path);

    if (standard >= 0) {
        g_free(ring->name);
        ring->name = g_strdup(standard == STDOUT_FILENO ? "standard output" : ring->path);
        return fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    }
    fd = create_one(ring);
    error = errno;
    if (!ring->several) /* there is nothing more to do for it */
        creator_end(&ring->creator);
    errno = error;
    return fd;
}

bool ring_remove(struct ring *ring)
{
    return creator_remove(&ring->creator, last_part(ring->name));
}

void ring_keep(struct ring *ring)
{
    if (ring->most > 0)
        g_queue_push_tail(ring->names, g_strdup(ring->name));
}

void ring_make_room(struct ring *ring)
{
    char *oldest;

    if (ring->most == 0 || ring->names->length < ring->most)
        return;
    oldest = g_queue_pop_head(ring->names);
    if (!creator_remove(&ring->creator, last_part(oldest)) && errno != ENOENT)
        complain("%s: %s", oldest, create_error(errno));
    g_free(oldest);
}

void ring_free(struct ring *ring)
{
    if (!ring->names) /* it was not prepared */
        return;
    creator_end(&ring->creator);
    g_queue_free_full(ring->names, g_free);
    g_free(ring->name);
}
