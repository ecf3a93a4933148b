/* SPDX-License-Identifier: BSD-2-Clause */
/* Input: the private data of a CM message or of an MPA start-up frame. */
#include "wire/private_data.h"
#include "fuzz.h"

static void whole(const uint8_t *data, size_t size, enum rpcrdma_status status,
                  const struct rpcrdma_private_data *found)
{
    uint8_t again[RPCRDMA_PRIVATE_DATA_SIZE];

    MUST(status != RPCRDMA_TRUNCATED);
    MUST((status == RPCRDMA_OK) == (found->format == RPCRDMA_PRIVATE_DATA_FORMAT));
    if (status != RPCRDMA_OK)
        return;
    MUST(found->off <= size && size - found->off >= RPCRDMA_PRIVATE_DATA_SIZE);
    rpcrdma_private_data_encode(found, again);
    if (found->version == RPCRDMA_PRIVATE_DATA_VERSION)
        MUST(memcmp(again, data + found->off, sizeof(again)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rpcrdma_private_data found, part;
    uint8_t *copy = fuzz_copy(data, size);
    enum rpcrdma_status status = rpcrdma_private_data_find(copy, size, size, &found), cut;

    whole(data, size, status, &found);
    free(copy);
    for (size_t n = 0; fuzz_cut(&n, size);) {
        copy = fuzz_copy(data, n);
        cut = rpcrdma_private_data_find(copy, n, size, &part);
        MUST(cut == RPCRDMA_TRUNCATED || cut == status);
        MUST(part.format == 0 || (part.format == found.format && part.off == found.off));
        free(copy);
    }
    return 0;
}
