/* SPDX-License-Identifier: BSD-2-Clause */
/* iWARP: Sends in DDP segments, TCP's ports name both directions, lost bytes. */
#include "rig.h"

static struct rig rig;

static struct rpcrdma_op iwarp_op(enum rpcrdma_op_kind kind, bool from_client)
{
    const struct rig_end client = {1, 0, 0}, server = {2, 0, 0};
    struct rpcrdma_op op =
        rig_op(&rig, kind, from_client ? &client : &server, from_client ? &server : &client, 0);

    op.carrier = RPCRDMA_CARRIER_IWARP;
    op.src_port = from_client ? 40000 : 20049;
    op.dst_port = from_client ? 20049 : 40000;
    return op;
}

static void send_segments(bool from_client, uint32_t msn, const uint8_t *data, uint32_t n,
                          uint32_t segment, uint32_t skip)
{
    for (uint32_t at = 0; at < n; at += segment) {
        struct rpcrdma_op op = iwarp_op(RPCRDMA_OP_SEND, from_client);

        op.flags = (uint16_t)((at == 0 ? RPCRDMA_OP_FIRST : 0u) |
                              (at + segment >= n ? RPCRDMA_OP_LAST : 0u));
        op.seq = msn;
        op.message_offset = at;
        op.data = data + at;
        op.len = op.caplen = n - at < segment ? n - at : segment;
        if (at / segment + 1 != skip)
            rig_feed(&rig, &op);
    }
}

/* A connection on which the client's first Call has passed, with MSN 0. */
static void begin(uint8_t *buf)
{
    rig_begin(&rig, NULL);
    send_segments(true, 0, buf, rig_call(buf, 9, 100003, 0), 1000, 0);
}

static void segments(void **state)
{
    uint8_t buf[8192];
    uint32_t n = rig_call(buf, 1, 100003, 3000);

    (void)state;
    rig_begin(&rig, NULL);
    send_segments(true, 1, buf, n, 1000, 0);
    send_segments(false, 1, buf, rig_reply(buf, 1, 100), 1000, 0);
    rig_end(&rig);
    assert_int_equal(rig.messages, 2);
    assert_int_equal(rig.connections, 1);
    assert_int_equal(rig.connection[0].paired_by, RPCRDMA_PAIRED_INFERRED);
    assert_int_equal(rig.connection[0].service_port, 20049);
    assert_int_equal(rig.message[0].len, n);
    assert_int_equal(rig.message[0].caplen, n);
    assert_int_equal(rig.message[0].sender, RPCRDMA_ROLE_CLIENT);
    assert_true(rig.message[1].has_call);
}

/* A segment is missing: that message is not given out, the next is. */
static void lost(void **state)
{
    uint8_t buf[8192];
    struct rpcrdma_op op;

    (void)state;
    for (uint32_t skip = 1; skip <= 4; skip++) {
        begin(buf);
        send_segments(true, 1, buf, rig_call(buf, 1, 100003, 3000), 1000, skip);
        op = iwarp_op(RPCRDMA_OP_LOST, true);
        rig_feed(&rig, &op);
        send_segments(true, 2, buf, rig_call(buf, 2, 100003, 3000), 1000, 0);
        rig_end(&rig);
        assert_int_equal(rig.messages, 2);
        assert_int_equal(rig.message[1].xid, 2);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_BYTES_LOST), 1);
    }
}

/* Without a word that bytes are missing: offsets and MSNs tell. */
static void lost_silently(void **state)
{
    uint8_t buf[8192];

    (void)state;
    for (uint32_t skip = 2; skip <= 4; skip++) {
        begin(buf);
        send_segments(true, 1, buf, rig_call(buf, 1, 100003, 3000), 1000, skip);
        send_segments(true, 2, buf, rig_call(buf, 2, 100003, 3000), 1000, 0);
        rig_end(&rig);
        assert_int_equal(rig.messages, 2);
        assert_int_equal(rig.message[1].xid, 2);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_SEND_INCOMPLETE), 1);
    }
}

