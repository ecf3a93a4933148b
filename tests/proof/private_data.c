/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma_private_data_find and _encode. */
#include "wire/private_data.h"

#include "proof.h"

int main(void)
{
    struct rpcrdma_private_data pd;
    uint8_t out[RPCRDMA_PRIVATE_DATA_SIZE];

    //@ loop unroll 100000;
    for (size_t caplen = PROOF_FIRST; caplen <= PROOF_LAST; caplen++) {
        uint8_t *data = any_bytes(caplen);

        rpcrdma_private_data_find(data, caplen, any_length(caplen), &pd);
        free(data);
    }
    ANY(&pd);
    rpcrdma_private_data_encode(&pd, out);
    return 0;
}
