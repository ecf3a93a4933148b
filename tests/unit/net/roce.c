/* SPDX-License-Identifier: BSD-2-Clause */
/* BTH and extension headers, whole and cut. */
#include "net/packet/opcode.h"
#include "packet.h"

enum { FIRST = RPCRDMA_OP_FIRST, LAST = RPCRDMA_OP_LAST, ONLY = FIRST | LAST };
enum { R = 1, A = 2, I = 4, V = 8, C = 16, K = 32, F = 64 };

/* The opcodes of a reliable connection, written down apart from opcode.def. */
enum { ATOMIC_WRITE = 0x1d };

static const struct {
    uint8_t opcode, kind;
    uint16_t place;
    unsigned headers; /* RETH, AETH, ImmDt, IETH (inValidate), AtomiCETH, AtomicAcKETH, FETH */
} rc[] = {
    {0x00, RPCRDMA_OP_SEND, FIRST, 0},
    {0x01, RPCRDMA_OP_SEND, 0, 0},
    {0x02, RPCRDMA_OP_SEND, LAST, 0},
    {0x03, RPCRDMA_OP_SEND, LAST, I},
    {0x04, RPCRDMA_OP_SEND, ONLY, 0},
    {0x05, RPCRDMA_OP_SEND, ONLY, I},
    {0x06, RPCRDMA_OP_WRITE, FIRST, R},
    {0x07, RPCRDMA_OP_WRITE, 0, 0},
    {0x08, RPCRDMA_OP_WRITE, LAST, 0},
    {0x09, RPCRDMA_OP_WRITE, LAST, I},
    {0x0a, RPCRDMA_OP_WRITE, ONLY, R},
    {0x0b, RPCRDMA_OP_WRITE, ONLY, R | I},
    {0x0c, RPCRDMA_OP_READ_REQUEST, ONLY, R},
    {0x0d, RPCRDMA_OP_READ_RESPONSE, FIRST, A},
    {0x0e, RPCRDMA_OP_READ_RESPONSE, 0, 0},
    {0x0f, RPCRDMA_OP_READ_RESPONSE, LAST, A},
    {0x10, RPCRDMA_OP_READ_RESPONSE, ONLY, A},
    {0x11, RPCRDMA_OP_ACK, ONLY, A},
    {0x12, RPCRDMA_OP_ATOMIC_RESPONSE, ONLY, A | K},
    {0x13, RPCRDMA_OP_ATOMIC, ONLY, C},
    {0x14, RPCRDMA_OP_ATOMIC, ONLY, C},
    {0x16, RPCRDMA_OP_SEND, LAST, V},
    {0x17, RPCRDMA_OP_SEND, ONLY, V},
    {0x1c, RPCRDMA_OP_ATOMIC, ONLY, F | R},
    {0x1d, RPCRDMA_OP_ATOMIC, ONLY, R},
};
enum { N_RC = sizeof(rc) / sizeof(rc[0]) };

static size_t header_bytes(unsigned h)
{
    return (size_t)((h & F ? 4 : 0) + (h & R ? 16 : 0) + (h & C ? 28 : 0) + (h & A ? 4 : 0) +
                    (h & K ? 8 : 0) + (h & I ? 4 : 0) + (h & V ? 4 : 0));
}

/* Ethernet, IPv4, UDP, BTH, the row's headers, `len` bytes 1, 2, 3 ..., pad, ICRC.
 * Returns the offset of the extension headers. */
