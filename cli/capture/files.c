/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/times.h"
#include "source/clock.h"
#include "source/source.h"

enum {
    FLUSH_NS = 500000000,
    AT_ONCE = 64, /* interfaces that are written one by one */
};

bool capture_files_several(const struct capture_files *files)
{
    return files->next.bytes > 0 || files->next.duration_ns > 0 || files->on_demand;
}

static void say(struct capture_files *files, int error)
{
    bool readable = error == ENOSPC && files->writer.written > 0;

    if (!files->failed)
        complain("%s: %s%s", files->ring.name, create_error(error),
                 readable ? "; what was written up to here can be read" : "");
    files->failed = true;
}

/* A file without a name is lost when it is closed: nobody learns that packets are in it. */
static void say_if_gone(struct capture_files *files)
{
    uint64_t lost = files->writer.packets - files->before;

    if (files->failed || files->writer.fd < 0 || !create_is_gone(files->writer.fd))
        return;
    complain("%s: it was removed while it was written to: %" G_GUINT64_FORMAT
             " packets in it are lost",
             files->ring.name, lost);
    files->failed = true;
    files->writer.packets -= lost;
    files->bytes -= files->writer.written;
}

bool capture_files_prepare(struct capture_files *files, bool no_sandbox)
{
    return ring_prepare(&files->ring, files->path, capture_files_several(files), files->next.files,
                        no_sandbox);
}

static int open_next(struct capture_files *files)
{
    struct stat st;
    int fd = ring_create(&files->ring);

    if (fd < 0) {
        say(files, errno);
        return -1;
    }
    files->awaited = fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
    files->count++;
    files->before = files->writer.packets;
    files->opened_ns = clock_now(CLOCK_MONOTONIC);
    files->timed = false;
    return fd;
}

/* Whatever becomes of us, each file can be read from its beginning on. */
static void write_now(struct capture_files *files)
{
    if (!files->failed && !pcapng_writer_flush(&files->writer)) {
        if (files->writer.error != EPIPE)
            say(files, files->writer.error);
        files->failed = true;
    }
}

bool capture_files_open(struct capture_files *files)
{
    int fd;

    capture_interfaces_begin(&files->interfaces);
    files->began_ns = clock_now(CLOCK_REALTIME);
    files->present = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    files->current = 1;
    fd = files->on_demand ? -1 : open_next(files);
    if (fd < 0 && !files->on_demand)
        return false;
    if (pcapng_writer_open(&files->writer, fd, NULL)) {
        if (files->on_demand)
            files->writer.n = 0; /* there is no file yet */
        write_now(files);
        return true;
    }
    complain("out of memory");
    files->failed = true;
    return false;
}

/* To the current file. */
static void write_interface(struct capture_files *files, uint32_t number)
{
    struct capture_interface *one = capture_interfaces_at(&files->interfaces, number);
    struct pcapng_interface block;

    one->file = files->current;
    one->index = files->present->len & INT32_MAX;
    one->early |= files->early;
    block = capture_interface_block(one);
    g_array_append_val(files->present, number);
    pcapng_write_interface(&files->writer, &block);
}

void capture_files_interface(struct capture_files *files, const struct pcapng_interface *one)
{
    capture_interfaces_add(&files->interfaces, one);
    if (files->by_packet)
        return;
    write_interface(files, files->interfaces.all->len - 1);
    if (files->interfaces.all->len <= AT_ONCE)
        write_now(files);
}

void capture_files_statistics(struct capture_files *files, uint32_t number,
                              const struct pcapng_statistics *counts)
{
    capture_interfaces_count(&files->interfaces, number, counts);
}

/* Of a ring a file in which nothing arrived is of no use to anybody; its first file shows that
 * there was nothing. */
static void remove_empty(struct capture_files *files)
{
    bool empty = files->writer.written == 0 ||
                 (files->by_packet && files->writer.interfaces == 0 && files->count > 1);

    if (!capture_files_several(files) || !empty || files->writer.swallowed)
        return;
    if (ring_remove(&files->ring)) {
        files->count--;
        files->bytes -= files->writer.written;
    }
}

/* Until when packets were awaited for the current file, by their clock, which may be an adapter's:
 * what passed since the one that came last is by ours. */
