/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a packet in doubt was damaged: by its ICRC, and by those of its source. */
#include "packet.h"

enum { SOURCE = 26, DESTINATION = 30, PSN = 51, ICRC = 58, TAG = 4, SAMPLES = 16 };

/* Frame 44 of captures/roce-nfs3-mini: an Ack that Linux's rxe sent. */
static const uint8_t ack[] = {
    0x52, 0x54, 0x00, 0x77, 0x00, 0x11, 0x52, 0x54, 0x00, 0x77, 0x00, 0x01, 0x08, 0x00, 0x45, 0x00,
    0x00, 0x30, 0x69, 0x9c, 0x40, 0x00, 0x40, 0x11, 0xb5, 0xc3, 0xc0, 0xa8, 0x4d, 0x01, 0xc0, 0xa8,
    0x4d, 0x0b, 0xee, 0xec, 0x12, 0xb7, 0x00, 0x1c, 0x00, 0x00, 0x11, 0x00, 0xff, 0xff, 0x00, 0x00,
    0x00, 0x11, 0x00, 0x50, 0x31, 0xc8, 0x1f, 0x00, 0x00, 0x01, 0xbb, 0x53, 0x30, 0xd1,
};

static struct {
    struct rpcrdma_net *net;
    struct rpcrdma_packet packet; /* in hand */
    uint64_t ops, findings;
    bool tagged, damaged; /* VLAN, which is not plain; of the packet given last */
} rig;

static void on_op(void *context, const struct rpcrdma_op *op)
{
    (void)context;
    (void)op;
    rig.ops++;
    rig.damaged = rpcrdma_net_damaged(rig.net, &rig.packet);
}

static void on_finding(void *context, const struct rpcrdma_finding *finding)
{
    (void)context;
    assert_int_equal(finding->rule, RPCRDMA_RULE_ICRC_DAMAGED);
    rig.findings++;
}

/* An Ack that was right, with `bits` changed at `at`; 0: with none. True: it was damaged, and that
 * was told. */
static bool damaged(size_t at, uint8_t bits, size_t cut)
{
    static const uint8_t tag[TAG] = {0x81, 0x00, 0x00, 0x05};
    uint64_t findings = rig.findings, ops = rig.ops;
    struct bytes b = {.n = 0};
    uint8_t *copy;

    put_bytes(&b, ack, 12);
    if (rig.tagged)
        put_bytes(&b, tag, sizeof(tag));
    put_bytes(&b, ack + 12, sizeof(ack) - 12);
    b.at[at + (rig.tagged ? TAG : 0)] ^= bits;
    copy = heap_copy(b.at, b.n - cut);
    rig.packet = (struct rpcrdma_packet){.frame = rig.packet.frame + 1,
                                         .linktype = 1,
                                         .caplen = (uint32_t)(b.n - cut),
                                         .len = (uint32_t)b.n,
                                         .data = copy};
    rig.damaged = false;
    assert_true(rpcrdma_net_packet(rig.net, &rig.packet));
    free(copy);
    if (rig.ops > ops) /* else it was a sample */
        assert_int_equal(rig.findings - findings, rig.damaged);
    else
        assert_int_equal(rig.findings - findings, 1);
    assert_int_equal(rpcrdma_net_stats(rig.net)->bad_icrc, rig.findings);
    return rig.findings > findings;
}

static void begin(const struct rpcrdma_net_config *config, bool tagged)
{
    const struct rpcrdma_net_sink sink = {.op = on_op, .finding = on_finding};

    memset(&rig, 0, sizeof(rig));
    rig.tagged = tagged;
    rig.net = rpcrdma_net_new(config, &sink);
    assert_non_null(rig.net);
}

static void end(void)
{
    rpcrdma_net_free(rig.net);
}

static const struct rpcrdma_net_config judges = {.icrc_on_request = true};

/* So many that each of the first ones was looked at. */
static void begin_known(bool tagged)
{
    begin(&judges, tagged);
    for (int i = 0; i < SAMPLES; i++)
        assert_false(damaged(PSN, 0, 0));
}

static void by_its_icrc(void **state)
{
    (void)state;
    for (int tagged = 0; tagged < 2; tagged++) {
        begin_known(tagged);
        assert_true(damaged(PSN, 1, 0));
        assert_false(damaged(PSN, 0, 0));
        assert_true(damaged(DESTINATION, 0x20, 0));
        end();
    }
}

/* What was not captured, or only in part, shows nothing. */
static void cut(void **state)
{
    (void)state;
    for (int tagged = 0; tagged < 2; tagged++)
        for (size_t n = 1; n <= 4; n++) {
            begin_known(tagged);
            assert_false(damaged(PSN, 1, n));
            end();
        }
}

/* An address with one bit changed is another source, of which nothing is known: once. */
static void its_source(void **state)
{
    (void)state;
    begin_known(false);
    assert_true(damaged(SOURCE, 0x40, 0));
    assert_false(damaged(SOURCE, 0x40, 0));
    assert_true(damaged(SOURCE + 3, 1, 0));
    assert_false(damaged(SOURCE + 2, 3, 0));
    end();
}

/* Where a source's are wrong throughout nothing was damaged. */
static void wrong_throughout(void **state)
{
    (void)state;
    begin(&judges, false);
    for (int i = 0; i < 3 * SAMPLES; i++)
        assert_false(damaged(ICRC, 0xff, 0));
    end();
}

/* The first wrong one that does not fit in, after few that were right; from the second on more have
 * to be. */
static void few_known(void **state)
{
    (void)state;
    for (int before = 0; before < 4; before++) {
        struct rpcrdma_packet packet = {.frame = 1, .linktype = 1};
        uint8_t *copy;

        begin(&judges, false);
        for (int i = 0; i < before; i++)
            assert_false(damaged(PSN, 0, 0));
        copy = heap_copy(ack, sizeof(ack));
        copy[PSN] ^= 1;
        packet.caplen = packet.len = sizeof(ack);
        packet.data = copy;
        assert_int_equal(rpcrdma_net_damaged(rig.net, &packet), before >= 2);
        assert_false(rpcrdma_net_damaged(rig.net, &packet));
        free(copy);
        end();
    }
}

static void not_asked_for(void **state)
{
    static const struct rpcrdma_net_config gives = {.give_icrc = true};

    (void)state;
    begin(&gives, false);
    for (int i = 0; i < 2 * SAMPLES; i++)
        assert_false(damaged(PSN, 0, 0));
    assert_false(damaged(PSN, 1, 0));
    end();
}

/* Payload that is another one: of a Write, here one of the same bytes. */
static void headers_only(void **state)
{
    enum { OPCODE = 42, WRITE_MIDDLE = 7, ACK = 17 };
    static const struct rpcrdma_net_config config = {.icrc_on_request = true, .headers_only = true};

    (void)state;
    begin(&config, false);
    for (int i = 0; i < SAMPLES; i++)
        assert_false(damaged(PSN, 0, 0));
    assert_true(damaged(PSN, 1, 0));
    for (int i = 0; i < 2 * SAMPLES; i++)
        assert_false(damaged(OPCODE, WRITE_MIDDLE ^ ACK, 0));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_its_icrc),  cmocka_unit_test(cut),
        cmocka_unit_test(its_source),   cmocka_unit_test(wrong_throughout),
        cmocka_unit_test(few_known),    cmocka_unit_test(not_asked_for),
        cmocka_unit_test(headers_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