static size_t build(struct bytes *b, size_t row, unsigned len)
{
    unsigned pad = (4 - len % 4) % 4, h = rc[row].headers;
    size_t transport = 12 + header_bytes(h) + len + pad + 4, off;

    b->n = 0;
    put_ethernet(b, 0x0800);
    put_ipv4(b, 17, 8 + transport);
    put_udp(b, 4791, transport);
    put_bth(b, rc[row].opcode, pad, 0xabcdef, 0x80fffffe); /* with the ack request bit */
    b->at[b->n - 11] |= 0x80;                              /* solicited event */
    off = b->n;
    if (h & F)
        put(b, 0, 4);
    if (h & R) {
        put(b, 0x1122334455667788, 8);
        put(b, 0xcafe0001, 4);
        put(b, 0x00010203, 4);
    }
    if (h & C) {
        put(b, 0x1122334455667788, 8);
        put(b, 0xcafe0001, 4);
        put_fill(b, 0, 16);
    }
    if (h & A)
        put(b, 0x1f000042, 4);
    if (h & K)
        put(b, 0, 8);
    if (h & I)
        put(b, 0xdeadbeef, 4);
    if (h & V)
        put(b, 0x600dcafe, 4);
    for (unsigned i = 1; i <= len; i++)
        put(b, i, 1);
    put_fill(b, 0, pad + 4);
    return off;
}

static void check_common(const struct rpcrdma_op *op, size_t row)
{
    static const uint8_t src[16] = {10, 0, 0, 1}, dst[16] = {10, 0, 0, 2};

    assert_int_equal(op->carrier, RPCRDMA_CARRIER_ROCEV2);
    assert_int_equal(op->kind, rc[row].kind);
    assert_int_equal(op->flags & ONLY, rc[row].place);
    assert_true(op->flags & RPCRDMA_OP_SOLICITED);
    assert_true(op->flags & RPCRDMA_OP_ACK_REQUEST);
    assert_int_equal(op->src.family, RPCRDMA_ADDRESS_IPV4);
    assert_memory_equal(op->src.bytes, src, 16);
    assert_memory_equal(op->dst.bytes, dst, 16);
    assert_int_equal(op->dst_qpn, 0xabcdef);
    assert_int_equal(op->seq, 0xfffffe);
    assert_null(op->connect);
}

static void every_opcode(void **state)
{
    struct seen *s = seen_new(NULL);
    struct bytes b;
    size_t atomic_writes = 0;

    (void)state;
    for (size_t row = 0; row < N_RC; row++)
        for (unsigned len = 0; len < 9; len++) {
            const struct rpcrdma_op *op = &s->op[0];
            unsigned h = rc[row].headers;

            build(&b, row, len);
            s->n = 0;
            give(s, 1, &b);
            atomic_writes += rc[row].opcode == ATOMIC_WRITE;
            assert_int_equal(s->n, 1);
            check_common(op, row);
            assert_int_equal(op->frame, s->frame);
            assert_int_equal(op->time_ns, s->frame * 1000);
            assert_int_equal(op->flags & RPCRDMA_OP_TRUNCATED, 0);
            assert_int_equal(!!(op->flags & RPCRDMA_OP_RETH), !!(h & (R | C)));
            assert_int_equal(op->rkey, h & (R | C) ? 0xcafe0001 : 0);
            assert_int_equal(op->remote_address, h & (R | C) ? 0x1122334455667788 : 0);
            assert_int_equal(op->length, h & R ? 0x00010203 : 0);
            assert_int_equal(op->msn, h & A ? 0x42 : 0);
            assert_int_equal(!!(op->flags & RPCRDMA_OP_IMMEDIATE), !!(h & I));
            assert_int_equal(op->immediate, h & I ? 0xdeadbeef : 0);
            assert_int_equal(!!(op->flags & RPCRDMA_OP_INVALIDATE), !!(h & V));
            assert_int_equal(op->invalidate, h & V ? 0x600dcafe : 0);
            assert_int_equal(op->len, len);
            assert_int_equal(op->caplen, len);
            for (unsigned i = 0; i < len; i++)
                assert_int_equal(s->data[0][i], i + 1);
        }
    assert_int_equal(s->n_findings, atomic_writes); /* of 66051 bytes; 8 are allowed */
    assert_int_equal(rpcrdma_net_stats(s->net)->rdma, s->frame);
    seen_free(s);
}

