/* SPDX-License-Identifier: BSD-2-Clause */

/* The stage of streams alone: requests in, events out. */

#include "stage.h"

#include "flow/stream/stream_state.h"

enum { QPN = 17, PSN = 1000, PMTU = 1024 };

static const struct flow_selection nothing;
static struct stage stage;
static struct flow_streams *streams;
static uint8_t owner; /* stands for a connection: the stage only looks whether there is one */
static uint8_t bytes[PMTU];

static int begin(void **state)
{
    (void)state;
    stage_begin(&stage);
    streams = flow_streams_new(&stage.context, &nothing);
    return streams ? 0 : -1;
}

static int end(void **state)
{
    struct flow_direction *dir;

    (void)state;
    while ((dir = flow_direction_unowned(streams, 0)))
        flow_direction_free(streams, dir);
    flow_streams_free(streams);
    assert_int_equal(stage.context.memory.used, 0);
    return 0;
}

static struct rpcrdma_op packet(enum rpcrdma_op_kind kind, uint32_t psn)
{
    struct rpcrdma_op op = stage_op(&stage, kind, 1, 2, QPN, psn);

    stage_data(&op, bytes, 64);
    return op;
}

static struct flow_direction *direction(void)
{
    struct rpcrdma_op op = stage_op(&stage, RPCRDMA_OP_SEND, 1, 2, QPN, 0);
    struct flow_direction *dir = flow_direction_find(streams, &op);

    assert_non_null(dir);
    return dir;
}

static void own(struct flow_direction *dir)
{
    flow_direction_own(streams, dir, (struct flow_conn *)(void *)&owner, 0);
    dir->classified = true;
    dir->paired = true;
}

static struct flow_direction *owned(void)
{
    struct flow_direction *dir = direction();

    own(dir);
    return dir;
}

static struct flow_stream_events events;
static const struct flow_stream_event *first_event; /* of what was given, not yet returned */
static bool given, final;

static void give(struct flow_direction *dir, const struct rpcrdma_op *op)
{
    first_event = flow_stream_op(streams, dir, op, &events);
    given = true;
    final = false;
}

static const struct flow_stream_event *next(struct flow_direction *dir)
{
    const struct flow_stream_event *event =
        given ? first_event : flow_stream_next(streams, dir, &events);

    given = false;
    if (final)
        assert_null(event); /* the one before said so */
    final = event && event->final;
    return event;
}

/* Gives it, and checks the kinds of what comes, and the PSNs of what was taken in order. */
static void expect(struct flow_direction *dir, const struct rpcrdma_op *op,
                   const enum flow_stream_event_kind *kinds, size_t n)
{
    const struct flow_stream_event *event;

    if (op)
        give(dir, op);
    for (size_t i = 0; i < n; i++) {
        event = next(dir);
        assert_non_null(event);
        assert_int_equal(event->kind, kinds[i]);
    }
    assert_null(next(dir));
}

#define EXPECT(dir, op, ...)                                                                       \
    do {                                                                                           \
        const enum flow_stream_event_kind kinds_[] = {__VA_ARGS__};                                \
        expect(dir, op, kinds_, sizeof(kinds_) / sizeof(kinds_[0]));                               \
    } while (0)

static void test_in_order(void **state)
{
    struct flow_direction *dir = direction();

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        struct rpcrdma_op op = packet(RPCRDMA_OP_SEND, (0xfffffe + i) & 0xffffff);

        EXPECT(dir, &op, FLOW_STREAM_SEND); /* the PSN wraps (IBTA volume 1 section 9.7.2) */
    }
}

