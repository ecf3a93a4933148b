/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/siphash.h"
#include "net/packet/layer.h"

enum { KNOWN = 8, MOST = 1024 }; /* packets of a source until it is known, and counted at most */

bool rpcrdma_layer_damaged(const struct rpcrdma_layer *l, bool right)
{
    struct rpcrdma_address source = {.family = 0};
    struct rpcrdma_checksum_record *record;
    struct siphash_key key = siphash_key();

    rpcrdma_layer_address(l->family, l->src, &source);
    record = &l->net->checksums[siphash_bytes(&key, source.bytes, sizeof(source.bytes), 1, 3) %
                                RPCRDMA_CHECKSUM_RECORDS];
    if (right)
        record->right++;
    else
        record->wrong++;
    if (record->right + record->wrong > MOST) {
        record->right /= 2;
        record->wrong /= 2;
    }
    return !right && record->right >= KNOWN && record->wrong <= record->right / 4;
}