static bool awaited_until(const struct capture_files *files, int64_t *end_ns)
{
    *end_ns = files->by_times ? files->end_ns : files->came_ns;
    if (!files->by_times && files->quiet)
        *end_ns = time_plus(*end_ns, clock_now(CLOCK_MONOTONIC) - files->quiet_ns);
    /* none, where that clock was set back */
    return (files->by_times ? files->end_known : files->came) && *end_ns >= files->latest_ns;
}

/* The end of a file: the counts so far. Of a full disk the block that did not fit was taken back,
 * and there may be room for this, if there was for the interface. */
static void end_file(struct capture_files *files)
{
    int64_t now_ns = files->by_times ? files->latest_ns : clock_now(CLOCK_REALTIME), end_ns;
    bool end_known = awaited_until(files, &end_ns);
    int error;

    pcapng_writer_flush(&files->writer);
    error = files->writer.error;
    files->writer.error = 0;
    for (guint i = 0; i < files->writer.interfaces && !files->writer.swallowed; i++) {
        struct capture_interface *one =
            capture_interfaces_at(&files->interfaces, g_array_index(files->present, uint32_t, i));
        bool early = one->early && one->index == i; /* it may be there twice */
        struct pcapng_statistics counts;

        if ((!one->counts && !end_known) || (error != 0 && error != ENOSPC && error != EDQUOT))
            continue;
        counts = (struct pcapng_statistics){0};
        if (one->counts)
            counts = capture_interface_ended(one, now_ns);
        if (one->counts && !counts.since_known && !files->by_times) {
            counts.since_known = true;
            counts.since_ns = files->began_ns;
        }
        counts.end_known = end_known && (early || end_ns > 0);
        counts.end_ns = end_ns;
        pcapng_write_statistics(&files->writer, i, early, now_ns, &counts);
    }
    if (!pcapng_writer_flush(&files->writer) && error == 0)
        error = files->writer.error;
    files->bytes += files->writer.written;
    say_if_gone(files);
    files->packets = files->writer.packets;
    if (files->writer.fd >= 0 && close(files->writer.fd) != 0 && error == 0)
        error = errno;
    files->writer.error = error;
    if (error == EPIPE)
        files->failed = true; /* the reader has enough */
    else if (error != 0)
        say(files, error);
    remove_empty(files);
}

static bool enough_files(struct capture_files *files)
{
    files->enough |= files->stop.files > 0 && files->count >= files->stop.files;
    return files->enough;
}

void capture_files_close(struct capture_files *files)
{
    for (guint i = 0; i < files->present->len; i++)
        files->refresh(files->context, g_array_index(files->present, uint32_t, i));
    end_file(files);
    files->writer.fd = -1;
    if (!files->failed)
        ring_keep(&files->ring);
    if (files->on_demand)
        enough_files(files);
}

bool capture_files_begin(struct capture_files *files, const char *comment)
{
    int fd;

    if (files->failed || files->enough)
        return false;
    ring_make_room(&files->ring);
    fd = open_next(files);
    if (fd < 0) {
        files->writer.error = EBADF;
        return false;
    }
    pcapng_writer_again(&files->writer, fd, comment);
    g_array_set_size(files->present, 0);
    files->current++;
    return true;
}

static void begin_next(struct capture_files *files, uint64_t frame)
{
    if (enough_files(files))
        return;
    capture_files_close(files);
    if (!capture_files_begin(files, NULL))
        return;
    for (guint i = 0; !files->by_packet && i < files->interfaces.all->len; i++)
        write_interface(files, i);
    if (files->began)
        files->began(files->context, frame);
    write_now(files);
}

/* An interface has one beginning of time in a file. The first packet from before 1970 on one that
 * is written down for those since then has it written down once more. */
static void write_packet(struct capture_files *files, uint32_t number,
                         const struct rpcrdma_packet *packet, const char *comment)
{
    const struct capture_interface *one = capture_interfaces_at(&files->interfaces, number);

    files->early |= packet->time_ns < 0;
    files->latest_ns = packet->time_ns;
    if (one->file != files->current || (packet->time_ns < 0 && !one->early))
        write_interface(files, number);
    pcapng_write_packet(&files->writer, one->index, one->early, packet, comment);
}

