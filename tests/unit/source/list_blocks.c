/* SPDX-License-Identifier: BSD-2-Clause */
/* list_blocks FILE: a line per segment of TCP that has a SACK: number of its packet, then where
 * each block begins and ends, that of a D-SACK first, in hexadecimal. */
#include <inttypes.h>
#include <stdio.h>

#include "net/net.h"
#include "source/source.h"

static void on_op(void *context, const struct rpcrdma_op *op)
{
    (void)context, (void)op;
}

static void on_segment(void *context, const struct rpcrdma_tcp_segment *segment)
{
    (void)context;
    if (segment->twice == segment->twice_end && segment->n_arrived == 0)
        return;
    printf("%" PRIu64, segment->frame);
    if (segment->twice != segment->twice_end)
        printf(" %" PRIx32 " %" PRIx32, segment->twice, segment->twice_end);
    for (int i = 0; i < segment->n_arrived; i++)
        printf(" %" PRIx32 " %" PRIx32, segment->arrived[i].first, segment->arrived[i].end);
    printf("\n");
}

int main(int argc, char **argv)
{
    const struct rpcrdma_net_sink sink = {.size = sizeof(sink), .op = on_op, .segment = on_segment};
    char error[512];
    struct source *source = source_file_open(argc > 1 ? argv[1] : "-", NULL, error, sizeof(error));
    struct source_packet packets[SOURCE_BATCH];
    struct rpcrdma_net *net = rpcrdma_net_new(NULL, &sink);
    enum source_status status = SOURCE_OK;
    size_t n;

    if (!source || !net) {
        fprintf(stderr, "%s\n", source ? "no memory" : error);
        return 2;
    }
    while ((status = source_next(source, packets, SOURCE_BATCH, &n)) == SOURCE_OK)
        for (size_t i = 0; i < n; i++)
            rpcrdma_net_packet(net, &packets[i].packet);
    if (status == SOURCE_ERROR)
        fprintf(stderr, "%s\n", source->error);
    rpcrdma_net_end(net);
    rpcrdma_net_free(net);
    source_close(source);
    return status == SOURCE_ERROR ? 2 : 0;
}
