/* SPDX-License-Identifier: BSD-2-Clause */
/* What the program and the module of devices share: it is in both. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef RPCRDMA_CAPTURE_PROGRAM
#include <grp.h>
#include <sys/stat.h>
#endif

#include "module/module.h"
#include "source/devices/device.h"

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
    if (module_for_capabilities())
        snprintf(text, size, ", or once: sudo setcap cap_net_raw+ep %s",
                 n > 0 ? program : "rpcrdma");
    else
        snprintf(text, size, ", or installed by root, and then once: sudo setcap cap_net_raw+ep %s",
                 RPCRDMA_INSTALLED);
}

void device_no_permission(const char *name, char *error, size_t size)
{
    char advice[300];

    advise(advice, sizeof(advice));
    snprintf(error, size, "%s%sno permission to capture; run it as root%s", name ? name : "",
             name ? ": " : "", advice);
}
