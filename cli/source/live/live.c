/* SPDX-License-Identifier: BSD-2-Clause */
/* A network interface, by libpcap: what soft-RoCE and siw send and receive, and what a mirror port
 * brings. */
#include <net/if.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* after the sockets' header: they need its types */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "source/devices/device.h"

/*
 * How long the kernel may gather packets in a block of the ring before it gives the block to us.
 * libpcap's immediate mode is not used: it gives each packet a slot of the largest size there is
 * (64 KiB where the interface segments for TCP), and a buffer that holds 512 small packets loses
 * some at the first burst. Blocks hold as many as fit, and 10 ms are as good as at once to a
 * reader.
 */
enum { GATHER_MS = 100, GATHER_LIVE_MS = 10 };

struct live {
    struct device device;
    pcap_t *pcap;
    int links;      /* a netlink socket that reports interfaces; -1: none */
    unsigned index; /* the interface's */
    uint32_t received, dropped, interface_dropped; /* as libpcap's 32-bit counters were */
    struct device_stats total;
    device_packet *packet;
    void *context;
};

static void on_packet(u_char *context, const struct pcap_pkthdr *header, const u_char *data)
{
    struct live *live = (struct live *)(void *)context;
    /* nanoseconds where the precision is that */
    int64_t fraction = header->ts.tv_usec;
    struct rpcrdma_packet packet = {
        .time_ns = (int64_t)header->ts.tv_sec * 1000000000 + fraction,
        .linktype = live->device.linktype,
        .caplen = header->caplen,
        .len = header->len,
        .data = data,
    };

    if (pcap_get_tstamp_precision(live->pcap) == PCAP_TSTAMP_PRECISION_MICRO)
        packet.time_ns += fraction * 999;
    live->packet(live->context, &packet);
}

static int live_take(struct device *device, size_t max, device_packet *packet, void *context)
{
    struct live *live = (struct live *)device;
    int n;

    live->packet = packet;
    live->context = context;
    n = pcap_dispatch(live->pcap, (int)max, on_packet, (u_char *)live);
    if (n >= 0)
        return n;
    snprintf(device->error, sizeof(device->error), "%s: %s", device->name, pcap_geterr(live->pcap));
    return -1;
}

static void live_stats(struct device *device, struct device_stats *out)
{
    struct live *live = (struct live *)device;
    struct pcap_stat now;

    if (pcap_stats(live->pcap, &now) == 0) {
        live->total.received += now.ps_recv - live->received;
        live->total.dropped += now.ps_drop - live->dropped;
        live->total.interface_dropped += now.ps_ifdrop - live->interface_dropped;
        live->received = now.ps_recv;
        live->dropped = now.ps_drop;
        live->interface_dropped = now.ps_ifdrop;
        live->total.received_known = live->total.dropped_known = true;
        live->total.interface_dropped_known = true;
    }
    *out = live->total;
    out->interruptions = device->interruptions;
}

/* libpcap goes on when an interface is up again, and says nothing of it. */
static int watch_links(void)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* One message per call: there may be several in one datagram, and the kernel sends them one by one.
 */
static bool live_news(struct device *device, char *line, size_t size)
{
    struct live *live = (struct live *)device;
    union {
        struct nlmsghdr header;
        char room[16384];
    } buffer;
    ssize_t n;

    while (live->links >= 0 && (n = recv(live->links, &buffer, sizeof(buffer), 0)) > 0) {
        const struct nlmsghdr *message = &buffer.header;
        const struct ifinfomsg *about = NLMSG_DATA(message);

        if ((size_t)n < NLMSG_LENGTH(sizeof(*about)) || message->nlmsg_type != RTM_NEWLINK ||
            (unsigned)about->ifi_index != live->index)
            continue;
        if (device_turned(device, !(about->ifi_flags & IFF_UP), line, size))
            return true;
    }
    return false;
}

static void live_close(struct device *device)
{
    struct live *live = (struct live *)device;

    if (live->links >= 0)
        close(live->links);
    if (live->pcap)
        pcap_close(live->pcap);
    device_clear(device);
    free(live);
}

