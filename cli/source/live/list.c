/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "source/devices/device.h"

static bool read_line(const char *device, const char *what, char *line, size_t size)
{
    char path[256];
    FILE *file;
    bool good;

    if (strchr(device, '/'))
        return false;
    snprintf(path, sizeof(path), "/sys/class/net/%s/%s", device, what);
    file = fopen(path, "re");
    if (!file)
        return false;
    good = fgets(line, (int)size, file) != NULL;
    (void)fclose(file); /* was only read */
    line[good ? strcspn(line, "\n") : 0] = '\0';
    return good;
}

static const char *link_name(const char *device)
{
    static const struct {
        unsigned number;
        const char *name;
    } links[] = {{ARPHRD_ETHER, "Ethernet"},
                 {ARPHRD_INFINIBAND, "InfiniBand"}, /* IPoIB, to be exact */
                 {ARPHRD_LOOPBACK, "loopback"},
                 {ARPHRD_NONE, "tunnel"}};
    struct ifreq request = {0};
    const char *name = "";
    int fd;

    if (strlen(device) >= sizeof(request.ifr_name))
        return name;
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return name;
    memcpy(request.ifr_name, device, strlen(device));
    if (ioctl(fd, SIOCGIFHWADDR, &request) == 0)
        for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
            if (links[i].number == request.ifr_hwaddr.sa_family)
                name = links[i].name;
    close(fd);
    return name;
}

static void speed_of(const char *device, char *text, size_t size)
{
    char line[32];
    int megabits;

    *text = '\0';
    if (!read_line(device, "speed", line, sizeof(line)) || sscanf(line, "%d", &megabits) != 1 ||
        megabits <= 0)
        return;
    if (megabits % 1000 == 0)
        snprintf(text, size, "%d Gb/s", megabits / 1000);
    else
        snprintf(text, size, "%d Mb/s", megabits);
}

static bool may_capture(void)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* of no protocol: it gets nothing */
    bool good = fd >= 0 || (errno != EPERM && errno != EACCES);

    if (fd >= 0)
        close(fd);
    return good;
}

bool live_list(void (*each)(void *context, const struct device_entry *entry), void *context,
               char *error, size_t size)
{
    char pcap_error[PCAP_ERRBUF_SIZE], speed[32], refused[DEVICE_ERROR] = "";
    pcap_if_t *all;

    if (pcap_findalldevs(&all, pcap_error) != 0) {
        snprintf(error, size, "network interfaces: %s", pcap_error);
        return false;
    }
    if (!may_capture())
        device_no_permission(NULL, refused, sizeof(refused));
    for (const pcap_if_t *one = all; one; one = one->next) {
        struct device_entry entry = {
            .name = one->name,
            .link = link_name(one->name),
            .speed = speed,
            .state = one->flags & PCAP_IF_UP ? "up" : "down",
            .about = one->description ? one->description : "",
            .sniff = *refused ? refused : "yes",
        };

        /* libpcap's others (USB, netfilter, D-Bus) carry no RDMA */
        if (!*entry.link && strcmp(one->name, "any") != 0)
            continue;
        if (strcmp(one->name, "any") == 0)
            entry.link = "cooked";
        speed_of(one->name, speed, sizeof(speed));
        each(context, &entry);
    }
    pcap_freealldevs(all);
    return true;
}
