/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

/* The first timeout is a second, less where the round trip was measured before: RFC 6298
 * sections 2, 5.7. */
#define AGAIN_NS INT64_C(200000000)

static const struct conn_syn *find(const struct conn_syns *syns, const struct flow_path *path)
{
    for (uint32_t i = 0; i < CONN_SYNS; i++) {
        const struct conn_syn *syn = &syns->syn[i];

        if (syn->first_frame != 0 && syn->path.qpn == path->qpn &&
            memcmp(&syn->path.src, &path->src, sizeof(path->src)) == 0 &&
            memcmp(&syn->path.dst, &path->dst, sizeof(path->dst)) == 0)
            return syn;
    }
    return NULL;
}

struct conn_syn *conn_syn_find(struct conn_syns *syns, const struct flow_path *path)
{
    return (struct conn_syn *)find(syns, path);
}

struct conn_syn *conn_syn_remember(struct conn_syns *syns, const struct flow_path *path,
                                   const struct rpcrdma_op *op)
{
    struct conn_syn *syn = conn_syn_find(syns, path);

    if (syn && syn->seq == op->seq)
        return syn;
    if (!syn)
        syn = &syns->syn[syns->n++ % CONN_SYNS];
    *syn = (struct conn_syn){.path = *path,
                             .seq = op->seq,
                             .first_frame = op->frame,
                             .first_ns = op->time_ns,
                             .last_ns = op->time_ns};
    return syn;
}

bool conn_syn_again(const struct conn_syns *syns, const struct rpcrdma_op *op)
{
    struct flow_path path = flow_path_of(op);
    const struct conn_syn *syn = find(syns, &path);

    return syn && syn->seq == op->seq && op->time_ns - syn->last_ns >= AGAIN_NS;
}

void conn_syn_forget(struct conn_syns *syns, const struct flow_path *path)
{
    struct conn_syn *syn = conn_syn_find(syns, path);

    if (syn)
        syn->first_frame = 0;
}
