/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bytes/follow_feed.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/interrupt.h"

enum { LOOK_MS = 100 }; /* how often the file is looked at */

struct follow_feed {
    struct feed feed;
    struct feed *from;
    bool stopped;
};

static ssize_t follow_read(struct feed *feed, uint8_t *to, size_t n)
{
    struct follow_feed *follow = (struct follow_feed *)feed;
    struct pollfd asked = {.fd = interrupt_fd(), .events = POLLIN};

    while (!follow->stopped && !interrupt_seen()) {
        ssize_t got = follow->from->read(follow->from, to, n);

        if (got < 0) {
            feed_set_error(&feed->error, feed_error(follow->from));
            feed->failed = true;
        }
        if (got != 0)
            return got;
        if (poll(&asked, 1, LOOK_MS) > 0)
            break;
    }
    follow->stopped = true;
    return 0;
}

static void follow_free(struct feed *feed)
{
    struct follow_feed *follow = (struct follow_feed *)feed;

    follow->from->free(follow->from);
    free(feed->error);
    free(feed->name);
    free(follow);
}

struct feed *follow_feed_new(struct feed *from)
{
    struct follow_feed *follow = calloc(1, sizeof(*follow));

    if (follow)
        follow->feed.name = strdup(from->name);
    if (!follow || !follow->feed.name) {
        free(follow);
        from->free(from);
        return NULL;
    }
    follow->feed.read = follow_read;
    follow->feed.free = follow_free;
    follow->from = from;
    return &follow->feed;
}

bool follow_feed_stopped(const struct feed *feed)
{
    return ((const struct follow_feed *)feed)->stopped;
}
