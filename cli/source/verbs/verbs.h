/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_VERBS_VERBS_H
#define RPCRDMA_CLI_SOURCE_VERBS_VERBS_H

/* RDMA devices, by libibverbs' sniffer flows. See device.h. */

#include "source/devices/device.h"

/* Whether `name`, less a ":PORT", is an RDMA device's. */
bool verbs_is_device(const char *name);

struct device *verbs_open(const char *name, const struct device_config *config, char *error,
                          size_t size);

bool verbs_list(bool probe, void (*each)(void *context, const struct device_entry *entry),
                void *context, char *error, size_t size);

#endif
