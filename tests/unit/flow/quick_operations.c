/* SPDX-License-Identifier: BSD-2-Clause */
#include "quick_operations.h"

#include "rig.h"

enum { PSN = 1000 };
/* Of transfers: packets of the data of one, and what the server sends. */
enum {
    PARTS = QUICK_PER_BULK - 4,
    PER_SERVER = PARTS + 1,
    MTU = 256,
    SIZE = (PARTS - 1) * MTU + 100
};

static struct rpcrdma_op between(bool to_server, uint32_t conn, enum rpcrdma_op_kind kind,
                                 uint32_t psn, uint8_t *data)
{
    struct rpcrdma_op op = {
        .carrier = RPCRDMA_CARRIER_ROCEV2,
        .kind = (uint8_t)kind,
        .flags = kind == RPCRDMA_OP_SEND ? RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST : 0,
        .dst_qpn = (to_server ? 100000 : 200000) + conn,
        .seq = psn & 0xffffff,
        .data = data,
    };

    op.src.family = op.dst.family = RPCRDMA_ADDRESS_IPV4;
    op.src.bytes[3] = to_server ? 1 : 2;
    op.dst.bytes[3] = to_server ? 2 : 1;
    return op;
}

struct rpcrdma_op quick_make(uint8_t *data, uint32_t number)
{
    uint32_t conn = number / QUICK_PER_RPC % QUICK_CONNS,
             round = number / QUICK_PER_RPC / QUICK_CONNS;
    uint32_t part = number % QUICK_PER_RPC, xid = number / QUICK_PER_RPC;
    bool to_server = part == 0 || part == 3;
    struct rpcrdma_op op = between(
        to_server, conn, part % 2 == 0 ? RPCRDMA_OP_SEND : RPCRDMA_OP_ACK, PSN + round, data);

    if (part == 0)
        op.len = op.caplen = rig_call(data, xid, 100003, 0);
    else if (part == 2)
        op.len = op.caplen = rig_reply(data, xid, 0);
    return op;
}

struct rpcrdma_op quick_make_again(uint8_t *data, uint32_t number)
{
    uint32_t xid = number / QUICK_PER_RPC, part = number % QUICK_PER_RPC;
    bool reply = part == 1 || (part == 2 && xid >= QUICK_CONNS), sent = part == 0 || reply;
    struct rpcrdma_op op = between(!reply, 0, sent ? RPCRDMA_OP_SEND : RPCRDMA_OP_ACK,
                                   PSN + xid + (part > 0) * xid + (reply && part == 2), data);

    if (sent)
        op.len = op.caplen = reply ? rig_reply(data, xid, 0) : rig_call(data, xid, 100003, 0);
    return op;
}

/* A Call or Reply whose data a chunk of one segment takes. */
static uint32_t with_chunk(uint8_t *data, uint32_t xid, bool reads, bool call)
{
    const uint32_t write_list[] = {0, 1, 1, xid, SIZE, 0, xid << 12, 0, 0};
    const uint32_t read_list[] = {1, 40, xid, SIZE, 0, xid << 12, 0, 0, 0};
    const uint32_t rpc_call[] = {xid, 0, 2, 100003, 3, reads ? 6 : 7, 0, 0, 0, 0};
    const uint32_t rpc_reply[] = {xid, 1, 0, 0, 0, 0};
    uint8_t *p = rig_word(rig_word(rig_word(rig_word(data, xid), 1), 32), 0);

    for (size_t i = 0; i < 9; i++)
        p = rig_word(p, reads ? write_list[i] : call ? read_list[i] : 0);
    if (!reads && !call) /* no lists */
        p -= 6 * 4;
    for (size_t i = 0; i < (call ? 10 : 6); i++)
        p = rig_word(p, call ? rpc_call[i] : rpc_reply[i]);
    return (uint32_t)(p - data);
}

/* The packets of one transfer. */
static void data_of(struct rpcrdma_op *op, uint32_t part)
{
    op->len = op->caplen = part + 1 < PARTS ? MTU : SIZE % MTU;
    op->flags |=
        (uint16_t)((part == 0 ? RPCRDMA_OP_FIRST : 0) | (part + 1 == PARTS ? RPCRDMA_OP_LAST : 0));
}

/* Where the PSNs turn comes soon. */
struct rpcrdma_op quick_make_bulk(uint8_t *data, uint32_t number)
{
    uint32_t xid = number / QUICK_PER_BULK, part = number % QUICK_PER_BULK;
    uint32_t conn = xid % QUICK_CONNS, round = xid / QUICK_CONNS;
    uint32_t client = 0xffffff - 100 + round, server = 0xffffff - 1000 + round * PER_SERVER;
    bool reads = round % 2 == 0;
    struct rpcrdma_op op;

    if (part == 0 || part == QUICK_PER_BULK - 2) {
        op = between(part == 0, conn, RPCRDMA_OP_SEND, part == 0 ? client : server + PARTS, data);
        op.len = op.caplen = with_chunk(data, xid, reads, part == 0);
        return op;
    }
    if (part == QUICK_PER_BULK - 1)
        return between(true, conn, RPCRDMA_OP_ACK, server + PARTS, data);
    if (part == 1) {
        op = between(false, conn, reads ? RPCRDMA_OP_ACK : RPCRDMA_OP_READ_REQUEST,
                     reads ? client : server, data);
    } else {
        op = between(!reads, conn, reads ? RPCRDMA_OP_WRITE : RPCRDMA_OP_READ_RESPONSE,
                     server + part - 2, data);
        data_of(&op, part - 2);
    }
    if (op.kind == RPCRDMA_OP_READ_REQUEST || (reads && part == 2)) {
        op.flags |= RPCRDMA_OP_RETH;
        op.rkey = xid;
        op.remote_address = xid << 12;
        op.length = SIZE;
    }
    return op;
}
