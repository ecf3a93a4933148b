/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP's bytes, however they arrive, give the operations that were sent, or say what is missing. */
#include "iwarp.h"

enum { FPDUS = 150 };

/* Deterministic: a failure can be run again. */
static uint32_t seed;
static uint32_t chance(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

/* What was sent, and how far the operations that came agree with it. */
struct sent {
    uint8_t kind;
    uint32_t key; /* MSN, or tagged offset */
    uint32_t len, sum;
};

struct judge {
    struct rpcrdma_net *net;
    const struct sent *sent;
    size_t n, next; /* sent; the first not yet seen */
    size_t whole, partial, lost, wrong, findings;
    uint64_t frame;
    uint64_t last_frame;
};

static uint32_t sum_of(const uint8_t *p, size_t n)
{
    uint32_t sum = 1;

    for (size_t i = 0; i < n; i++)
        sum = sum * 31 + p[i];
    return sum;
}

static void judge_op(void *context, const struct rpcrdma_op *op)
{
    struct judge *j = context;
    uint32_t key = op->kind == RPCRDMA_OP_SEND ? op->seq : (uint32_t)op->remote_address;

    if (op->kind == RPCRDMA_OP_LOST)
        j->lost++;
    if (op->kind != RPCRDMA_OP_SEND && op->kind != RPCRDMA_OP_WRITE)
        return;
    if (op->frame < j->last_frame)
        j->wrong++;
    j->last_frame = op->frame;
    while (j->next < j->n && (j->sent[j->next].kind != op->kind || j->sent[j->next].key != key))
        j->next++;
    if (j->next == j->n || op->len != j->sent[j->next].len) {
        j->wrong++;
        return;
    }
    if (op->caplen < op->len)
        j->partial++;
    else if (sum_of(op->data, op->caplen) == j->sent[j->next].sum)
        j->whole++;
    else
        j->wrong++;
    j->next++;
}

static void judge_finding(void *context, const struct rpcrdma_finding *finding)
{
    struct judge *j = context;

    (void)finding;
    j->findings++;
}

static void judge_new(struct judge *j, const struct sent *sent, size_t n,
                      const struct rpcrdma_net_config *config)
{
    struct rpcrdma_net_sink sink = {.op = judge_op, .finding = judge_finding, .context = j};

    memset(j, 0, sizeof(*j));
    j->sent = sent;
    j->n = n;
    j->net = rpcrdma_net_new(config, &sink);
    assert_non_null(j->net);
}

static void judge_give(struct judge *j, int end, uint32_t seq, uint32_t ack, uint8_t flags,
                       const uint8_t *data, size_t n)
{
    static struct bytes b;
    struct rpcrdma_packet packet = {.frame = ++j->frame, .linktype = 1};
    uint8_t *copy;

    put_tcp(&b, end, seq, ack, flags, data, n);
    copy = heap_copy(b.at, b.n);
    packet.caplen = packet.len = (uint32_t)b.n;
    packet.data = copy;
    rpcrdma_net_packet(j->net, &packet);
    free(copy);
}

/* Sends and Writes of all sizes, as one stream of bytes. */
static void build_stream(struct bytes *stream, struct sent *sent, bool markers, bool crc)
{
    static struct bytes u;

    uint32_t msn = 0;

    stream->n = 0;
    for (uint32_t i = 0; i < FPDUS; i++) {
        size_t n = chance(10) == 0 ? chance(5000) : chance(3) == 0 ? chance(40) : chance(1400);
        bool send = chance(2);

        if (send)
            put_untagged(&u, 3, true, 0, 0, msn, 0);
        else
            put_tagged(&u, 0, true, 0xcafe, i);
        put_payload(&u, chance(UINT32_MAX), n);
        sent[i] = (struct sent){send ? RPCRDMA_OP_SEND : RPCRDMA_OP_WRITE, send ? msn++ : i,
                                (uint32_t)n, sum_of(u.at + u.n - n, n)};
        put_fpdu(stream, markers, crc, &u);
        if (stream->n > sizeof(stream->at) - 8000) {
            memset(sent + i + 1, 0xff, (FPDUS - i - 1) * sizeof(*sent));
            return;
        }
    }
}

static size_t sent_count(const struct sent *sent)
{
    size_t n = 0;

    while (n < FPDUS && sent[n].kind != 0xff)
        n++;
    return n;
}

static uint32_t start(struct judge *j, uint8_t flags0, uint8_t flags1, uint32_t isn)
{
    static struct bytes b;

    b.n = 0;
    put_start(&b, true, flags0, 1, NULL, 0);
    judge_give(j, 0, isn, 5000, ACK, b.at, b.n);
    b.n = 0;
    put_start(&b, false, flags1, 1, NULL, 0);
    judge_give(j, 1, 5000, isn + 20, ACK, b.at, b.n);
    return isn + 20;
}

static struct bytes stream;
static struct sent sent[FPDUS];

struct cut {
    uint32_t off, len;
};
static struct cut cuts[1 << 17];

static size_t cut_up(uint32_t most)
{
    size_t n = 0;

    for (uint32_t off = 0; off < stream.n; n++) {
        uint32_t len = 1 + chance(most);

        if (len > stream.n - off)
            len = (uint32_t)stream.n - off;
        cuts[n] = (struct cut){off, len};
        off += len;
    }
    return n;
}

/* Segments of any size, in order, and through the wrap of sequence numbers. */
static void any_segments(void **state)
{
    static const uint32_t sizes[] = {3, 20, 100, MSS, 9000, 60000};
    const struct rpcrdma_net_config config = {.check_icrc = true};

    (void)state;
    seed = 1;
    for (int mode = 0; mode < 4; mode++)
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            bool markers = mode & 1, crc = mode & 2;
            struct judge j;
            uint32_t base;
            size_t n;

            build_stream(&stream, sent, markers, crc);
            judge_new(&j, sent, sent_count(sent), &config);
            base = start(&j, crc ? C : 0, markers ? M : 0, UINT32_MAX - 30000);
            n = cut_up(sizes[k]);
            for (size_t i = 0; i < n; i++)
                judge_give(&j, 0, base + cuts[i].off, NEXT1, ACK, stream.at + cuts[i].off,
                           cuts[i].len);
            assert_int_equal(j.whole, j.n);
            assert_int_equal(j.wrong + j.partial + j.lost + j.findings, 0);
            rpcrdma_net_free(j.net);
        }
}

