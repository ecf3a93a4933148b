/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma_xchar_decode: any bytes, and optinfo anywhere in a message, even beyond its end. */
#include "wire/xchar.h"

#include "proof.h"

int main(void)
{
    struct rpcrdma_message m;
    struct rpcrdma_xchar x;

    //@ loop unroll 100000;
    for (size_t caplen = PROOF_FIRST; caplen <= PROOF_LAST; caplen++) {
        uint8_t *data = any_bytes(caplen);

        ANY(&m);
        m.dialect = rpcrdma_dialect(RPCRDMA_CEL_01);
        m.what = NULL;
        m.base = data;
        m.caplen = (uint32_t)caplen;
        m.len = (uint32_t)any_length(caplen);
        rpcrdma_xchar_decode(&m, &x);
        free(data);
    }
    return 0;
}
