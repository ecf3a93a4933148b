/* SPDX-License-Identifier: BSD-2-Clause */
/* Which segment belongs to which connection: over IPv6, among thousands, and where the same ports
 * are used again. */
#include "iwarp.h"

static struct bytes b, packet;

/* As tcp(), between these two addresses: 16 bytes each, of end 0 and end 1. */
static void tcp6(struct seen *s, const uint64_t address[2][2], int end, uint32_t seq, uint32_t ack,
                 const void *data, size_t n)
{
    packet.n = 0;
    put_ethernet(&packet, 0x86dd);
    put_ipv6(&packet, 6, TCP_HEADER + n);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2; k++)
            set(&packet, 14 + 8 + 16 * i + 8 * k, address[(size_t)end ^ i][k], 8);
    put_tcp_header(&packet, end, seq, ack, ACK);
    put_bytes(&packet, data, n);
    give(s, 1, &packet);
}

static void start6(struct seen *s, const uint64_t address[2][2])
{
    b.n = 0;
    put_start(&b, true, 0, 1, NULL, 0);
    tcp6(s, address, 0, 1000, 5000, b.at, b.n);
    b.n = 0;
    put_start(&b, false, 0, 1, NULL, 0);
    tcp6(s, address, 1, 5000, NEXT0, b.at, b.n);
}

/* Connections that differ in one word of one address are as many; each has its own place in its
 * stream. */
static void over_ipv6(void **state)
{
    static const uint64_t address[][2][2] = {
        {{0xfd00000000000000, 1}, {0xfd00000000000000, 2}},
        {{0xfd00000000000000, 3}, {0xfd00000000000000, 2}},
        {{0xfd00000000000001, 1}, {0xfd00000000000000, 2}},
        {{0xfd00000000000000, 1}, {0xfd00000000000001, 2}},
        {{0xfd00000000000000, 0}, {0xfd00000000000000, 2}},
    };
    enum { N = sizeof(address) / sizeof(address[0]) };
    struct seen *s = seen_new(NULL);
    uint32_t size = 0;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        s->n = 0;
        start6(s, address[i]);
        assert_int_equal(s->n, 2);
        assert_int_equal(s->op[0].kind, RPCRDMA_OP_CONNECT);
        assert_int_equal(s->op[1].kind, RPCRDMA_OP_ACCEPT);
    }
    assert_int_equal(s->net->tcp->n_connections, N);
    for (uint32_t msn = 1; msn < 4; msn++)
        for (size_t i = 0; i < N; i++)
            for (int end = 0; end < 2; end++) {
                const struct rpcrdma_op *op = &s->op[0];

                b.n = 0;
                put_send(&b, false, msn, 100 + (size_t)end);
                size = (uint32_t)b.n;
                s->n = 0;
                tcp6(s, address[i], end, (end ? NEXT1 : NEXT0) + (msn - 1) * size,
                     end ? NEXT0 : NEXT1, b.at, b.n);
                assert_int_equal(s->n, 1);
                assert_int_equal(op->kind, RPCRDMA_OP_SEND);
                assert_int_equal(op->seq, msn);
                assert_int_equal(op->len, 100 + end);
                assert_int_equal(op->src.family, RPCRDMA_ADDRESS_IPV6);
                assert_int_equal(get(op->src.bytes, 8), address[i][end][0]);
                assert_int_equal(get(op->src.bytes + 8, 8), address[i][end][1]);
                assert_int_equal(get(op->dst.bytes, 8), address[i][1 - end][0]);
                assert_int_equal(get(op->dst.bytes + 8, 8), address[i][1 - end][1]);
                assert_int_equal(op->src_port, end ? 20049 : 40000);
            }
    assert_int_equal(s->n_findings, 0);
    seen_free(s);
}

