/* SPDX-License-Identifier: BSD-2-Clause */

/* The table of Calls, of the stage of messages alone: what is outstanding, what is sent again, and
 * how long a stage above has its slot. */

#include "stage_conn.h"

#include "flow/message/message_state.h"

enum { XID = 0x1234, SLOT = 40 };

static struct stage_conns s;
static struct flow_messages *messages;
static struct flow_conn *conn;
static uint8_t bytes[256];
static struct flow_making making;

static int begin(void **state)
{
    (void)state;
    stage_conns_begin(&s);
    messages = flow_messages_new(&s.stage.context, s.conns, NULL, false);
    assert_non_null(messages);
    flow_calls_reserve(messages, FLOW_CALL_RPC, sizeof(void *));
    flow_calls_reserve(messages, FLOW_CALL_CREDIT, SLOT);
    conn = stage_connect(&s, NFS_PORT);
    return 0;
}

static int end(void **state)
{
    (void)state;
    flow_message_end(messages, conn);
    flow_message_close(messages, conn);
    flow_messages_free(messages);
    stage_conns_end(&s);
    return 0;
}

/* As the pump does, but for flow_message_done. */
static struct flow_call *make(int sender, uint32_t len, uint32_t caplen)
{
    static struct flow_send send;

    send = stage_send(&s.stage, bytes, len, 1);
    send.caplen = caplen;
    flow_message_make(messages, conn, flow_conn_direction(conn, 1 - sender), &send, &making);
    return making.event.call;
}

static struct flow_call *call(uint32_t xid)
{
    uint32_t len = stage_call(bytes, xid, 32);
    struct flow_call *made = make(0, len, len);

    flow_message_done(messages, making.event.call);
    return made;
}

/* Another procedure than stage_call's. */
static struct flow_call *other_call(uint32_t xid)
{
    enum { PROCEDURE = 4 * 12 + 3 };
    uint32_t len = stage_call(bytes, xid, 32);
    struct flow_call *made;

    bytes[PROCEDURE] = 6;
    made = make(0, len, len);
    flow_message_done(messages, making.event.call);
    return made;
}

static struct flow_call *reply(uint32_t xid)
{
    uint32_t len = stage_reply(bytes, xid, 16);
    struct flow_call *made = make(1, len, len);

    flow_message_done(messages, making.event.call);
    return made;
}

static struct flow_call *find(uint32_t xid)
{
    return flow_call_find(messages, conn, 0, xid);
}

static void test_answered(void **state)
{
    struct flow_call *made;

    (void)state;
    made = call(XID);
    assert_non_null(made);
    assert_int_equal(making.event.call_use, FLOW_CALL_NEW);
    assert_ptr_equal(find(XID), made);
    assert_null(flow_call_find(messages, conn, 1, XID)); /* of the other direction of RPC */
    assert_ptr_equal(reply(XID), made);
    assert_null(find(XID)); /* nobody holds it */
}

/* The same Call while it is outstanding; and the XID of a Call that was answered is free. */
static void test_retransmitted(void **state)
{
    struct flow_call *made;

    (void)state;
    made = call(XID);
    assert_ptr_equal(call(XID), made);
    assert_int_equal(making.event.call_use, FLOW_CALL_RETRANSMITTED);
    reply(XID);
    call(XID);
    assert_int_equal(making.event.call_use, FLOW_CALL_NEW);
}

/* Another procedure under an XID that is outstanding: another Call. */
static void test_reused(void **state)
{
    (void)state;
    call(XID);
    other_call(XID);
    assert_int_equal(making.event.call_use, FLOW_CALL_XID_REUSED);
    other_call(XID);
    assert_int_equal(making.event.call_use, FLOW_CALL_RETRANSMITTED);
    reply(XID);
    assert_non_null(making.out.call);
    assert_int_equal(making.out.call->procedure, 6);
}

/* As long, and of the same procedure, with other arguments: another Call, where all of both was
 * captured and the credential is none that changes with each sending. */
