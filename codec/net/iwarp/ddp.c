/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/iwarp/rdmap.h"
#include "net/iwarp/tcp.h"

/*
 * DDP (RFC 5041 section 4) and RDMAP (RFC 5040 section 4) headers:
 *
 *   tagged    T=1 L rsvd(4) DV=1 | RV=1 rsvd(2) opcode(4) | STag 4 | tagged offset 8
 *   untagged  T=0 L rsvd(4) DV=1 | RV=1 rsvd(2) opcode(4) | Invalidate STag or reserved 4
 *             | queue number 4 | MSN 4 | message offset 4
 */

/* What each opcode's header and queue number must be, and its least and greatest ULPDU. */
static const struct {
    uint8_t kind;
    bool tagged;
    uint8_t queue;
    uint16_t least, most;
    uint16_t flags;
} opcodes[RDMAP_OPCODES] = {
    [RDMAP_WRITE] = {RPCRDMA_OP_WRITE, true, 0, DDP_TAGGED_BYTES, 65535, 0},
    [RDMAP_READ_REQUEST] = {RPCRDMA_OP_READ_REQUEST, false, 1,
                            DDP_UNTAGGED_BYTES + RDMAP_READ_REQUEST_BYTES,
                            DDP_UNTAGGED_BYTES + RDMAP_READ_REQUEST_BYTES, 0},
    [RDMAP_READ_RESPONSE] = {RPCRDMA_OP_READ_RESPONSE, true, 0, DDP_TAGGED_BYTES, 65535, 0},
    [RDMAP_SEND] = {RPCRDMA_OP_SEND, false, 0, DDP_UNTAGGED_BYTES, 65535, 0},
    [RDMAP_SEND_INVALIDATE] = {RPCRDMA_OP_SEND, false, 0, DDP_UNTAGGED_BYTES, 65535,
                               RPCRDMA_OP_INVALIDATE},
    [RDMAP_SEND_SE] = {RPCRDMA_OP_SEND, false, 0, DDP_UNTAGGED_BYTES, 65535, RPCRDMA_OP_SOLICITED},
    [RDMAP_SEND_SE_INVALIDATE] = {RPCRDMA_OP_SEND, false, 0, DDP_UNTAGGED_BYTES, 65535,
                                  RPCRDMA_OP_SOLICITED | RPCRDMA_OP_INVALIDATE},
    [RDMAP_TERMINATE] = {RPCRDMA_OP_TERMINATE, false, 2, DDP_UNTAGGED_BYTES + 4, 65535, 0},
    [RDMAP_IMMEDIATE] = {RPCRDMA_OP_SEND, false, 0, DDP_UNTAGGED_BYTES + 8, DDP_UNTAGGED_BYTES + 8,
                         RPCRDMA_OP_IMMEDIATE},
    [RDMAP_IMMEDIATE_SE] = {RPCRDMA_OP_SEND, false, 0, DDP_UNTAGGED_BYTES + 8,
                            DDP_UNTAGGED_BYTES + 8, RPCRDMA_OP_IMMEDIATE | RPCRDMA_OP_SOLICITED},
    [RDMAP_ATOMIC_REQUEST] = {RPCRDMA_OP_ATOMIC, false, 1,
                              DDP_UNTAGGED_BYTES + RDMAP_ATOMIC_REQUEST_BYTES,
                              DDP_UNTAGGED_BYTES + RDMAP_ATOMIC_REQUEST_BYTES, 0},
    [RDMAP_ATOMIC_RESPONSE] = {RPCRDMA_OP_ATOMIC_RESPONSE, false, 3, DDP_UNTAGGED_BYTES + 12,
                               DDP_UNTAGGED_BYTES + 12, 0},
};

enum rpcrdma_plausible rpcrdma_ddp_plausible(const uint8_t *fpdu, size_t caplen)
{
    uint32_t length;
    uint8_t opcode;

