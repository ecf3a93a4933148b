/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "source/verbs/verbs.h"

struct device *device_open(const char *name, const struct device_config *config, char *error,
                           size_t size)
{
    static const struct device_config defaults = {0};

    if (!config)
        config = &defaults;
#ifdef HAVE_VERBS
    if (verbs_is_device(name))
        return verbs_open(name, config, error, size);
#endif
#ifdef HAVE_PCAP
    return live_open(name, config, error, size);
#else
    (void)config;
    snprintf(error, size,
             "%s: there is no such RDMA device, and this program was built without "
             "libpcap: it cannot capture from network interfaces",
             name);
    return NULL;
#endif
}

bool device_list(bool probe, void (*each)(void *context, const struct device_entry *entry),
                 void *context, char *error, size_t size)
{
    bool good = true;

    (void)probe;
    (void)each;
    (void)context;
    (void)error;
    (void)size;
#ifdef HAVE_VERBS
    good = verbs_list(probe, each, context, error, size);
#endif
#ifdef HAVE_PCAP
    good = live_list(each, context, error, size) && good;
#endif
    return good;
}

void device_clear(struct device *device)
{
    free(device->name);
    free(device->description);
    free(device->filter);
}

void device_no_permission(const char *name, char *error, size_t size)
{
    char program[256];
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (n > 0)
        program[n] = '\0';
    snprintf(error, size,
             "%s%sno permission to capture; run it as root, or once: "
             "sudo setcap cap_net_raw+ep %s",
             name ? name : "", name ? ": " : "", n > 0 ? program : "rpcrdma");
}

#ifndef HAVE_PCAP
struct device_filter *device_filter_new(const char *text, uint32_t linktype, uint32_t snaplen,
                                        char *error, size_t size)
{
    (void)linktype;
    (void)snaplen;
    snprintf(error, size,
             "filter \"%s\": this program was built without libpcap, which knows "
             "filters",
             text);
    return NULL;
}

bool device_filter_match(const struct device_filter *filter, const struct rpcrdma_packet *packet)
{
    (void)filter;
    (void)packet;
    return true;
}

void device_filter_free(struct device_filter *filter)
{
    (void)filter;
}
#endif