/* Late, twice, and overlapping with other boundaries. */
static void any_order(void **state)
{
    (void)state;
    seed = 2;
    for (int round = 0; round < 20; round++) {
        struct judge j;
        uint32_t base;
        size_t n;

        build_stream(&stream, sent, round & 1, round & 2);
        judge_new(&j, sent, sent_count(sent), NULL);
        base = start(&j, C, (uint8_t)(round & 1 ? M : 0), UINT32_MAX - 20000);
        n = cut_up(MSS);
        for (size_t i = 0; i + 1 < n; i++) /* each up to 8 places too late */
            if (chance(4) == 0) {
                size_t to = i + 1 + chance(8);
                struct cut c = cuts[i];

                if (to >= n)
                    to = n - 1;
                memmove(&cuts[i], &cuts[i + 1], (to - i) * sizeof(c));
                cuts[to] = c;
            }
        for (size_t i = 0; i < n; i++) {
            struct cut c = cuts[i];

            if (chance(5) == 0) { /* sent again, with more of what is around it */
                uint32_t before = chance(3000), after = chance(3000);

                before = before > c.off ? c.off : before;
                after =
                    after > stream.n - c.off - c.len ? (uint32_t)stream.n - c.off - c.len : after;
                judge_give(&j, 0, base + c.off, NEXT1, ACK, stream.at + c.off, c.len);
                c.off -= before;
                c.len += before + after;
            }
            judge_give(&j, 0, base + c.off, NEXT1, ACK, stream.at + c.off, c.len);
        }
        assert_int_equal(j.whole, j.n);
        assert_int_equal(j.wrong + j.partial + j.lost + j.findings, 0);
        rpcrdma_net_end(j.net);
        assert_int_equal(j.net->tcp->memory, 0);
        rpcrdma_net_free(j.net);
    }
}

/* Segments that the capture missed and the receiver did not: never a wrong byte, and back in step.
 */