    if (caplen < 4)
        return RPCRDMA_PLAUSIBLE_MAYBE;
    length = rpcrdma_get_be16(fpdu);
    opcode = fpdu[3] & 0x0f;
    if ((fpdu[2] & 0x3f) != 0x01 || (fpdu[3] & 0xf0) != 0x40 || opcode >= RDMAP_OPCODES ||
        opcodes[opcode].tagged != fpdu[2] >> 7 || length < opcodes[opcode].least ||
        length > opcodes[opcode].most)
        return RPCRDMA_PLAUSIBLE_NO;
    if (opcodes[opcode].tagged)
        return caplen < 2 + DDP_TAGGED_BYTES ? RPCRDMA_PLAUSIBLE_MAYBE : RPCRDMA_PLAUSIBLE_YES;
    if (caplen < 2 + DDP_UNTAGGED_BYTES)
        return RPCRDMA_PLAUSIBLE_MAYBE;
    if (rpcrdma_get_be32(fpdu + 8) != opcodes[opcode].queue)
        return RPCRDMA_PLAUSIBLE_NO;
    /* only a Send's segments are several; a message's last byte is at most 2^32 - 1 */
    if (opcodes[opcode].kind != RPCRDMA_OP_SEND && rpcrdma_get_be32(fpdu + 16) != 0)
        return RPCRDMA_PLAUSIBLE_NO;
    if ((uint64_t)rpcrdma_get_be32(fpdu + 16) + length - DDP_UNTAGGED_BYTES > UINT32_MAX)
        return RPCRDMA_PLAUSIBLE_NO;
    return RPCRDMA_PLAUSIBLE_YES;
}

uint32_t rpcrdma_ddp_header_bytes(const uint8_t *fpdu, size_t caplen)
{
    uint8_t opcode;

    if (caplen < 4 || rpcrdma_get_be16(fpdu) < 2)
        return DDP_TAGGED_BYTES; /* the least that there is */
    opcode = fpdu[3] & 0x0f;
    if ((fpdu[2] & 0x3f) == 0x01 && (fpdu[3] & 0xf0) == 0x40 && opcode < RDMAP_OPCODES)
        return opcodes[opcode].tagged ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES;
    return rpcrdma_get_be16(fpdu) < DDP_TAGGED_BYTES ? DDP_TAGGED_BYTES : 0;
}

void rpcrdma_ddp_op(const struct rpcrdma_tcp_connection *c, int end, enum rpcrdma_op_kind kind,
                    struct rpcrdma_op *op)
{
    memset(op, 0, sizeof(*op));
    op->frame = c->stream[end].frame;
    op->time_ns = c->stream[end].time_ns;
    op->carrier = RPCRDMA_CARRIER_IWARP;
    op->kind = (uint8_t)kind;
    op->src = c->address[end];
    op->dst = c->address[1 - end];
    op->src_port = c->port[end];
    op->dst_port = c->port[1 - end];
}

/* Terminate (RFC 5040 section 4.8): layer, error type, error code. NULL: it is not assigned. */
static const char *terminate_text(uint32_t code)
{
    static const struct {
        uint16_t code;
        const char *text;
    } texts[] = {
        {0x0000, "RDMAP: local catastrophic error"},
        {0x0100, "RDMAP remote protection: invalid STag"},
        {0x0101, "RDMAP remote protection: base or bounds violation"},
        {0x0102, "RDMAP remote protection: access rights violation"},
        {0x0103, "RDMAP remote protection: STag not of this stream"},
        {0x0104, "RDMAP remote protection: tagged offset wrap"},
        {0x0109, "RDMAP remote protection: STag cannot be invalidated"},
        {0x01ff, "RDMAP remote protection: unspecified"},
        {0x0205, "RDMAP remote operation: invalid version"},
        {0x0206, "RDMAP remote operation: unexpected opcode"},
        {0x0207, "RDMAP remote operation: catastrophic, this stream"},
        {0x0208, "RDMAP remote operation: catastrophic, all streams"},
        {0x0209, "RDMAP remote operation: STag cannot be invalidated"},
        {0x02ff, "RDMAP remote operation: unspecified"},
        {0x1000, "DDP: local catastrophic error"},
        {0x1100, "DDP tagged buffer: invalid STag"},
        {0x1101, "DDP tagged buffer: base or bounds violation"},
        {0x1102, "DDP tagged buffer: STag not of this stream"},
        {0x1103, "DDP tagged buffer: tagged offset wrap"},
        {0x1104, "DDP tagged buffer: invalid version"},
        {0x1201, "DDP untagged buffer: invalid queue number"},
        {0x1202, "DDP untagged buffer: no buffer available"},
        {0x1203, "DDP untagged buffer: MSN range not valid"},
        {0x1204, "DDP untagged buffer: invalid message offset"},
        {0x1205, "DDP untagged buffer: message too long for the buffer"},
        {0x1206, "DDP untagged buffer: invalid version"},
        {0x2001, "MPA: TCP connection closed, terminated or lost"},
        {0x2002, "MPA: CRC error"},
        {0x2003, "MPA: marker and ULPDU length mismatch"},
        {0x2004, "MPA: invalid start-up frame"},
        {0x2005, "MPA: local catastrophic error"},
        {0x2006, "MPA: insufficient IRD resources"},
        {0x2007, "MPA: no matching RTR option"},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i].code == code)
            return texts[i].text;
    return NULL;
}