static void test_other_arguments(void **state)
{
    enum { ARGUMENTS = 64, FLAVOR = 4 * 13 + 3, GSS = 6 };
    uint32_t len;

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        bool cut = i == 2, gss = i == 3;

        for (uint32_t sending = 0; sending < 2; sending++) {
            len = stage_call(bytes, XID + i, 32) + ARGUMENTS;
            memset(bytes + len - ARGUMENTS, 0, ARGUMENTS);
            bytes[len - 1] = (uint8_t)(i > 0 ? sending : 0);
            bytes[FLAVOR] = gss ? GSS : bytes[FLAVOR];
            make(0, len, cut ? len - 2 : len);
            flow_message_done(messages, making.event.call);
        }
        assert_int_equal(making.event.call_use,
                         i == 1 ? FLOW_CALL_XID_REUSED : FLOW_CALL_RETRANSMITTED);
    }
}

/* A Call whose RPC header was cut may be any: it is taken for the one that is outstanding, and what
 * is known of that stays. */
static void test_cut(void **state)
{
    enum { TO_PROCEDURE = 28 };
    uint32_t len = stage_call(bytes, XID, 32);

    (void)state;
    call(XID);
    make(0, len, TO_PROCEDURE + 8); /* its XID and direction */
    flow_message_done(messages, making.event.call);
    assert_int_equal(making.out.direction, RPCRDMA_DIRECTION_CALL);
    assert_int_equal(making.event.call_use, FLOW_CALL_RETRANSMITTED);
    reply(XID);
    assert_non_null(making.out.call);
    assert_int_equal(making.out.call->program, NFS);
}

/* What only may be a Call: its direction was not captured. It is none to be sent again. */
static void test_unsure(void **state)
{
    enum { HEADER = 28 };
    struct flow_direction *calls;
    uint32_t len;

    (void)state;
    flow_conn_public(conn)->role[0] = RPCRDMA_ROLE_UNKNOWN;
    calls = flow_conn_direction(conn, 0);
    assert_non_null(calls);
    calls->lost = 1; /* a Reply to what was lost, or a Call */
    len = stage_call(bytes, XID, 32);
    assert_non_null(make(0, len, HEADER));
    flow_message_done(messages, making.event.call);
    assert_int_equal(making.out.direction, RPCRDMA_DIRECTION_UNKNOWN);
    assert_non_null(call(XID));
    assert_int_equal(making.event.call_use, FLOW_CALL_NEW);
    len = stage_call(bytes, XID, 32);
    make(0, len, HEADER); /* nothing is forgotten for it */
    flow_message_done(messages, making.event.call);
    reply(XID);
    assert_non_null(making.out.call);
}

/* Two stages: each has its own bytes, and the entry stays until both have left. */
static void test_slots(void **state)
{
    struct flow_call *made;
    uint8_t *mine, *its;

    (void)state;
    made = call(XID);
    mine = flow_call_slot(messages, made, FLOW_CALL_RPC);
    its = flow_call_slot(messages, made, FLOW_CALL_CREDIT);
    for (int i = 0; i < SLOT; i++)
        assert_int_equal(its[i], 0);
    memset(mine, 1, sizeof(void *));
    memset(its, 2, SLOT);
    assert_int_equal(mine[0], 1);
    assert_ptr_equal(flow_call_of_slot(messages, its, FLOW_CALL_CREDIT), made);
    flow_call_hold(made, FLOW_CALL_RPC);
    flow_call_hold(made, FLOW_CALL_CREDIT);
    flow_call_hold(made, FLOW_CALL_CREDIT); /* once all the same */
    reply(XID);
    assert_ptr_equal(find(XID), made);
    flow_call_leave(messages, made, FLOW_CALL_CREDIT);
    assert_ptr_equal(find(XID), made);
    assert_int_equal(call(XID) != NULL && making.event.call_use, FLOW_CALL_NEW);
    reply(XID);
    flow_call_leave(messages, made, FLOW_CALL_RPC);
    assert_null(find(XID));
    made = call(XID + 1); /* of what was used before: zero again */
    its = flow_call_slot(messages, made, FLOW_CALL_CREDIT);
    for (int i = 0; i < SLOT; i++)
        assert_int_equal(its[i], 0);
}

