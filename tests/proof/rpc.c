/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma_rpc_decode: any bytes, any length on the wire. */
#include "wire/rpc.h"

#include "proof.h"

int main(void)
{
    struct rpcrdma_rpc rpc;

    //@ loop unroll 100000;
    for (size_t caplen = PROOF_FIRST; caplen <= PROOF_LAST; caplen++) {
        uint8_t *data = any_bytes(caplen);

        rpcrdma_rpc_decode(data, caplen, any_length(caplen), &rpc);
        free(data);
    }
    return 0;
}
