/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "source/verbs/private.h"

enum { PROBE_RECEIVES = 16 };

/* IBTA volume 1, PortInfo: LinkSpeedActive (and its extension) in lanes of LinkWidthActive */
static void speed_of(const struct ibv_port_attr *attr, char *text, size_t size)
{
    static const struct {
        uint8_t code;
        unsigned tenths;
    } speeds[] = {{1, 25},   {2, 50},   {4, 100},  {8, 100},
                  {16, 140}, {32, 250}, {64, 500}, {128, 1000}};
    static const struct {
        uint8_t code;
        unsigned lanes;
    } widths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
    unsigned tenths = 0;

    *text = '\0';
    for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
        if (speeds[i].code == attr->active_speed)
            tenths = speeds[i].tenths;
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
        if (widths[i].code == attr->active_width && tenths > 0)
            snprintf(text, size, tenths * widths[i].lanes % 10 ? "%u.%u Gb/s" : "%u Gb/s",
                     tenths * widths[i].lanes / 10, tenths * widths[i].lanes % 10);
}

static const char *link_name(uint8_t layer)
{
    return layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
}

/* Whether it can be captured from is known by trying. */
static void try_it(const char *name, char *text, size_t size)
{
    struct device_config config = {.receives = PROBE_RECEIVES};
    char error[DEVICE_ERROR];
    struct device *device = verbs_open(name, &config, error, sizeof(error));
    size_t prefix = strlen(name) + strlen(": ");

    snprintf(text, size, "%s", device ? "yes" : strlen(error) > prefix ? error + prefix : error);
    device_close(device);
}

static void list_ports(struct ibv_device *ib, bool probe, struct ibv_context *context,
                       void (*each)(void *context, const struct device_entry *entry), void *to)
{
    struct ibv_device_attr device = {0};
    char name[IBV_SYSFS_NAME_MAX + 8], speed[32], driver[64], netdev[64], about[160];
    char sniff[DEVICE_ERROR];

    if (ibv_query_device(context, &device) != 0)
        device.phys_port_cnt = 1;
    verbs_driver(ib, driver, sizeof(driver));
    for (unsigned number = 1; number <= device.phys_port_cnt; number++) {
        const uint8_t port = (uint8_t)number;
        struct ibv_port_attr attr = {0};

        if (ibv_query_port(context, port, &attr) != 0)
            continue;
        if (device.phys_port_cnt > 1)
            snprintf(name, sizeof(name), "%s:%u", ib->name, port);
        else
            snprintf(name, sizeof(name), "%s", ib->name);
        verbs_netdev(ib, port, netdev, sizeof(netdev));
        speed_of(&attr, speed, sizeof(speed));
        snprintf(about, sizeof(about), "%s%s%s", driver, *driver && *netdev ? ", " : "", netdev);
        sniff[0] = '\0';
        if (probe)
            try_it(name, sniff, sizeof(sniff));
        each(to, &(struct device_entry){.name = name,
                                        .rdma = true,
                                        .link = link_name(attr.link_layer),
                                        .speed = speed,
                                        .state = attr.state == IBV_PORT_ACTIVE ? "up" : "down",
                                        .about = about,
                                        .sniff = sniff});
    }
}

bool verbs_list(bool probe, void (*each)(void *context, const struct device_entry *entry),
                void *context, char *error, size_t size)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    char sniff[DEVICE_ERROR];

    if (!list) { /* a kernel without RDMA has none: that is no error */
        if (errno == ENOSYS || errno == ENOENT)
            return true;
        snprintf(error, size, "RDMA devices: %s", strerror(errno));
        return false;
    }
    for (struct ibv_device **ib = list; *ib; ib++) {
        struct ibv_context *open = ibv_open_device(*ib);

        if (!open) {
            sniff[0] = '\0';
            if (probe)
                try_it((*ib)->name, sniff, sizeof(sniff));
            each(context, &(struct device_entry){.name = (*ib)->name,
                                                 .rdma = true,
                                                 .link = "",
                                                 .speed = "",
                                                 .state = "",
                                                 .about = "",
                                                 .sniff = sniff});
            continue;
        }
        list_ports(*ib, probe, open, each, context);
        ibv_close_device(open);
    }
    ibv_free_device_list(list);
    return true;
}