/* Every value that is not of a reliable connection: known or not, no operation comes of it. */
static void other_opcodes(void **state)
{
    static const uint8_t known[][2] = {{0x20, 0x2b}, {0x40, 0x55}, {0x64, 0x65},
                                       {0x81, 0x81}, {0xa0, 0xb4}, {0xb6, 0xb7}};
    struct seen *s = seen_new(NULL);
    struct bytes b;
    size_t undefined = 0;

    (void)state;
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        uint64_t rdma = rpcrdma_net_stats(s->net)->rdma;
        bool is_rc = false, is_known = false;

        for (size_t i = 0; i < N_RC; i++)
            is_rc |= rc[i].opcode == opcode;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            is_known |= opcode >= known[i][0] && opcode <= known[i][1];
        build(&b, 0, 100);
        b.at[42] = (uint8_t)opcode;
        s->n = 0;
        give(s, 1, &b);
        assert_int_equal(s->n, is_rc || opcode == 0x81);
        if (opcode == 0x81)
            assert_int_equal(s->op[0].kind, RPCRDMA_OP_CONGESTION); /* CNP: IBTA annex A17.9 */
        assert_int_equal(rpcrdma_net_stats(s->net)->rdma - rdma, is_rc || is_known);
        assert_int_equal(rpcrdma_opcodes[opcode].name != NULL, is_rc || is_known);
        /* from 0xc0 on they are the manufacturers' (IBTA 9.2.1) */
        undefined += !is_rc && !is_known && opcode < 0xc0;
    }
    assert_int_equal(s->n_findings, undefined + 1); /* and an ATOMIC WRITE of other than 8 bytes */
    seen_free(s);
}

/* The table's lengths are those of the architecture, not only the sum of its own mask. */
static void table_lengths(void **state)
{
    static const struct {
        uint8_t opcode, bytes;
    } some[] = {{0x44, 12}, {0x46, 28}, {0x4d, 8},  {0x4e, 4}, {0x52, 16}, {0x53, 40}, {0x55, 12},
                {0x64, 8},  {0x65, 12}, {0x81, 0},  {0xa0, 4}, {0xab, 24}, {0xac, 20}, {0xad, 4},
                {0xae, 0},  {0xb2, 12}, {0xb3, 32}, {0xb6, 8}, {0x2b, 20}, {0x20, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
        assert_int_equal(rpcrdma_opcodes[some[i].opcode].bytes, some[i].bytes);
    for (size_t i = 0; i < N_RC; i++)
        assert_int_equal(rpcrdma_opcodes[rc[i].opcode].bytes, header_bytes(rc[i].headers));
}

static void transport_header_version(void **state)
{
    struct seen *s = seen_new(NULL);
    struct bytes b;

    (void)state;
    build(&b, 0, 8);
    b.at[43] |= 1;
    give(s, 1, &b);
    assert_int_equal(s->n, 0);
    assert_int_equal(rpcrdma_net_stats(s->net)->other, 1);
    seen_free(s);
}

static void syndromes(void **state)
{
    static const struct {
        uint8_t syndrome, kind, nak;
        uint32_t timer;
    } all[] = {
        {0x00, RPCRDMA_OP_ACK, 0, 0},
        {0x1f, RPCRDMA_OP_ACK, 0, 0},
        {0x20, RPCRDMA_OP_NAK, RPCRDMA_NAK_RNR, 0},
        {0x2e, RPCRDMA_OP_NAK, RPCRDMA_NAK_RNR, 14},
        {0x40, RPCRDMA_OP_NAK, RPCRDMA_NAK_OTHER, 0},
        {0x60, RPCRDMA_OP_NAK, RPCRDMA_NAK_PSN_SEQUENCE, 0},
        {0x61, RPCRDMA_OP_NAK, RPCRDMA_NAK_INVALID_REQUEST, 0},
        {0x62, RPCRDMA_OP_NAK, RPCRDMA_NAK_REMOTE_ACCESS, 0},
        {0x63, RPCRDMA_OP_NAK, RPCRDMA_NAK_REMOTE_OPERATIONAL, 0},
        {0x64, RPCRDMA_OP_NAK, RPCRDMA_NAK_INVALID_RD, 0},
        {0x65, RPCRDMA_OP_NAK, RPCRDMA_NAK_OTHER, 0},
        {0x7f, RPCRDMA_OP_NAK, RPCRDMA_NAK_OTHER, 0},
    };
    struct seen *s = seen_new(NULL);
    struct bytes b;

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        size_t off = build(&b, 17, 0);

        b.at[off] = all[i].syndrome;
        s->n = 0;
        give(s, 1, &b);
        assert_int_equal(s->n, 1);
        assert_int_equal(s->op[0].kind, all[i].kind);
        assert_int_equal(s->op[0].nak, all[i].nak);
        assert_int_equal(s->op[0].rnr_timer, all[i].timer);
        assert_int_equal(s->op[0].msn, 0x42);
    }
    /* a read response carries one too and stays what it is */
    b.at[build(&b, 13, 4)] = 0x61;
    s->n = 0;
    give(s, 1, &b);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_READ_RESPONSE);
    seen_free(s);
}

