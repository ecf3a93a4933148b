/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/devices/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/devices/calls.h"
#include "source/rights/privilege.h"
#include "source/rights/sandbox.h"

/* What was built without has no function there. */
static const struct devices_calls *calls(char *error, size_t size)
{
#if defined HAVE_PCAP || defined HAVE_VERBS
    return module_calls(MODULE_DEVICES, sizeof(struct devices_calls), error, size);
#else
    static const struct devices_calls none = {DEVICES_CALLS_FILTER(MODULE_ENTRY)};

    (void)error;
    (void)size;
    return &none;
#endif
}

struct device *device_open(const char *name, const struct device_config *config, char *error,
                           size_t size)
{
    static const struct device_config defaults = {0};
    const struct devices_calls *devices = calls(error, size);

    if (!devices)
        return NULL;
    if (!config)
        config = &defaults;
    if (devices->verbs_is_device && devices->verbs_is_device(name))
        return devices->verbs_open(name, config, error, size);
    if (devices->live_open)
        return devices->live_open(name, config, error, size);
    snprintf(error, size,
             "%s: there is no such RDMA device, and this program was built without "
             "libpcap: it cannot capture from network interfaces",
             name);
    return NULL;
}

bool device_list(bool probe, void (*each)(void *context, const struct device_entry *entry),
                 void *context, char *error, size_t size)
{
    const struct devices_calls *devices = calls(error, size);
    bool good = devices != NULL;

    if (good && devices->verbs_list)
        good = devices->verbs_list(probe, each, context, error, size);
    if (devices && devices->live_list)
        good = devices->live_list(each, context, error, size) && good;
    return good;
}

bool device_prepare(char *error, size_t size)
{
    return calls(error, size) != NULL;
}

/* A filter is there because the module is. */
static const struct devices_calls *filters;

struct device_filter *device_filter_new(const char *text, uint32_t linktype, uint32_t snaplen,
                                        char *error, size_t size)
{
    filters = calls(error, size);
    if (!filters)
        return NULL;
    return filters->live_filter_new(text, linktype, snaplen, error, size);
}

bool device_filter_match(const struct device_filter *filter, const struct rpcrdma_packet *packet)
{
    return filters->live_filter_match(filter, packet);
}

void device_filter_free(struct device_filter *filter)
{
    if (filter)
        filters->live_filter_free(filter);
}

/* libpcap reads what the interface itself dropped. The folder is another than it seems, and the one
 * that it is stays where it is. */
static char *counters_of(const char *name)
{
    static const char before[] = "/sys/class/net/", behind[] = "/statistics";
    size_t size = sizeof(before) + strlen(name) + sizeof(behind);
    char *path = strchr(name, '/') ? NULL : malloc(size);

    if (path)
        snprintf(path, size, "%s%s%s", before, name, behind);
    return path;
}

bool device_confine(struct device *const *devices, size_t n, bool no_sandbox, char *error,
                    size_t size)
{
    char **counters;
    struct sandbox sandbox = {.captures = true};

    if (!privilege_drop(error, size))
        return false;
    if (no_sandbox)
        return true;
    counters = calloc(n, sizeof(*counters));
    for (size_t i = 0; counters && i < n; i++)
        if ((counters[sandbox.n_reads] = counters_of(devices[i]->name)))
            sandbox.n_reads++;
    sandbox.reads = counters;
    sandbox_enter(&sandbox);
    for (size_t i = 0; i < sandbox.n_reads; i++)
        free(counters[i]);
    free(counters);
    return true;
}
