/* SPDX-License-Identifier: BSD-2-Clause */
/* How a connection of iWARP begins and ends: SYN, MPA start-up, FIN and RST. */
#include "iwarp.h"

static struct bytes b, u; /* scratch of the test that runs */

static int fresh(void **state)
{
    (void)state;
    b.n = u.n = 0;
    return 0;
}

static void start_up(void **state)
{
    static const uint8_t data[12] = {0x00, 0x80, 0x00, 0x01, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3};
    struct seen *s = seen_new(NULL);

    (void)state;
    put_start(&b, true, C, 1, data, 12);
    tcp(s, 0, 1000, 5000, ACK, b.at, b.n);
    assert_int_equal(s->n, 1);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_CONNECT);
    assert_int_equal(s->op[0].carrier, RPCRDMA_CARRIER_IWARP);
    assert_int_equal(s->op[0].src_port, 40000);
    assert_int_equal(s->op[0].dst_port, 20049);
    assert_int_equal(s->op[0].src.family, RPCRDMA_ADDRESS_IPV4);
    assert_int_equal(get(s->op[0].src.bytes, 4), 0x0a000001);
    assert_int_equal(s->connect[0].port, 20049);
    assert_int_equal(s->connect[0].private_len, 12);
    assert_memory_equal(s->data[0], data, 12);

    b.n = 0; /* revision 2, enhanced: IRD and ORD are MPA's own */
    put_start(&b, false, C | S, 2, data, 12);
    tcp(s, 1, 5000, 1032, ACK, b.at, b.n);
    assert_int_equal(s->n, 2);
    assert_int_equal(s->op[1].kind, RPCRDMA_OP_ACCEPT);
    assert_int_equal(s->connect[1].port, 20049);
    assert_int_equal(s->connect[1].private_len, 8);
    assert_memory_equal(s->data[1], data + 4, 8);
    seen_free(s);

    s = seen_new(NULL);
    b.n = 0; /* and there may be nothing else */
    put_start(&b, true, C | S, 2, data, 4);
    tcp(s, 0, 1000, 5000, ACK, b.at, b.n);
    b.n = 0;
    put_start(&b, false, C | S, 2, data, 4);
    tcp(s, 1, 5000, 1024, ACK, b.at, b.n);
    assert_int_equal(s->n, 2);
    assert_int_equal(s->connect[0].private_len, 0);
    assert_int_equal(s->connect[1].private_len, 0);
    assert_int_equal(rpcrdma_net_stats(s->net)->rdma, 2);
    assert_int_equal(s->n_findings, 0);
    seen_free(s);
}

static void reject(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    put_start(&b, true, 0, 1, "x", 1);
    tcp(s, 0, 1000, 5000, ACK, b.at, b.n);
    b.n = 0;
    put_start(&b, false, R, 1, NULL, 0);
    tcp(s, 1, 5000, 1021, ACK, b.at, b.n);
    assert_int_equal(s->n, 2);
    assert_int_equal(s->op[1].kind, RPCRDMA_OP_REJECT);
    seen_free(s);
}

/* In two segments, wherever it is split (its key must be seen in one). */
static void split_start_up(void **state)
{
    (void)state;
    put_start(&b, true, 0, 1, "0123456789", 10);
    for (size_t cut = 16; cut < b.n; cut++) {
        struct seen *s = seen_new(NULL);

        tcp(s, 0, 1000, 5000, ACK, b.at, cut);
        assert_int_equal(s->n, 0);
        tcp(s, 0, 1000 + (uint32_t)cut, 5000, ACK, b.at + cut, b.n - cut);
        assert_int_equal(s->n, 1);
        assert_int_equal(s->op[0].frame, 2);
        assert_int_equal(s->connect[0].private_len, 10);
        assert_memory_equal(s->data[0], "0123456789", 10);
        seen_free(s);
    }
}

static void not_mpa(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    /* the peer answers with something else */
    put_start(&b, true, 0, 1, NULL, 0);
    tcp(s, 0, 1000, 5000, ACK, b.at, b.n);
    tcp(s, 1, 5000, NEXT0, ACK, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    assert_int_equal(s->net->tcp->n_connections, 0);
    /* private data longer than MPA allows */
    b.n = 0;
    put_start(&b, true, 0, 1, NULL, 0);
    set(&b, 18, 513, 2);
    tcp(s, 0, 1000, 5000, ACK, b.at, b.n);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_MALFORMED), 1);
    assert_int_equal(s->net->tcp->n_connections, 0);
    assert_int_equal(s->n, 1); /* the first Request */
    seen_free(s);
}

