/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_DEVICES_RECORD_H
#define RPCRDMA_CLI_SOURCE_DEVICES_RECORD_H

/* What a pcapng file says of a device. */

#include "source/devices/device.h"
#include "source/formats/pcapng_writer.h"

void record_interface(struct pcapng_writer *writer, const struct device *device);

/* Its counts as the file has them. comment: room for words on what is not known. */
void record_counts(const struct device_stats *stats, struct pcapng_statistics *counts,
                   char *comment, size_t size);

/* Its counts so far. */
void record_statistics(struct pcapng_writer *writer, uint32_t number, struct device *device);

#endif
