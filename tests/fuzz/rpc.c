/* SPDX-License-Identifier: BSD-2-Clause */
/* Input: a number of bytes at the end that were not captured, an RPC message. */
#include "wire/rpc.h"
#include "fuzz.h"
#include "wire/walk.h"

static void begin(void *context, const struct rpcrdma_record *record, uint32_t off, uint32_t len)
{
    const uint32_t *end = context;

    (void)record;
    MUST(off <= *end && len <= *end - off);
}

static void field(void *context, const struct rpcrdma_value *value)
{
    const uint32_t *end = context;
    unsigned sum = 0;

    MUST(value->off <= *end && value->len <= *end - value->off);
    for (uint32_t i = 0; i < value->bytes.caplen; i++)
        sum += value->bytes.data[i]; /* every one may be read */
    MUST(sum <= value->bytes.caplen * 255);
}

static void end(void *context, const struct rpcrdma_record *record)
{
    (void)context;
    (void)record;
}

static void round_trip(const struct rpcrdma_rpc *rpc, const uint8_t *data)
{
    size_t written = 0;
    uint8_t *again = malloc(rpc->body_off);

    MUST(again);
    MUST(rpcrdma_rpc_encode(rpc, again, rpc->body_off, &written) == RPCRDMA_OK);
    MUST(written == rpc->body_off);
    MUST(memcmp(again, data, written) == 0);
    free(again);
}

static void compare(const struct rpcrdma_rpc *whole, const struct rpcrdma_rpc *part)
{
    MUST_FOLLOW(whole, part);
    MUST((part->present & ~whole->present) == 0);
    MUST(part->body_off == 0 || part->body_off == whole->body_off);
    MUST(!(part->present & RPCRDMA_RPC_HAS_PROGRAM) ||
         (part->program == whole->program && part->procedure == whole->procedure));
    MUST(!(part->present & RPCRDMA_RPC_HAS_GSS) || part->gss_service == whole->gss_service);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rpcrdma_rpc rpc, part;
    size_t len, caplen;
    uint8_t *copy;
    uint32_t ends;
    const struct rpcrdma_visitor visitor = {begin, field, end, &ends};

    if (size < 1)
        return 0;
    len = size - 1;
    caplen = len > data[0] ? len - data[0] : 0;
    ends = (uint32_t)len;
    copy = fuzz_copy(data + 1, caplen);
    rpcrdma_rpc_decode(copy, caplen, len, &rpc);
    MUST(rpc.status == RPCRDMA_OK || (rpc.what && rpc.error_off <= len));
    MUST(rpc.status != RPCRDMA_TRUNCATED || caplen < len);
    MUST(rpc.status != RPCRDMA_OK || rpc.present & RPCRDMA_RPC_HAS_BODY);
    if (rpc.status == RPCRDMA_OK && !rpc.noncanonical)
        round_trip(&rpc, copy);
    rpcrdma_walk_rpc_header(&rpc, 0, "NAME", &visitor);
    for (size_t n = 0; caplen == len && fuzz_cut(&n, len);) {
        uint8_t *less = fuzz_copy(data + 1, n);

        rpcrdma_rpc_decode(less, n, len, &part);
        compare(&rpc, &part);
        rpcrdma_walk_rpc_header(&part, 0, NULL, &visitor);
        free(less);
    }
    free(copy);
    return 0;
}
