/* SPDX-License-Identifier: BSD-2-Clause */
/* Input: 0 for windows of one page, else the default, 2 with times from the packets, 3 with these
 * asked for; a capture file of any format. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "source/source.h"

static uint32_t sum; /* of all bytes given out: each must be readable */

static void take(const struct source_packet *packet, uint64_t *frame)
{
    MUST(packet->packet.frame == ++*frame);
    MUST(packet->packet.caplen <= SOURCE_MAX_PACKET);
    for (uint32_t i = 0; i < packet->packet.caplen; i++)
        sum += packet->packet.data[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source_config config = {0};
    struct source_packet packets[SOURCE_BATCH];
    struct source_interface interface;
    struct source *source;
    enum source_status status;
    char path[64], error[512] = "";
    uint64_t frame = 0;
    int fd, errors = 0;
    size_t n;

    if (size < 1)
        return 0;
    config.window = data[0] == 0 ? 4096 : 0;
    fd = memfd_create("fuzz", 0);
    MUST(fd >= 0);
    MUST(write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    source = source_file_open(path, &config, error, sizeof(error));
    MUST(source || error[0]);
    if (source && (data[0] == 2 || data[0] == 3))
        MUST(source = source_timed_open(source, data[0] == 3, error, sizeof(error)));
    while (source && (status = source_next(source, packets, SOURCE_BATCH, &n)) != SOURCE_END) {
        if (status == SOURCE_ERROR) {
            MUST(source->error[0] && n == 0 && ++errors < 1000);
            continue;
        }
        MUST(n > 0 && n <= SOURCE_BATCH);
        for (size_t i = 0; i < n; i++) {
            take(&packets[i], &frame);
            source_interface(source, packets[i].interface, &interface);
        }
    }
    if (source)
        source_close(source);
    close(fd);
    return 0;
}
