/* SPDX-License-Identifier: BSD-2-Clause */
/* Input: a dialect, a number of bytes at the end that were not captured, a message. */
#include <string.h>

#include "fuzz.h"
#include "wire/message.h"
#include "wire/rpc.h"
#include "wire/walk.h"
#include "wire/xchar.h"

struct depth {
    int now, most;
    uint32_t len;
};

static void begin(void *context, const struct rpcrdma_record *record, uint32_t off, uint32_t len)
{
    struct depth *depth = context;

    (void)record;
    depth->now++;
    MUST(off <= depth->len && len <= depth->len - off);
}

static void field(void *context, const struct rpcrdma_value *value)
{
    struct depth *depth = context;

    MUST(value->field);
    MUST(value->off <= depth->len && value->len <= depth->len - value->off);
}

static void end(void *context, const struct rpcrdma_record *record)
{
    struct depth *depth = context;

    (void)record;
    MUST(depth->now-- > 0);
}

/* XDR is canonical: what decodes encodes to the same bytes. */
static void round_trip(const struct rpcrdma_message *message)
{
    size_t written = 0;
    uint8_t *again = malloc(message->len + 1);

    MUST(again);
    MUST(rpcrdma_message_encode(message, again, message->len, &written) == RPCRDMA_OK);
    MUST(written == message->len);
    MUST(memcmp(again, message->base, written) == 0);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct depth depth = {0};
    const struct rpcrdma_visitor visitor = {begin, field, end, &depth};
    const struct rpcrdma_dialect *dialect = NULL;
    struct rpcrdma_message message;
    struct rpcrdma_xchar xchar;
    struct rpcrdma_rpc rpc;
    size_t len, caplen;
    uint8_t *copy;

    if (size < 2)
        return 0;
    if (data[0] % (RPCRDMA_DIALECT_COUNT + 1) < RPCRDMA_DIALECT_COUNT)
        dialect = rpcrdma_dialect(data[0] % (RPCRDMA_DIALECT_COUNT + 1));
    len = size - 2;
    caplen = len > data[1] ? len - data[1] : 0;
    copy = malloc(caplen ? caplen : 1); /* no byte beyond what was captured can be read unseen */
    MUST(copy);
    if (caplen)
        memcpy(copy, data + 2, caplen);

    rpcrdma_message_decode(dialect, copy, caplen, len, &message);
    MUST(message.dialect);
    MUST(message.status == RPCRDMA_OK || message.error_off <= len);
    MUST(message.status == RPCRDMA_OK || message.what);
    MUST(message.status != RPCRDMA_TRUNCATED || caplen < len);
    if (message.present & RPCRDMA_HAS_HEADER_LENGTH) {
        MUST(message.header_length <= len);
        MUST(message.payload.len == len - message.header_length);
        MUST(message.payload.caplen <= message.payload.len);
        rpcrdma_rpc_decode(message.payload.data, message.payload.caplen, message.payload.len, &rpc);
    }
    if (message.status == RPCRDMA_OK && !message.noncanonical && caplen == len)
        round_trip(&message);
    rpcrdma_xchar_decode(&message, &xchar);
    depth.len = (uint32_t)len;
    rpcrdma_walk_message(&message, -1, &visitor);
    MUST(depth.now == 0);
    free(copy);
    return 0;
}