/* What is ahead of a gap waits for it, and comes in the order of PSNs. */
static void test_reordered(void **state)
{
    struct flow_direction *dir = owned();
    struct rpcrdma_op first = packet(RPCRDMA_OP_SEND, PSN), late = packet(RPCRDMA_OP_SEND, PSN + 1);
    struct rpcrdma_op ahead = packet(RPCRDMA_OP_SEND, PSN + 2);
    const struct flow_stream_event *event;

    (void)state;
    EXPECT(dir, &first, FLOW_STREAM_SEND);
    EXPECT(dir, &ahead, FLOW_STREAM_WAITS);
    assert_true(flow_stream_waits(dir, NULL, NULL));
    give(dir, &late);
    for (uint32_t i = 1; i < 3; i++) {
        event = next(dir);
        assert_non_null(event);
        assert_int_equal(event->kind, FLOW_STREAM_SEND);
        assert_true(event->taken);
        assert_int_equal(event->seq, PSN + i);
        assert_int_equal(event->waited, i == 2);
    }
    EXPECT(dir, NULL, FLOW_STREAM_RESUMES);
    assert_false(flow_stream_waits(dir, NULL, NULL));
    EXPECT(dir, &late); /* captured twice: told once */
    flow_direction_free(streams, dir);
}

/* While an event of one stream is in hand others may be asked. */
static void test_in_turns(void **state)
{
    struct rpcrdma_op of_other = stage_op(&stage, RPCRDMA_OP_WRITE, 1, 2, QPN + 1, PSN);
    struct flow_direction *dir = owned(), *other = flow_direction_find(streams, &of_other);
    struct rpcrdma_op first = packet(RPCRDMA_OP_SEND, PSN), late = packet(RPCRDMA_OP_SEND, PSN + 1);
    struct rpcrdma_op ahead = packet(RPCRDMA_OP_SEND, PSN + 2);
    struct flow_stream_events others;
    const struct flow_stream_event *event, *meanwhile;

    (void)state;
    assert_non_null(other);
    own(other);
    EXPECT(dir, &first, FLOW_STREAM_SEND);
    EXPECT(dir, &ahead, FLOW_STREAM_WAITS);
    give(dir, &late);
    event = next(dir);
    assert_non_null(event);
    meanwhile = flow_stream_op(streams, other, &of_other, &others);
    assert_non_null(meanwhile);
    assert_int_equal(meanwhile->kind, FLOW_STREAM_WRITE);
    assert_true(meanwhile->final);
    assert_int_equal(event->kind, FLOW_STREAM_SEND);
    assert_int_equal(event->seq, PSN + 1);
    assert_false(event->final);
    EXPECT(dir, NULL, FLOW_STREAM_SEND, FLOW_STREAM_RESUMES);
    flow_direction_free(streams, dir);
    flow_direction_free(streams, other);
}

/* How many PSNs a Read takes is not known before the path MTU is: the next packet shows it. A Send
 * among them stands late in the file; a Read Request there asks for a part of the same again. */
static void test_read_of_unknown_length(void **state)
{
    struct flow_direction *dir = owned();
    struct rpcrdma_op read = packet(RPCRDMA_OP_READ_REQUEST, PSN);
    struct rpcrdma_op again = packet(RPCRDMA_OP_READ_REQUEST, PSN + 2);

    (void)state;
    read.flags = again.flags = RPCRDMA_OP_RETH;
    read.length = again.length = 5000;
    EXPECT(dir, &read, FLOW_STREAM_OP);
    for (uint32_t i = 0; i < 3; i++) {
        static const uint32_t psn[] = {PSN + 8, PSN + 6, PSN + 7};
        struct rpcrdma_op send = packet(RPCRDMA_OP_SEND, psn[i]);

        EXPECT(dir, &send, FLOW_STREAM_SEND);
        EXPECT(dir, &again);
        EXPECT(dir, &send); /* captured twice: told once */
    }
    flow_direction_free(streams, dir);
}

