/* SPDX-License-Identifier: BSD-2-Clause */
/* list_packets FILE: a line per packet: number, time in ns, captured and original length, link
 * type. */
#include <inttypes.h>
#include <stdio.h>

#include "source/source.h"

int main(int argc, char **argv)
{
    char error[512];
    struct source *source = source_file_open(argc > 1 ? argv[1] : "-", NULL, error, sizeof(error));
    struct source_packet packets[SOURCE_BATCH];
    enum source_status status = SOURCE_OK;
    size_t n;
    int result = 0;

    if (!source) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    while ((status = source_next(source, packets, SOURCE_BATCH, &n)) != SOURCE_END) {
        if (status == SOURCE_ERROR) {
            fprintf(stderr, "%s\n", source->error);
            result = 2;
        }
        for (size_t i = 0; i < n; i++) {
            const struct rpcrdma_packet *p = &packets[i].packet;

            printf("%" PRIu64 " %" PRId64 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", p->frame,
                   p->time_ns, p->caplen, p->len, p->linktype);
        }
    }
    source_close(source);
    return result;
}
