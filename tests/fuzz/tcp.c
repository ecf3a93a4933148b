/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iWARP: one TCP connection, both directions. Input: commands that write FPDUs (well formed, or
 * not) and say where segments end, what is lost and what comes twice. How TCP cut the bytes up must
 * not matter: in order, in smaller segments or with each segment twice, the same operations come
 * out.
 */
#include <stdbool.h>

#include "base/crc.h"
#include "fuzz.h"
#include "net/net.h"
#include "wire/writer.h"

enum {
    MAX_SEGMENTS = 96,
    MAX_BYTES = 24000, /* of both directions */
    MAX_OPS = 1024,
    HEADERS = 14 + 20 + 20,
    TCP_FIN = 1,
    TCP_SYN = 2,
    TCP_RST = 4,
    TCP_ACK = 16,
    MARKERS = 0x80,
};

struct segment {
    uint8_t dir, flags;
    uint32_t seq, ack, off, len, cut; /* bytes [off, off + len) of the direction's stream */
};

struct talk {
    uint8_t bytes[2][MAX_BYTES];
    uint32_t n[2], sent[2];      /* bytes written, and of them in segments */
    uint32_t seq[2];             /* of the next segment; it jumps where bytes are lost */
    uint32_t phase[2];           /* where the first FPDU begins */
    bool started[2], markers[2]; /* markers: what this direction is written with */
    uint32_t msn[2], offset[2];  /* of the next Send segment */
    struct segment segment[MAX_SEGMENTS];
    size_t n_segments;
    bool orderly; /* set up by MPA, and nothing was done to it */
};

struct seen {
    uint64_t op[2][MAX_OPS]; /* by sender: a sum of each */
    size_t n[2], all;
    uint64_t order; /* of all: a sum over them */
    uint64_t frame, last[2];
    bool lost; /* an FPDU was none: from where on depends on how much of it was there at once */
};

/* --- what is sent ------------------------------------------------------------------------------
 */

static void put(struct talk *t, int dir, const uint8_t *data, size_t n, bool fpdu)
{
    for (size_t i = 0; i < n && t->n[dir] < MAX_BYTES; i++) {
        if (fpdu && t->markers[dir] && (t->n[dir] - t->phase[dir]) % 512 == 0)
            for (int k = 0; k < 4 && t->n[dir] < MAX_BYTES; k++)
                t->bytes[dir][t->n[dir]++] = 0; /* where it points is only worth a finding */
        if (t->n[dir] < MAX_BYTES)
            t->bytes[dir][t->n[dir]++] = data[i];
    }
}

static void flush(struct talk *t, int dir, uint8_t flags)
{
    struct segment *s = &t->segment[t->n_segments];
    uint32_t n = t->n[dir] - t->sent[dir];

    if (t->n_segments == MAX_SEGMENTS || (n == 0 && flags == 0))
        return;
    t->n_segments++;
    *s = (struct segment){.dir = (uint8_t)dir,
                          .flags = flags | TCP_ACK,
                          .seq = t->seq[dir],
                          .ack = t->seq[1 - dir],
                          .off = t->sent[dir],
                          .len = n};
    t->seq[dir] += n;
    t->sent[dir] = t->n[dir];
}

static void start(struct talk *t, int dir, uint8_t flags)
{
    uint8_t frame[20 + 8] = "MPA ID Req Frame";

    if (t->started[dir])
        return;
    memcpy(frame + 7, dir == 0 ? "Req" : "Rep", 3);
    frame[16] = flags & 0xf0;
    frame[17] = 1 + (flags & 1);
    frame[18] = 0;
    frame[19] = flags & 2 ? 8 : 0;
    put(t, dir, frame, 20u + frame[19], false);
    flush(t, dir, 0);
    t->started[dir] = true;
    t->phase[dir] = t->n[dir];
    t->markers[1 - dir] = flags & MARKERS; /* the receiver asks for them */
}

