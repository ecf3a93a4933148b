/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma_message_decode: any bytes, any length on the wire, any dialect, and none. */
#include "wire/message.h"

#include "proof.h"

int main(void)
{
    struct rpcrdma_message m;

    //@ loop unroll 100000;
    for (size_t caplen = PROOF_FIRST; caplen <= PROOF_LAST; caplen++) {
        uint8_t *data = any_bytes(caplen);

        rpcrdma_message_decode(maybe() ? rpcrdma_dialect(RPCRDMA_V1) : NULL, data, caplen,
                               any_length(caplen), &m);
        rpcrdma_message_direction(&m);
        free(data);
    }
    return 0;
}
