/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/layer.h"

#include <string.h>

void rpcrdma_layer_finding(struct rpcrdma_layer *l, enum rpcrdma_rule_id rule, const char *what,
                           uint64_t arg0, uint64_t arg1)
{
    struct rpcrdma_finding finding = {
        .rule = rule,
        .frame = l->packet->frame,
        .offset = -1,
        .arg = {arg0, arg1},
        .what = what,
    };

    if (l->net->sink.finding)
        l->net->sink.finding(l->net->sink.context, &finding);
}

static void ignore_op(void *context, const struct rpcrdma_op *op)
{
    (void)context;
    (void)op;
}

void rpcrdma_net_fail(struct rpcrdma_net *net)
{
    net->failed = true;
    net->sink = (struct rpcrdma_net_sink){.op = ignore_op};
}

enum rpcrdma_verdict rpcrdma_layer_failed(struct rpcrdma_layer *l, bool rdma)
{
    if (l->c.status == RPCRDMA_TRUNCATED) {
        /* A small snap length cuts every packet here: said once, counted each time. */
        if (!l->net->told_truncated)
            rpcrdma_layer_finding(l, RPCRDMA_RULE_TRUNCATED, l->c.what, 0, 0);
        l->net->told_truncated = true;
        return RPCRDMA_IS_TRUNCATED;
    }
    if (!rdma)
        return RPCRDMA_IS_OTHER;
    rpcrdma_layer_finding(l, RPCRDMA_RULE_MALFORMED, l->c.what, 0, 0);
    return RPCRDMA_IS_RDMA;
}

enum rpcrdma_verdict rpcrdma_layer_ports(struct rpcrdma_layer *l, enum rpcrdma_other_kind kind)
{
    const uint8_t *p = rpcrdma_cursor_peek(&l->c, 4);
    uint16_t src, dst;

    if (!p)
        return RPCRDMA_IS_OTHER;
    src = rpcrdma_get_be16(p);
    dst = rpcrdma_get_be16(p + 2);
    return rpcrdma_layer_other(l, kind, src < dst ? src : dst);
}

bool rpcrdma_layer_mapped(const uint8_t *bytes)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(bytes, mapped, sizeof(mapped)) == 0;
}