/* More than the table was made for: all of them are known, and none is taken for another. */
static void thousands(void **state)
{
    enum { N = 3000 };
    struct seen *s = seen_new(NULL);

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        const uint64_t address[2][2] = {{0xfd00000000000000, 100 + i}, {0xfd00000000000000, 1}};

        s->n = 0;
        start6(s, address);
        assert_int_equal(s->n, 2);
    }
    assert_int_equal(s->net->tcp->n_connections, N);
    assert_true(s->net->tcp->n_buckets >= N);
    for (uint64_t i = 0; i < N; i++) {
        const uint64_t address[2][2] = {{0xfd00000000000000, 100 + i}, {0xfd00000000000000, 1}};

        b.n = 0;
        put_send(&b, false, 1, i % 64);
        s->n = 0;
        tcp6(s, address, 0, NEXT0, NEXT1, b.at, b.n);
        assert_int_equal(s->n, 1);
        assert_int_equal(s->op[0].kind, RPCRDMA_OP_SEND);
        assert_int_equal(s->op[0].len, i % 64);
        assert_int_equal(get(s->op[0].src.bytes + 8, 8), 100 + i);
    }
    assert_int_equal(s->n_findings, 0);
    seen_free(s);
}

static void request(struct seen *s, uint32_t seq)
{
    b.n = 0;
    put_start(&b, true, 0, 1, NULL, 0);
    tcp(s, 0, seq, NEXT1, ACK, b.at, b.n);
}

/* A Request with other sequence numbers, whose SYN was not captured: the ports are used again,
 * unless these bytes are in the middle of what was sent already. */
static void ports_used_again(void **state)
{
    static const struct {
        uint32_t seq;
        bool other;
    } requests[] = {
        {1000 - 400, true},                  /* before the first byte, */
        {1000, false},                       /* the same Request again, */
        {NEXT0, false},                      /* within, */
        {NEXT0 + 24, true},                  /* behind the Send, where an FPDU is due */
        {NEXT0 + 1000, true},                /* and beyond */
        {1000 + UINT32_C(0x80000000), true}, /* as far away as can be */
    };
    struct seen *s;

    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        s = seen_new(NULL);
        talk_start(s, 0, 0);
        b.n = 0;
        put_send(&b, false, 1, 0);
        assert_int_equal(b.n, 24);
        tcp(s, 0, NEXT0, NEXT1, ACK, b.at, b.n);
        s->n = 0;
        request(s, requests[i].seq);
        assert_int_equal(count_kind(s, RPCRDMA_OP_CONNECT), requests[i].other);
        assert_int_equal(s->net->tcp->n_connections, 1);
        seen_free(s);
    }
    /* nobody answered the first */
    s = seen_new(NULL);
    request(s, 1000);
    request(s, 9000);
    assert_int_equal(s->n, 2);
    assert_int_equal(s->op[1].kind, RPCRDMA_OP_CONNECT);
    assert_int_equal(s->op[1].seq, 9000);
    seen_free(s);
    /* a SYN says so on its own; the same SYN again says nothing */
    s = seen_new(NULL);
    talk_start(s, 0, 0);
    tcp(s, 0, 999, 0, SYN, NULL, 0);
    assert_int_equal(s->net->tcp->n_connections, 1);
    tcp(s, 0, 998, 0, SYN, NULL, 0);
    assert_int_equal(s->net->tcp->n_connections, 0);
    seen_free(s);
}

/* A connection is known by its Reply, too: which acknowledges the Request, so FPDUs follow. */
static void known_by_the_reply(void **state)
{
    static const struct rpcrdma_net_config config = {.check_icrc = true};
    struct seen *s = seen_new(&config);

    (void)state;
    b.n = 0;
    put_start(&b, false, C, 1, "abcd", 4);
    tcp(s, 1, 5000, 1020, ACK, b.at, b.n);
    assert_int_equal(s->n, 0); /* the Request may be captured late */
    b.n = 0; /* no CRC: whether the other side asked for them is not known, nor are they needed */
    put_send(&b, false, 1, 100);
    tcp(s, 0, 1020, 5024, ACK, b.at, b.n);
    assert_int_equal(s->n, 2);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_ACCEPT);
    assert_int_equal(s->op[0].src_port, 20049);
    assert_memory_equal(s->data[0], "abcd", 4);
    assert_int_equal(s->op[1].kind, RPCRDMA_OP_SEND);
    assert_int_equal(s->op[1].src_port, 40000);
    assert_int_equal(s->n_findings, 0);
    seen_free(s);
}

