/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/delivery.h"
#include "flow/flow_state.h"

/*
 * A packet of which a bit changed on its way is dropped by its receiver. Were it taken, much behind
 * it could be read wrongly: a PSN that is another one is a gap, or a new connection. To check each
 * packet would take longer than all the rest: so this is asked of those that do not fit in where
 * they stand, and of no more bytes than are a small part of the work.
 */

enum { HEADERS = 64, MAD = 256 }; /* bytes: of a packet besides its payload; of one of the CM */

/* What sets connections up, or ends them, is in doubt always, as nothing shows whether it fits in:
 * where it is many packets, only few of them. */
static const struct {
    uint32_t per_frame, most; /* bytes of credit, of each packet of the capture; saved up */
} credits[FLOW_DOUBTS] = {
    [FLOW_DOUBT_UNFIT] = {64, 1 << 20},
    [FLOW_DOUBT_SET_UP] = {2, 1 << 17},
};

/* What it answers is sent in this one; NULL: nothing of that is known. */
static const struct flow_direction *asks(const struct flow_direction *dir)
{
    return dir->conn ? flow_conn_direction(dir->conn, 1 - dir->index) : NULL;
}

bool flow_response_passed(const struct flow_direction *dir, const struct rpcrdma_op *op)
{
    const struct flow_direction *asked = asks(dir);

    return op->kind == RPCRDMA_OP_READ_RESPONSE && asked && asked->delivery &&
           flow_delivery_responded(asked->delivery, op->seq);
}

/* More was asked for than was seen to be sent, or something that was answered long ago; or it is a
 * response that passed before. */
static bool answer_fits(const struct flow_direction *dir, const struct rpcrdma_op *op)
{
    const struct flow_direction *asked = asks(dir);

    return asked && flow_stream_answer_fits(asked, op) && !flow_response_passed(dir, op);
}

static bool request_fits(struct rpcrdma_flow *flow, const struct flow_direction *dir,
                         const struct rpcrdma_op *op)
{
    if (!flow_stream_fits(dir, op))
        return false;
    if (!dir->conn || !dir->classified)
        return true;
    if (op->flags & RPCRDMA_OP_RETH && flow->rpcs)
        return flow_rpc_advertised(flow->rpcs, dir->conn, 1 - dir->index, op);
    return op->kind != RPCRDMA_OP_SEND || !(op->flags & RPCRDMA_OP_FIRST) ||
           flow_message_decided(flow->messages, dir->conn, op);
}

static bool fits(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    const struct flow_direction *dir;

    if (op->kind > RPCRDMA_OP_ACK) /* a Nak, or of a connection's life: they are few */
        return false;
    dir = flow_direction_known(flow->streams, op);
    if (!dir)
        return false;
    return op->kind <= RPCRDMA_OP_ATOMIC ? request_fits(flow, dir, op) : answer_fits(dir, op);
}

static bool has_credit(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    enum flow_doubt_kind kind =
        op->kind >= RPCRDMA_OP_CONNECT ? FLOW_DOUBT_SET_UP : FLOW_DOUBT_UNFIT;
    uint32_t per_frame = credits[kind].per_frame, most = credits[kind].most;
    struct flow_credit_of_doubt *credit = &flow->doubt.credit[kind];
    uint64_t costs = (uint64_t)(op->connect ? MAD : op->caplen) + HEADERS;
    uint64_t passed = op->frame - credit->frame;

    credit->bytes = passed < most / per_frame ? credit->bytes + passed * per_frame : most;
    if (credit->bytes > most || credit->frame == 0)
        credit->bytes = most;
    credit->frame = op->frame;
    if (credit->bytes < costs)
        return false;
    credit->bytes -= costs;
    return true;
}

bool flow_is_damaged(struct rpcrdma_flow *flow, const struct rpcrdma_op *op)
{
    return op->carrier != RPCRDMA_CARRIER_IWARP && !(op->flags & RPCRDMA_OP_REPLAYED) &&
           !fits(flow, op) && has_credit(flow, op) && flow->doubt.damaged(flow->doubt.context, op);
}
