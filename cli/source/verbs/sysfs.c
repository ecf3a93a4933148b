/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/verbs/private.h"

bool verbs_read(const struct ibv_device *ib, const char *file, char *line, size_t size)
{
    char path[IBV_SYSFS_PATH_MAX + 128];
    ssize_t n = -1;
    int fd;

    snprintf(path, sizeof(path), "%s/%s", ib->ibdev_path, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, line, size - 1);
        close(fd);
    }
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return n > 0;
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
        /* software devices hang on nothing; their names are their drivers', by convention */
        if (strncmp(ib->name, "rxe", 3) == 0 || strncmp(ib->name, "siw", 3) == 0)
            snprintf(name, size, "%.3s", ib->name);
        return;
    }
    target[n] = '\0';
    last = strrchr(target, '/');
    snprintf(name, size, "%s", last ? last + 1 : target);
}

void verbs_netdev(const struct ibv_device *ib, uint8_t port, char *name, size_t size)
{
    char file[64];

    snprintf(file, sizeof(file), "ports/%u/gid_attrs/ndevs/0", port);
    if (!verbs_read(ib, file, name, size) && !verbs_read(ib, "parent", name, size))
        *name = '\0';
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