/* Linux' siw has the layer and the error type in the other order, on hosts that are little-endian:
 * so is a code that is assigned only then. */
static uint16_t terminate_code(uint16_t code)
{
    uint16_t other = (uint16_t)((code & 0xff) | (code >> 4 & 0x0f00) | (code << 4 & 0xf000));

    return !terminate_text(code) && terminate_text(other) ? other : code;
}

/* What no peer may ask for: RFC 5041 section 7.1, RFC 5040 section 7.2 (tagged offset wrap). */
static void check_wrap(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s, uint32_t stag,
                       uint64_t offset, uint32_t length)
{
    if (length > 0 && offset + (length - 1) < offset)
        rpcrdma_tcp_finding(tcp, s, RPCRDMA_RULE_TAGGED_WRAP, NULL, stag, length);
}

static void tagged(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s, struct rpcrdma_op *op,
                   const uint8_t *p, bool last)
{
    bool *open = &s->tagged_open[op->kind == RPCRDMA_OP_READ_RESPONSE];

    op->flags |= RPCRDMA_OP_RETH;
    if (op->kind == RPCRDMA_OP_WRITE)
        op->rkey = rpcrdma_get_be32(p + 2);
    else
        op->sink_stag = rpcrdma_get_be32(p + 2);
    op->remote_address = rpcrdma_get_be64(p + 6);
    check_wrap(tcp, s, rpcrdma_get_be32(p + 2), op->remote_address, op->len);
    /* nothing in the header marks a first segment: it is what follows a last one */
    if (!*open)
        op->flags |= RPCRDMA_OP_FIRST;
    *open = !last;
}

/* Segments of Sends come in order and without gaps (RFC 5041 section 5.2). */
static void in_sequence(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s,
                        const struct rpcrdma_op *op)
{
    if (s->send_known && (op->seq != s->send_msn || op->message_offset != s->send_offset))
        rpcrdma_tcp_finding(tcp, s, RPCRDMA_RULE_DDP_ORDER, NULL, op->seq, op->message_offset);
    s->send_known = true;
    s->send_msn = op->flags & RPCRDMA_OP_LAST ? op->seq + 1 : op->seq;
    s->send_offset = op->flags & RPCRDMA_OP_LAST ? 0 : op->message_offset + op->len;
}

