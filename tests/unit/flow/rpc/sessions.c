/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions of NFS version 4 are told apart by their names, whatever names a capture chooses; and
 * those that are remembered are the latest. */
#include "session_fixture.h"

enum {
    MISORDERED = 10063,
    SLOTS = 1024,   /* that flow/rpc remembers, */
    SESSIONS = 256, /* and sessions */
};

static const struct got_transaction *sequence(const uint8_t *name, uint32_t seqid, uint32_t slot,
                                              uint32_t status)
{
    put_sequence(name, seqid, slot, status);
    talk();
    return rpc_transaction(&rig, xid);
}

/* Of a session with more slots than are remembered. */
static void create(const uint8_t *name, uint32_t request_size)
{
    create_session(name, request_size, 64, SLOTS + 1);
}

static bool told(const struct got_transaction *t, enum rpcrdma_rule_id rule)
{
    return rpc_has_rule(t->rules, t->n_rules, rule);
}

/* Names that FNV-1a of 64 bits takes for each other, made in a moment: the differences of their
 * bytes are a short vector of the lattice that the powers of its prime make. */
static void names_of_one_fnv_hash(void **state)
{
    static const uint8_t names[][2][NAME + 1] = {
        {"\x62\x0d\x18\x29\x4e\xe4\xcf\xf7\x1c\xf3\xd2\xcb\xd7\xd1\xc2\x51",
         "\x69\x03\x6e\x13\x7b\x24\x46\xb4\x36\xdd\x4a\x47\x52\xb2\xbc\x53"},
        {"\x7f\x5a\x28\x54\x7c\xbc\x0e\xa9\x33\x36\xd2\x0a\xa8\x0b\xcd\xb3",
         "\x70\x5a\x26\x64\x31\xac\x35\xe0\x1d\x18\x4a\x0e\xf3\x0a\xdb\xbd"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint64_t hash[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0xcbf29ce484222325)};

        for (int k = 0; k < 2; k++)
            for (int b = 0; b < NAME; b++)
                hash[k] = (hash[k] ^ names[i][k][b]) * UINT64_C(0x100000001b3);
        assert_true(hash[0] == hash[1]);
        create(names[i][0], 1 << 20);
        create(names[i][1], 1 << 20);
        assert_int_equal(sequence(names[i][0], 1, 0, 0)->n_rules, 0);
        assert_int_equal(sequence(names[i][0], 2, 0, 0)->n_rules, 0);
        assert_int_equal(sequence(names[i][1], 1, 0, 0)->n_rules, 0);
        assert_int_equal(sequence(names[i][1], 2, 0, 0)->n_rules, 0);
        assert_int_equal(sequence(names[i][0], 3, 0, 0)->n_rules, 0);
        assert_true(told(sequence(names[i][1], 4, 0, MISORDERED), RPCRDMA_RULE_SLOT_SEQUENCE));
    }
}

static const uint8_t *name_of(uint32_t n)
{
    static uint8_t name[NAME];

    memset(name, 'n', NAME);
    memcpy(name + NAME - sizeof(n), &n, sizeof(n));
    return name;
}

/* As many slots as are remembered are all followed, and of one more the oldest is not: whatever the
 * hash's key is. */
static void as_many_slots_as_are_remembered(void **state)
{
    (void)state;
    rpc_rig_free(&rig);
    rpc_rig_begin(&rig, NULL, false);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        sequence(name_of(0), 1, slot, 0);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        assert_true(told(sequence(name_of(0), 7, slot, MISORDERED), RPCRDMA_RULE_SLOT_SEQUENCE));
    sequence(name_of(1), 1, 0, 0);
    assert_int_equal(sequence(name_of(0), 17, 0, MISORDERED)->n_rules, 0);
    assert_true(told(sequence(name_of(0), 17, 2, MISORDERED), RPCRDMA_RULE_SLOT_SEQUENCE));
}

static void as_many_sessions_as_are_remembered(void **state)
{
    (void)state;
    rpc_rig_free(&rig);
    rpc_rig_begin(&rig, NULL, false);
    for (uint32_t n = 0; n < SESSIONS; n++)
        create(name_of(n), 1);

    for (uint32_t n = 0; n < SESSIONS; n++)
        assert_true(told(sequence(name_of(n), 1, 0, 0), RPCRDMA_RULE_SESSION_REQUEST_SIZE));
    create(name_of(SESSIONS), 1);
    assert_false(told(sequence(name_of(0), 2, 0, 0), RPCRDMA_RULE_SESSION_REQUEST_SIZE));
    assert_true(told(sequence(name_of(1), 2, 0, 0), RPCRDMA_RULE_SESSION_REQUEST_SIZE));
}

/* Two servers that create a session of the same name, and one that does so again: slots and limits
 * are those of the latest by the server that is asked. */
static void a_name_that_two_servers_give(void **state)
{
    const uint8_t name[NAME] = {7};
    struct rig_end a[2] = {rig.a, {1, rig.a.qpn + 1, 77}}, b[2] = {rig.b, {3, 900, 4000}};

    (void)state;
    rig_connect(&rig.rig, &a[1], &b[1], 20049);
    for (int server = 0; server < 2; server++) {
        rig.a = a[server];
        rig.b = b[server];
        create(name, server == 0 ? 1 << 20 : 1);
        a[server] = rig.a;
        b[server] = rig.b;
    }
    for (uint32_t seqid = 1; seqid <= 3; seqid++) {
        for (int server = 0; server < 2; server++) {
            const struct got_transaction *t;

            rig.a = a[server];
            rig.b = b[server];
            t = sequence(name, seqid, 0, 0);
            a[server] = rig.a;
            b[server] = rig.b;
            assert_int_equal(t->n_rules, server);
            assert_int_equal(told(t, RPCRDMA_RULE_SESSION_REQUEST_SIZE), server);
        }
    }
    create(name, 1 << 20);
    assert_int_equal(sequence(name, 1, 0, 0)->n_rules, 0);
}