/* The segment that shows a new connection says so, and no other: not what comes again. */
static void segments_that_begin(void **state)
{
    static const uint8_t begins[] = {RPCRDMA_OP_CONNECT, 0, 0,
                                     RPCRDMA_OP_CONNECT, 0, RPCRDMA_OP_ACCEPT};
    struct seen *s = seen_new(NULL);

    (void)state;
    talk_start(s, 0, 0);
    request(s, 1000);
    request(s, 90000);
    tcp(s, 0, 90020, 0, ACK, NULL, 0);
    tcp(s, 0, 700000, 0, SYN, NULL, 0); /* another one, whose Request was not captured */
    b.n = 0;
    put_start(&b, false, 0, 1, NULL, 0);
    tcp(s, 1, 5000, 700021, ACK, b.at, b.n);
    assert_int_equal(s->segments, sizeof(begins));
    assert_memory_equal(s->begins, begins, sizeof(begins));
    seen_free(s);
}

/* A TCP header that cannot be: its length below 20 or beyond the packet. */
static void headers(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    b.n = 0;
    put_start(&b, true, 0, 1, NULL, 0);
    put_tcp(&packet, 0, 1000, 5000, ACK, b.at, b.n);
    packet.at[14 + 20 + 12] = 0x40;
    give(s, 1, &packet);
    packet.at[14 + 20 + 12] = 0xf0; /* 60 bytes, of 52 */
    give(s, 1, &packet);
    assert_int_equal(s->n, 0);
    assert_int_equal(rpcrdma_net_stats(s->net)->other, 2);
    packet.at[14 + 20 + 12] = 0x80;
    give(s, 1, &packet);
    assert_int_equal(s->n, 1);
    seen_free(s);
}

/* What the options of an acknowledgement of all before 5000 say that came twice. */
static void expect_twice(const void *options, size_t n, uint32_t first, uint32_t end)
{
    uint8_t *exact = malloc(n > 0 ? n : 1); /* so that ASan sees what is read behind it */
    struct rpcrdma_tcp_segment segment = {.ack = 5000};

    assert_non_null(exact);
    memcpy(exact, options, n);
    rpcrdma_tcp_blocks(exact, n, &segment);
    assert_int_equal(segment.twice, first);
    assert_int_equal(segment.twice_end, end);
    free(exact);
}

/* RFC 2883: the first block is acknowledged, or lies within the second. */
static void bytes_that_came_twice(void **state)
{
    static struct bytes o;

    (void)state;
    o.n = 0;
    put(&o, 0x0101080a00000000, 8);
    put(&o, 0, 4);
    put(&o, 0x0101050a, 4);
    put(&o, 4000, 4);
    put(&o, 4100, 4);
    expect_twice(o.at, o.n, 4000, 4100);
    for (size_t cut = 0; cut < o.n; cut++)
        expect_twice(o.at, cut, 0, 0);
    set(&o, 20, 5001, 4); /* not all of it is acknowledged: bytes behind others that are missing */
    expect_twice(o.at, o.n, 0, 0);
    set(&o, 16, 6000, 4);
    set(&o, 20, 6100, 4);
    set(&o, 15, 18, 1);
    put(&o, 5900, 4);
    put(&o, 6200, 4);
    expect_twice(o.at, o.n, 6000, 6100);
    set(&o, 28, 6099, 4);
    expect_twice(o.at, o.n, 0, 0);
    set(&o, 15, 9, 1); /* an option with less than a block */
    expect_twice(o.at, o.n, 0, 0);
    set(&o, 15, 1, 1); /* none is so short */
    expect_twice(o.at, o.n, 0, 0);
    set(&o, 3, 0, 1);
    expect_twice(o.at, o.n, 0, 0);
}

/* RFC 2018: blocks that have arrived; not the first one where that came twice (RFC 2883). */
static void blocks_that_arrived(void **state)
{
    static const uint32_t edges[RPCRDMA_TCP_BLOCKS + 1] = {6000, 7000, 8000, 9000, 10000};
    enum { MOST = RPCRDMA_TCP_BLOCKS + 1 };
    static struct bytes o;

    (void)state;
    for (uint32_t n = 0; n <= MOST; n++)
        for (uint32_t twice = 0; twice < 2; twice++) {
            struct rpcrdma_tcp_segment segment = {.ack = 5000};
            uint32_t want = n < RPCRDMA_TCP_BLOCKS ? n : RPCRDMA_TCP_BLOCKS;

            o.n = 0;
            put(&o, 0x0101, 2);
            put(&o, 5, 1);
            put(&o, 2 + 8 * (n + twice), 1);
            if (twice) {
                put(&o, 4000, 4);
                put(&o, 4100, 4);
            }
            for (uint32_t i = 0; i < n; i++) {
                put(&o, edges[i], 4);
                put(&o, edges[i] + 500 + i, 4);
            }
            rpcrdma_tcp_blocks(o.at, o.n, &segment);
            assert_int_equal(segment.twice, twice ? 4000 : 0);
            assert_int_equal(segment.n_arrived, want);
            for (uint32_t i = 0; i < want; i++) {
                assert_int_equal(segment.arrived[i].first, edges[i]);
                assert_int_equal(segment.arrived[i].end, edges[i] + 500 + i);
            }
            segment.n_arrived = 0;
            rpcrdma_tcp_blocks(o.at, o.n - 1, &segment); /* its end was not captured */
            assert_int_equal(segment.n_arrived, 0);
        }
}