/* While its message is in hand a stage may leave, and the next one finds the entry all the same. */
static void test_in_hand(void **state)
{
    struct flow_call *made;
    uint32_t len;

    (void)state;
    made = call(XID);
    flow_call_hold(made, FLOW_CALL_RPC);
    len = stage_reply(bytes, XID, 16);
    assert_ptr_equal(make(1, len, len), made);
    flow_call_leave(messages, made, FLOW_CALL_RPC);
    assert_ptr_equal(find(XID), made);
    flow_message_done(messages, making.event.call);
    assert_null(find(XID));
}

/* The Reply was captured first, and a stage keeps something of it: its entry is that of the Call
 * that follows soon. */
static void test_answered_before(void **state)
{
    struct flow_call *made;

    (void)state;
    made = reply(XID);
    assert_non_null(made);
    memset(flow_call_slot(messages, made, FLOW_CALL_CREDIT), 7, SLOT);
    assert_ptr_equal(call(XID), made);
    assert_int_equal(making.event.call_use, FLOW_CALL_ANSWERED);
    assert_int_equal(((char *)flow_call_slot(messages, made, FLOW_CALL_CREDIT))[0], 7);
    assert_null(find(XID));
    call(XID); /* the Reply answers one Call */
    assert_int_equal(making.event.call_use, FLOW_CALL_NEW);
}

/* It was captured too long before, or the clock was set back: it answers another Call. */
static void test_answered_long_before(void **state)
{
    static const int64_t apart[] = {FLOW_REORDER_NS, -FLOW_REORDER_NS - 20001};

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        reply(XID + i);
        s.stage.context.time_ns += apart[i];
        assert_non_null(call(XID + i));
        assert_int_equal(making.event.call_use, FLOW_CALL_NEW);
        assert_non_null(find(XID + i));
    }
}

/* A Call that comes out of a gap after its Reply: it is older than that. */
static void test_answered_from_a_gap(void **state)
{
    uint64_t frame = s.stage.context.frame;

    (void)state;
    s.stage.context.frame += 10;
    reply(XID);
    s.stage.context.frame = frame;
    call(XID);
    assert_int_equal(making.event.call_use, FLOW_CALL_ANSWERED);
}

/* So many Replies without Call are kept; entries that go otherwise are not looked at again. */
static void test_answered_bound(void **state)
{
    size_t full = 0;

    (void)state;
    s.stage.context.time_ns = 0;
    for (uint32_t xid = 0; xid < 3 * MESSAGE_UNMATCHED; xid++) {
        reply(xid);
        s.stage.context.time_ns = 0;
        if (xid == MESSAGE_UNMATCHED)
            full = s.stage.context.memory.used;
    }
    assert_int_equal(s.stage.context.memory.used, full);
    assert_null(find(2 * MESSAGE_UNMATCHED - 1));
    flow_call_drop(messages, conn, find(2 * MESSAGE_UNMATCHED));
    s.stage.context.time_ns = FLOW_REORDER_NS + 1;
    reply(4 * MESSAGE_UNMATCHED);
    assert_null(find(3 * MESSAGE_UNMATCHED - 1));
    assert_non_null(find(4 * MESSAGE_UNMATCHED));
}

/* One bound for all stages: the oldest goes, each stage leaves it once. */
static void test_bound(void **state)
{
    struct flow_call *first, *each;
    size_t full = 0;

    (void)state;
    first = call(0);
    flow_call_hold(first, FLOW_CALL_CREDIT);
    for (uint32_t xid = 1; xid < MESSAGE_CALLS; xid++)
        call(xid);
    assert_null(flow_call_excess(conn));
    for (uint32_t xid = MESSAGE_CALLS; xid < 2 * MESSAGE_CALLS; xid++) {
        call(xid);
        if (xid == MESSAGE_CALLS)
            full = s.stage.context.memory.used;
        each = flow_call_excess(conn);
        assert_ptr_equal(each, find(xid - MESSAGE_CALLS));
        if (xid == MESSAGE_CALLS)
            assert_ptr_equal(each, first);
        flow_call_leave(messages, each, FLOW_CALL_CREDIT);
        flow_call_drop(messages, conn, each);
        assert_null(flow_call_excess(conn));
        assert_null(find(xid - MESSAGE_CALLS));
    }
    assert_true(s.stage.context.memory.used <= full);
    assert_int_equal(s.stage.findings, 0); /* the stage of RPCs tells it of each */
    assert_non_null(reply(MESSAGE_CALLS));
}

