/* SPDX-License-Identifier: BSD-2-Clause */
/* How many slots of a session are in use, and how long all of them are. */
#include "session_fixture.h"

enum { SLOTS_COUNTED = 1024, SESSIONS = 256 };

static const uint8_t *name_of(uint32_t n)
{
    static uint8_t name[NAME];

    memset(name, 's', NAME);
    memcpy(name + NAME - sizeof(n), &n, sizeof(n));
    return name;
}

/* What is said and what answers it, to be sent apart. */
struct talked {
    uint32_t xid;
    struct rpc_bytes call, reply;
};

static struct talked said[8];

static void put(struct talked *one, uint32_t slot, uint32_t seqid, uint32_t granted)
{
    put_slot(name_of(0), seqid, slot, 1, granted, 0);
    *one = (struct talked){xid, part, whole};
}

static void send_one(const struct talked *one, bool call)
{
    const struct rpc_bytes *b = call ? &one->call : &one->reply;
    struct rpc_header h;

    rpc_header_init(&h, one->xid, MSG);
    rpc_send(&rig, call, &h, b->data, b->n);
}

static const struct rpcrdma_transaction *of(const struct talked *one)
{
    return &rpc_transaction(&rig, one->xid)->t;
}

static int64_t now_ns(void)
{
    return rig.rig.time_ns;
}

/* Two slots of two: as long as both are in use, from the second Call to the first Reply. */
static void all_slots(void **state)
{
    int64_t since_ns, until_ns;

    (void)state;
    create_session(name_of(0), 1 << 20, 64, 2);
    for (uint32_t slot = 0; slot < 2; slot++)
        put(&said[slot], slot, 1, 2);
    send_one(&said[0], true);
    rig.rig.time_ns += 1000000;
    since_ns = now_ns();
    send_one(&said[1], true);
    rig.rig.time_ns += 5000000;
    until_ns = now_ns();
    send_one(&said[0], false);
    rig.rig.time_ns += 2000000;
    send_one(&said[1], false);
    assert_int_equal(of(&said[0])->slots_full_ns, 0);
    assert_int_equal(of(&said[0])->slots_in_use, 1);
    assert_int_equal(of(&said[1])->slots_in_use, 2);
    assert_int_equal(of(&said[1])->slot, 1);
    assert_int_equal(of(&said[1])->slots, 2);
    assert_int_equal(of(&said[1])->slots_asked, 64);
    assert_true(llabs(of(&said[1])->slots_full_ns - (until_ns - since_ns)) < 100000);
}

/* The server grants a third meanwhile: the first Reply says so. And one less. */
static void grants_change(void **state)
{
    (void)state;
    create_session(name_of(0), 1 << 20, 64, 2);
    put(&said[0], 0, 1, 3);
    put(&said[1], 1, 1, 3);
    put(&said[2], 0, 2, 1);
    put(&said[3], 0, 3, 1);
    for (int i = 0; i < 2; i++)
        send_one(&said[i], true);
    for (int i = 0; i < 2; i++)
        send_one(&said[i], false);
    for (int i = 2; i < 4; i++) {
        send_one(&said[i], true);
        send_one(&said[i], false);
    }
    assert_int_equal(of(&said[2])->slots, 3);
    assert_int_equal(of(&said[2])->slots_full_ns, 0);
    assert_int_equal(of(&said[3])->slots, 1);
    assert_true(of(&said[3])->slots_full_ns > 0);
}

/* A slot that is taken again was free: of a Call whose Reply was not captured it is not known since
 * when, and that time does not count. */
static void reply_not_captured(void **state)
{
    (void)state;
    create_session(name_of(0), 1 << 20, 64, 2);
    for (uint32_t slot = 0; slot < 2; slot++) {
        put(&said[slot], slot, 1, 2);
        send_one(&said[slot], true);
    }
    rig.rig.time_ns += 50000000;
    put(&said[2], 1, 2, 2);
    send_one(&said[2], true);
    rig.rig.time_ns += 3000000;
    send_one(&said[2], false);
    send_one(&said[0], false);
    assert_int_equal(of(&said[2])->slots_in_use, 2);
    assert_true(llabs(of(&said[2])->slots_full_ns - 3000000) < 100000);
    rpc_rig_end(&rig);
    assert_int_equal(of(&said[1])->slots_full_ns, 0);
}

/* A client that says that it uses the first slot alone has another one. */
static void client_says_fewer(void **state)
{
    (void)state;
    create_session(name_of(0), 1 << 20, 64, 2);
    for (uint32_t slot = 0; slot < 2; slot++) {
        put_slot(name_of(0), 1, slot, 0, 2, 0);
        said[slot] = (struct talked){xid, part, whole};
        send_one(&said[slot], true);
    }
    for (uint32_t slot = 0; slot < 2; slot++)
        send_one(&said[slot], false);
    assert_int_equal(of(&said[1])->slots_full_ns, 0);
}

/* Of more sessions and slots than are counted each has its own number. */
static void too_many(void **state)
{
    (void)state;
    for (uint32_t n = 0; n <= SESSIONS; n++) {
        rig.transactions = 0;
        put_slot(name_of(n), 1, 0, 0, 1, 0);
        talk();
        assert_int_equal(rpc_transaction(&rig, xid)->t.slots_in_use, 1);
    }
    for (uint32_t slot = SLOTS_COUNTED - 1; slot <= SLOTS_COUNTED; slot++) {
        put_slot(name_of(0), 1, slot, slot, slot + 1, 0);
        talk();
        assert_true(rpc_transaction(&rig, xid)->t.has_slot);
        assert_int_equal(rpc_transaction(&rig, xid)->t.slot, slot);
        assert_int_equal(rpc_transaction(&rig, xid)->t.slots_in_use, slot < SLOTS_COUNTED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_slots, setup, teardown),
        cmocka_unit_test_setup_teardown(grants_change, setup, teardown),
        cmocka_unit_test_setup_teardown(reply_not_captured, setup, teardown),
        cmocka_unit_test_setup_teardown(client_says_fewer, setup, teardown),
        cmocka_unit_test_setup_teardown(too_many, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
