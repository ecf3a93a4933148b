/* SPDX-License-Identifier: BSD-2-Clause */
#include "standin.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PCAP_HEADER = 24, RECORD_HEADER = 16, PACE = 64 };

struct player {
    struct standin_context *context;
    struct standin_packet *packets;
    size_t n;
    int counter;
    FILE *report; /* opened while the program may still open files */
    uint64_t played, delivered, dropped, failed;
    uint64_t patience_ms, fail_every, remove_after, down_after;
};

int64_t standin_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Nanosecond or microsecond pcap of this machine's byte order; kept in memory for good. */
static bool load(struct player *player, const char *path)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    uint32_t word[4], magic;
    size_t room = 0;

    if (!file || fread(&magic, sizeof(magic), 1, file) != 1 ||
        fseek(file, PCAP_HEADER, SEEK_SET) != 0)
        return false;
    while (fread(word, sizeof(word), 1, file) == 1) {
        uint8_t *data = malloc(word[2]);

        if (player->n == room) {
            room = room ? 2 * room : 1024;
            player->packets = realloc(player->packets, room * sizeof(*player->packets));
        }
        if (!data || fread(data, 1, word[2], file) != word[2])
            return false;
        player->packets[player->n++] =
            (struct standin_packet){.time_ns = (int64_t)word[0] * 1000000000 +
                                               (int64_t)word[1] * (magic == 0xa1b23c4d ? 1 : 1000),
                                    .len = word[2],
                                    .data = data};
    }
    fclose(file);
    return player->n > 0;
}

static void show_dropped(const struct player *player)
{
    char text[32];
    int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)player->dropped);

    if (player->counter >= 0 && pwrite(player->counter, text, (size_t)n, 0) != n)
        abort();
}

/* A network would not wait. A test that is to depend on no other work of the machine does. */
static bool take(struct player *player, struct standin_receive *receive)
{
    for (uint64_t ms = 0; !standin_receive_take(player->context->qp, receive); ms++) {
        if (ms >= player->patience_ms || player->context->stop)
            return false;
        usleep(1000);
    }
    return true;
}

static void receive(struct player *player, const struct standin_packet *packet)
{
    struct standin_qp *qp = player->context->qp;
    struct standin_receive receive;
    struct standin_completion completion = {.time_ns = packet->time_ns, .length = packet->len};

    player->played++;
    if (!take(player, &receive)) {
        player->dropped++;
        show_dropped(player);
        return;
    }
    completion.wr_id = receive.wr_id;
    completion.status = IBV_WC_SUCCESS;
    if (packet->len > receive.length)
        completion.status = IBV_WC_LOC_LEN_ERR;
    else if (player->fail_every > 0 && player->played % player->fail_every == 0)
        completion.status = IBV_WC_LOC_PROT_ERR;
    if (completion.status == IBV_WC_SUCCESS) {
        memcpy(receive.to, packet->data, packet->len);
        player->delivered++;
    } else {
        memset(receive.to, 0xee, receive.length < 64 ? receive.length : 64);
        player->failed++;
    }
    if (!standin_complete(qp->cq, &completion))
        abort(); /* the program asked for fewer completions than it posts receives */
}

/* What the device's event queue says. */
static void tell(struct player *player, enum ibv_event_type type)
{
    char event = (char)type;

    if (write(player->context->async_write_fd, &event, 1) != 1)
        abort();
}

/* The device is gone: what was posted is flushed, and somebody is told. */
static void remove_device(struct player *player)
{
    struct standin_qp *qp = player->context->qp;
    struct standin_receive receive;

    while (standin_receive_take(qp, &receive))
        if (!standin_complete(qp->cq, &(struct standin_completion){.wr_id = receive.wr_id,
                                                                   .status = IBV_WC_WR_FLUSH_ERR}))
            abort();
    tell(player, IBV_EVENT_DEVICE_FATAL);
}

static void report(const struct player *player, int64_t ns)
{
    FILE *file = player->report;
    struct timespec cpu;

    if (!file)
        return;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu); /* the device's own: no cost of the program */
    fprintf(file,
            "{\"played\":%llu,\"delivered\":%llu,\"dropped\":%llu,\"failed\":%llu,"
            "\"seconds\":%.9f,\"cpu\":%.6f,\"rest\":%lld}\n",
            (unsigned long long)player->played, (unsigned long long)player->delivered,
            (unsigned long long)player->dropped, (unsigned long long)player->failed,
            (double)ns / 1e9, (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9,
            (long long)atomic_load(&player->context->qp->cq->least_rest_ns));
    fclose(file);
}

static void pace(const struct player *player, int64_t start, uint64_t rate)
{
    int64_t due;

    if (rate == 0 || (rate > 100000 && player->played % PACE != 0))
        return;
    due = start + (int64_t)((double)player->played / (double)rate * 1e9);
    while (standin_now() < due) {
        int64_t left = due - standin_now();

        if (left > 60000)
            nanosleep(
                &(struct timespec){.tv_nsec = left - 60000 < 999999999 ? left - 60000 : 999999999},
                NULL);
    }
}

static void *run(void *argument)
{
    struct player *player = argument;
    uint64_t rate = standin_number("STANDIN_RATE", 1000),
             loops = standin_number("STANDIN_LOOPS", 1);
    int64_t start;

    usleep(100000); /* the program gets ready, as with traffic that is not made for it */
    start = standin_now();
    for (uint64_t loop = 0; loop < loops && !player->context->stop; loop++) {
        for (size_t i = 0; i < player->n && !player->context->stop; i++) {
            pace(player, start, rate);
            receive(player, &player->packets[i]);
            if (player->played == player->down_after) {
                tell(player, IBV_EVENT_PORT_ERR);
                usleep(300000);
                tell(player, IBV_EVENT_PORT_ACTIVE);
            }
            if (player->played == player->remove_after) {
                remove_device(player);
                report(player, standin_now() - start);
                return NULL;
            }
        }
    }
    report(player, standin_now() - start);
    return NULL;
}

bool standin_play(struct standin_context *context)
{
    struct player *player = calloc(1, sizeof(*player));
    char path[IBV_SYSFS_PATH_MAX + 64];
    sigset_t all, before;
    bool good;

    player->context = context;
    player->patience_ms = standin_number("STANDIN_PATIENCE", 0);
    player->fail_every = standin_number("STANDIN_FAIL_EVERY", 0);
    player->remove_after = standin_number("STANDIN_REMOVE", 0);
    player->down_after = standin_number("STANDIN_DOWN", 0);
    snprintf(path, sizeof(path), "%s/ports/%u/hw_counters/out_of_buffer",
             context->device->device.ibdev_path, context->port);
    player->counter = open(path, O_WRONLY | O_CLOEXEC);
    if (getenv("STANDIN_REPORT"))
        player->report = fopen(getenv("STANDIN_REPORT"), "we");
    if (!load(player, getenv("STANDIN_CAPTURE")))
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are for the program */
    good = pthread_create(&context->thread, NULL, run, player) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    context->playing = good;
    return good;
}

void standin_stop(struct standin_context *context)
{
    if (!context->playing)
        return;
    context->stop = true;
    pthread_join(context->thread, NULL);
    context->playing = false;
}