static void fpdu(struct talk *t, int dir, const uint8_t *ulpdu, size_t n)
{
    static struct rpcrdma_crc crc;
    uint8_t whole[2 + 4096 + 3 + 4] = {(uint8_t)(n >> 8), (uint8_t)n};
    size_t body = (2 + n + 3) / 4 * 4;
    uint32_t sum;

    if (crc.table[0][1] == 0)
        rpcrdma_crc_init(&crc, RPCRDMA_CRC_CASTAGNOLI);
    if (n)
        memcpy(whole + 2, ulpdu, n);
    sum = ~rpcrdma_crc_add(&crc, UINT32_MAX, whole, body);
    for (int i = 0; i < 4; i++)
        whole[body + (size_t)i] = (uint8_t)(sum >> 8 * i);
    put(t, dir, whole, body + 4, true);
}

/* A segment of DDP (RFC 5041) and RDMAP (RFC 5040) that could be right. */
static void segment(struct fuzz_choices *from, struct talk *t, int dir)
{
    static const uint8_t opcodes[] = {3, 3, 3, 0, 2, 1, 4, 5, 6, 7};
    uint8_t u[18 + 600] = {0}, choice = fuzz_u8(from), opcode = opcodes[choice % 10];
    bool last = choice < 200, tagged = opcode == 0 || opcode == 2;
    size_t head = tagged ? 14 : 18, got;
    const uint8_t *payload;

    u[0] = (uint8_t)((tagged ? 0x80 : 0) | (last ? 0x40 : 0) | 1);
    u[1] = 0x40 | opcode;
    if (tagged) {
        rpcrdma_put_be32(u + 2, fuzz_u8(from));
        rpcrdma_put_be32(u + 10, fuzz_u16(from));
        payload = fuzz_bytes(from, fuzz_u16(from) % 600, &got);
    } else {
        bool send = opcode != 1 && opcode != 7;

        rpcrdma_put_be32(u + 2, opcode == 4 || opcode == 6 ? fuzz_u8(from) : 0);
        rpcrdma_put_be32(u + 6, opcode == 1 ? 1 : opcode == 7 ? 2 : 0);
        rpcrdma_put_be32(u + 10, send ? t->msn[dir] : fuzz_u8(from));
        rpcrdma_put_be32(u + 14, send ? t->offset[dir] : 0);
        payload = fuzz_bytes(from, opcode == 1 ? 28 : fuzz_u16(from) % 600, &got);
        if (send) {
            t->offset[dir] += (uint32_t)got;
            if (last) {
                t->offset[dir] = 0;
                t->msn[dir]++;
            }
        }
    }
    if (got)
        memcpy(u + head, payload, got);
    fpdu(t, dir, u, head + got);
}

static void command(struct fuzz_choices *from, struct talk *t)
{
    uint8_t what = fuzz_u8(from);
    int dir = what >> 7;
    const uint8_t *data;
    size_t got;

    switch (what % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
        segment(from, t, dir);
        break;
    case 6:
    case 7:
        flush(t, dir, 0);
        break;
    case 8:
        start(t, dir, fuzz_u8(from));
        break;
    case 9: /* an FPDU of anything */
        data = fuzz_bytes(from, fuzz_u16(from) % 2000, &got);
        fpdu(t, dir, data, got);
        t->orderly = false;
        break;
    case 10: /* no FPDU */
        data = fuzz_bytes(from, fuzz_u8(from), &got);
        put(t, dir, data, got, false);
        t->orderly = false;
        break;
    case 11: /* a hole, or bytes again */
        flush(t, dir, 0);
        t->seq[dir] += fuzz_u8(from) & 1 ? fuzz_u16(from) : 0u - fuzz_u8(from);
        t->orderly = false;
        break;
    case 12:
        flush(t, dir, fuzz_u8(from) & 1 ? TCP_FIN : TCP_RST);
        t->orderly = false;
        break;
    case 13: /* the packet is cut by the capture */
        flush(t, dir, 0);
        if (t->n_segments > 0)
            t->segment[t->n_segments - 1].cut = fuzz_u16(from);
        t->orderly = false;
        break;
    case 14: /* two packets change places */
        flush(t, dir, 0);
        if (t->n_segments > 1) {
            struct segment one = t->segment[t->n_segments - 1];

            t->segment[t->n_segments - 1] = t->segment[t->n_segments - 2];
            t->segment[t->n_segments - 2] = one;
        }
        t->orderly = false;
        break;
    default:
        t->seq[dir] = fuzz_u32(from); /* sequence numbers wrap somewhere */
        t->orderly = false;
        break;
    }
    if (t->n[dir] - t->sent[dir] > 1448)
        flush(t, dir, 0);
}