/* The capture cut a segment's DDP header: which Send it is of, and where in it, nobody saw. */
static void header_cut(void **state)
{
    uint8_t buf[8192];

    (void)state;
    for (uint32_t first = 0; first < 2; first++) {
        struct rpcrdma_op op;

        begin(buf);
        if (first)
            send_segments(true, 1, buf, rig_call(buf, 1, 100003, 3000), 1000, 4);
        op = iwarp_op(RPCRDMA_OP_SEND, true);
        op.flags = RPCRDMA_OP_LAST | RPCRDMA_OP_TRUNCATED;
        op.len = 40;
        rig_feed(&rig, &op);
        send_segments(true, 2, buf, rig_call(buf, 2, 100003, 0), 1000, 0);
        rig_end(&rig);
        assert_int_equal(rig.messages, 2);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_SEND_START_MISSING), 0);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_BYTES_LOST), 0); /* no packet is missing */
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_TRUNCATED), 1);
    }
}

/* Likewise of a Write: a Reply may speak of what it moved. No packet is missing, either. */
static void write_cut(void **state)
{
    uint8_t buf[8192];

    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        struct rpcrdma_op op;

        begin(buf);
        op = iwarp_op(RPCRDMA_OP_WRITE, true);
        op.flags = cut ? RPCRDMA_OP_TRUNCATED : RPCRDMA_OP_RETH;
        op.len = 1000;
        rig_feed(&rig, &op);
        assert_int_equal(flow_direction_seen(rig.flow->streams, &op)->lost, cut);
        rig_end(&rig);
        assert_int_equal(rig_count(&rig, RPCRDMA_RULE_BYTES_LOST), 0);
    }
}

/* Of a Read Request, or of a response, how long it is and where it goes was not captured. */
static void read_cut(void **state)
{
    uint8_t buf[8192] = {0};
    struct rpcrdma_op op;

    (void)state;
    begin(buf);
    for (int cut = 0; cut < 2; cut++) {
        op = iwarp_op(RPCRDMA_OP_READ_REQUEST, false);
        op.flags =
            RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST | (cut ? RPCRDMA_OP_TRUNCATED : RPCRDMA_OP_RETH);
        op.length = cut ? 0 : 500;
        rig_feed(&rig, &op);
    }
    for (int cut = 0; cut < 2; cut++) {
        op = iwarp_op(RPCRDMA_OP_READ_RESPONSE, true);
        op.flags = RPCRDMA_OP_LAST | (cut ? RPCRDMA_OP_TRUNCATED : RPCRDMA_OP_RETH);
        op.len = 1000;
        rig_feed(&rig, &op);
    }
    rig_end(&rig);
    assert_int_equal(rig_count(&rig, RPCRDMA_RULE_READ_RESPONSE_LONG_IWARP), 0);
}

static void mpa(void **state)
{
    static const uint8_t pd[8] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 7};
    const struct rpcrdma_op_connect c = {
        .private_data = pd, .private_caplen = sizeof(pd), .private_len = sizeof(pd)};
    uint8_t buf[8192];
    struct rpcrdma_op op;

    (void)state;
    rig_begin(&rig, NULL);
    op = iwarp_op(RPCRDMA_OP_CONNECT, true);
    op.connect = &c;
    rig_feed(&rig, &op);
    op = iwarp_op(RPCRDMA_OP_ACCEPT, false);
    op.connect = &c;
    rig_feed(&rig, &op);
    send_segments(true, 1, buf, rig_call(buf, 1, 100003, 0), 1000, 0);
    op = iwarp_op(RPCRDMA_OP_DISCONNECT, true);
    rig_feed(&rig, &op);
    send_segments(false, 1, buf, rig_reply(buf, 1, 0), 1000, 0); /* a half-closed stream */
    op = iwarp_op(RPCRDMA_OP_DISCONNECT, false);
    rig_feed(&rig, &op);
    rig_end(&rig);
    assert_int_equal(rig.messages, 2);
    assert_int_equal(rig.connection[0].paired_by, RPCRDMA_PAIRED_CM);
    assert_int_equal(rig.connection[0].threshold_call, 4096);
    assert_true(rig.connection[0].closed);
    assert_int_equal(rig.message[1].connection, 1);
}

