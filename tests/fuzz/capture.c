/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of a capture file to messages, by the three ways they can come in: mapped at once,
 * mapped in windows of one page, read from a pipe. All must come to the same. Input: what to keep
 * account of, how much memory there is, which other way to take; then a capture file of any format.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "mutate.h"
#include "source/source.h"
#include "watch.h"

struct outcome {
    uint64_t packets, errors, sum, messages;
};

static void read_all(struct source *source, const struct watch_config *config, struct outcome *out)
{
    struct source_packet packets[SOURCE_BATCH];
    struct source_stats stats = {0};
    enum source_status status;
    struct watch watch;
    size_t n;

    *out = (struct outcome){0};
    watch_begin(&watch, config);
    while (source && (status = source_next(source, packets, SOURCE_BATCH, &n)) != SOURCE_END) {
        if (status == SOURCE_ERROR)
            MUST(source->error[0] && n == 0 && ++out->errors < 1000);
        for (size_t i = 0; i < n; i++) {
            const struct rpcrdma_packet *packet = &packets[i].packet;

            MUST(packet->frame == ++out->packets);
            MUST(packet->time_ns >= -SOURCE_TIME_MAX && packet->time_ns <= SOURCE_TIME_MAX);
            watch_packet(&watch, packet);
        }
    }
    MUST(rpcrdma_net_stats(watch.net)->packets == out->packets);
    if (source) {
        source_stats(source, &stats);
        MUST(stats.packets == out->packets);
    }
    source_close(source);
    watch_end(&watch);
    out->sum = watch.sum;
    out->messages = watch.messages;
}

static struct source *mapped(const uint8_t *data, size_t size, size_t window)
{
    struct source_config config = {.window = window};
    char path[64], error[512] = "";
    struct source *source;
    int fd = memfd_create("fuzz", 0);

    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    source = source_file_open(path, &config, error, sizeof(error));
    MUST(source || error[0]);
    close(fd);
    return source;
}

/* All of it must fit into the pipe: there is nobody who writes while it is read. */
static struct source *piped(const uint8_t *data, size_t size)
{
    char path[64], error[512] = "";
    struct source *source;
    int fd[2];

    if (pipe(fd) != 0 || fcntl(fd[1], F_SETPIPE_SZ, 1 << 17) < (int)size)
        abort();
    MUST(write(fd[1], data, size) == (ssize_t)size);
    close(fd[1]);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd[0]);
    source = source_file_open(path, NULL, error, sizeof(error));
    MUST(source || error[0]);
    close(fd[0]);
    return source;
}

static void same(const struct outcome *a, const struct outcome *b)
{
    MUST(a->packets == b->packets && a->errors == b->errors);
    MUST(a->messages == b->messages && a->sum == b->sum);
}

const enum mutate_format mutate_format = MUTATE_FILE;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct watch_config config = {0};
    struct outcome first, second;

    if (size < 1 || size > 1 << 16)
        return 0;
    config.credits = data[0] & 1;
    config.whole = data[0] & 2;
    config.check_icrc = data[0] & 4;
    config.max_memory = data[0] & 8 ? 300000 : 0;
    read_all(mapped(data + 1, size - 1, 0), &config, &first);
    read_all(data[0] & 16 ? piped(data + 1, size - 1) : mapped(data + 1, size - 1, 4096), &config,
             &second);
    same(&first, &second);
    return 0;
}