static void losses(void **state)
{
    size_t whole = 0, all = 0, lost = 0;

    (void)state;
    seed = 3;
    for (int round = 0; round < 40; round++) {
        bool aligned = round & 1, crc = round & 2;
        struct judge j;
        uint32_t base;
        size_t n;

        build_stream(&stream, sent, round & 4, crc);
        judge_new(&j, sent, sent_count(sent), NULL);
        base = start(&j, crc ? C : 0, (uint8_t)(round & 4 ? M : 0), UINT32_MAX - 20000);
        n = cut_up(aligned ? 4000 : MSS);
        for (size_t i = 0; i < n; i++) {
            if (chance(25) != 0)
                judge_give(&j, 0, base + cuts[i].off, NEXT1, ACK, stream.at + cuts[i].off,
                           cuts[i].len);
            if (chance(4) == 0)
                judge_give(&j, 1, NEXT1, base + cuts[i].off + cuts[i].len, ACK, NULL, 0);
        }
        judge_give(&j, 1, NEXT1, base + (uint32_t)stream.n, ACK, NULL, 0);
        rpcrdma_net_end(j.net);
        assert_int_equal(j.wrong, 0);
        whole += j.whole;
        lost += j.lost;
        all += j.n;
        assert_int_equal(j.net->tcp->memory, 0);
        rpcrdma_net_free(j.net);
    }
    assert_true(lost > 0);
    assert_true(whole * 100 >
                all * 75); /* 4 % of the segments are missing, of FPDUs that span several */
}

/* Captured from anywhere in the stream on. */
static void mid_stream(void **state)
{
    (void)state;
    seed = 4;
    for (int round = 0; round < 40; round++) {
        bool crc = round & 1;
        struct judge j;
        uint32_t off = 0;
        size_t skip = 1 + chance(30), i;

        build_stream(&stream, sent, false, crc);
        judge_new(&j, sent, sent_count(sent), NULL);
        for (i = 0; i < j.n; i++) { /* every FPDU in a segment of its own, long ones in several */
            uint32_t size =
                (2u + (sent[i].kind == RPCRDMA_OP_SEND ? 18 : 14) + sent[i].len + 3) / 4 * 4 + 4;
            for (uint32_t at = 0; at < size && i >= skip; at += MSS)
                judge_give(&j, 0, 777 + off + at, NEXT1, ACK, stream.at + off + at,
                           size - at < MSS ? size - at : MSS);
            off += size;
        }
        assert_int_equal(off, stream.n);
        rpcrdma_net_end(j.net);
        assert_int_equal(j.wrong, 0);
        assert_int_equal(j.whole, j.n - skip);
        rpcrdma_net_free(j.net);
    }
}

/* Likewise with markers, which nobody announced: whoever begins a segment with an FPDU shows them.
 */
static void mid_stream_with_markers(void **state)
{
    static uint32_t begins[FPDUS + 1];
    size_t whole = 0, all = 0;

    (void)state;
    seed = 5;
    for (int round = 0; round < 40; round++) {
        static struct bytes u;
        struct judge j;
        size_t skip = 1 + chance(30);
        bool crc = round & 1;

        stream.n = 0;
        for (uint32_t i = 0; i < 100; i++) {
            size_t n = chance(3) == 0 ? chance(40) : chance(1000);

            begins[i] = (uint32_t)stream.n;
            put_untagged(&u, 3, true, 0, 0, i, 0);
            put_payload(&u, chance(UINT32_MAX), n);
            sent[i] = (struct sent){RPCRDMA_OP_SEND, i, (uint32_t)n, sum_of(u.at + u.n - n, n)};
            put_fpdu(&stream, true, crc, &u);
        }
        begins[100] = (uint32_t)stream.n;
        judge_new(&j, sent, 100, NULL);
        for (size_t i = skip; i < 100; i++)
            judge_give(&j, 0, 777 + begins[i], NEXT1, ACK, stream.at + begins[i],
                       begins[i + 1] - begins[i]);
        rpcrdma_net_end(j.net);
        assert_int_equal(j.wrong, 0);
        whole += j.whole;
        all += 100 - skip;
        assert_true(j.whole + 12 > 100 - skip);
        rpcrdma_net_free(j.net);
    }
    assert_true(whole * 100 > all * 95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_segments),
        cmocka_unit_test(any_order),
        cmocka_unit_test(losses),
        cmocka_unit_test(mid_stream),
        cmocka_unit_test(mid_stream_with_markers),
    };

    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
