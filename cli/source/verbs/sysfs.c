/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/verbs/private.h"

static bool read_line(const char *path, char *line, size_t size)
{
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        n = read(fd, line, size - 1);
        close(fd);
    }
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return n > 0;
}

/* The first line of a file below the device's folder; false where there is none. */
static bool read_attribute(const struct ibv_device *ib, const char *file, char *line, size_t size)
{
    char path[IBV_SYSFS_PATH_MAX + 128];

    snprintf(path, sizeof(path), "%s/%s", ib->ibdev_path, file);
    return read_line(path, line, size);
}

void verbs_driver(const struct ibv_device *ib, char *name, size_t size)
{
    char path[IBV_SYSFS_PATH_MAX + 128], target[256];
    const char *last;
    ssize_t n;

    *name = '\0';
    snprintf(path, sizeof(path), "%s/device/driver", ib->ibdev_path);
    n = readlink(path, target, sizeof(target) - 1);
    if (n <= 0) {
        /* software devices hang on nothing: soft-RoCE and, of iWARP, siw */
        n = readlink(ib->ibdev_path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        if (strstr(target, "/virtual/"))
            snprintf(name, size, "%s", ib->node_type == IBV_NODE_RNIC ? "siw" : "rxe");
        return;
    }
    target[n] = '\0';
    last = strrchr(target, '/');
    snprintf(name, size, "%s", last ? last + 1 : target);
}

/* An iWARP device's only GID is the address of its network interface, and zeros behind it. VLANs
 * and bridges may share that address: the interface that is a device of its own comes first. */
static void netdev_by_address(const struct ibv_device *ib, uint8_t port, char *name, size_t size)
{
    char file[64], gid[64], path[320], address[32];
    unsigned w[8];
    DIR *folder;

    *name = '\0';
    snprintf(file, sizeof(file), "ports/%u/gids/0", port);
    if (!read_attribute(ib, file, gid, sizeof(gid)) ||
        sscanf(gid, "%4x:%4x:%4x:%4x:%4x:%4x:%4x:%4x", &w[0], &w[1], &w[2], &w[3], &w[4], &w[5],
               &w[6], &w[7]) != 8 ||
        (w[0] | w[1] | w[2]) == 0 || (w[3] | w[4] | w[5] | w[6] | w[7]) != 0)
        return;
    snprintf(gid, sizeof(gid), "%02x:%02x:%02x:%02x:%02x:%02x", w[0] >> 8, w[0] & 0xff, w[1] >> 8,
             w[1] & 0xff, w[2] >> 8, w[2] & 0xff);
    folder = opendir("/sys/class/net");
    for (const struct dirent *one; folder && (one = readdir(folder));) {
        snprintf(path, sizeof(path), "/sys/class/net/%s/address", one->d_name);
        if (!read_line(path, address, sizeof(address)) || strcmp(address, gid) != 0)
            continue;
        snprintf(path, sizeof(path), "/sys/class/net/%s/device", one->d_name);
        if (!*name || access(path, F_OK) == 0)
            snprintf(name, size, "%s", one->d_name);
    }
    if (folder)
        closedir(folder);
}

void verbs_netdev(const struct ibv_device *ib, uint8_t port, char *name, size_t size)
{
    char file[64];

    snprintf(file, sizeof(file), "ports/%u/gid_attrs/ndevs/0", port);
    if (!read_attribute(ib, file, name, size) && !read_attribute(ib, "parent", name, size))
        netdev_by_address(ib, port, name, size);
}

int verbs_open_out_of_buffer(const struct ibv_device *ib, uint8_t port)
{
    char path[IBV_SYSFS_PATH_MAX + 128];

    snprintf(path, sizeof(path), "%s/ports/%u/hw_counters/out_of_buffer", ib->ibdev_path, port);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool verbs_read_counter(int fd, uint64_t *value)
{
    char text[32];
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : -1;

    if (n <= 0 || text[0] < '0' || text[0] > '9')
        return false;
    text[n] = '\0';
    *value = strtoull(text, NULL, 10);
    return true;
}
