/* SPDX-License-Identifier: BSD-2-Clause */
/* What TCP costs: nothing for what is no MPA, no more than allowed for what is, and a failed
 * allocation is a loss and not an end. Linked with malloc and calloc wrapped. */
#include "iwarp.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);

static size_t allocations, fail_at, fail_every;

static bool fails(void)
{
    allocations++;
    return allocations == fail_at || (fail_every && allocations % fail_every == 0);
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

static struct bytes b, packet;

static uint32_t seed;
static uint32_t chance(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

/* From a client of its own. */
static void from(struct seen *s, uint32_t client, int end, uint32_t seq, uint32_t ack,
                 const void *data, size_t n)
{
    static struct rpcrdma_packet p = {.linktype = 1};

    put_tcp(&packet, end, seq, ack, ACK, data, n);
    set(&packet, end == 0 ? 26 : 30, 0x0b000000 + client, 4);
    p.frame = ++s->frame;
    p.data = packet.at;
    p.caplen = p.len = (uint32_t)packet.n;
    rpcrdma_net_packet(s->net, &p);
}

static void start_of(struct seen *s, uint32_t client)
{
    b.n = 0;
    put_start(&b, true, 0, 1, NULL, 0);
    from(s, client, 0, 1000, 5000, b.at, b.n);
    b.n = 0;
    put_start(&b, false, 0, 1, NULL, 0);
    from(s, client, 1, 5000, NEXT0, b.at, b.n);
}

/* A million connections that are no MPA, some of them random from the first byte on. */
static void ordinary(void **state)
{
    struct seen *s = seen_new(NULL);
    size_t before = allocations, most = 0;
    uint8_t data[64];

    (void)state;
    seed = 7;
    memcpy(data, "GET / HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n\r\n             ", 64);
    for (uint32_t client = 0; client < 1000000; client++) {
        if (client % 2)
            for (size_t i = 0; i < sizeof(data); i++)
                data[i] = (uint8_t)chance(256);
        else
            memcpy(data, "GET /", 5);
        from(s, client, 0, client * 77, 1, data, sizeof(data));
        if (s->net->tcp->memory > most)
            most = s->net->tcp->memory;
    }
    assert_int_equal(s->n, 0);
    assert_true(s->net->tcp->n_connections < 200);
    assert_true(most < 1 << 20);
    assert_true(allocations - before < 1000);
    seen_free(s);
}

/* Many connections with a hole: memory stays below the limit, what was held comes out, and a
 * connection without a hole does not notice. */
static void holes_everywhere(void **state)
{
    const struct rpcrdma_net_config config = {.max_memory = 1 << 20};
    struct seen *s = seen_new(&config);
    size_t sends = 0, n = 0;

    (void)state;
    start_of(s, 0);
    for (uint32_t client = 1; client <= 300; client++) {
        uint32_t seq;

        start_of(s, client);
        b.n = 0;
        put_send(&b, false, 1, 1000);
        seq = NEXT0 + (uint32_t)b.n; /* this one is missing */
        for (uint32_t msn = 2; msn < 18; msn++) {
            b.n = 0;
            put_send(&b, false, msn, 1000);
            from(s, client, 0, seq, NEXT1, b.at, b.n);
            seq += (uint32_t)b.n;
            assert_true(s->net->tcp->memory <= 1 << 20);
        }
        b.n = 0;
        put_send(&b, false, client, 100);
        s->n = 0;
        from(s, 0, 0, NEXT0 + (client - 1) * (uint32_t)b.n, NEXT1, b.at, b.n);
        assert_int_equal(s->n, 1);
        assert_int_equal(s->op[0].seq, client);
        n++;
    }
    s->n = 0;
    rpcrdma_net_end(s->net);
    for (size_t i = 0; i < s->n && i < 64; i++)
        sends += s->op[i].kind == RPCRDMA_OP_SEND;
    assert_int_equal(n, 300);
    assert_true(sends > 50); /* what was still held then */
    assert_true(count_rule(s, RPCRDMA_RULE_TCP_LOST) > 0);
    assert_int_equal(s->net->tcp->memory, 0);
    seen_free(s);
}

/* A connection that must give up its half FPDU stays in step. */
static void half_given_up(void **state)
{
    const struct rpcrdma_net_config config = {.max_memory = 64 << 10};
    struct seen *s = seen_new(&config);
    static struct bytes half;
    uint32_t n = 0;

    (void)state;
    start_of(s, 1);
    half.n = 0;
    put_send(&half, false, 1, 5000);
    put_send(&half, false, 2, 100);
    from(s, 1, 0, NEXT0, NEXT1, half.at, 3000);
    from(s, 1, 0, NEXT0 + 4500, NEXT1, half.at + 4500, half.n - 4500); /* it holds something */
    for (uint32_t client = 2; client < 25; client++) {
        start_of(s, client);
        b.n = 0;
        put_send(&b, false, 1, 3000);
        from(s, client, 0, NEXT0 + 1000, NEXT1, b.at + 1000, b.n - 1000);
    }
    b.n = 0;
    put_send(&b, false, 3, 10);
    from(s, 1, 0, NEXT0 + (uint32_t)half.n, NEXT1, b.at, b.n);
    for (size_t i = 0; i < s->n && i < 64; i++)
        if (get(s->op[i].src.bytes, 4) == 0x0b000001 && s->op[i].kind != RPCRDMA_OP_CONNECT) {
            assert_int_equal(s->op[i].kind, RPCRDMA_OP_SEND);
            assert_int_equal(s->op[i].seq, ++n);
        }
    assert_int_equal(n, 3);
    seen_free(s);
}

/* More connections than fit: those not heard of for longest are forgotten. */
static void too_many_connections(void **state)
{
    const struct rpcrdma_net_config config = {.max_memory = 256 << 10};
    struct seen *s = seen_new(&config);

    (void)state;
    for (uint32_t client = 0; client < 5000; client++) {
        s->n = 0;
        start_of(s, client);
        assert_int_equal(s->n, 2);
        assert_true(s->net->tcp->memory <= 256 << 10);
    }
    assert_true(s->net->tcp->n_connections > 100);
    seen_free(s);
}

/* Segments in reverse order: bounded, and all of it comes out in the end. */
static void backwards(void **state)
{
    struct seen *s = seen_new(NULL);
    static struct bytes stream;

    (void)state;
    start_of(s, 1);
    stream.n = 0;
    for (uint32_t msn = 1; msn < 60; msn++)
        put_send(&stream, false, msn, 1400);
    s->n = 0;
    for (size_t at = stream.n; at > 0;) {
        size_t n = at < 100 ? at : 100;

        at -= n;
        from(s, 1, 0, NEXT0 + (uint32_t)at, NEXT1, stream.at + at, n);
    }
    assert_int_equal(s->n, 59);
    assert_int_equal(s->n_findings, 0);
    /* byte by byte: too many pieces to wait for all of them */
    s->n = 0;
    for (size_t at = stream.n; at-- > 0;) {
        from(s, 1, 0, NEXT0 + (uint32_t)(stream.n + at), NEXT1, stream.at + at, 1);
        assert_true(s->net->tcp->memory < 1 << 20);
    }
    assert_true(count_rule(s, RPCRDMA_RULE_TCP_LOST) > 0);
    assert_true(count_kind(s, RPCRDMA_OP_SEND) > 0);
    seen_free(s);
}

/* A direction that never comes into step again holds a bounded number of bytes, and the other does
 * not wait for it for ever. */
static void out_of_step_for_good(void **state)
{
    static uint8_t noise[1400];
    struct seen *s = seen_new(NULL);
    uint32_t sent = 0, seq[2] = {NEXT0, NEXT1};
    size_t before;

    (void)state;
    memset(noise, 0xff, sizeof(noise)); /* no FPDU begins so */
    start_of(s, 1);
    from(s, 1, 0, seq[0], seq[1], noise, sizeof(noise));
    seq[0] += sizeof(noise);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_MPA_SYNC), 1);
    before = s->n;
    for (int i = 0; i < 1500; i++) { /* 2 MB of noise one way, 1.5 MB of Sends the other */
        from(s, 1, 0, seq[0], seq[1], noise, sizeof(noise));
        seq[0] += sizeof(noise);
        b.n = 0;
        put_send(&b, false, ++sent, 1000);
        from(s, 1, 1, seq[1], seq[0], b.at, b.n);
        seq[1] += (uint32_t)b.n;
        assert_true(s->net->tcp->memory < 1 << 20);
        if (i == 10) /* a Reply is not given before what may be its Call */
            assert_int_equal(s->n, before);
    }
    assert_int_equal(s->n, before + sent);
    /* in step again at the first FPDUs */
    s->n = 0;
    for (uint32_t msn = 1; msn <= 5; msn++) {
        b.n = 0;
        put_send(&b, false, msn, 500);
        from(s, 1, 0, seq[0], seq[1], b.at, b.n);
        seq[0] += (uint32_t)b.n;
    }
    assert_int_equal(s->n, 5);
    assert_int_equal(s->op[4].seq, 5);
    seen_free(s);
}

