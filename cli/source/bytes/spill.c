/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bytes/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LOOK = 16 * 1024 * 1024, SPARED = 20 }; /* a 20th of the file system is not for us */

static struct {
    int fd;
    int error; /* why there is none */
    uint64_t size;
    uint64_t looked; /* so large it was when there was room */
} temporary = {.fd = -1, .error = ENOENT};

struct spilled_feed {
    struct feed feed;
    uint64_t first, at, n;
    uint64_t packed; /* bytes of the file that it came from */
    char *failure;   /* of that one; NULL: none */
};

/* Without a name; with one for a moment where the file system knows no files without. */
static int make(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    char *path;

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    if (asprintf(&path, "%s/rpcrdma-XXXXXX", folder) < 0)
        return -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

void spill_prepare(void)
{
    const char *folders[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && temporary.fd < 0; i++) {
        if (!folders[i] || !*folders[i])
            continue;
        temporary.fd = make(folders[i]);
        temporary.error = errno;
    }
}

void spill_begin(struct spilled *spilled, const struct feed *feed, uint64_t first)
{
    *spilled = (struct spilled){.feed = feed, .first = first, .at = temporary.size};
    if (temporary.fd < 0)
        spilled->error = strerror(temporary.error);
}

static bool room(void)
{
    struct statvfs fs;

    if (temporary.size < temporary.looked || fstatvfs(temporary.fd, &fs) != 0)
        return true;
    temporary.looked = temporary.size + LOOK;
    return fs.f_bavail > fs.f_blocks / SPARED;
}

bool spill_write(struct spilled *spilled, const uint8_t *bytes, size_t n)
{
    while (n > 0 && !spilled->error) {
        ssize_t put = -1;

        if (!room())
            errno = ENOSPC;
        else
            put = pwrite(temporary.fd, bytes, n, (off_t)temporary.size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            spilled->error = strerror(put < 0 ? errno : ENOSPC);
            temporary.size = spilled->at; /* another may fit */
            if (ftruncate(temporary.fd, (off_t)temporary.size) != 0)
                temporary.error = errno; /* then it takes the room until the end */
            temporary.looked = 0;
            break;
        }
        temporary.size += (uint64_t)put;
        spilled->n += (uint64_t)put;
        bytes += put;
        n -= (size_t)put;
    }
    return !spilled->error;
}

static ssize_t spilled_read_at(const struct feed *feed, uint8_t *to, size_t n, uint64_t offset)
{
    const struct spilled_feed *spilled = (const struct spilled_feed *)feed;
    uint64_t at = offset - spilled->first, left = at < spilled->n ? spilled->n - at : 0;
    ssize_t got;

    if (n > left)
        n = (size_t)left;
    if (n == 0)
        return 0;
    do {
        got = pread(temporary.fd, to, n, (off_t)(spilled->at + at));
    } while (got < 0 && errno == EINTR);
    return got;
}

static ssize_t spilled_read(struct feed *feed, uint8_t *to, size_t n)
{
    const struct spilled_feed *spilled = (const struct spilled_feed *)feed;
    ssize_t got = spilled_read_at(feed, to, n, feed->offset);

    if (got > 0) {
        feed->offset += (uint64_t)got;
        return got;
    }
    if (got == 0 && !spilled->failure)
        return 0;
    feed->failed = true;
    feed_set_error(&feed->error,
                   got < 0 ? strerror(errno) : spilled->failure); /* which has the name */
    return -1;
}

static void spilled_progress(const struct feed *feed, uint64_t offset, uint64_t *read,
                             uint64_t *size)
{
    const struct spilled_feed *spilled = (const struct spilled_feed *)feed;
    uint64_t at = offset - spilled->first;

    *size = *read = spilled->packed;
    if (at < spilled->n)
        *read = (uint64_t)((double)at / (double)spilled->n * (double)spilled->packed);
}

static void spilled_free(struct feed *feed)
{
    struct spilled_feed *spilled = (struct spilled_feed *)feed;

    free(spilled->failure);
    free(feed->error);
    free(feed->name);
    free(spilled);
}

struct feed *spill_end(const struct spilled *spilled, const char *error)
{
    struct spilled_feed *out = calloc(1, sizeof(*out));
    uint64_t read;

    if (!out)
        return NULL;
    out->feed = (struct feed){
        .read = spilled_read,
        .read_at = spilled_read_at,
        .offset = spilled->first,
        .progress = spilled_progress,
        .free = spilled_free,
        .name = strdup(spilled->feed->name),
    };
    out->first = spilled->first;
    out->at = spilled->at;
    out->n = spilled->n;
    out->failure = error ? strdup(error) : NULL;
    if (spilled->feed->progress)
        spilled->feed->progress(spilled->feed, 0, &read, &out->packed);
    if (out->feed.name && (out->failure || !error))
        return &out->feed;
    spilled_free(&out->feed);
    return NULL;
}
