/* SPDX-License-Identifier: BSD-2-Clause */
/* What is RPC-over-RDMA, and what is left alone. */
#include "rig.h"

static struct rig rig;

static void send_both(struct rig_end *a, struct rig_end *b, const void *data, uint32_t n)
{
    rig_send(&rig, a, b, data, n);
    rig_ack(&rig, b, a, a->psn - 1);
    rig_send(&rig, b, a, data, n);
    rig_ack(&rig, a, b, b->psn - 1);
}

static uint32_t seed = 12345;

static uint32_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

/* SMB Direct (MS-SMBD 2.2): negotiate request and response, data transfer with an SMB2 header. */
static void smb_direct(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    static const uint8_t negotiate[20] = {0, 1, 0, 1, 0, 0, 0xff, 0, 0x54, 5,
                                          0, 0, 0, 4, 0, 0, 0,    0, 2,    0};
    static const uint8_t response[32] = {0, 1, 0, 1, 0, 1, 0, 0, 0xff, 0, 0xff, 0};
    uint8_t data[24 + 64] = {0xff, 0,  1, 0, 0, 0, 0, 0, 0, 0,    0,   0,   24,  0, 0,
                             0,    64, 0, 0, 0, 0, 0, 0, 0, 0xfe, 'S', 'M', 'B', 64};

    (void)state;
    rig_begin(&rig, NULL);
    send_both(&a, &b, negotiate, sizeof(negotiate));
    send_both(&a, &b, response, sizeof(response));
    for (int i = 0; i < 100; i++)
        send_both(&a, &b, data, sizeof(data));
    rig_end(&rig);
    assert_int_equal(rig.messages + rig.connections + rig.findings, 0);
}

/* iSER (RFC 7145 section 9.2): a 28-byte header, then an iSCSI BHS. */
static void iser(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t data[28 + 48] = {0x1c, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};

    (void)state;
    rig_begin(&rig, NULL);
    for (int i = 0; i < 100; i++) {
        data[28] = (uint8_t)(i & 1);
        data[28 + 19] = (uint8_t)i;
        send_both(&a, &b, data, sizeof(data));
    }
    rig_end(&rig);
    assert_int_equal(rig.messages + rig.connections + rig.findings, 0);
}

/* NVMe/RDMA: command capsules (64 bytes) one way, completions (16 bytes) the other. Words chosen to
 * look like a version and a type now and then. */
static void nvme(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t command[64], completion[16];

    (void)state;
    rig_begin(&rig, NULL);
    for (uint32_t i = 0; i < 200; i++) {
        memset(command, 0, sizeof(command));
        memset(completion, 0, sizeof(completion));
        rig_word(command, 0x02400000 | i);
        rig_word(command + 4, i % 4); /* sometimes 1 or 2: a version? */
        rig_word(command + 12, i % 5);
        rig_word(completion, i);
        rig_word(completion + 4, i % 3);
        rig_word(completion + 12, i % 5);
        rig_send(&rig, &a, &b, command, sizeof(command));
        rig_ack(&rig, &b, &a, a.psn - 1);
        rig_send(&rig, &b, &a, completion, sizeof(completion));
        rig_ack(&rig, &a, &b, b.psn - 1);
    }
    rig_end(&rig);
    assert_int_equal(rig.messages + rig.connections + rig.findings, 0);
}

static void random_sends(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t data[3000];

    (void)state;
    rig_begin(&rig, NULL);
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t n = next_random() % sizeof(data);

        for (uint32_t j = 0; j < n; j++)
            data[j] = (uint8_t)next_random();
        if (i % 2 && n >= 16) {
            /* plausible first words */
            rig_word(data + 4, 1 + i % 2);
            rig_word(data + 12, i % 14);
        }
        rig_send(&rig, i % 3 ? &a : &b, i % 3 ? &b : &a, data, n);
    }
    rig_end(&rig);
    assert_int_equal(rig.messages + rig.connections + rig.findings, 0);
}

