/* SPDX-License-Identifier: BSD-2-Clause */
/* Input: a dialect, a number of bytes at the end that were not captured, a message. */
#include "wire/message.h"
#include "fuzz.h"
#include "wire/rpc.h"
#include "wire/walk.h"
#include "wire/xchar.h"

struct depth {
    int now;
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
    if (written > 0) {
        MUST(rpcrdma_message_encode(message, again, written - 1, &written) == RPCRDMA_NO_SPACE);
        MUST(written == message->len);
    }
    free(again);
}

/* What was read of a message that was cut is what the whole one has. */
static void compare(const struct rpcrdma_message *whole, const struct rpcrdma_message *part)
{
    MUST_FOLLOW(whole, part);
    MUST((part->present & ~whole->present) == 0);
#define SAME(bit, member) MUST(!(part->present & (bit)) || part->member == whole->member)
    SAME(RPCRDMA_HAS_XID, xid);
    SAME(RPCRDMA_HAS_VERSION, version);
    SAME(RPCRDMA_HAS_CREDITS, credits);
    SAME(RPCRDMA_HAS_TYPE, type);
    SAME(RPCRDMA_HAS_FLAGS, flags);
    SAME(RPCRDMA_HAS_DIRECTION, direction);
    SAME(RPCRDMA_HAS_INV_HANDLE, inv_handle);
    SAME(RPCRDMA_HAS_REMAINING, remaining);
    SAME(RPCRDMA_HAS_REPLY, reply_present);
    SAME(RPCRDMA_HAS_ERROR, error.code);
    SAME(RPCRDMA_HAS_OPTIONAL, optional.type);
    SAME(RPCRDMA_HAS_HEADER_LENGTH, header_length);
#undef SAME
    MUST(part->call.count <= whole->call.count && part->read.count <= whole->read.count);
    MUST(part->write.count <= whole->write.count && part->reply.count <= whole->reply.count);
    MUST(part->properties.count <= whole->properties.count);
}

static void cut(const struct rpcrdma_dialect *dialect, const uint8_t *data,
                const struct rpcrdma_message *whole)
{
    struct rpcrdma_message part;

    for (size_t n = 0; fuzz_cut(&n, whole->len);) {
        uint8_t *copy = fuzz_copy(data, n);

        rpcrdma_message_decode(dialect, copy, n, whole->len, &part);
        compare(whole, &part);
        free(copy);
    }
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
    copy = fuzz_copy(data + 2, caplen);

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
    if (caplen == len) {
        if (message.status == RPCRDMA_OK && !message.noncanonical)
            round_trip(&message);
        cut(dialect, copy, &message);
    }
    rpcrdma_xchar_decode(&message, &xchar);
    depth.len = (uint32_t)len;
    rpcrdma_walk_message(&message, -1, &visitor);
    MUST(depth.now == 0);
    free(copy);
    return 0;
}
