/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The decoders over messages of any length, with the cursor of any_cursor/: PROOF_LIST says which.
 * They get no bytes at all but through it.
 */
#include "proof.h"
#include "wire/message.h"
#include "wire/private_data.h"
#include "wire/rpc.h"
#include "wire/xchar.h"

static void message(const uint8_t *data, size_t caplen, size_t len)
{
    struct rpcrdma_message m;

    rpcrdma_message_decode(maybe() ? rpcrdma_dialect(RPCRDMA_V1) : NULL, data, caplen, len, &m);
    rpcrdma_message_direction(&m);
}

static void xchar(const uint8_t *data, size_t caplen, size_t len)
{
    struct rpcrdma_message m;
    struct rpcrdma_xchar x;

    ANY(&m);
    m.dialect = rpcrdma_dialect(RPCRDMA_CEL_01);
    m.what = NULL;
    m.base = data;
    m.caplen = (uint32_t)caplen;
    m.len = (uint32_t)len;
    rpcrdma_xchar_decode(&m, &x);
}

static void rpc(const uint8_t *data, size_t caplen, size_t len)
{
    struct rpcrdma_rpc rpc;

    rpcrdma_rpc_decode(data, caplen, len, &rpc);
}

static void private_data(const uint8_t *data, size_t caplen, size_t len)
{
    struct rpcrdma_private_data pd;

    rpcrdma_private_data_find(data, caplen, len, &pd);
}

int main(void)
{
    PROOF_LIST(malloc(0), any_word(), any_word());
    return 0;
}
