/* SPDX-License-Identifier: BSD-2-Clause */
/* Plain packets of RoCEv2, many at once: what is asked of all of them is asked once, and what one
 * operation does not set is not cleared for the next. */
#include "net/packet/plain.h"

/* Flags of what few packets have: where an operation has none of them, their fields are zero. */
enum { SETS_MORE = RPCRDMA_OP_RETH | RPCRDMA_OP_INVALIDATE };

RPCRDMA_RARE static void clear_more(struct rpcrdma_op *op)
{
    op->remote_address = 0;
    op->rkey = op->length = op->invalidate = 0;
}

/* What is between BTH and payload, where it is RETH or IETH alone. False: it is not, or odd. */
RPCRDMA_APART static bool more(struct rpcrdma_op *op, const struct rpcrdma_opcode *opcode,
                               const uint8_t *p)
{
    if (opcode->headers == RPCRDMA_IETH) {
        op->invalidate = rpcrdma_get_be32(p);
        op->flags |= RPCRDMA_OP_INVALIDATE;
        return true;
    }
    if (opcode->headers != RPCRDMA_RETH || opcode->kind == RPCRDMA_OP_ATOMIC)
        return false;
    op->remote_address = rpcrdma_get_be64(p);
    op->rkey = rpcrdma_get_be32(p + 8);
    op->length = rpcrdma_get_be32(p + 12);
    op->flags |= RPCRDMA_OP_RETH;
    return op->length == 0 || op->remote_address + (op->length - 1) >= op->remote_address;
}

RPCRDMA_APART static void give_icrc(const struct rpcrdma_packet *packet, struct rpcrdma_op *op,
                                    uint32_t end)
{
    const uint8_t *p = packet->data;
    uint32_t icrc = end + plain_pad(p);

    if (op->kind <= RPCRDMA_OP_ATOMIC && packet->caplen >= icrc + RPCRDMA_ICRC_BYTES)
        plain_give_icrc(op, p + PLAIN_BTH, p + icrc);
}

/* False: it is not plain, or odd, and another look is needed. */
static RPCRDMA_INLINE bool make(const struct rpcrdma_packet *packet, struct rpcrdma_op *op,
                                bool with_icrc)
{
    const uint8_t *p = packet->data, *bth = p + PLAIN_BTH;
    const struct rpcrdma_opcode *opcode;
    uint32_t end, data, caplen, seq, flags;

    if (!plain_looks(packet))
        return false;
    opcode = &rpcrdma_opcodes[bth[0]];
    if (!plain_fits(packet, opcode, &end))
        return false;
    data = PLAIN_END + opcode->bytes;
    caplen = packet->caplen < end ? packet->caplen : end;
    if (data > caplen)
        return false;
    if (RPCRDMA_SELDOM(op->flags & SETS_MORE))
        clear_more(op);
    op->len = end - data;
    op->caplen = caplen - data;
    op->data = caplen > data ? p + data : NULL;
    seq = rpcrdma_get_be32(bth + 8);
    op->seq = seq & 0xffffff;
    flags = opcode->flags | (seq >> 31) * RPCRDMA_OP_ACK_REQUEST |
            (bth[1] >> 7) * (uint32_t)RPCRDMA_OP_SOLICITED;
    op->flags = (uint16_t)flags;
    op->kind = opcode->kind;
    op->msn = 0;
    if (opcode->headers == RPCRDMA_AETH) {
        uint32_t aeth = rpcrdma_get_be32(p + PLAIN_END);

        if (opcode->kind == RPCRDMA_OP_ACK && (aeth >> 29 & 3) != 0)
            return false; /* a Nak */
        op->msn = aeth & 0xffffff;
    } else if (opcode->headers != 0 && !more(op, opcode, p + PLAIN_END)) {
        return false;
    }
    op->frame = packet->frame;
    op->time_ns = packet->time_ns;
    op->dst_qpn = rpcrdma_get_be32(bth + 4) & 0xffffff;
    op->ip_id = rpcrdma_get_be16(p + PLAIN_IP + 4);
    op->traffic_class = p[PLAIN_IP + 1];
    rpcrdma_layer_ipv4(p + PLAIN_IP + 12, &op->src);
    rpcrdma_layer_ipv4(p + PLAIN_IP + 16, &op->dst);
    if (with_icrc)
        give_icrc(packet, op, end);
    return true;
}

/* How many of these come before samples are taken again. */
RPCRDMA_RARE static size_t before_samples(const struct rpcrdma_net *net, const char *at,
                                          size_t size, size_t n)
{
    size_t before = 0;

    for (; before < n; before++, at += size)
        if (((const struct rpcrdma_packet *)(const void *)at)->frame >= net->icrc_again)
            break;
    return before;
}

RPCRDMA_APART size_t rpcrdma_plain_many(const struct rpcrdma_net *net,
                                        const struct rpcrdma_packet *first, size_t size, size_t n,
                                        struct rpcrdma_op *ops)
{
    const char *at = (const char *)first;
    bool with_icrc = net->icrc_true && net->give_icrc;
    size_t done = 0;

    if (net->check_crc)
        return 0;
    if (net->icrc && n > net->icrc_left) /* then comes one whose ICRC is looked at */
        n = net->icrc_left;
    if (RPCRDMA_SELDOM(net->icrc_again != 0))
        n = before_samples(net, at, size, n);
    for (; done < n; done++, at += size)
        if (!make((const struct rpcrdma_packet *)(const void *)at, &ops[done], with_icrc))
            break;
    return done;
}