/* Without that stage the first is told. */
static void test_bound_told(void **state)
{
    struct flow_call *each;

    (void)state;
    messages->rpcs_followed = false;
    for (uint32_t xid = 0; xid < MESSAGE_CALLS + 4; xid++) {
        /* that their Replies do not come says nothing while none of that direction is captured */
        if (xid == MESSAGE_CALLS + 2) {
            assert_int_equal(s.stage.findings, 0);
            flow_conn_direction(conn, 0)->last_frame = s.stage.context.frame;
        }
        call(xid);
        each = flow_call_excess(conn);
        if (each)
            flow_call_drop(messages, conn, each);
    }
    assert_int_equal(s.stage.findings, 1);
    assert_int_equal(s.stage.rule, RPCRDMA_RULE_RPC_GIVEN_UP);
}

/* Which of the XIDs from `from` on has the place of XID in the ring. */
static uint32_t meeting(uint32_t from)
{
    uint64_t calls = message_calls_of(conn, 0);

    while (message_ring_index(calls, from) != message_ring_index(calls, XID))
        from++;
    return from;
}

/* The first of them is in the ring, the others are in the table: also when the ring's place is free
 * again, which each takes that is new. */
static void test_meeting(void **state)
{
    const uint32_t second = meeting(XID + 1), third = meeting(second + 1);
    uint8_t plain[64] = {0};
    struct flow_call *made[3];

    (void)state;
    made[0] = call(XID);
    made[1] = call(second);
    assert_ptr_not_equal(made[0], made[1]);
    assert_int_equal(messages->calls.count, 1);
    assert_ptr_equal(find(XID), made[0]);
    assert_ptr_equal(find(second), made[1]);
    assert_null(find(third));
    assert_ptr_equal(reply(XID), made[0]);
    assert_ptr_equal(find(second), made[1]);
    assert_ptr_equal(call(second), made[1]);
    assert_int_equal(making.event.call_use, FLOW_CALL_RETRANSMITTED);
    plain[2] = (uint8_t)(second >> 8);
    plain[3] = (uint8_t)second;
    assert_null(message_call_note_plain(messages, conn, 0, plain, sizeof(plain))); /* it is there */
    made[2] = call(third);
    assert_int_equal(messages->calls.count, 1);
    assert_ptr_equal(find(third), made[2]);
    assert_ptr_equal(reply(second), made[1]);
    assert_int_equal(messages->calls.count, 0);
    assert_ptr_equal(reply(third), made[2]);
    assert_null(find(third));
}

/* As Linux counts, in the bytes of a PC: each has its own place. */
static void test_counted(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MESSAGE_RING; i++)
        call(__builtin_bswap32(XID + i));
    assert_int_equal(messages->calls.count, 0);
    for (uint32_t i = 0; i < MESSAGE_RING; i++)
        assert_non_null(find(__builtin_bswap32(XID + i)));
}

static void test_no_memory(void **state)
{
    size_t limit = s.stage.context.memory.limit;

    (void)state;
    call(XID);
    s.stage.context.memory.limit = 0;
    assert_null(call(XID + 1));
    assert_ptr_equal(call(XID), find(XID));
    assert_int_equal(making.event.call_use, FLOW_CALL_RETRANSMITTED);
    s.stage.context.memory.limit = limit;
    assert_null(find(XID + 1));
    assert_non_null(call(XID + 1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(answered),
        TEST(retransmitted),
        TEST(reused),
        TEST(other_arguments),
        TEST(cut),
        TEST(unsure),
        TEST(slots),
        TEST(in_hand),
        TEST(answered_before),
        TEST(bound),
        TEST(bound_told),
        TEST(meeting),
        TEST(counted),
        TEST(no_memory),
        TEST(answered_long_before),
        TEST(answered_from_a_gap),
        TEST(answered_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