/* Not even room for a connection: nothing is read, and nothing breaks. */
static void no_room_at_all(void **state)
{
    const struct rpcrdma_net_config config = {.max_memory = 64};
    struct seen *s = seen_new(&config);

    (void)state;
    start_of(s, 1);
    assert_int_equal(s->n, 0);
    assert_int_equal(s->net->tcp->n_connections, 0);
    assert_int_equal(rpcrdma_net_stats(s->net)->other, 2);
    seen_free(s);
}

static void conversation(struct seen *s)
{
    uint32_t seq = NEXT0;

    start_of(s, 1);
    for (uint32_t msn = 1; msn < 30; msn++) {
        b.n = 0;
        put_send(&b, false, msn, 2000);
        if (msn % 3 == 0) { /* late */
            from(s, 1, 0, seq + 1000, NEXT1, b.at + 1000, b.n - 1000);
            from(s, 1, 0, seq, NEXT1, b.at, 1000);
        } else {
            from(s, 1, 0, seq, NEXT1, b.at, 1000);
            if (msn % 7)
                from(s, 1, 0, seq + 1000, NEXT1, b.at + 1000, b.n - 1000);
        }
        seq += (uint32_t)b.n;
        from(s, 1, 1, NEXT1, seq, NULL, 0);
    }
    /* and one begun in mid-stream */
    for (uint32_t msn = 1; msn < 9; msn++) {
        b.n = 0;
        put_send(&b, false, msn, 1000);
        from(s, 2, 0, 70000 + msn * (uint32_t)b.n, 1, b.at, b.n);
    }
    rpcrdma_net_end(s->net);
}