/* Its syndrome is the first byte of an AETH: cut behind that, it is known for a Nak; before, it may
 * be either, which is said once. */
static void cut_syndromes(void **state)
{
    struct bytes b;
    size_t off = build(&b, 17, 0);

    (void)state;
    for (size_t caplen = off; caplen <= off + 4; caplen++) {
        for (int nak = 0; nak < 2; nak++) {
            struct seen *s = seen_new(NULL);
            const struct rpcrdma_op *op = &s->op[0];
            bool known = caplen > off;

            b.at[off] = nak ? 0x60 : 0;
            give_cut(s, 1, b.at, caplen, b.n);
            assert_int_equal(s->n, 1);
            assert_int_equal(op->kind, nak && known ? RPCRDMA_OP_NAK : RPCRDMA_OP_ACK);
            assert_int_equal(op->nak, nak && known ? RPCRDMA_NAK_PSN_SEQUENCE : 0);
            assert_int_equal(!!(op->flags & RPCRDMA_OP_ACK_OR_NAK), !known);
            assert_int_equal(!!(op->flags & RPCRDMA_OP_TRUNCATED), caplen < off + 4);
            assert_int_equal(op->msn, caplen < off + 4 ? 0 : 0x42);
            assert_int_equal(rpcrdma_op_acknowledges(op), nak || !known ? 0xfffffd : 0xfffffe);
            give_cut(s, 1, b.at, caplen, b.n);
            assert_int_equal(s->n_findings, !known);
            if (!known) {
                assert_int_equal(s->finding[0].rule, RPCRDMA_RULE_TRUNCATED);
                assert_string_equal(s->finding[0].what, "AETH");
            }
            seen_free(s);
        }
    }
}

/* Of a packet cut anywhere, every header that was captured whole is there, and its lengths are
 * those of the wire. */