/* A gap that is given up is told before what was behind it; a packet of it may still come. */
static void test_given_up(void **state)
{
    struct flow_direction *dir = owned();
    struct rpcrdma_op first = packet(RPCRDMA_OP_WRITE, PSN),
                      ahead = packet(RPCRDMA_OP_SEND, PSN + 3);
    struct rpcrdma_op late = packet(RPCRDMA_OP_SEND, PSN + 2);
    const struct flow_stream_event *event;

    (void)state;
    EXPECT(dir, &first, FLOW_STREAM_WRITE);
    EXPECT(dir, &ahead, FLOW_STREAM_WAITS);
    flow_stream_review(dir, false);
    EXPECT(dir, NULL); /* time has not decided */
    flow_stream_review(dir, true);
    event = next(dir);
    assert_non_null(event);
    assert_int_equal(event->kind, FLOW_STREAM_GAP);
    assert_int_equal(event->gap.first, PSN + 1);
    assert_int_equal(event->gap.last, PSN + 2);
    EXPECT(dir, NULL, FLOW_STREAM_SEND, FLOW_STREAM_RESUMES);
    assert_int_equal(dir->lost, 2);
    EXPECT(dir, &late, FLOW_STREAM_SEND);
    EXPECT(dir, &late);
    flow_direction_free(streams, dir);
}

/* Of as many gaps as are kept, the oldest is filled in its middle: what is left of it is two, and
 * none of these takes the other's place. */
static void test_split(void **state)
{
    struct flow_direction *dir = owned();
    struct rpcrdma_op first = packet(RPCRDMA_OP_SEND, PSN);

    (void)state;
    EXPECT(dir, &first, FLOW_STREAM_SEND);
    for (uint32_t i = 1; i <= STREAM_GAPS; i++) {
        struct rpcrdma_op ahead = packet(RPCRDMA_OP_SEND, PSN + 4 * i);

        EXPECT(dir, &ahead, FLOW_STREAM_WAITS);
        flow_stream_review(dir, true);
        EXPECT(dir, NULL, FLOW_STREAM_GAP, FLOW_STREAM_SEND, FLOW_STREAM_RESUMES);
    }
    for (uint32_t i = 0; i < 3; i++) {
        struct rpcrdma_op late = packet(RPCRDMA_OP_SEND, PSN + (i == 0 ? 2 : i == 1 ? 1 : 3));

        EXPECT(dir, &late, FLOW_STREAM_SEND);
        EXPECT(dir, &late);
    }
    flow_direction_free(streams, dir);
}

/* All PSNs later what was given up is not what is missing under these PSNs: what comes there again
 * is known. */
static void test_around(void **state)
{
    const uint32_t length = 1 << 30, packets = length / PMTU;
    struct flow_direction *dir = owned();
    struct rpcrdma_op first = packet(RPCRDMA_OP_SEND, PSN),
                      ahead = packet(RPCRDMA_OP_SEND, PSN + 3),
                      again = packet(RPCRDMA_OP_SEND, PSN + 2);

    (void)state;
    dir->pmtu = PMTU;
    EXPECT(dir, &first, FLOW_STREAM_SEND);
    EXPECT(dir, &ahead, FLOW_STREAM_WAITS);
    flow_stream_review(dir, true);
    EXPECT(dir, NULL, FLOW_STREAM_GAP, FLOW_STREAM_SEND, FLOW_STREAM_RESUMES);
    for (uint32_t psn = 0; psn < 1 << 24; psn += packets) {
        struct rpcrdma_op read = packet(RPCRDMA_OP_READ_REQUEST, (PSN + 4 + psn) & 0xffffff);

        read.flags |= RPCRDMA_OP_RETH;
        read.length = length;
        EXPECT(dir, &read, FLOW_STREAM_OP);
        if (psn == packets * 12) { /* and what came again long ago is not the latest */
            read.seq = rpcrdma_psn_add(read.seq, packets - 10);
            EXPECT(dir, &read);
        }
    }
    EXPECT(dir, &again);
    assert_int_equal(dir->repeated_seq, PSN + 2);
    assert_int_equal(dir->lost, 2);
    flow_direction_free(streams, dir);
}

