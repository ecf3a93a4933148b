/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/layer.h"
#include "net/opcode.h"

/* Base transport header and extension headers: IBTA volume 1, sections 9.2 and 9.3. */

/* AETH (9.7.5.1): a syndrome, and the MSN of the last request completed. */
static void aeth(struct rpcrdma_op *op, const uint8_t *p)
{
    static const uint8_t naks[] = {
        RPCRDMA_NAK_PSN_SEQUENCE,       RPCRDMA_NAK_INVALID_REQUEST, RPCRDMA_NAK_REMOTE_ACCESS,
        RPCRDMA_NAK_REMOTE_OPERATIONAL, RPCRDMA_NAK_INVALID_RD,
    };
    uint8_t code = p[0] & 0x1f;

    op->msn = rpcrdma_get_be24(p + 1);
    if (op->kind != RPCRDMA_OP_ACK)
        return;
    switch (p[0] >> 5 & 3) {
    case 0: /* an Ack; the code is a credit count of end-to-end flow control */
        return;
    case 1:
        op->kind = RPCRDMA_OP_NAK;
        op->nak = RPCRDMA_NAK_RNR;
        op->rnr_timer = code;
        return;
    case 3:
        op->kind = RPCRDMA_OP_NAK;
        op->nak = code < sizeof(naks) ? naks[code] : RPCRDMA_NAK_OTHER;
        return;
    default: /* reserved */
        op->kind = RPCRDMA_OP_NAK;
        op->nak = RPCRDMA_NAK_OTHER;
        return;
    }
}

static void headers(struct rpcrdma_op *op, struct rpcrdma_cursor *c, uint16_t mask)
{
    const uint8_t *p;

    /* RDETH, DETH, XRCETH: not of a reliable connection; nothing of them is kept */
    if (mask & RPCRDMA_FETH)
        rpcrdma_cursor_take(c, 4, "FETH");
    if (mask & RPCRDMA_RETH && (p = rpcrdma_cursor_take(c, 16, "RETH"))) {
        op->remote_address = rpcrdma_get_be64(p);
        op->rkey = rpcrdma_get_be32(p + 8);
        op->length = rpcrdma_get_be32(p + 12);
        op->flags |= RPCRDMA_OP_RETH;
    }
    if (mask & RPCRDMA_ATOMICETH && (p = rpcrdma_cursor_take(c, 28, "AtomicETH"))) {
        op->remote_address = rpcrdma_get_be64(p);
        op->rkey = rpcrdma_get_be32(p + 8);
        op->flags |= RPCRDMA_OP_RETH;
    }
    if (mask & RPCRDMA_AETH && (p = rpcrdma_cursor_take(c, 4, "AETH")))
        aeth(op, p);
    if (mask & RPCRDMA_ATOMICACKETH)
        rpcrdma_cursor_take(c, 8, "AtomicAckETH");
    if (mask & RPCRDMA_IMMDT && (p = rpcrdma_cursor_take(c, 4, "ImmDt"))) {
        op->immediate = rpcrdma_get_be32(p);
        op->flags |= RPCRDMA_OP_IMMEDIATE;
    }
    if (mask & RPCRDMA_IETH && (p = rpcrdma_cursor_take(c, 4, "IETH"))) {
        op->invalidate = rpcrdma_get_be32(p);
        op->flags |= RPCRDMA_OP_INVALIDATE;
    }
}

static void check_icrc(struct rpcrdma_layer *l, const uint8_t *bth)
{
    if (l->c.caplen < l->c.len || rpcrdma_layer_icrc_good(l, bth, l->c.base + l->c.len))
        return;
    l->net->stats.bad_icrc++;
    rpcrdma_layer_finding(l, RPCRDMA_RULE_ICRC, NULL, rpcrdma_get_be24(bth + 9), 0);
}

/*
 * The operation is the net's own, and set back field by field where this file or cm.c sets it:
 * zeroing all of it for each packet took a third of the time.
 */
static struct rpcrdma_op *begin(const struct rpcrdma_layer *l)
{
    struct rpcrdma_op *op = &l->net->op;

    op->nak = 0;
    op->msn = op->rnr_timer = 0;
    op->rkey = op->length = op->invalidate = op->immediate = 0;
    op->remote_address = 0;
    op->data = NULL;
    op->caplen = op->len = 0;
    op->connect = NULL;
    if (op->src.family == RPCRDMA_ADDRESS_IPV4 && op->dst.family == RPCRDMA_ADDRESS_IPV4 &&
        l->family == RPCRDMA_ADDRESS_IPV4) {
        rpcrdma_layer_ipv4(l->src, &op->src);
        rpcrdma_layer_ipv4(l->dst, &op->dst);
    } else {
        rpcrdma_layer_address(l->family, l->src, &op->src);
        rpcrdma_layer_address(l->family, l->dst, &op->dst);
    }
    op->frame = l->packet->frame;
    op->time_ns = l->packet->time_ns;
    op->carrier = l->carrier;
    return op;
}

enum rpcrdma_verdict rpcrdma_layer_bth(struct rpcrdma_layer *l)
{
    const uint8_t *bth = rpcrdma_cursor_take(&l->c, RPCRDMA_BTH_BYTES, "BTH");
    const struct rpcrdma_opcode *opcode;
    size_t left, pad, data_off;
    struct rpcrdma_op *op;

    if (!bth)
        return rpcrdma_layer_failed(l, true);
    opcode = &rpcrdma_opcodes[bth[0]];
    if (!opcode->name || bth[1] & 0x0f) /* transport header version: only 0 exists */
        return RPCRDMA_IS_OTHER;
    left = rpcrdma_cursor_left(&l->c);
    pad = bth[1] >> 4 & 3;
    if (left < opcode->bytes + pad + RPCRDMA_ICRC_BYTES) {
        rpcrdma_cursor_fail(&l->c, RPCRDMA_MALFORMED, l->c.off, opcode->name);
        return rpcrdma_layer_failed(l, true);
    }
    if (l->net->icrc)
        check_icrc(l, bth);
    rpcrdma_layer_limit(l, left - pad - RPCRDMA_ICRC_BYTES);
    if (!opcode->reliable && bth[0] != RPCRDMA_OPCODE_UD_SEND_ONLY)
        return RPCRDMA_IS_RDMA;

    op = begin(l);
    op->kind = opcode->kind;
    op->flags = (uint16_t)(opcode->flags | (bth[1] & 0x80 ? RPCRDMA_OP_SOLICITED : 0) |
                           (bth[8] & 0x80 ? RPCRDMA_OP_ACK_REQUEST : 0));
    op->dst_qpn = rpcrdma_get_be24(bth + 5);
    op->seq = rpcrdma_get_be24(bth + 9);
    if (!opcode->reliable)
        return rpcrdma_layer_cm(l, op);

    data_off = l->c.off + opcode->bytes;
    if (opcode->headers) {
        headers(op, &l->c, opcode->headers);
        if (l->c.status != RPCRDMA_OK)
            op->flags |= RPCRDMA_OP_TRUNCATED;
    }
    op->len = (uint32_t)(l->c.len - data_off);
    if (l->c.caplen > data_off) {
        op->caplen = (uint32_t)(l->c.caplen - data_off);
        op->data = l->c.base + data_off;
    }
    l->net->sink.op(l->net->sink.context, op);
    return RPCRDMA_IS_RDMA;
}
