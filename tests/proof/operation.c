/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BTH and what is behind it, with the real cursor: any packet of each length, with any of the 256 opcodes, and the
 * CM's messages. Eight bytes (a UDP header) are before the BTH. PROOF_LIST says which.
 */
#include "layer.h"
#include "net/packet/opcode.h"

enum { BEFORE = 8 };

static void bth(struct layer_proof *p)
{
    static const uint8_t carriers[] = {RPCRDMA_CARRIER_ROCEV2, RPCRDMA_CARRIER_ROCEV1,
                                       RPCRDMA_CARRIER_INFINIBAND};

    p->layer.carrier = carriers[Frama_C_interval(0, 2)];
    rpcrdma_layer_bth(&p->layer);
}

static void cm(struct layer_proof *p)
{
    struct rpcrdma_op op;

    ANY(&op);
    op.data = NULL;
    op.caplen = op.len = 0;
    op.connect = NULL;
    rpcrdma_layer_cm(&p->layer, &op);
}

/* Any packet that a capture gives: most are not what it looks for. */
static void plain(struct layer_proof *p)
{
    rpcrdma_plain_roce(&p->net, &p->packet);
}

/* The same of a batch, into operations that had others in them; that what comes is the same, a test shows (unit.batches). */
static void many(struct layer_proof *p)
{
    struct rpcrdma_op op;

    ANY(&op);
    op.data = NULL;
    op.caplen = op.len = 0;
    op.connect = NULL;
    rpcrdma_plain_many(&p->net, &p->packet, sizeof(p->packet), 1, &op);
}

int main(void)
{
    //@ loop unroll 100000;
    for (size_t caplen = PROOF_FIRST; caplen <= PROOF_LAST; caplen++) {
        struct layer_proof p;
        size_t bytes = BEFORE + caplen;

        layer_begin(&p, any_bytes(bytes), bytes, any_length(bytes));
        p.layer.c.off = BEFORE;
        p.layer.c.status = RPCRDMA_OK;
        PROOF_LIST(&p);
        free((void *)p.packet.data);
    }
    return 0;
}