/* Of requests and Terminate the payload is a header of the upper layer, of fixed place. */
static void untagged(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s, struct rpcrdma_op *op,
                     const uint8_t *p)
{
    op->seq = rpcrdma_get_be32(p + 10);
    op->message_offset = rpcrdma_get_be32(p + 14);
    if (op->message_offset == 0)
        op->flags |= RPCRDMA_OP_FIRST;
    if (op->flags & RPCRDMA_OP_INVALIDATE)
        op->invalidate = rpcrdma_get_be32(p + 2);
    p = op->data;
    switch (op->kind) {
    case RPCRDMA_OP_READ_REQUEST:
        if (op->caplen >= RDMAP_READ_REQUEST_BYTES) {
            op->flags |= RPCRDMA_OP_RETH;
            op->sink_stag = rpcrdma_get_be32(p);
            op->sink_offset = rpcrdma_get_be64(p + 4);
            op->length = rpcrdma_get_be32(p + 12);
            op->rkey = rpcrdma_get_be32(p + 16);
            op->remote_address = rpcrdma_get_be64(p + 20);
            check_wrap(tcp, s, op->sink_stag, op->sink_offset, op->length);
            check_wrap(tcp, s, op->rkey, op->remote_address, op->length);
        } else {
            op->flags |= RPCRDMA_OP_TRUNCATED;
        }
        op->data = NULL;
        op->caplen = op->len = 0;
        break;
    case RPCRDMA_OP_TERMINATE:
        if (op->caplen >= 2) {
            const char *text;

            op->terminate = terminate_code(rpcrdma_get_be16(p));
            text = terminate_text(op->terminate);
            rpcrdma_tcp_finding(tcp, s, RPCRDMA_RULE_TERMINATE,
                                text ? text : "a code that is not assigned", op->terminate, 0);
        } else {
            op->flags |= RPCRDMA_OP_TRUNCATED;
        }
        break;
    case RPCRDMA_OP_SEND:
        in_sequence(tcp, s, op);
        if (op->flags & RPCRDMA_OP_IMMEDIATE) { /* 8 bytes of immediate data, no message */
            op->immediate = op->caplen >= 4 ? rpcrdma_get_be32(p) : 0;
            op->data = NULL;
            op->caplen = op->len = 0;
        }
        break;
    default:
        break;
    }
}

void rpcrdma_ddp(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                 const struct rpcrdma_ulpdu *ulpdu)
{
    struct rpcrdma_stream *s = &c->stream[end];
    const uint8_t *p = ulpdu->data;
    struct rpcrdma_op op;
    uint32_t header;
    uint8_t opcode;

    if (ulpdu->caplen < 2) { /* what it is was not captured */
        rpcrdma_ddp_op(c, end, RPCRDMA_OP_LOST, &op);
        op.seq = ulpdu->seq;
        op.len = ulpdu->len;
        if (!s->partial_lost)
            op.flags |= RPCRDMA_OP_TRUNCATED;
        tcp->net->sink.op(tcp->net->sink.context, &op);
        rpcrdma_tcp_finding(tcp, s, RPCRDMA_RULE_TRUNCATED, "DDP header", 0, 0);
        s->send_known = false;
        return;
    }
    opcode = p[1] & 0x0f;
    rpcrdma_ddp_op(c, end, opcodes[opcode].kind, &op);
    op.seq = op.stream_first = ulpdu->seq;
    op.stream_end = ulpdu->seq + ulpdu->size;
    op.flags = (uint16_t)(opcodes[opcode].flags | (p[0] & 0x40 ? RPCRDMA_OP_LAST : 0));
    header = opcodes[opcode].tagged ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES;
    op.len = ulpdu->len - header;
    if (ulpdu->caplen < header) {
        op.flags |= RPCRDMA_OP_TRUNCATED;
        op.flags &= (uint16_t) ~(RPCRDMA_OP_INVALIDATE | RPCRDMA_OP_IMMEDIATE);
        if (!opcodes[opcode].tagged)
            op.seq = 0; /* the MSN is in what was cut off */
        if (op.kind == RPCRDMA_OP_SEND && s->partial_lost) {
            op.kind = RPCRDMA_OP_LOST; /* of no use: which Send it is of is in a lost packet */
            op.flags = 0;
        }
        s->send_known = false;
    } else {
        op.caplen = ulpdu->caplen - header;
        op.data = op.caplen > 0 ? p + header : NULL;
        if (opcodes[opcode].tagged)
            tagged(tcp, s, &op, p, p[0] & 0x40);
        else
            untagged(tcp, s, &op, p);
    }
    tcp->net->sink.op(tcp->net->sink.context, &op);
}
