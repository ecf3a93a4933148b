/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection that is captured from the middle on, or without its start-up frames, and some of its
 * packets are not. Whether it has markers shows in 512 bytes in a row. */
#include "iwarp.h"

enum { EXCHANGES = 26, CALL = 60, REPLY = 40 };

/* Calls and their Replies; a bit of `calls` or `replies`: it is not captured. */
static void talk(struct seen *s, uint32_t calls, uint32_t replies)
{
    static struct bytes call, reply;
    uint32_t seq[2] = {NEXT0, NEXT1};

    for (uint32_t i = 0; i < EXCHANGES; i++) {
        call.n = reply.n = 0;
        put_send(&call, false, 1 + i, CALL);
        put_send(&reply, false, 1 + i, REPLY);
        if (!(calls >> i & 1))
            tcp(s, 0, seq[0], seq[1], ACK, call.at, call.n);
        seq[0] += (uint32_t)call.n;
        if (!(replies >> i & 1))
            tcp(s, 1, seq[1], seq[0], ACK, reply.at, reply.n);
        seq[1] += (uint32_t)reply.n;
    }
}

static size_t count_sends(const struct seen *s, uint32_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += s->op[i].kind == RPCRDMA_OP_SEND && s->op[i].len == len;
    return n;
}

/* More places before the holes than are remembered could be where FPDUs begin. They give way, and
 * all is read as soon as it is known that there are no markers: what came before, too. */
static void holes_before_it_is_known(void **state)
{
    struct seen *s = seen_new(NULL);

    (void)state;
    talk(s, 1 << 4 | 1 << 9, 0);
    assert_true(count_sends(s, CALL) >= EXCHANGES - 3); /* not at the end */
    rpcrdma_net_end(s->net);
    assert_int_equal(count_sends(s, CALL), EXCHANGES - 2);
    assert_int_equal(count_sends(s, REPLY), EXCHANGES);
    assert_int_equal(count_rule(s, RPCRDMA_RULE_TCP_LOST), 2);
    seen_free(s);
}

/* What waited together is read in the order of the wire, with the packets that it came in, although
 * both directions lack some. */
static void in_order(void **state)
{
    static const uint32_t lost[][2] = {{1 << 4 | 1 << 9, 0},
                                       {1 << 4 | 1 << 9, 1 << 3 | 1 << 8},
                                       {1 << 4, 1 << 6 | 1 << 7},
                                       {0, 1 << 2 | 1 << 5}};

    (void)state;
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
        struct seen *s = seen_new(NULL);
        uint32_t frame = 0, k = 0;

        talk(s, lost[i][0], lost[i][1]);
        rpcrdma_net_end(s->net);
        for (uint32_t n = 0; n < 2 * EXCHANGES; n++) {
            if (lost[i][n % 2] >> n / 2 & 1)
                continue;
            frame++;
            while (k < s->n && s->op[k].kind != RPCRDMA_OP_SEND)
                k++;
            assert_true(k < s->n);
            assert_int_equal(s->op[k].seq, 1 + n / 2);
            assert_int_equal(s->op[k].len, n % 2 ? REPLY : CALL);
            assert_int_equal(s->op[k++].frame, frame);
        }
        seen_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holes_before_it_is_known),
        cmocka_unit_test(in_order),
    };

    return cmocka_run_group_tests_name("stream_midway", tests, NULL, NULL);
}