static void cut_at_every_byte(void **state)
{
    struct bytes b;

    (void)state;
    for (size_t row = 0; row < N_RC; row++) {
        size_t off = build(&b, row, 30), data = off + header_bytes(rc[row].headers);
        unsigned h = rc[row].headers;

        for (size_t caplen = 0; caplen <= b.n; caplen++) {
            struct seen *s = seen_new(NULL);
            const struct rpcrdma_op *op = &s->op[0];
            size_t reth = off + (h & F ? 20 : h & C ? 28 : 16);

            give_cut(s, 1, b.at, caplen, b.n);
            if (caplen < off) {
                assert_int_equal(s->n, 0);
                assert_int_equal(rpcrdma_net_stats(s->net)->truncated, 1);
                assert_int_equal(s->n_findings, 1);
                assert_int_equal(s->finding[0].rule, RPCRDMA_RULE_TRUNCATED);
                give_cut(s, 1, b.at, caplen, b.n); /* said once */
                assert_int_equal(s->n_findings, 1);
                seen_free(s);
                continue;
            }
            assert_int_equal(s->n, 1);
            assert_int_equal(s->n_findings, (rc[row].opcode == ATOMIC_WRITE && caplen >= data) ||
                                                (op->flags & RPCRDMA_OP_ACK_OR_NAK) != 0);
            check_common(op, row);
            assert_int_equal(!!(op->flags & RPCRDMA_OP_TRUNCATED), caplen < data);
            assert_int_equal(op->len, 30);
            assert_int_equal(op->caplen, caplen <= data       ? 0
                                         : caplen - data > 30 ? 30
                                                              : caplen - data);
            for (unsigned i = 0; i < op->caplen; i++)
                assert_int_equal(s->data[0][i], i + 1);
            if (h & (R | C)) {
                assert_int_equal(!!(op->flags & RPCRDMA_OP_RETH), caplen >= reth);
                assert_int_equal(op->rkey, caplen >= reth ? 0xcafe0001 : 0);
            }
            if (h & V)
                assert_int_equal(!!(op->flags & RPCRDMA_OP_INVALIDATE), caplen >= off + 4);
            if (h & I)
                assert_int_equal(!!(op->flags & RPCRDMA_OP_IMMEDIATE), caplen >= data);
            seen_free(s);
        }
    }
}

/* Lengths that leave no room for what the opcode needs. */
static void too_short_for_its_opcode(void **state)
{
    struct bytes b;

    (void)state;
    for (size_t row = 0; row < N_RC; row++) {
        size_t least = 12 + header_bytes(rc[row].headers) + 4;

        for (size_t transport = 0; transport < least; transport++) {
            struct seen *s = seen_new(NULL);

            build(&b, row, 0);
            set(&b, 16, 28 + transport, 2);
            set(&b, 38, 8 + transport, 2);
            give_cut(s, 1, b.at, 42 + transport, 42 + transport);
            assert_int_equal(s->n, 0);
            assert_int_equal(s->n_findings, 1);
            assert_int_equal(s->finding[0].rule, RPCRDMA_RULE_MALFORMED);
            assert_int_equal(rpcrdma_net_stats(s->net)->rdma, 1);
            seen_free(s);
        }
    }
    /* a pad count beyond the payload */
    struct seen *s = seen_new(NULL);

    build(&b, 4, 0);
    b.at[43] |= 0x30;
    give(s, 1, &b);
    assert_int_equal(s->n, 0);
    assert_int_equal(s->finding[0].rule, RPCRDMA_RULE_BTH_PAD);
    seen_free(s);
}

/* Any one byte wrong, and cut anywhere at that: no read outside, every packet counted once. */
static void every_byte_wrong(void **state)
{
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    const struct rpcrdma_net_config config = {.check_icrc = true};
    struct seen *s = seen_new(&config);
    struct bytes b;

    (void)state;
    for (size_t row = 0; row < N_RC; row += 3) {
        build(&b, row, 5);
        for (size_t off = 12; off < b.n; off++)
            for (size_t v = 0; v < sizeof(values); v++) {
                uint8_t before = b.at[off];

                b.at[off] = values[v];
                for (size_t caplen = 34; caplen <= b.n; caplen += 3)
                    give_cut(s, 1, b.at, caplen, b.n);
                give(s, 1, &b);
                b.at[off] = before;
            }
    }
    assert_true(s->n > 0);
    seen_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_opcode),      cmocka_unit_test(other_opcodes),
        cmocka_unit_test(table_lengths),     cmocka_unit_test(transport_header_version),
        cmocka_unit_test(syndromes),         cmocka_unit_test(cut_syndromes),
        cmocka_unit_test(cut_at_every_byte), cmocka_unit_test(too_short_for_its_opcode),
        cmocka_unit_test(every_byte_wrong),
    };

    return cmocka_run_group_tests_name("roce", tests, NULL, NULL);
}