/* Without a connection nothing is worth waiting for. */
static void test_unowned(void **state)
{
    struct flow_direction *dir = direction();
    struct rpcrdma_op first = packet(RPCRDMA_OP_SEND, PSN),
                      ahead = packet(RPCRDMA_OP_SEND, PSN + 2);

    (void)state;
    EXPECT(dir, &first, FLOW_STREAM_SEND);
    EXPECT(dir, &ahead, FLOW_STREAM_SEND);
}

/* A Send of three packets is one, with the bytes of all. */
static void test_put_together(void **state)
{
    struct flow_direction *dir = owned();
    const struct flow_stream_event *event;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct rpcrdma_op op = packet(RPCRDMA_OP_SEND, PSN + i);

        stage_data(&op, bytes, i < 2 ? PMTU : 10);
        op.flags = i == 0 ? RPCRDMA_OP_FIRST : i == 2 ? RPCRDMA_OP_LAST : 0;
        give(dir, &op);
        event = next(dir);
        if (i < 2) {
            assert_null(event);
            continue;
        }
        assert_non_null(event);
        assert_int_equal(event->kind, FLOW_STREAM_SEND);
        assert_int_equal(event->send.len, 2 * PMTU + 10);
        assert_int_equal(event->send.caplen, 2 * PMTU + 10);
        assert_int_equal(event->send.first_seq, PSN);
        assert_int_equal(event->send.last_seq, PSN + 2);
        assert_int_equal(event->send.first_frame + 2, event->send.frame);
        assert_null(next(dir));
    }
    assert_int_equal(dir->pmtu, PMTU);
    flow_direction_free(streams, dir);
}

/* As long as no Send can be: of what was captured of it there is not more than it has. */
static void test_too_long(void **state)
{
    enum { PARTS = 4, MISSING = 3 };
    struct flow_direction *dir = owned();
    const struct flow_stream_event *event;

    (void)state;
    for (uint32_t i = 0; i <= PARTS; i++) {
        struct rpcrdma_op op = packet(RPCRDMA_OP_SEND, PSN + i);

        op.len = i < PARTS ? 1U << 30 : op.len;
        op.caplen = i == 0 ? PMTU : 0;
        op.flags = i == 0 ? RPCRDMA_OP_FIRST : i == PARTS ? RPCRDMA_OP_LAST : 0;
        if (i != MISSING)
            give(dir, &op);
        while ((event = next(dir)) && event->kind != FLOW_STREAM_SEND)
            ;
    }
    flow_stream_review(dir, true);
    while ((event = next(dir)) && event->kind != FLOW_STREAM_SEND)
        ;
    assert_non_null(event);
    assert_int_equal(event->send.caplen, PMTU);
    assert_int_equal(event->send.len, UINT32_MAX);
    assert_int_equal(next(dir)->kind, FLOW_STREAM_RESUMES);
    assert_null(next(dir));
    flow_direction_free(streams, dir);
}

/* The wire says the address of a Write in its first packet: the others' follow from the path MTU.
 */
static void test_write_places(void **state)
{
    struct flow_direction *dir = owned();
    const struct flow_stream_event *event;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct rpcrdma_op op = packet(RPCRDMA_OP_WRITE, PSN + i);

        stage_data(&op, bytes, PMTU);
        op.flags = i == 0 ? RPCRDMA_OP_FIRST | RPCRDMA_OP_RETH : i == 2 ? RPCRDMA_OP_LAST : 0;
        if (i == 0) {
            op.rkey = 7;
            op.remote_address = 0x10000;
            op.length = 3 * PMTU;
        }
        give(dir, &op);
        event = next(dir);
        assert_non_null(event);
        assert_int_equal(event->kind, FLOW_STREAM_WRITE);
        assert_true(event->write.placed);
        assert_int_equal(event->write.rkey, 7);
        assert_int_equal(event->write.address, 0x10000 + i * PMTU);
        assert_null(next(dir));
    }
    flow_direction_free(streams, dir);
}