static void start_up(enum rpcrdma_op_kind kind)
{
    static const struct rpcrdma_op_connect c;
    const bool request = kind == RPCRDMA_OP_CONNECT;
    struct rpcrdma_op op = iwarp_op(kind, request);
    const struct rpcrdma_tcp_segment segment = {.frame = op.frame,
                                                .time_ns = op.time_ns,
                                                .src = op.src,
                                                .dst = op.dst,
                                                .src_port = op.src_port,
                                                .dst_port = op.dst_port,
                                                .seq = (uint32_t)rig.connections * 10000u + 5,
                                                .len = 20,
                                                .begins = (uint8_t)kind};

    op.connect = &c;
    assert_true(rpcrdma_flow_segment(rig.flow, &segment));
    rig_feed(&rig, &op);
}

static void finish(void)
{
    for (int i = 0; i < 2; i++) {
        struct rpcrdma_op op = iwarp_op(RPCRDMA_OP_DISCONNECT, i == 0);

        rig_feed(&rig, &op);
    }
}

/* The same ports again: what sets up the new connection is no packet of the old one. Where its
 * Request was not captured the Reply says so, behind an end that was. */
static void ports_again(void **state)
{
    const struct rpcrdma_flow_config config = {.delivery = true};

    (void)state;
    for (int request = 0; request < 2; request++) {
        for (int ended = 1 - request; ended < 2; ended++) {
            rig_begin(&rig, &config);
            start_up(RPCRDMA_OP_CONNECT);
            start_up(RPCRDMA_OP_ACCEPT);
            if (ended)
                finish();
            rig.time_ns += INT64_C(5000000000);
            if (request)
                start_up(RPCRDMA_OP_CONNECT);
            start_up(RPCRDMA_OP_ACCEPT);
            rig_end(&rig);
            assert_int_equal(rig.connections, 2);
            assert_int_equal(rig_count(&rig, RPCRDMA_RULE_TRANSPORT_TIMEOUT), 0);
            assert_int_equal(rig_count(&rig, RPCRDMA_RULE_RETRANSMISSION_RATE), 0);
            assert_int_equal(rig.connection[1].established, 1);
            assert_int_equal(rig.connection[1].life.requests, request);
        }
    }
}

/* Another service's port: taken where a message tells, and when either port is said to be ours. */
static void forced(void **state)
{
    static const uint16_t ports[] = {20049, 40000, 7}, service = 1;
    const struct rpcrdma_op_connect c = {0};
    uint8_t buf[8192];

    (void)state;
    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
        const struct rpcrdma_flow_config config = {
            .ports = &service, .n_ports = 1, .tcp_ports = &ports[i], .n_tcp_ports = 1};
        struct rpcrdma_op op;

        rig_begin(&rig, &config);
        op = iwarp_op(RPCRDMA_OP_CONNECT, true);
        op.connect = &c;
        rig_feed(&rig, &op);
        send_segments(true, 1, buf, rig_call(buf, 1, 100003, 0), 1000, 0);
        rig_end(&rig);
        assert_int_equal(rig.messages, 1);
        /* nothing that looks like it */
        rig_begin(&rig, &config);
        rig_feed(&rig, &op);
        memset(buf, 0, 64);
        send_segments(true, 1, buf, 64, 1000, 0);
        rig_end(&rig);
        assert_int_equal(rig.messages, ports[i] == 7 ? 0 : 1);
        /* set-up not captured, either */
        rig_begin(&rig, &config);
        send_segments(true, 1, buf, 64, 1000, 0);
        send_segments(false, 1, buf, 64, 1000, 0);
        rig_end(&rig);
        assert_int_equal(rig.messages, ports[i] == 7 ? 0 : 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments), cmocka_unit_test(lost),      cmocka_unit_test(lost_silently),
        cmocka_unit_test(mpa),      cmocka_unit_test(forced),    cmocka_unit_test(header_cut),
        cmocka_unit_test(read_cut), cmocka_unit_test(write_cut), cmocka_unit_test(ports_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