/* A CM exchange on another port settles nothing: the messages do. */
static void other_port(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin(&rig, NULL);
    rig_connect(&rig, &a, &b, 20050);
    for (uint32_t i = 0; i < 10; i++) {
        rig_send_call(&rig, &a, &b, i);
        rig_send_reply(&rig, &b, &a, i);
    }
    rig_end(&rig);
    assert_int_equal(rig.messages, 20);
    assert_int_equal(rig.connections, 1);
    assert_int_equal(rig.connection[0].service_port, 20050);
    assert_int_equal(rig.connection[0].paired_by, RPCRDMA_PAIRED_CM);
    assert_int_equal(rig.message[0].sender, RPCRDMA_ROLE_CLIENT);
}

/* Likewise where something else was said before: for as long as the connection lives. */
static void other_port_late(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t data[64] = {0xfe, 'S', 'M', 'B'};

    (void)state;
    rig_begin(&rig, NULL);
    rig_connect(&rig, &a, &b, 20050);
    for (uint32_t i = 0; i < 2000; i++)
        rig_send(&rig, &a, &b, data, sizeof(data));
    rig_send_call(&rig, &a, &b, 1);
    rig_send_reply(&rig, &b, &a, 1);
    rig_end(&rig);
    assert_between(rig.messages, 2, 2002);
    assert_int_equal(rig.connections, 1);
}

/* A service that is none of IP's, and so has no port, is another one. */
static void other_service(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    struct rpcrdma_op_connect c = {.local_comm_id = 5, .service_id = 0x1000, .qpn = a.qpn};
    struct rpcrdma_op op;

    (void)state;
    rig_begin(&rig, NULL);
    op = rig_op(&rig, RPCRDMA_OP_CONNECT, &a, &b, 0);
    op.connect = &c;
    rig_feed(&rig, &op);
    c = (struct rpcrdma_op_connect){.local_comm_id = 6, .remote_comm_id = 5, .qpn = b.qpn};
    op = rig_op(&rig, RPCRDMA_OP_ACCEPT, &b, &a, 0);
    op.connect = &c;
    rig_feed(&rig, &op);
    rig_send_call(&rig, &a, &b, 1);
    rig_send_reply(&rig, &b, &a, 1);
    rig_end(&rig);
    assert_int_equal(rig.messages + rig.connections + rig.findings, 0);
}