/* A Send that stands where another one stood is that one retransmitted, whatever it says; once the
 * connection has ended the QP number is used again, and the operation is not taken. */
static void test_renewed(void **state)
{
    static const uint8_t other[64] = {1, 2, 3, 4};
    struct flow_direction *dir = owned();
    struct rpcrdma_op first = packet(RPCRDMA_OP_SEND, PSN), again = packet(RPCRDMA_OP_SEND, PSN);

    (void)state;
    stage_data(&again, other, sizeof(other));
    EXPECT(dir, &first, FLOW_STREAM_SEND);
    give(dir, &again);
    assert_null(next(dir));
    assert_true(dir->repeated);
    dir->closed = true;
    EXPECT(dir, &again, FLOW_STREAM_RENEWED);
    flow_direction_free(streams, dir);
}

/* Until the opposite is known every request is told, so that its answer can tell it. */
static void test_unpaired(void **state)
{
    struct flow_direction *dir = owned();
    struct rpcrdma_op op = packet(RPCRDMA_OP_SEND, PSN);
    const struct flow_stream_event *event;

    (void)state;
    dir->paired = false;
    op.flags = RPCRDMA_OP_FIRST;
    give(dir, &op);
    event = next(dir);
    assert_non_null(event);
    assert_int_equal(event->kind, FLOW_STREAM_PACKET);
    assert_int_equal(event->seq, PSN);
    assert_null(next(dir));
    flow_direction_free(streams, dir);
}

/* A Read response names no request: its PSN tells (IBTA volume 1 section 9.7.3.2). */
static void test_read(void **state)
{
    struct flow_direction *dir = owned();
    struct rpcrdma_op op = packet(RPCRDMA_OP_READ_REQUEST, PSN);
    struct flow_read *read;
    uint64_t offset;

    (void)state;
    op.flags |= RPCRDMA_OP_RETH;
    op.length = 3 * PMTU;
    dir->pmtu = PMTU;
    read = flow_read_add(streams, dir, &op);
    assert_non_null(read);
    op = packet(RPCRDMA_OP_READ_RESPONSE, PSN + 2);
    stage_data(&op, bytes, PMTU);
    assert_ptr_equal(flow_read_find(dir, &op, &offset), read);
    assert_int_equal(offset, 2 * PMTU);
    op.seq = PSN + 3;
    assert_null(flow_read_find(dir, &op, &offset));
    flow_direction_free(streams, dir);
}

/* Where the memory limit is reached there is no direction, and no crash. */
static void test_no_memory(void **state)
{
    struct rpcrdma_op op = packet(RPCRDMA_OP_SEND, PSN);

    (void)state;
    stage.context.memory.limit = 100;
    assert_null(flow_direction_find(streams, &op));
    assert_false(stage.context.memory.failed);
    stage.context.memory.limit = 1 << 20;
    assert_non_null(flow_direction_find(streams, &op));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_in_order, begin, end),
        cmocka_unit_test_setup_teardown(test_reordered, begin, end),
        cmocka_unit_test_setup_teardown(test_in_turns, begin, end),
        cmocka_unit_test_setup_teardown(test_read_of_unknown_length, begin, end),
        cmocka_unit_test_setup_teardown(test_given_up, begin, end),
        cmocka_unit_test_setup_teardown(test_split, begin, end),
        cmocka_unit_test_setup_teardown(test_around, begin, end),
        cmocka_unit_test_setup_teardown(test_unowned, begin, end),
        cmocka_unit_test_setup_teardown(test_put_together, begin, end),
        cmocka_unit_test_setup_teardown(test_too_long, begin, end),
        cmocka_unit_test_setup_teardown(test_write_places, begin, end),
        cmocka_unit_test_setup_teardown(test_renewed, begin, end),
        cmocka_unit_test_setup_teardown(test_unpaired, begin, end),
        cmocka_unit_test_setup_teardown(test_read, begin, end),
        cmocka_unit_test_setup_teardown(test_no_memory, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