/* --- what comes out ----------------------------------------------------------------------------
 */

static void add(uint64_t *sum, uint64_t value)
{
    *sum = (*sum ^ value) * UINT64_C(0x100000001b3);
    *sum ^= *sum >> 29;
}

static void on_op(void *context, const struct rpcrdma_op *op)
{
    struct seen *seen = context;
    int dir = op->src_port == 20049;
    uint64_t sum = 0;

    MUST(op->frame >= 1 && op->frame <= seen->frame && op->caplen <= op->len);
    MUST(op->frame >= seen->last[dir]); /* in each direction they never go back: net/iwarp/tcp.h */
    seen->last[dir] = op->frame;
    seen->lost |= op->kind == RPCRDMA_OP_LOST;
    add(&sum, (uint64_t)op->kind << 32 | op->flags);
    add(&sum, (uint64_t)op->seq << 32 | op->msn);
    add(&sum, (uint64_t)op->rkey << 32 | op->length);
    add(&sum, op->remote_address ^ op->sink_offset);
    add(&sum, (uint64_t)op->sink_stag << 32 | op->message_offset);
    add(&sum, (uint64_t)op->invalidate << 32 | op->terminate);
    add(&sum, (uint64_t)op->caplen << 32 | op->len);
    for (uint32_t i = 0; i < op->caplen; i++)
        add(&sum, op->data[i]);
    if (op->connect) {
        MUST(op->connect->private_caplen <= op->connect->private_len);
        for (uint32_t i = 0; i < op->connect->private_caplen; i++)
            add(&sum, op->connect->private_data[i]);
    }
    add(&seen->order, sum);
    seen->all++;
    if (seen->n[dir] < MAX_OPS)
        seen->op[dir][seen->n[dir]++] = sum;
}

static void on_finding(void *context, const struct rpcrdma_finding *finding)
{
    char text[256];

    (void)context;
    MUST(rpcrdma_finding_text(finding, text, sizeof(text)) > 0);
}

static void send_one(struct rpcrdma_net *net, struct seen *seen, const struct talk *t,
                     const struct segment *s)
{
    uint32_t size = HEADERS + s->len;
    struct rpcrdma_packet packet = {.frame = ++seen->frame, .linktype = 1, .len = size};
    uint8_t *p = calloc(1, size);

    MUST(p);
    p[12] = 8;
    p[14] = 0x45;
    p[16] = (uint8_t)((size - 14) >> 8);
    p[17] = (uint8_t)(size - 14);
    p[23] = 6;
    p[29] = s->dir ? 2 : 1; /* 0.0.0.1 and 0.0.0.2 */
    p[33] = s->dir ? 1 : 2;
    rpcrdma_put_be32(p + 34, s->dir ? 20049u << 16 | 1000 : 1000u << 16 | 20049);
    rpcrdma_put_be32(p + 38, s->seq);
    rpcrdma_put_be32(p + 42, s->ack);
    p[46] = 0x50;
    p[47] = s->flags;
    if (s->len)
        memcpy(p + HEADERS, t->bytes[s->dir] + s->off, s->len);
    packet.caplen = s->cut < s->len ? size - s->cut : size;
    packet.data = fuzz_copy(p, packet.caplen);
    packet.time_ns = (int64_t)seen->frame * 1000;
    rpcrdma_net_packet(net, &packet);
    free((void *)(uintptr_t)packet.data);
    free(p);
}

