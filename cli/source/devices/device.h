/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_DEVICES_DEVICE_H
#define RPCRDMA_CLI_SOURCE_DEVICES_DEVICE_H

/*
 * What can be captured from: a network interface (live/, by libpcap) or an RDMA device (verbs/, by
 * libibverbs). pump.h reads devices; nothing else does.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net.h"

enum {
    DEVICE_SNAPLEN = 262144,          /* as tcpdump and Wireshark have it */
    DEVICE_BUFFER = 32 * 1024 * 1024, /* bytes */
    DEVICE_RECEIVES = 8192,           /* posted to an RDMA device */
};

struct device_config {
    uint32_t snaplen;    /* bytes to keep of each packet; 0: DEVICE_SNAPLEN */
    uint64_t buffer;     /* bytes between device and program; 0: the default */
    uint32_t receives;   /* RDMA devices: receives to post; 0: what fits in the buffer */
    int not_promiscuous; /* an int, for option parsers */
    bool immediate;      /* packets are wanted at once, not when a buffer of them is full */
    const char *filter;  /* pcap-filter(7); NULL or "": everything */
};

/* Counts since the device was opened. What it cannot count is unknown, which is not 0. */
struct device_stats {
    bool received_known, dropped_known, interface_dropped_known;
    uint64_t received;          /* packets that passed the filter, where that is known */
    uint64_t dropped;           /* because we were too slow: no buffer was free */
    uint64_t interface_dropped; /* by the interface, before they came to a buffer */
    uint64_t failed;            /* receives that the device ended with an error: packets lost */
    uint64_t interruptions;     /* how often it was down, as far as that was reported */
};

struct device;

typedef void device_packet(void *context, const struct rpcrdma_packet *packet);

struct device_ops {
    /*
     * Gives the packets at hand to `packet`, up to max, without waiting. Their data is valid
     * during the call. Returns how many, or -1 with device->error set: the device is gone.
     */
    int (*take)(struct device *device, size_t max, device_packet *packet, void *context);
    /* Before waiting for device->fd: false when there are packets after all, or an error. */
    bool (*arm)(struct device *device); /* NULL: fd does without */
    void (*stats)(struct device *device, struct device_stats *out);
    /* What happened to the device that is worth a line, for now and then: false when there is
     * nothing more. NULL: never anything. */
    bool (*news)(struct device *device, char *line, size_t size);
    void (*close)(struct device *device);
};

enum { DEVICE_ERROR = 512 };

/* The beginning of every device's own struct. Strings are the device's. */
struct device {
    const struct device_ops *ops;
    char *name, *description, *filter; /* the last two may be NULL */
    char clock[160];                   /* where time stamps come from, in words */
    uint32_t linktype, snaplen;
    int fd;         /* readable when there may be packets */
    int64_t nap_ns; /* packets may wait so long in the device: it has room, and the time of each */
    char error[DEVICE_ERROR];
    bool down; /* it was, when that was reported last */
    uint64_t interruptions;
};

/* The device went down, or is up again: the line for that, false where nothing changed, or so often
 * before that it is only counted. For the implementations. */
bool device_turned(struct device *device, bool down, char *line, size_t size);

/*
 * Opens a network interface or an RDMA device ("mlx5_0", "mlx5_0:2" for its port 2). NULL with one
 * line in `error`: what is wrong with it and what to do. config may be NULL.
 */
struct device *device_open(const char *name, const struct device_config *config, char *error,
                           size_t size);

/* One of what device_open takes. Strings are valid during the call. */
struct device_entry {
    const char *name;
    bool rdma;
    const char *link;  /* "Ethernet", "InfiniBand", ... */
    const char *speed; /* "100 Gb/s"; "" where unknown */
    const char *state; /* "up", "down" */
    const char *about; /* RDMA: driver and network interface; else a description. "": none */
    const char *sniff; /* whether it can be captured from: "yes", or why not, or what to try */
};

/* probe: RDMA devices are tried, which takes permission, else `sniff` is "" for them.
 * False with one line in `error` where a part of the list could not be had. */
bool device_list(bool probe, void (*each)(void *context, const struct device_entry *entry),
                 void *context, char *error, size_t size);

/* The line that says that there is no permission and what to do about it: what is in `sniff` then.
 * With `name`, that of an error. */
void device_no_permission(const char *name, char *error, size_t size);

static inline void device_close(struct device *device) /* NULL is fine */
{
    if (device)
        device->ops->close(device);
}

/* What captures from these devices, which are open, gives up all privileges, and every right that
 * it does not need; no_sandbox: only the privileges. False with one line in `error`: it must not go
 * on. */
bool device_confine(struct device *const *devices, size_t n, bool no_sandbox, char *error,
                    size_t size);

/* Before the sandbox is entered, for device_open, device_list and device_filter_new after that: loads
 * the libraries. False with one line in `error`. */
bool device_prepare(char *error, size_t size);

/* For the implementations. Opens `name`, or NULL with `error`. */
struct device *live_open(const char *name, const struct device_config *config, char *error,
                         size_t size);
bool live_list(void (*each)(void *context, const struct device_entry *entry), void *context,
               char *error, size_t size);

/* Frees the strings. */
void device_clear(struct device *device);

/* pcap-filter(7) applied by the program itself, for devices that have no filter of their own. */
struct device_filter;
struct device_filter *device_filter_new(const char *text, uint32_t linktype, uint32_t snaplen,
                                        char *error, size_t size);
bool device_filter_match(const struct device_filter *filter, const struct rpcrdma_packet *packet);
void device_filter_free(struct device_filter *filter); /* NULL is fine */

/* Those of libpcap's. */
struct device_filter *live_filter_new(const char *text, uint32_t linktype, uint32_t snaplen,
                                      char *error, size_t size);
bool live_filter_match(const struct device_filter *filter, const struct rpcrdma_packet *packet);
void live_filter_free(struct device_filter *filter); /* NULL is fine */

#endif