void capture_files_replay(struct capture_files *files, uint32_t number,
                          const struct rpcrdma_packet *packet)
{
    if (files->failed)
        return;
    write_packet(files, number, packet, SOURCE_REPLAYED);
    /* it was counted, unless there was no room for it */
    files->writer.packets = files->before;
}

static bool is_old(struct capture_files *files, const struct rpcrdma_packet *packet)
{
    int64_t most = files->next.duration_ns;

    if (most == 0)
        return false;
    if (files->by_times)
        return files->timed && capture_limit_passed(&files->opened_ns, packet->time_ns, most);
    return clock_now(CLOCK_MONOTONIC) - files->opened_ns >= most;
}

void capture_files_packet(struct capture_files *files, uint32_t number,
                          const struct rpcrdma_packet *packet, const char *comment)
{
    bool of_now = !comment; /* not from before the file that is read */

    if (files->enough || files->failed)
        return;
    if ((files->next.bytes > 0 && files->writer.written >= files->next.bytes) ||
        (of_now && is_old(files, packet)))
        begin_next(files, packet->frame);
    if (files->enough || files->failed)
        return;
    if (files->by_times && of_now && !files->timed) {
        files->opened_ns = packet->time_ns;
        files->timed = true;
    }
    write_packet(files, number, packet, comment);
    files->packets = files->writer.packets;
    if (files->writer.error != 0) {
        if (files->writer.error != EPIPE)
            say(files, files->writer.error);
        files->failed = true;
        return;
    }
    if (files->stop.bytes > 0 && files->writer.written >= files->stop.bytes)
        files->enough = true;
}

void capture_files_flush(struct capture_files *files)
{
    int64_t at = clock_now(CLOCK_MONOTONIC);

    if (!files->quiet)
        files->quiet_ns = at;
    files->quiet = true;
    if (!files->awaited && at - files->flushed_ns < FLUSH_NS)
        return;
    files->flushed_ns = at;
    write_now(files);
    say_if_gone(files);
    files->packets = files->writer.packets;
}

bool capture_files_counts(const struct capture_files *files, uint32_t number, const char **name,
                          const struct pcapng_statistics **counts)
{
    const struct capture_interface *one = capture_interfaces_at(&files->interfaces, number);
    struct pcapng_interface block = capture_interface_block(one);

    *name = block.name ? block.name : "?";
    *counts = one->counts ? &one->counts->latest : NULL;
    return one->counts != NULL;
}

void capture_files_read(struct capture_files *files, const struct source_stats *stats,
                        int64_t shift_ns)
{
    int64_t came_ns = time_plus(files->came_ns, shift_ns);
    bool said = source_end_believed(stats, files->came_ns);

    /* or until the last packet that was left out */
    files->end_known = files->came && (said || came_ns > files->latest_ns);
    files->end_ns = said ? time_plus(stats->end_ns, shift_ns) : came_ns;
}

/* What interfaces lost that are not in the last file, and was not known before theirs ended. */
static void write_late_losses(struct capture_files *files)
{
    for (guint i = 0; files->by_packet && i < files->interfaces.all->len; i++) {
        struct capture_interface *one = capture_interfaces_at(&files->interfaces, i);
        struct pcapng_statistics counts;

        if (!one->counts || one->file == files->current)
            continue;
        counts = capture_interface_counted(one);
        if (counts.dropped > 0 || counts.interface_dropped > 0)
            write_interface(files, i);
    }
}

bool capture_files_end(struct capture_files *files)
{
    if (files->writer.buffer && files->writer.fd >= 0) {
        write_late_losses(files);
        end_file(files);
    }
    if (!files->failed || (files->writer.error == EPIPE && files->bytes > 0))
        return true; /* a reader that goes away has enough, if there ever was one */
    if (files->writer.error == EPIPE)
        complain("%s: %s", files->ring.name, strerror(EPIPE));
    return false;
}

void capture_files_free(struct capture_files *files)
{
    ring_free(&files->ring);
    free(files->writer.buffer);
    capture_interfaces_free(&files->interfaces);
    if (files->present)
        g_array_free(files->present, TRUE);
}
