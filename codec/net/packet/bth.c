/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/damage.h"
#include "net/packet/plain.h"
#include "net/packet/vnet.h"

/* Base transport header and extension headers: IBTA volume 1, sections 9.2 and 9.3. */

enum { OPCODE_MANUFACTURER = 0xc0 }; /* from here on: not the architecture's to define */

/* Of an acknowledge packet: it says which of Ack and Nak that is (9.7.5.1). */
static void syndrome(struct rpcrdma_op *op, uint8_t byte)
{
    static const uint8_t naks[] = {
        RPCRDMA_NAK_PSN_SEQUENCE,       RPCRDMA_NAK_INVALID_REQUEST, RPCRDMA_NAK_REMOTE_ACCESS,
        RPCRDMA_NAK_REMOTE_OPERATIONAL, RPCRDMA_NAK_INVALID_RD,
    };
    uint8_t code = byte & 0x1f;

    switch (byte >> 5 & 3) {
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

/* AETH (9.7.5.1): a syndrome, and the MSN of the last request completed. */
static void aeth(struct rpcrdma_op *op, const uint8_t *p)
{
    op->msn = rpcrdma_get_be24(p + 1);
    if (op->kind == RPCRDMA_OP_ACK)
        syndrome(op, p[0]);
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

/* False: the packet was damaged on its way, and its receiver takes nothing of it (IBTA 9.6.1). */
static bool check_icrc(struct rpcrdma_layer *l)
{
    struct rpcrdma_net *net = l->net;

    if (!l->end)
        return true;
    if (rpcrdma_layer_icrc_damaged(l, &net->icrc_true))
        return false;
    if (!net->icrc_true) {
        net->stats.bad_icrc++;
        rpcrdma_layer_finding(l, RPCRDMA_RULE_ICRC, NULL, rpcrdma_get_be24(l->bth + 9), 0);
    }
    return true;
}

/* Some devices put zeros in the place of an ICRC, some tools change packets and leave theirs: a
 * sample shows whether those of this capture are true, and one that is wrong says that none is.
 * False as from check_icrc. */
RPCRDMA_RARE static bool sample_icrc(struct rpcrdma_layer *l)
{
    enum { STEPS_MOST = 4096, CUT = 64 };
    struct rpcrdma_net *net = l->net;
    bool good;

    if (!l->end) {
        net->icrc_left = CUT;
        return true;
    }
    if (net->icrc_again != 0 && l->packet->frame >= net->icrc_again) {
        net->icrc_again = 0;
        net->icrc_samples = 0;
    }
    if (net->icrc_on_request && ++net->icrc_samples < RPCRDMA_ICRC_SAMPLES) {
        net->icrc_left = 0;
    } else {
        net->icrc_left = net->icrc_step;
        if (net->icrc_step < STEPS_MOST)
            net->icrc_step *= 2;
    }
    if (!net->icrc_on_request)
        good = rpcrdma_layer_icrc_good(l, l->bth, l->end);
    else if (rpcrdma_layer_icrc_damaged(l, &good))
        return false;
    net->icrc_false |= !good;
    net->icrc_true = !net->icrc_false;
    return true;
}

/*
 * The operation is the net's own, and set back field by field where this file or cm.c sets it:
 * zeroing all of it for each packet took a third of the time. All but its addresses.
 */
static RPCRDMA_INLINE struct rpcrdma_op *begin(struct rpcrdma_net *net,
                                               const struct rpcrdma_packet *packet,
                                               const struct rpcrdma_opcode *opcode,
                                               const uint8_t *bth)
{
    struct rpcrdma_op *op = &net->op;
    uint32_t seq = rpcrdma_get_be32(bth + 8);

    op->frame = packet->frame;
    op->time_ns = packet->time_ns;
    op->kind = opcode->kind;
    op->nak = 0;
    op->flags = (uint16_t)(opcode->flags | (bth[1] & 0x80 ? RPCRDMA_OP_SOLICITED : 0) |
                           (seq >> 31 ? RPCRDMA_OP_ACK_REQUEST : 0));
    op->dst_qpn = rpcrdma_get_be32(bth + 4) & 0xffffff;
    op->seq = seq & 0xffffff;
    op->msn = op->rnr_timer = 0;
    op->rkey = op->length = op->invalidate = op->immediate = 0;
    op->remote_address = 0;
    op->data = NULL;
    op->caplen = op->len = 0;
    op->connect = NULL;
    return op;
}

static RPCRDMA_INLINE void addresses(struct rpcrdma_op *op, uint8_t family, const uint8_t *src,
                                     const uint8_t *dst)
{
    if (op->src.family == RPCRDMA_ADDRESS_IPV4 && op->dst.family == RPCRDMA_ADDRESS_IPV4 &&
        family == RPCRDMA_ADDRESS_IPV4) {
        rpcrdma_layer_ipv4(src, &op->src);
        rpcrdma_layer_ipv4(dst, &op->dst);
    } else {
        rpcrdma_layer_address(family, src, &op->src);
        rpcrdma_layer_address(family, dst, &op->dst);
    }
}

static void report(const struct rpcrdma_net *net, const struct rpcrdma_op *op,
                   enum rpcrdma_rule_id rule, uint64_t arg0, uint64_t arg1)
{
    struct rpcrdma_finding finding = {
        .rule = rule, .frame = op->frame, .offset = -1, .arg = {arg0, arg1}};

    if (net->sink.finding)
        net->sink.finding(net->sink.context, &finding);
}

/* What no requester may ask for, and some responders took (IBTA 9.4.3, 9.4.5). */
static void check_reth(const struct rpcrdma_net *net, const struct rpcrdma_op *op,
                       const struct rpcrdma_opcode *opcode, size_t payload)
{
    enum { ATOMIC_WRITE_BYTES = 8 };

    if (op->length > 0 && op->remote_address + (op->length - 1) < op->remote_address)
        report(net, op, RPCRDMA_RULE_RETH_WRAP, op->rkey, op->length);
    if (op->kind != RPCRDMA_OP_ATOMIC || opcode->headers != RPCRDMA_RETH)
        return;
    if (op->length != ATOMIC_WRITE_BYTES)
        report(net, op, RPCRDMA_RULE_ATOMIC_WRITE_LENGTH, op->length, 0);
    else if (payload != ATOMIC_WRITE_BYTES)
        report(net, op, RPCRDMA_RULE_ATOMIC_WRITE_PAYLOAD, payload, 0);
}

/* An acknowledge packet whose AETH, at `off`, was not captured whole. Said once, as of all that a
 * small snap length cuts. */
static void cut_aeth(struct rpcrdma_net *net, struct rpcrdma_op *op, const uint8_t *base,
                     size_t off, size_t caplen)
{
    struct rpcrdma_finding finding = {
        .rule = RPCRDMA_RULE_TRUNCATED, .frame = op->frame, .offset = -1, .what = "AETH"};

    if (off < caplen) {
        syndrome(op, base[off]);
        return;
    }
    op->flags |= RPCRDMA_OP_ACK_OR_NAK;
    if (!net->told_truncated && net->sink.finding)
        net->sink.finding(net->sink.context, &finding);
    net->told_truncated = true;
}

/* What is between the BTH and the payload. */
RPCRDMA_RARE static void extension_headers(struct rpcrdma_net *net, struct rpcrdma_op *op,
                                           const struct rpcrdma_opcode *opcode, const uint8_t *base,
                                           size_t off, size_t caplen, size_t end)
{
    struct rpcrdma_cursor c;

    /* Field by field: copying a whole cursor right after it was stored stalls for 15 ns. */
    c.base = base;
    c.off = off;
    c.caplen = caplen;
    c.len = end;
    c.status = RPCRDMA_OK;
    headers(op, &c, opcode->headers);
    if (c.status != RPCRDMA_OK) {
        op->flags |= RPCRDMA_OP_TRUNCATED;
        if (op->kind == RPCRDMA_OP_ACK)
            cut_aeth(net, op, base, off, caplen);
    } else if (opcode->headers & RPCRDMA_RETH)
        check_reth(net, op, opcode, end - off - opcode->bytes);
}

/* The operation of a reliable connection: its headers begin at `off`, and `end` is where padding or
 * ICRC do; `plain`: IPv4 without options, if it is IPv4. */
static RPCRDMA_INLINE void give(struct rpcrdma_net *net, struct rpcrdma_op *op,
                                const struct rpcrdma_opcode *opcode, const uint8_t *base,
                                size_t off, size_t caplen, size_t end, bool plain)
{
    size_t data = off + opcode->bytes, icrc = end + (base[off - RPCRDMA_BTH_BYTES + 1] >> 4 & 3);

    if (net->icrc_true && net->give_icrc && plain && opcode->kind <= RPCRDMA_OP_ATOMIC &&
        caplen >= icrc + RPCRDMA_ICRC_BYTES)
        plain_give_icrc(op, base + off - RPCRDMA_BTH_BYTES, base + icrc);
    if (caplen > end)
        caplen = end;
    if (opcode->headers == RPCRDMA_AETH && data <= caplen) {
        aeth(op, base + off); /* as every Ack has it */
    } else if (opcode->headers) {
        extension_headers(net, op, opcode, base, off, caplen, end);
    }
    op->len = (uint32_t)(end - data);
    if (caplen > data) {
        op->caplen = (uint32_t)(caplen - data);
        op->data = base + data;
    }
    net->sink.op(net->sink.context, op);
}

bool rpcrdma_plain_peek(const struct rpcrdma_packet *packet, struct rpcrdma_op *op)
{
    enum { QP_OF_CM = 1 };
    const uint8_t *p = packet->data;

    if (!plain_looks(packet))
        return false;
    op->carrier = RPCRDMA_CARRIER_ROCEV2;
    rpcrdma_layer_ipv4(p + PLAIN_IP + 12, &op->src);
    rpcrdma_layer_ipv4(p + PLAIN_IP + 16, &op->dst);
    op->dst_qpn = rpcrdma_get_be32(p + PLAIN_BTH + 4) & 0xffffff;
    return op->dst_qpn > QP_OF_CM;
}

RPCRDMA_HOT bool rpcrdma_plain_roce(struct rpcrdma_net *net, const struct rpcrdma_packet *packet)
{
    const uint8_t *p = packet->data;
    const struct rpcrdma_opcode *opcode;
    uint32_t end;
    struct rpcrdma_op *op;

    if (net->icrc) {
        if (net->check_crc || rpcrdma_icrc_due(net, packet->frame))
            return false;
        net->icrc_left--;
    }
    if (!plain_looks(packet))
        return false;
    opcode = &rpcrdma_opcodes[p[PLAIN_BTH]];
    if (!plain_fits(packet, opcode, &end) || (uint32_t)PLAIN_END + opcode->bytes > end)
        return false;
    op = begin(net, packet, opcode, p + PLAIN_BTH);
    op->carrier = RPCRDMA_CARRIER_ROCEV2;
    op->ip_id = rpcrdma_get_be16(p + PLAIN_IP + 4);
    op->traffic_class = p[PLAIN_IP + 1];
    addresses(op, RPCRDMA_ADDRESS_IPV4, p + PLAIN_IP + 12, p + PLAIN_IP + 16);
    give(net, op, opcode, p, PLAIN_END, packet->caplen, end, true);
    return true;
}

/* Of which the packet was captured up to `caplen`. */
static void network(struct rpcrdma_layer *l, struct rpcrdma_op *op, const uint8_t *bth,
                    size_t caplen)
{
    uint16_t number = rpcrdma_vnet_of(l, bth, caplen - (size_t)(bth - l->c.base), true);

    if (number == 0)
        return;
    rpcrdma_vnet_mark(&op->src, number);
    rpcrdma_vnet_mark(&op->dst, number);
}

static enum rpcrdma_verdict of_bth(struct rpcrdma_layer *l)
{
    size_t at = l->c.off, left, pad, caplen = l->c.caplen;
    const uint8_t *bth = rpcrdma_cursor_take(&l->c, RPCRDMA_BTH_BYTES, "BTH");
    const struct rpcrdma_opcode *opcode;
    struct rpcrdma_op *op;

    if (!bth)
        return rpcrdma_layer_failed(l, true);
    opcode = &rpcrdma_opcodes[bth[0]];
    if (!opcode->name || bth[1] & 0x0f) { /* transport header version: only 0 exists */
        if (rpcrdma_layer_misfit_damaged(l, at))
            return RPCRDMA_IS_RDMA;
        if (!opcode->name && !(bth[1] & 0x0f) && bth[0] < OPCODE_MANUFACTURER &&
            l->carrier == RPCRDMA_CARRIER_ROCEV2)
            rpcrdma_layer_finding(l, RPCRDMA_RULE_BTH_OPCODE, NULL, bth[0], 0);
        return RPCRDMA_IS_OTHER;
    }
    left = rpcrdma_cursor_left(&l->c);
    pad = bth[1] >> 4 & 3;
    if (left < opcode->bytes + pad + RPCRDMA_ICRC_BYTES && rpcrdma_layer_misfit_damaged(l, at))
        return RPCRDMA_IS_RDMA;
    if (left < opcode->bytes + pad + RPCRDMA_ICRC_BYTES &&
        left >= (size_t)opcode->bytes + RPCRDMA_ICRC_BYTES) {
        rpcrdma_layer_finding(l, RPCRDMA_RULE_BTH_PAD, NULL, pad,
                              left - opcode->bytes - RPCRDMA_ICRC_BYTES);
        return RPCRDMA_IS_RDMA;
    }
    if (left < opcode->bytes + pad + RPCRDMA_ICRC_BYTES) {
        rpcrdma_cursor_fail(&l->c, RPCRDMA_MALFORMED, l->c.off, opcode->name);
        return rpcrdma_layer_failed(l, true);
    }
    l->bth = bth;
    l->icrc_checked = false;
    l->end =
        l->c.caplen < l->c.len || !plain_is_whole(l->net, opcode) ? NULL : l->c.base + l->c.len;
    if (l->net->check_crc
            ? !check_icrc(l)
            : l->net->icrc && rpcrdma_icrc_due(l->net, l->packet->frame) && !sample_icrc(l))
        return RPCRDMA_IS_RDMA;
    rpcrdma_layer_limit(l, left - pad - RPCRDMA_ICRC_BYTES);
    if (!opcode->reliable && bth[0] != RPCRDMA_OPCODE_UD_SEND_ONLY && bth[0] != RPCRDMA_OPCODE_CNP)
        return RPCRDMA_IS_RDMA;

    op = begin(l->net, l->packet, opcode, bth);
    op->carrier = l->carrier;
    op->ip_id = rpcrdma_layer_ip_id(l);
    op->traffic_class = rpcrdma_layer_traffic_class(l);
    addresses(op, l->family, l->src, l->dst);
    if (rpcrdma_vnet_labelled(l))
        network(l, op, bth, caplen);
    if (bth[0] == RPCRDMA_OPCODE_CNP) {
        op->kind = RPCRDMA_OP_CONGESTION;
        op->data = NULL;
        op->caplen = op->len = 0;
        l->net->sink.op(l->net->sink.context, op);
        return RPCRDMA_IS_RDMA;
    }
    if (!opcode->reliable)
        return rpcrdma_layer_cm(l, op);
    give(l->net, op, opcode, l->c.base, l->c.off, caplen, l->c.len,
         !l->network || l->network[0] >> 4 != 4 || l->network[0] == 0x45);
    return RPCRDMA_IS_RDMA;
}

enum rpcrdma_verdict rpcrdma_layer_bth(struct rpcrdma_layer *l)
{
    enum rpcrdma_verdict verdict;

    l->net->in_hand = l;
    verdict = of_bth(l);
    l->net->in_hand = NULL;
    return verdict;
}