static void failed_allocations(void **state)
{
    struct seen *s;
    size_t all, made;

    (void)state;
    s = seen_new(NULL);
    made = allocations;
    conversation(s);
    made = allocations - made;
    all = count_kind(s, RPCRDMA_OP_SEND);
    assert_int_equal(all, 29 + 8 - 4 + 4);
    seen_free(s);
    for (size_t nth = 1; nth <= made + 1; nth++) {
        s = seen_new(NULL);
        fail_at = allocations + nth;
        conversation(s);
        fail_at = 0;
        assert_true(count_kind(s, RPCRDMA_OP_SEND) <= all);
        assert_int_equal(s->net->tcp->memory, 0);
        seen_free(s);
    }
    for (size_t every = 1; every < 5; every++) {
        s = seen_new(NULL);
        fail_every = every;
        conversation(s);
        fail_every = 0;
        assert_int_equal(s->net->tcp->memory, 0);
        seen_free(s);
    }
    /* and where there is no memory at all there is no net */
    for (size_t nth = 1; nth <= 5; nth++) {
        const struct rpcrdma_net_config config = {.check_icrc = true};
        const struct rpcrdma_net_sink sink = {.op = seen_op};

        fail_at = allocations + nth;
        assert_null(rpcrdma_net_new(&config, &sink));
        fail_at = 0;
    }
    rpcrdma_net_free(NULL);
}

/* Markers are taken out of an FPDU in memory of their own: without it nothing more is told, least of
 * all that the FPDU was not captured, and the caller knows. */
static void no_memory_for_markers(void **state)
{
    static struct bytes stream;
    struct seen *s = seen_new(NULL);
    struct bytes *u = calloc(1, sizeof(*u));
    uint32_t second;

    (void)state;
    assert_non_null(u);
    talk_start(s, 0, M);
    stream.n = 0;
    put_untagged(u, 3, true, 0, 0, 1, 0);
    put_payload(u, 1, 700);
    put_fpdu(&stream, true, false, u);
    second = (uint32_t)stream.n;
    put_untagged(u, 3, true, 0, 0, 2, 0);
    put_payload(u, 2, 700);
    put_fpdu(&stream, true, false, u);
    b.n = 0;
    put_tcp(&b, 0, NEXT0, NEXT1, ACK, stream.at, second);
    fail_at = allocations + 2; /* the first is the copy of the packet */
    give(s, 1, &b);
    fail_at = 0;
    tcp(s, 0, NEXT0 + second, NEXT1, ACK, stream.at + second, stream.n - second);
    assert_int_equal(s->n, 0);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_TRUNCATED), 0);
    assert_false(rpcrdma_net_end(s->net));
    assert_int_equal(s->n, 0);
    seen_free(s);
    free(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary),
        cmocka_unit_test(holes_everywhere),
        cmocka_unit_test(half_given_up),
        cmocka_unit_test(too_many_connections),
        cmocka_unit_test(backwards),
        cmocka_unit_test(failed_allocations),
        cmocka_unit_test(no_memory_for_markers),
        cmocka_unit_test(out_of_step_for_good),
        cmocka_unit_test(no_room_at_all),
    };

    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
