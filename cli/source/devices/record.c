/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/devices/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "source/clock.h"

void record_interface(struct pcapng_writer *writer, const struct device *device)
{
    pcapng_write_interface(writer, &(struct pcapng_interface){.linktype = device->linktype,
                                                              .snaplen = device->snaplen,
                                                              .name = device->name,
                                                              .description = device->description,
                                                              .filter = device->filter,
                                                              .comment = device->clock});
}

void record_counts(const struct device_stats *stats, struct pcapng_statistics *counts,
                   char *comment, size_t size)
{
    *counts = (struct pcapng_statistics){
        .received_known = stats->received_known,
        .received = stats->received,
        .interface_dropped_known = stats->interface_dropped_known || stats->failed > 0,
        .interface_dropped = stats->interface_dropped + stats->failed,
        .dropped_known = stats->dropped_known,
        .dropped = stats->dropped,
        .comment = comment,
    };
    *comment = '\0';
    if (stats->failed > 0 && !stats->dropped_known)
        snprintf(comment, size, "%" PRIu64 " receives failed; what was lost besides is not known",
                 stats->failed);
    else if (!stats->dropped_known)
        snprintf(comment, size, "how many packets were lost is not known");
    if (stats->interruptions > 0) {
        size_t n = strlen(comment);

        snprintf(comment + n, size - n, "%sthe interface was down %" PRIu64 " time%s",
                 n > 0 ? "; " : "", stats->interruptions, plural(stats->interruptions));
    }
}

void record_statistics(struct pcapng_writer *writer, uint32_t number, struct device *device)
{
    struct device_stats stats = {0};
    struct pcapng_statistics counts;
    char comment[200];

    device->ops->stats(device, &stats);
    record_counts(&stats, &counts, comment, sizeof(comment));
    pcapng_write_statistics(writer, number, false, clock_now(CLOCK_REALTIME), &counts);
}
