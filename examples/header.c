/* SPDX-License-Identifier: BSD-2-Clause */
/* header FILE [DIALECT]: every field of the one message in a file, version 1 or 2, and where it
 * stands. The file has what an RDMA Send carried, from the XID on. No packets are needed for that,
 * and no memory. */
#include <inttypes.h>
#include <rpcrdma/rpcrdma.h>
#include <stdio.h>

static void begin(void *context, const struct rpcrdma_record *record, uint32_t off, uint32_t len)
{
    int *depth = context;

    printf("%*s%s (%" PRIu32 " bytes at %" PRIu32 ")\n", 2 * (*depth)++, "", record->name, len,
           off);
}

static void field(void *context, const struct rpcrdma_value *value)
{
    const struct rpcrdma_field *what = value->field;
    const int *depth = context;

    printf("%*s%s: ", 2 * *depth, "", what->name);
    if (value->base == RPCRDMA_BASE_BYTES)
        printf("%" PRIu32 " bytes", value->bytes.len);
    else if (value->base == RPCRDMA_BASE_HEX)
        printf("0x%0*" PRIx64, (int)what->width / 4, value->number);
    else if (value->name)
        printf("%s", value->name);
    else
        printf("%" PRIu64, value->number);
    if (value->len > 0)
        printf(" (at %" PRIu32 ", %s)", value->off, what->section);
    putchar('\n');
}

static void end(void *context, const struct rpcrdma_record *record)
{
    int *depth = context;

    (void)record;
    --*depth;
}

int main(int argc, char **argv)
{
    const struct rpcrdma_dialect *dialect = argc == 3 ? rpcrdma_dialect_by_name(argv[2]) : NULL;
    FILE *file = argc == 2 || dialect ? fopen(argv[1], "rb") : NULL;
    int depth = 0;
    const struct rpcrdma_visitor visitor = {begin, field, end, &depth};
    static unsigned char data[1 << 20];
    struct rpcrdma_message message;
    struct rpcrdma_rpc rpc;
    size_t n;

    if (!file) {
        fprintf(stderr, "usage: header FILE [v1|cel-00|...|ietf-07]\n");
        return 1;
    }
    n = fread(data, 1, sizeof(data), file);
    fclose(file);
    rpcrdma_message_decode(dialect, data, n, n, &message);
    rpcrdma_walk_message(&message, -1, &visitor);
    if (message.status != RPCRDMA_OK) {
        printf("not valid at byte %" PRIu32 ": %s\n", message.error_off, message.what);
        return 1;
    }
    if (message.payload.len > 0 && rpcrdma_rpc_decode(message.payload.data, message.payload.caplen,
                                                      message.payload.len, &rpc) == RPCRDMA_OK)
        rpcrdma_walk_rpc_header(&rpc, message.payload.off, NULL, &visitor);
    return 0;
}
