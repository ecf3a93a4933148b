/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef RPCRDMA_CAPTURE_PROGRAM
#include <grp.h>
#include <sys/stat.h>
#endif

#include "source/privilege.h"
#include "source/sandbox.h"
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

bool device_turned(struct device *device, bool down, char *line, size_t size)
{
    enum { TOLD = 10 };

    if (device->down == down)
        return false;
    device->down = down;
    device->interruptions += down;
    if (device->interruptions > TOLD)
        return false;
    snprintf(line, size, "%s: %s%s", device->name,
             down ? "the interface went down: nothing is captured until it is up again"
                  : "the interface is up again; what passed meanwhile was not captured",
             device->interruptions == TOLD && !down ? "; from now on this is only counted" : "");
    return true;
}

void device_clear(struct device *device)
{
    free(device->name);
    free(device->description);
    free(device->filter);
}

/* What somebody who may not capture can do about it. */
static void advise(char *text, size_t size)
{
    char program[256];
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
#ifdef RPCRDMA_CAPTURE_PROGRAM /* a package's: not the administrator's to give capabilities to */
    struct stat other;
    struct group *group = NULL;

    if (stat(RPCRDMA_CAPTURE_PROGRAM, &other) == 0) {
        group = other.st_gid != 0 ? getgrgid(other.st_gid) : NULL;
        if (group)
            snprintf(text, size, ", or as a member of the group %s", group->gr_name);
        else
            snprintf(text, size, "; the package's documentation says how a group may");
        return;
    }
#endif
    if (n > 0)
        program[n] = '\0';
    snprintf(text, size, ", or once: sudo setcap cap_net_raw+ep %s", n > 0 ? program : "rpcrdma");
}

void device_no_permission(const char *name, char *error, size_t size)
{
    char advice[300];

    advise(advice, sizeof(advice));
    snprintf(error, size, "%s%sno permission to capture; run it as root%s", name ? name : "",
             name ? ": " : "", advice);
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