/* One line: the device, what happened, and what libpcap knows more about it. */
static void say(struct live *live, int status, char *error, size_t size)
{
    const char *more = pcap_geterr(live->pcap);

    if (status == PCAP_ERROR_PERM_DENIED || status == PCAP_ERROR_PROMISC_PERM_DENIED)
        device_no_permission(live->device.name, error, size);
    else if (status == PCAP_ERROR_NO_SUCH_DEVICE)
        snprintf(error, size,
                 "%s: there is no such device; rpcrdma capture -D lists those there "
                 "are",
                 live->device.name);
    else if (status == PCAP_ERROR && *more)
        snprintf(error, size, "%s: %s", live->device.name, more);
    else
        snprintf(error, size, "%s: %s", live->device.name, pcap_statustostr(status));
    for (char *p = error; *p; p++)
        if (*p == '\n')
            *p = ' ';
}

static bool set_filter(struct live *live, const char *text, char *error, size_t size)
{
    struct bpf_program program;
    bool good;

    if (pcap_compile(live->pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN) != 0) {
        snprintf(error, size, "filter \"%s\": %s", text, pcap_geterr(live->pcap));
        return false;
    }
    good = pcap_setfilter(live->pcap, &program) == 0;
    if (!good)
        snprintf(error, size, "%s: filter \"%s\": %s", live->device.name, text,
                 pcap_geterr(live->pcap));
    pcap_freecode(&program);
    return good;
}

static bool activate(struct live *live, const struct device_config *config, char *error,
                     size_t size)
{
    uint64_t buffer = config->buffer ? config->buffer : DEVICE_BUFFER;
    int status;

    status =
        pcap_set_snaplen(live->pcap, (int)(config->snaplen ? config->snaplen : DEVICE_SNAPLEN));
    if (status == 0)
        status = pcap_set_promisc(live->pcap, !config->not_promiscuous);
    if (status == 0)
        status = pcap_set_timeout(live->pcap, config->immediate ? GATHER_LIVE_MS : GATHER_MS);
    if (status == 0)
        status = pcap_set_buffer_size(live->pcap, buffer < INT32_MAX ? (int)buffer : INT32_MAX);
    if (status == 0)
        status = pcap_set_tstamp_precision(live->pcap, PCAP_TSTAMP_PRECISION_NANO);
    if (status == 0 || status == PCAP_ERROR_TSTAMP_PRECISION_NOTSUP) /* then: microseconds */
        status = pcap_activate(live->pcap);
    if (status < 0) { /* above: a warning, of no promiscuous mode for instance */
        say(live, status, error, size);
        return false;
    }
    return true;
}

static bool set_up(struct live *live, const struct device_config *config, char *error, size_t size)
{
    struct device *device = &live->device;
    char pcap_error[PCAP_ERRBUF_SIZE];
    int link;

    if (!activate(live, config, error, size))
        return false;
    if (config->filter && *config->filter && !set_filter(live, config->filter, error, size))
        return false;
    link = pcap_datalink(live->pcap);
    device->linktype = link == DLT_INFINIBAND ? 247 : (uint32_t)link;
    if (link == DLT_RAW)
        device->linktype = 101; /* LINKTYPE_RAW: DLT_RAW's number differs between systems */
    device->snaplen = (uint32_t)pcap_snapshot(live->pcap);
    device->fd = pcap_get_selectable_fd(live->pcap);
    snprintf(device->clock, sizeof(device->clock), "time stamps: host's clock, by the kernel, %s",
             pcap_get_tstamp_precision(live->pcap) == PCAP_TSTAMP_PRECISION_NANO ? "nanoseconds"
                                                                                 : "microseconds");
    if (pcap_setnonblock(live->pcap, 1, pcap_error) != 0 || device->fd < 0) {
        snprintf(error, size, "%s: it cannot be waited for", device->name);
        return false;
    }
    return true;
}

struct device *live_open(const char *name, const struct device_config *config, char *error,
                         size_t size)
{
    static const struct device_ops ops = {live_take, NULL, live_stats, live_news, live_close};
    struct live *live = calloc(1, sizeof(*live));
    char pcap_error[PCAP_ERRBUF_SIZE] = "";

    if (!live || !(live->device.name = strdup(name))) {
        snprintf(error, size, "out of memory");
        free(live);
        return NULL;
    }
    live->device.ops = &ops;
    live->links = watch_links();
    live->index = if_nametoindex(name);
    if (config->filter && *config->filter)
        live->device.filter = strdup(config->filter);
    live->pcap = pcap_create(name, pcap_error);
    if (!live->pcap)
        snprintf(error, size, "%s: %s", name, pcap_error);
    else if (set_up(live, config, error, size))
        return &live->device;
    live_close(&live->device);
    return NULL;
}