static const struct got_transaction *at(struct rig_end *a, struct rig_end *b, uint32_t seqid,
                                        uint32_t status)
{
    const uint8_t name[NAME] = {7};
    const struct got_transaction *t;

    rig.a = *a;
    rig.b = *b;
    t = sequence(name, seqid, 0, status);
    *a = rig.a;
    *b = rig.b;
    return t;
}

/* Of two servers with a session of the same name one is seen to create it; the other takes numbers
 * that do not follow. Where it refuses one, it may be another address of the first. */
static void a_name_that_an_older_session_has(void **state)
{
    const uint8_t name[NAME] = {7};
    struct rig_end a[2] = {rig.a, {1, rig.a.qpn + 1, 77}}, b[2] = {rig.b, {3, 900, 4000}};

    (void)state;
    rig_connect(&rig.rig, &a[1], &b[1], 20049);
    create(name, 1);
    a[0] = rig.a;
    b[0] = rig.b;
    assert_int_equal(at(&a[1], &b[1], 100, 0)->n_rules, 0);
    for (uint32_t seqid = 1; seqid <= 3; seqid++) {
        const struct got_transaction *t = at(&a[0], &b[0], seqid, 0);

        assert_int_equal(t->n_rules, 1);
        assert_true(told(t, RPCRDMA_RULE_SESSION_REQUEST_SIZE));
        assert_int_equal(at(&a[1], &b[1], 100 + seqid, 0)->n_rules, 0);
    }
}

static void another_address_that_refuses(void **state)
{
    const uint8_t name[NAME] = {7};
    struct rig_end a[2] = {rig.a, {1, rig.a.qpn + 1, 77}}, b[2] = {rig.b, {3, 900, 4000}};

    (void)state;
    rig_connect(&rig.rig, &a[1], &b[1], 20049);
    create(name, 1);
    a[0] = rig.a;
    b[0] = rig.b;
    at(&a[0], &b[0], 1, 0);
    assert_true(told(at(&a[1], &b[1], 2, 0), RPCRDMA_RULE_SESSION_REQUEST_SIZE));
    assert_true(told(at(&a[1], &b[1], 200, MISORDERED), RPCRDMA_RULE_SLOT_SEQUENCE));
    assert_true(told(at(&a[1], &b[1], 3, 0), RPCRDMA_RULE_SESSION_REQUEST_SIZE));
}

/* A Reply that the capture shows behind the next Call of its slot: by its time it was before that,
 * or it was not; of the same time the order of the capture tells. */
static void reply_behind_the_next_call(void **state)
{
    enum { STEP_NS = 5000 }; /* half of what is between two packets */
    static const struct {
        int steps; /* back */
        bool told;
    } cases[] = {{3, false}, {2, true}, {0, true}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const uint8_t name[NAME] = {(uint8_t)(1 + i)};
        struct rpc_bytes first;
        struct rpc_header h;

        create(name, 1 << 20);
        put_sequence(name, 1, 0, 0);
        first = whole;
        rpc_header_init(&h, xid, MSG);
        rpc_send(&rig, true, &h, part.data, part.n);
        put_sequence(name, 2, 0, 0);
        rpc_header_init(&h, xid, MSG);
        rpc_send(&rig, true, &h, part.data, part.n);
        rig.rig.time_ns -= cases[i].steps * STEP_NS;
        rpc_header_init(&h, xid - 1, MSG);
        rpc_send(&rig, false, &h, first.data, first.n);
        rig.rig.time_ns += 4 * STEP_NS;
        rpc_header_init(&h, xid, MSG);
        rpc_send(&rig, false, &h, whole.data, whole.n);
        assert_int_equal(told(rpc_transaction(&rig, xid), RPCRDMA_RULE_SLOT_IN_USE), cases[i].told);
    }
}

/* A number wraps to 0, and the slot does not begin anew at the 1 behind that: a Call that is sent
 * while the one before it is not answered is told. The last of a slot's numbers are known across
 * the wrap, too. */
static void numbers_that_wrap(void **state)
{
    const uint8_t name[NAME] = {3};
    struct rpc_header h;

    (void)state;
    create(name, 1 << 20);
    assert_int_equal(sequence(name, UINT32_MAX - 1, 0, 0)->n_rules, 0);
    assert_int_equal(sequence(name, UINT32_MAX, 0, 0)->n_rules, 0);
    put_sequence(name, 0, 0, 0);
    rpc_header_init(&h, xid, MSG);
    rpc_send(&rig, true, &h, part.data, part.n);
    assert_true(told(sequence(name, 1, 0, 0), RPCRDMA_RULE_SLOT_IN_USE));
    assert_true(told(sequence(name, UINT32_MAX, 0, MISORDERED), RPCRDMA_RULE_SLOT_SEQUENCE));
    assert_int_equal(sequence(name, 2, 0, 0)->n_rules, 0);
    assert_true(told(sequence(name, 4, 0, MISORDERED), RPCRDMA_RULE_SLOT_SEQUENCE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_of_one_fnv_hash, setup, teardown),
        cmocka_unit_test_setup_teardown(as_many_slots_as_are_remembered, setup, teardown),
        cmocka_unit_test_setup_teardown(as_many_sessions_as_are_remembered, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_that_two_servers_give, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_that_an_older_session_has, setup, teardown),
        cmocka_unit_test_setup_teardown(another_address_that_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(reply_behind_the_next_call, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_that_wrap, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
