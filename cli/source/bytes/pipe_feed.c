/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bytes/pipe_feed.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/interrupt.h"

enum { SILENT_MS = 3000 };

struct pipe_feed {
    struct feed feed;
    int fd;
    bool silent;
};

/* Waits for bytes, or the end; without end as long as nobody asked us to end. */
static bool wait_for_bytes(int fd)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = interrupt_fd(), .events = POLLIN}};

    for (;;) {
        int n = poll(fds, 2, -1);

        if (n < 0 && errno != EINTR)
            return true; /* read says why */
        if (n <= 0)
            continue;
        if (fds[0].revents)
            return true;
        break;
    }
    return poll(fds, 1, SILENT_MS) != 0;
}

static ssize_t pipe_read(struct feed *feed, uint8_t *to, size_t n)
{
    struct pipe_feed *pipe = (struct pipe_feed *)feed;
    ssize_t got;

    if (!wait_for_bytes(pipe->fd)) {
        pipe->silent = true;
        feed_fail(feed, "the process that captures does not answer: what it still had is lost");
        return -1;
    }
    do {
        got = read(pipe->fd, to, n);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        feed_fail(feed, "%s", strerror(errno));
    return got;
}

static void pipe_free(struct feed *feed)
{
    struct pipe_feed *pipe = (struct pipe_feed *)feed;

    close(pipe->fd);
    free(feed->error);
    free(feed->name);
    free(pipe);
}

struct feed *pipe_feed_new(int fd, const char *name)
{
    struct pipe_feed *pipe = calloc(1, sizeof(*pipe));

    if (pipe)
        pipe->feed.name = strdup(name);
    if (!pipe || !pipe->feed.name) {
        free(pipe);
        close(fd);
        return NULL;
    }
    pipe->feed.read = pipe_read;
    pipe->feed.free = pipe_free;
    pipe->fd = fd;
    return &pipe->feed;
}

bool pipe_feed_silent(const struct feed *feed)
{
    return ((const struct pipe_feed *)feed)->silent;
}
