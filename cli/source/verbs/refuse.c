/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drivers refuse sniffing at different places and with different errors; the line says which place,
 * what the system said, and what helps with this driver.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "source/verbs/private.h"

struct advice {
    const char *driver, *text;
};

static const struct advice advices[] = {
    {"mlx5_core",
     "it takes a ConnectX-4 or later whose firmware lets sniffer and other rules share "
     "a receiver, and the physical function, not in switchdev mode; else mirror the "
     "port at the switch"},
    {"mlx4_core",
     "load mlx4_core with log_num_mgm_entry_size=-1, which steers flows in the device"},
    {"bnxt_en", "it takes a kernel and a firmware with RoCE mirroring; else mirror the port at the "
                "switch"},
    {"irdma", "this driver has no sniffing: mirror the port at the switch"},
    {"ice", "this driver has no sniffing: mirror the port at the switch"},
};

static const char *step_name(enum verbs_step step)
{
    switch (step) {
    case VERBS_OPEN:
        return "it cannot be opened";
    case VERBS_PORT:
        return "its port cannot be asked";
    case VERBS_MEMORY:
        return "memory for packets is refused";
    case VERBS_CQ:
        return "a completion queue is refused";
    case VERBS_QP:
        return "a raw packet queue pair is refused";
    default:
        return "a sniffer rule is refused";
    }
}

static bool software(const char *driver)
{
    return strcmp(driver, "rxe") == 0 || strcmp(driver, "siw") == 0;
}

void verbs_refuse(const struct verbs *verbs, struct ibv_device *ib, enum verbs_step step,
                  int number, char *error, size_t size)
{
    const char *name = verbs->device.name, *advice = NULL;
    char driver[64], netdev[64];

    verbs_driver(ib, driver, sizeof(driver));
    verbs_netdev(ib, verbs->port, netdev, sizeof(netdev));
    if (number == EPERM || number == EACCES) {
        device_no_permission(name, error, size);
        return;
    }
    if (step == VERBS_MEMORY && number == ENOMEM) {
        snprintf(error, size,
                 "%s: memory for packets cannot be locked: ulimit -l unlimited, or a "
                 "smaller buffer with -B",
                 name);
        return;
    }
    if (software(driver)) {
        snprintf(error, size,
                 "%s: %s: %s; this device is software: capture from its network "
                 "interface, -i %s",
                 name, step_name(step), strerror(number), *netdev ? netdev : "DEV");
        return;
    }
    for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
        if (strcmp(driver, advices[i].driver) == 0)
            advice = advices[i].text;
    if (number == EBUSY)
        advice = "another program has a rule there: is one capturing already?";
    snprintf(error, size, "%s: %s: %s%s%s%s; %s", name, step_name(step), strerror(number),
             *driver ? " (" : "", driver, *driver ? ")" : "",
             advice ? advice : "if the adapter cannot sniff, mirror the port at the switch");
}
