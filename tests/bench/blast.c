/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blast INTERFACE CAPTURE RATE PACKETS: sends the packets of a pcap file (this machine's byte
 * order, Ethernet) to a network interface, again and again, RATE a second (0: as fast as it can);
 * "sent seconds" to standard output.
 */
#define _GNU_SOURCE /* sendmmsg */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { MOST = 65536, BATCH = 64, FILE_HEADER = 24, RECORD_HEADER = 16 };

static struct iovec packets[MOST];

static size_t load(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t head[FILE_HEADER], record[RECORD_HEADER];
    size_t n = 0;

    if (!file || fread(head, sizeof(head), 1, file) != 1)
        return 0;
    while (n < MOST && fread(record, sizeof(record), 1, file) == 1) {
        uint32_t caplen;
        uint8_t *data;

        memcpy(&caplen, record + 8, sizeof(caplen));
        data = malloc(caplen);
        if (!data || fread(data, caplen, 1, file) != 1)
            break;
        packets[n++] = (struct iovec){data, caplen};
    }
    fclose(file);
    return n;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void wait_until(double when)
{
    struct timespec t = {.tv_sec = (time_t)when};

    t.tv_nsec = (long)((when - (double)t.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

int main(int argc, char **argv)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(0)};
    struct mmsghdr batch[BATCH];
    uint64_t sent = 0, wanted;
    double rate, begin;
    size_t n;
    int fd, on = 1;

    if (argc != 5)
        return 2;
    n = load(argv[2]);
    to.sll_ifindex = (int)if_nametoindex(argv[1]);
    rate = strtod(argv[3], NULL);
    wanted = strtoull(argv[4], NULL, 10);
    fd = socket(AF_PACKET, SOCK_RAW, 0);
    if (n == 0 || to.sll_ifindex == 0 || fd < 0 ||
        bind(fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)) != 0) {
        perror(argv[1]);
        return 1;
    }
    begin = now();
    while (sent < wanted) {
        unsigned count = wanted - sent < BATCH ? (unsigned)(wanted - sent) : BATCH;
        int done;

        for (unsigned i = 0; i < count; i++)
            batch[i] =
                (struct mmsghdr){.msg_hdr = {.msg_iov = &packets[(sent + i) % n], .msg_iovlen = 1}};
        done = sendmmsg(fd, batch, count, 0);
        if (done < 0 && errno != ENOBUFS && errno != EINTR) {
            perror("sendmmsg");
            return 1;
        }
        if (done > 0)
            sent += (uint64_t)done;
        if (rate > 0)
            wait_until(begin + (double)sent / rate);
    }
    printf("%llu %.6f\n", (unsigned long long)sent, now() - begin);
    return 0;
}