/* RFC 9293 section 3.10.7.1: where nothing listens, <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>
 * answers the SYN. Any other RST of what is not known is none of ours. */
static void refused(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    tcp(s, 1, 12345, 900001, RST | ACK, NULL, 0);
    tcp(s, 1, 0, 0, RST, NULL, 0);
    assert_int_equal(s->n, 0);
    tcp(s, 1, 0, 900001, RST | ACK, NULL, 0);
    assert_int_equal(s->n, 1);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_RESET);
    assert_int_equal(s->op[0].flags, RPCRDMA_OP_REFUSED);
    assert_int_equal(s->op[0].src_port, 20049);
    assert_int_equal(s->op[0].dst_port, 40000);
    seen_free(s);
}

/* Each SYN as often as it comes; and what answers it. */
static void asked(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    tcp(s, 0, 900000, 0, SYN, NULL, 0);
    tcp(s, 0, 900000, 0, SYN, NULL, 0);
    tcp(s, 1, 7, 900001, SYN | ACK, NULL, 0);
    tcp(s, 0, 900001, 8, ACK, NULL, 0);
    tcp(s, 0, 900000, 0, SYN | RST, NULL, 0);
    assert_int_equal(s->n, 3);
    assert_int_equal(s->op[1].kind, RPCRDMA_OP_SYN);
    assert_int_equal(s->op[1].seq, 900000);
    assert_int_equal(s->op[2].kind, RPCRDMA_OP_SYN_ACK);
    seen_free(s);
}

static void the_end(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    talk_start(s, 0, 0);
    put_send(&b, false, 1, 100);
    tcp(s, 0, NEXT0, NEXT1, ACK | FIN, b.at, b.n);
    assert_int_equal(s->n, 2);
    assert_int_equal(s->op[0].kind, RPCRDMA_OP_SEND);
    assert_int_equal(s->op[1].kind, RPCRDMA_OP_DISCONNECT);
    assert_int_equal(s->op[1].src_port, 40000);
    tcp(s, 0, NEXT0, NEXT1, ACK | FIN, b.at, b.n); /* again: nothing new */
    assert_int_equal(s->n, 2);
    tcp(s, 1, NEXT1, NEXT0 + (uint32_t)b.n + 1, ACK, NULL,
        0); /* window updates, whatever they say */
    assert_int_equal(s->n, 2);
    tcp(s, 1, NEXT1, NEXT0 + (uint32_t)b.n + 1, ACK | FIN, NULL, 0);
    assert_int_equal(s->n, 3);
    assert_int_equal(s->op[2].kind, RPCRDMA_OP_DISCONNECT);
    assert_int_equal(s->op[2].src_port, 20049);
    tcp(s, 0, NEXT0 + (uint32_t)b.n + 1, NEXT1 + 1, ACK, NULL, 0);
    assert_int_equal(s->n_findings, 0);
    assert_int_equal(s->n, 3);

    /* the ports are used again */
    tcp(s, 0, 900000, 0, SYN, NULL, 0);
    talk_start(s, 0, 0);
    tcp(s, 0, NEXT0, NEXT1, ACK, b.at, b.n);
    assert_int_equal(s->n, 1);
    tcp(s, 1, NEXT1, NEXT0, RST, NULL, 0);
    assert_int_equal(s->n, 2);
    assert_int_equal(s->op[1].kind, RPCRDMA_OP_RESET);
    assert_int_equal(s->op[1].src_port, 20049);
    tcp(s, 1, NEXT1, NEXT0, RST, NULL, 0);
    tcp(s, 0, NEXT0 + (uint32_t)b.n, NEXT1, ACK, b.at, b.n); /* nothing counts any more */
    assert_int_equal(s->n, 2);
    /* and used again, without its SYN */
    b.n = 0;
    put_start(&b, true, 0, 1, NULL, 0);
    tcp(s, 0, 77777, 88888, ACK, b.at, b.n);
    assert_int_equal(s->op[2].kind, RPCRDMA_OP_CONNECT);
    seen_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(start_up, fresh),       cmocka_unit_test_setup(reject, fresh),
        cmocka_unit_test_setup(split_start_up, fresh), cmocka_unit_test_setup(not_mpa, fresh),
        cmocka_unit_test_setup(refused, fresh),        cmocka_unit_test_setup(asked, fresh),
        cmocka_unit_test_setup(the_end, fresh),
    };

    return cmocka_run_group_tests_name("iwarp_life", tests, NULL, NULL);
}