enum way { AS_IT_IS, SMALLER, TWICE };

static void pieces(struct rpcrdma_net *net, struct seen *seen, const struct talk *t,
                   const struct segment *s, enum way way, uint32_t size)
{
    struct segment one = *s;

    /* the first of a direction tells that it is MPA, and must show it */
    if (way != SMALLER || s->off == 0 || s->len == 0) {
        send_one(net, seen, t, s);
        if (way == TWICE)
            send_one(net, seen, t, s);
        return;
    }
    for (uint32_t at = 0; at < s->len; at += one.len) {
        one.off = s->off + at;
        one.seq = s->seq + at;
        one.len = s->len - at < size ? s->len - at : size;
        send_one(net, seen, t, &one);
    }
}

static void run(const struct talk *t, enum way way, uint32_t size, uint64_t max_memory,
                struct seen *seen)
{
    const struct rpcrdma_net_config config = {.check_icrc = true, .max_memory = max_memory};
    const struct rpcrdma_net_sink sink = {.op = on_op, .finding = on_finding, .context = seen};
    const struct rpcrdma_net_stats *stats;
    struct rpcrdma_net *net = rpcrdma_net_new(&config, &sink);

    MUST(net);
    *seen = (struct seen){0};
    for (size_t i = 0; i < t->n_segments; i++)
        pieces(net, seen, t, &t->segment[i], way, size);
    rpcrdma_net_end(net);
    stats = rpcrdma_net_stats(net);
    MUST(stats->packets == seen->frame);
    MUST(stats->packets == stats->rdma + stats->other + stats->truncated);
    rpcrdma_net_free(net);
}

static void same(const struct seen *a, const struct seen *b)
{
    for (int dir = 0; dir < 2; dir++) {
        MUST(a->n[dir] == b->n[dir]);
        MUST(memcmp(a->op[dir], b->op[dir], a->n[dir] * sizeof(a->op[dir][0])) == 0);
    }
    MUST(a->all == b->all);
}

/* The key of a start-up frame in later bytes looks like a new connection where a segment begins. */
static bool has_key(const struct talk *t)
{
    for (int dir = 0; dir < 2; dir++)
        for (uint32_t i = t->phase[dir]; i + 4 < t->n[dir]; i++)
            if (memcmp(t->bytes[dir] + i, "MPA ", 4) == 0)
                return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct talk t;
    static struct seen plain, other;
    struct fuzz_choices from = {data, size};
    uint8_t flags = fuzz_u8(&from), piece = fuzz_u8(&from);

    memset(&t, 0, sizeof(t));
    t.orderly = true;
    t.seq[0] = flags & 4 ? 0xffffff00 : 1000;
    t.seq[1] = 0x80000000 - 100;
    t.msn[0] = t.msn[1] = 1;
    if (flags & 1) { /* as it should be: a Request, a Reply */
        start(&t, 0, fuzz_u8(&from));
        start(&t, 1, fuzz_u8(&from));
    }
    t.orderly = t.started[0];
    while (from.size > 0)
        command(&from, &t);
    flush(&t, 0, 0);
    flush(&t, 1, 0);
    run(&t, AS_IT_IS, 0, flags & 2 ? 20000 : 0, &plain);
    if (t.orderly && !plain.lost && !(flags & 2) && !has_key(&t)) {
        run(&t, SMALLER, 1u + piece, 0, &other);
        same(&plain, &other);
        MUST(plain.order == other.order);
        run(&t, TWICE, 0, 0, &other);
        same(&plain, &other);
    }
    return 0;
}
