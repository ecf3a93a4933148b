/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/layer.h"

/*
 * Communication management in MADs to QP 1 (IBTA 12.6; MAD header 13.4.3). Offsets are from the
 * start of the CM message, which follows the 24 bytes of MAD header.
 */

enum {
    MAD_BYTES = 256,
    MAD_HEADER = 24,
    MAD_CLASS_CM = 7,
    MAD_METHOD_SEND = 3,
};

enum {
    CM_REQ = 0x10,
    CM_REJ = 0x12,
    CM_REP = 0x13,
    CM_RTU = 0x14,
    CM_DREQ = 0x15,
    CM_DREP = 0x16,
};

/* RDMA CM's service IDs (annex A11.4): the IP protocol whose port space it is, and the port. */
#define SERVICE_ID_IP UINT64_C(0x0000000001000000)
#define SERVICE_ID_IP_MASK UINT64_C(0xffffffffff000000)

struct cm_message {
    const uint8_t *p;
    size_t caplen; /* of the message, of which MAD_BYTES - MAD_HEADER were on the wire */
    bool cut;      /* something asked for was not captured */
};

/* Where a field of n bytes is, or NULL if it was not captured. */
static const uint8_t *field(struct cm_message *m, size_t off, size_t n)
{
    if (off + n <= m->caplen)
        return m->p + off;
    m->cut = true;
    return NULL;
}

static uint32_t be32(struct cm_message *m, size_t off)
{
    const uint8_t *p = field(m, off, 4);

    return p ? rpcrdma_get_be32(p) : 0;
}

static uint32_t be24(struct cm_message *m, size_t off)
{
    const uint8_t *p = field(m, off, 3);

    return p ? rpcrdma_get_be24(p) : 0;
}

/* Private data fills the message from `off` on. */
static void private_data(struct cm_message *m, struct rpcrdma_op_connect *connect, size_t off)
{
    connect->private_len = (uint32_t)(MAD_BYTES - MAD_HEADER - off);
    connect->private_caplen = m->caplen > off ? (uint32_t)(m->caplen - off) : 0;
    connect->private_data = m->caplen > off ? m->p + off : NULL;
}

static void start_psn(struct cm_message *m, struct rpcrdma_op_connect *connect, size_t off)
{
    connect->start_psn = be24(m, off);
    connect->has_start_psn = m->caplen >= off + 3;
}

static void request(struct cm_message *m, struct rpcrdma_op_connect *connect)
{
    static const uint16_t mtu[16] = {0, 256, 512, 1024, 2048, 4096};
    const uint8_t *p = field(m, 8, 8);

    if (p) {
        connect->service_id = rpcrdma_get_be64(p);
        if ((connect->service_id & SERVICE_ID_IP_MASK) == SERVICE_ID_IP)
            connect->port = (uint16_t)connect->service_id;
    }
    connect->qpn = be24(m, 32);
    start_psn(m, connect, 44);
    p = field(m, 50, 1);
    if (p)
        connect->path_mtu = mtu[*p >> 4];
    private_data(m, connect, 140);
}

static bool decode(struct cm_message *m, uint16_t attribute, struct rpcrdma_op *op,
                   struct rpcrdma_op_connect *connect)
{
    const uint8_t *p;

    connect->local_comm_id = be32(m, 0);
    switch (attribute) {
    case CM_REQ:
        op->kind = RPCRDMA_OP_CONNECT;
        request(m, connect);
        return true;
    case CM_REP:
        op->kind = RPCRDMA_OP_ACCEPT;
        connect->remote_comm_id = be32(m, 4);
        connect->qpn = be24(m, 12);
        start_psn(m, connect, 20);
        private_data(m, connect, 36);
        return true;
    case CM_RTU:
        op->kind = RPCRDMA_OP_ESTABLISHED;
        connect->remote_comm_id = be32(m, 4);
        private_data(m, connect, 8);
        return true;
    case CM_REJ:
        op->kind = RPCRDMA_OP_REJECT;
        connect->remote_comm_id = be32(m, 4);
        p = field(m, 10, 2);
        connect->reason = p ? rpcrdma_get_be16(p) : 0;
        private_data(m, connect, 84);
        return true;
    case CM_DREQ:
        op->kind = RPCRDMA_OP_DISCONNECT;
        connect->remote_comm_id = be32(m, 4);
        connect->remote_qpn = be24(m, 8);
        private_data(m, connect, 12);
        return true;
    case CM_DREP:
        op->kind = RPCRDMA_OP_DISCONNECT;
        connect->drep = true;
        connect->remote_comm_id = be32(m, 4);
        private_data(m, connect, 8);
        return true;
    default: /* MRA, LAP, SIDR ... do not change what connection there is */
        return false;
    }
}

enum rpcrdma_verdict rpcrdma_layer_cm(struct rpcrdma_layer *l, struct rpcrdma_op *op)
{
    struct rpcrdma_op_connect connect = {0};
    struct cm_message m = {0};
    const uint8_t *mad;

    if (op->dst_qpn != 1)
        return RPCRDMA_IS_RDMA; /* any other datagram */
    if (rpcrdma_cursor_left(&l->c) < 8 + MAD_BYTES)
        return RPCRDMA_IS_RDMA; /* no MAD: each is 256 bytes */
    rpcrdma_cursor_take(&l->c, 8, "DETH");
    mad = rpcrdma_cursor_take(&l->c, MAD_HEADER, "MAD header");
    if (!mad)
        return rpcrdma_layer_failed(l, true);
    if (mad[0] != 1 || mad[1] != MAD_CLASS_CM || mad[2] != 2 || mad[3] != MAD_METHOD_SEND)
        return RPCRDMA_IS_RDMA;
    m.p = mad + MAD_HEADER;
    m.caplen = rpcrdma_cursor_captured(&l->c);
    if (m.caplen > MAD_BYTES - MAD_HEADER)
        m.caplen = MAD_BYTES - MAD_HEADER;
    if (!decode(&m, rpcrdma_get_be16(mad + 16), op, &connect))
        return RPCRDMA_IS_RDMA;
    if (l->net->replays)
        op->flags |= RPCRDMA_OP_REPLAYED;
    if (m.cut || connect.private_caplen < connect.private_len)
        op->flags |= RPCRDMA_OP_TRUNCATED;
    if (l->packet->linktype == RPCRDMA_LINK_ETHERNET && l->vni == 0)
        connect.ethernet = l->packet->data; /* there are all 14 bytes of it */
    op->connect = &connect;
    l->net->sink.op(l->net->sink.context, op);
    op->connect = NULL; /* it ends here, and the operation is the net's */
    return RPCRDMA_IS_RDMA;
}