/* Either end's QP, or everything, is taken although the CM exchange names another service. */
static void forced(void **state)
{
    static const uint32_t qpns[] = {17, 33};
    const struct rpcrdma_flow_config configs[] = {
        {.qpns = &qpns[0], .n_qpns = 1},
        {.qpns = &qpns[1], .n_qpns = 1},
        {.all = true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        struct rig_end a = RIG_A, b = RIG_B;

        rig_begin(&rig, &configs[i]);
        rig_connect(&rig, &a, &b, 445);
        rig_send_call(&rig, &a, &b, 1);
        rig_send_reply(&rig, &b, &a, 1);
        rig_disconnect(&rig, &a, &b);
        rig_end(&rig);
        assert_int_equal(rig.messages, 2);
        assert_int_equal(rig.connections, 1);
        assert_int_equal(rig.connection[0].service_port, 445);
        assert_int_equal(rig.message[0].sender, RPCRDMA_ROLE_CLIENT);
    }
}

/* Without set-up, and whatever the bytes look like. */
static void forced_all(void **state)
{
    const struct rpcrdma_flow_config config = {.all = true};
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t data[28] = {0x1c, 0, 0, 0, 0, 0, 0, 1};

    (void)state;
    rig_begin(&rig, &config);
    send_both(&a, &b, data, sizeof(data));
    rig_end(&rig);
    assert_int_equal(rig.messages, 2);
    assert_int_equal(rig.connections, 1);
}

static void port_option(void **state)
{
    static const uint16_t ports[] = {2050, 445};
    const struct rpcrdma_flow_config config = {.ports = ports, .n_ports = 2};
    struct rig_end a = RIG_A, b = RIG_B;

    (void)state;
    rig_begin(&rig, &config);
    rig_connect(&rig, &a, &b, 445);
    rig_send_call(&rig, &a, &b, 1);
    rig_end(&rig);
    assert_int_equal(rig.messages, 1);
    assert_int_equal(rig.connection[0].service_port, 445);
}

/* --qpn: without further evidence; what cannot be read is said to be malformed. */
static void qpn_option(void **state)
{
    static const uint32_t qpns[] = {33};
    const struct rpcrdma_flow_config config = {.qpns = qpns, .n_qpns = 1};
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t junk[40] = {1, 2, 3};

    (void)state;
    rig_begin(&rig, &config);
    rig_send(&rig, &a, &b, junk, sizeof(junk));
    rig_ack(&rig, &b, &a, a.psn - 1);
    rig_end(&rig);
    assert_int_equal(rig.messages, 1);
    assert_int_equal(rig.message[0].rules[0], RPCRDMA_RULE_MALFORMED_VERSION);
}

/* Without payload: only when an opposite Send answers its XID. */
static void nomsg_answered(void **state)
{
    uint8_t buf[256];

    (void)state;
    for (int answered = 0; answered < 2; answered++) {
        struct rig_end a = RIG_A, b = RIG_B;

        rig_begin(&rig, NULL);
        rig_send(&rig, &a, &b, buf, rig_nomsg_call(buf, 0x11223344));
        rig_ack(&rig, &b, &a, a.psn - 1);
        rig_send(&rig, &b, &a, buf, rig_nomsg_reply(buf, answered ? 0x11223344 : 0x55667788));
        rig_end(&rig);
        assert_int_equal(rig.messages, answered ? 2 : 0);
        assert_int_equal(rig.connections, answered);
        if (answered) {
            assert_int_equal(rig.message[0].direction, RPCRDMA_DIRECTION_CALL);
            assert_int_equal(rig.message[1].direction, RPCRDMA_DIRECTION_REPLY);
        }
    }
}

/* What came before the message that decides is not lost. */
static void applied_back(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t buf[256];

    (void)state;
    rig_begin(&rig, NULL);
    rig_send(&rig, &a, &b, buf, rig_nomsg_call(buf, 1));
    rig_ack(&rig, &b, &a, a.psn - 1);
    rig_send_call(&rig, &a, &b, 2);
    rig_send_reply(&rig, &b, &a, 2);
    rig_end(&rig);
    assert_int_equal(rig.messages, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(rig.message[i].xid, i < 2 ? i + 1 : 2);
}

static void rejected(void **state)
{
    struct rig_end a = RIG_A, b = RIG_B;
    struct rpcrdma_op_connect c = {
        .local_comm_id = 5, .service_id = 0x1060000 | 20049, .port = 20049, .qpn = 17};
    struct rpcrdma_op op;

    (void)state;
    rig_begin(&rig, NULL);
    op = rig_op(&rig, RPCRDMA_OP_CONNECT, &a, &b, 0);
    op.connect = &c;
    rig_feed(&rig, &op);
    rig_feed(&rig, &op); /* sent again */
    c = (struct rpcrdma_op_connect){.remote_comm_id = 5, .reason = 28};
    op = rig_op(&rig, RPCRDMA_OP_REJECT, &b, &a, 0);
    op.connect = &c;
    rig_feed(&rig, &op);
    rig_end(&rig);
    assert_int_equal(rig.connections, 1);
    assert_true(rig.connection[0].rejected);
    assert_true(rig.connection[0].closed);
    assert_false(rig.connection[0].end[1].has_qpn);
}

/* No allocation may be missed: each fails once. */
static void memory_fails(void **state)
{
    uint8_t buf[8192];

    (void)state;
    for (uint64_t fail = 1; fail < 200; fail++) {
        struct rig_end a = RIG_A, b = RIG_B;
        bool went_on = true;

        rig_begin(&rig, NULL);
        rig.flow->context.memory.fail_after = rig.flow->context.memory.count + fail;
        for (uint32_t i = 0; i < 20 && went_on; i++) {
            uint32_t n = rig_call(buf, i, 100003, 2000);
            struct rpcrdma_op op = rig_op(&rig, RPCRDMA_OP_SEND, &a, &b, a.psn + (i % 3 ? 0 : 1));

            for (uint32_t j = 0; j < 3 && went_on; j++) {
                op.flags =
                    (uint16_t)((j == 0 ? RPCRDMA_OP_FIRST : 0u) | (j == 2 ? RPCRDMA_OP_LAST : 0u));
                op.data = buf + j * RIG_PMTU;
                op.len = op.caplen = j == 2 ? n - 2 * RIG_PMTU : RIG_PMTU;
                went_on = rpcrdma_flow_op(rig.flow, &op);
                op.seq++;
            }
            a.psn += 3;
            if (went_on) {
                op = rig_op(&rig, RPCRDMA_OP_ACK, &b, &a, a.psn - 1);
                went_on = rpcrdma_flow_op(rig.flow, &op);
            }
        }
        if (!went_on)
            assert_false(rpcrdma_flow_op(rig.flow,
                                         &(struct rpcrdma_op){.kind = RPCRDMA_OP_ACK, .frame = 1}));
        rpcrdma_flow_free(rig.flow);
        if (went_on) {
            assert_true(fail > 10);
            return;
        }
    }
    fail_msg("it still fails after 200 allocations");
}

/* Scans of QP numbers and addresses do not grow without bound, and do no harm. */
static void bounded(void **state)
{
    const struct rpcrdma_flow_config config = {.max_memory = 4 << 20};
    struct rig_end a = RIG_A, b = RIG_B;
    uint8_t buf[256];

    (void)state;
    rig_begin(&rig, &config);
    rig_connect(&rig, &a, &b, 20049);
    for (uint32_t i = 0; i < 20000; i++) {
        struct rig_end x = {9, i, i}, y = {8, i, i * 3};

        rig_send(&rig, &x, &y, buf, rig_nomsg_call(buf, i));
        assert_true(rig.flow->context.memory.used <= 4 << 20);
        if (i % 1000 == 0) {
            rig_send_call(&rig, &a, &b, i);
            rig_send_reply(&rig, &b, &a, i);
        }
    }
    rig_end(&rig);
    assert_int_equal(rig.messages, 40);
    assert_true(rig.connections >= 1);
}

/* An idle connection costs little. */
static void many_connections(void **state)
{
    enum { MANY = 2000 };
    size_t before;

    (void)state;
    rig_begin(&rig, NULL);
    before = rig.flow->context.memory.used;
    for (uint32_t i = 0; i < MANY; i++) {
        struct rig_end a = {1, 100 + i, i}, b = {2, 5000 + i, i * 7};

        rig_connect(&rig, &a, &b, 20049);
        rig_send_call(&rig, &a, &b, i);
        rig_send_reply(&rig, &b, &a, i);
    }
    assert_int_equal(rig.messages, 2 * MANY);
    assert_true(rig.flow->conns->n_conns == MANY);
    assert_true((rig.flow->context.memory.used - before) / MANY < 5000);
    rig.flow->context.sink.connection = NULL;
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smb_direct),
        cmocka_unit_test(iser),
        cmocka_unit_test(nvme),
        cmocka_unit_test(random_sends),
        cmocka_unit_test(other_port),
        cmocka_unit_test(other_port_late),
        cmocka_unit_test(other_service),
        cmocka_unit_test(forced),
        cmocka_unit_test(forced_all),
        cmocka_unit_test(port_option),
        cmocka_unit_test(qpn_option),
        cmocka_unit_test(nomsg_answered),
        cmocka_unit_test(applied_back),
        cmocka_unit_test(rejected),
        cmocka_unit_test(memory_fails),
        cmocka_unit_test(bounded),
        cmocka_unit_test(many_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