/* RFC 9293 section 3.4: a FIN is acknowledged as a byte is. One that the other end's FIN
 * acknowledges was sent before, though it, and data before it, were not captured. */
static void a_fin_that_was_not_captured(void **state)
{
    enum { NOTHING, ITS_FIN, DATA, DATA_AND_FIN, N };

    (void)state;
    for (int missing = NOTHING; missing < N; missing++)
        for (int end = 0; end < 2; end++) {
            struct seen *s = seen_new(NULL);
            const uint32_t next[2] = {NEXT0, NEXT1};
            uint32_t size;

            talk_start(s, 0, 0);
            b.n = 0;
            put_send(&b, false, 1, 100);
            size = (uint32_t)b.n;
            tcp(s, end, next[end], next[1 - end], ACK, b.at, b.n);
            if (missing >= DATA)
                size += size;
            tcp(s, 1 - end, next[1 - end], next[end] + size + (missing % 2 ? 1 : 0), ACK | FIN,
                NULL, 0);
            rpcrdma_tcp_end(s->net->tcp);
            assert_true(s->n >= 2);
            assert_int_equal(s->op[s->n - 1].kind, RPCRDMA_OP_DISCONNECT);
            assert_int_equal(s->op[s->n - 1].src_port, end == 0 ? 20049 : 40000);
            assert_int_equal(s->op[s->n - 1].flags, missing % 2 ? RPCRDMA_OP_ANSWERS : 0);
            seen_free(s);
        }
}

/* RFC 9293 section 3.10.7.4: a RST before what had been sent may be taken, as long as nothing
 * acknowledges more. What its sender sent behind it was given out by then: no frame goes back. */
static void an_old_reset(void **state)
{
    (void)state;
    for (int acknowledged = 0; acknowledged < 2; acknowledged++) {
        struct seen *s = seen_new(NULL);
        uint32_t size;

        talk_start(s, 0, 0);
        b.n = 0;
        put_send(&b, false, 1, 100);
        size = (uint32_t)b.n;
        tcp(s, 0, NEXT0, NEXT1, ACK, b.at, b.n);
        tcp(s, 0, NEXT0, NEXT1, ACK | RST, NULL, 0);
        b.n = 0;
        put_send(&b, false, 2, 100);
        tcp(s, 0, NEXT0 + size, NEXT1, ACK, b.at, b.n);
        if (acknowledged)
            tcp(s, 1, NEXT1, NEXT0 + 2 * size, ACK, NULL, 0);
        assert_int_equal(count_kind(s, RPCRDMA_OP_SEND), 2);
        rpcrdma_tcp_end(s->net->tcp);
        assert_int_equal(s->n, acknowledged ? 2 : 3);
        if (!acknowledged) {
            assert_int_equal(s->op[2].kind, RPCRDMA_OP_RESET);
            assert_true(s->op[2].frame >= s->op[1].frame);
        }
        seen_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_ipv6),
        cmocka_unit_test(thousands),
        cmocka_unit_test(ports_used_again),
        cmocka_unit_test(known_by_the_reply),
        cmocka_unit_test(headers),
        cmocka_unit_test(segments_that_begin),
        cmocka_unit_test(bytes_that_came_twice),
        cmocka_unit_test(blocks_that_arrived),
        cmocka_unit_test(a_fin_that_was_not_captured),
        cmocka_unit_test(an_old_reset),
    };

    return cmocka_run_group_tests_name("tcp", tests, NULL, NULL);
}
