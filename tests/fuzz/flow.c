/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations to messages, RPCs and credits: conversations without packets around them. Input:
 * commands of who plays both ends of three connections: Calls that offer chunks, Writes and Reads
 * of what was offered, Replies, Acks, set-up; and what a network does to them.
 */
#include "fuzz.h"
#include "watch.h"
#include "wire/writer.h"

enum { CONNECTIONS = 3, OFFERS = 16, MAX_MESSAGE = 2048, MAX_SEGMENTS = 4, REMEMBERED = 8 };

struct offer {
    struct rpcrdma_segment segment;
    int owner; /* the end whose memory it is */
};

struct talk {
    struct rpcrdma_address address[2];
    uint8_t carrier;
    uint32_t qpn[2];           /* of each end */
    uint32_t seq[2];           /* of what each end sends next */
    uint32_t xid;              /* of the last Call */
    struct rpcrdma_op read[2]; /* the last Read request of each end */
    struct offer offer[OFFERS];
    uint32_t n_offers;
};

struct play {
    struct fuzz_choices from;
    struct watch watch;
    const struct rpcrdma_dialect *dialect;
    struct talk talk[CONNECTIONS];
    struct rpcrdma_op last[REMEMBERED]; /* without data: to come again */
    uint32_t n_last;
    uint64_t frame;
    int64_t now;
};

static void give(struct play *p, struct rpcrdma_op *op)
{
    uint8_t *copy = op->caplen ? fuzz_copy(op->data, op->caplen) : NULL;

    op->frame = ++p->frame;
    op->time_ns = p->now += 1000;
    op->data = copy;
    watch_op(&p->watch, op);
    free(copy);
    op->data = NULL;
    op->connect = NULL;
    p->last[p->n_last++ % REMEMBERED] = *op;
}

static struct rpcrdma_op begin(const struct talk *t, int end, enum rpcrdma_op_kind kind)
{
    struct rpcrdma_op op = {.carrier = t->carrier,
                            .kind = (uint8_t)kind,
                            .src = t->address[end],
                            .dst = t->address[1 - end]};

    if (t->carrier == RPCRDMA_CARRIER_IWARP) {
        op.src_port = (uint16_t)t->qpn[end];
        op.dst_port = (uint16_t)t->qpn[1 - end];
    } else {
        op.dst_qpn = t->qpn[1 - end];
    }
    return op;
}

static uint32_t next(struct talk *t, int end)
{
    uint32_t seq = t->seq[end];

    t->seq[end] = t->carrier == RPCRDMA_CARRIER_IWARP ? seq + 1 : rpcrdma_psn_add(seq, 1);
    return seq;
}

/* A message of several packets: a Send, a Write, a Read Response. */
static void give_all(struct play *p, struct talk *t, int end, struct rpcrdma_op *op,
                     const uint8_t *data, uint32_t len, uint32_t mtu)
{
    uint8_t lose = fuzz_u8(&p->from), cut = fuzz_u8(&p->from);
    uint32_t at = 0, i = 0, msn = op->seq;
    uint16_t flags = op->flags;
    bool iwarp = t->carrier == RPCRDMA_CARRIER_IWARP;

    do {
        uint32_t n = len - at < mtu ? len - at : mtu;

        op->flags = (uint16_t)(flags & ~(RPCRDMA_OP_RETH | RPCRDMA_OP_INVALIDATE));
        if (at == 0)
            op->flags |= RPCRDMA_OP_FIRST | (flags & RPCRDMA_OP_RETH);
        if (at + n == len)
            op->flags |= RPCRDMA_OP_LAST | (flags & RPCRDMA_OP_INVALIDATE);
        op->data = data + at;
        op->len = n;
        op->caplen = cut >= 200 && n > 64 ? 64 : n;
        op->seq = op->kind == RPCRDMA_OP_READ_RESPONSE ? rpcrdma_psn_add(msn, i)
                  : iwarp                              ? t->seq[end]
                                                       : next(t, end);
        op->message_offset = at;
        if (iwarp)
            op->flags |= flags & RPCRDMA_OP_RETH;
        if (lose < 200 || i != (lose & 3u))
            give(p, op);
        if (iwarp)
            op->remote_address += n;
        at += n;
        i++;
    } while (at < len);
    if (iwarp)
        next(t, end);
}

/* --- messages ----------------------------------------------------------------------------------
 */

static struct rpcrdma_segment offer(struct play *p, struct talk *t, int end)
{
    uint8_t choice = fuzz_u8(&p->from);
    struct rpcrdma_segment segment = {.handle = 1 + choice % 8u,
                                      .length = choice & 0x40 ? fuzz_u16(&p->from) : 4u * choice,
                                      .offset = (uint64_t)(choice & 0x30) << 8};

    t->offer[t->n_offers++ % OFFERS] = (struct offer){segment, end};
    return segment;
}

static struct rpcrdma_chunk offer_chunk(struct play *p, struct talk *t, int end,
                                        struct rpcrdma_segment *to)
{
    uint32_t n = fuzz_u8(&p->from) % (MAX_SEGMENTS + 1u);

    for (uint32_t i = 0; i < n; i++)
        to[i] = offer(p, t, end);
    return (struct rpcrdma_chunk){.segments = to, .count = n, .declared = n};
}

static uint32_t rpc_header(struct play *p, uint32_t xid, bool call, uint8_t *to, size_t room)
{
    struct rpcrdma_rpc rpc = {.xid = xid,
                              .type = call ? RPCRDMA_RPC_CALL : RPCRDMA_RPC_REPLY,
                              .rpcvers = RPCRDMA_RPC_VERSION,
                              .program = 100003,
                              .version = 3 + (fuzz_u8(&p->from) & 1u)};
    size_t n;

    rpc.procedure = rpc.version == 4 ? 1 : 6 + (fuzz_u8(&p->from) & 1u);
    MUST(rpcrdma_rpc_encode(&rpc, to, room, &n) == RPCRDMA_OK);
    return (uint32_t)n;
}

static void message(struct play *p, struct talk *t, int end, bool call)
{
    struct rpcrdma_segment segments[4][MAX_SEGMENTS];
    struct rpcrdma_read_segment reads[MAX_SEGMENTS];
    struct rpcrdma_chunk writes[2];
    uint8_t bytes[MAX_MESSAGE], payload[1024], lists = fuzz_u8(&p->from);
    const struct rpcrdma_dialect *d = p->dialect ? p->dialect : rpcrdma_dialect(RPCRDMA_V1);
    struct rpcrdma_message m = {.dialect = d, .version = d->version, .credits = 1u + lists % 40u};
    struct rpcrdma_op op = begin(t, end, RPCRDMA_OP_SEND);
    size_t n, got;
    const uint8_t *body;

    m.type = d->types[fuzz_u8(&p->from) % d->n_types].value;
    m.xid = t->xid = call ? t->xid + (lists & 7 ? 1 : 0) : t->xid - (lists & 7 ? 0u : 1u);
    m.flags = m.direction = m.optional.direction = !call;
    m.remaining = lists & 1 ? fuzz_u16(&p->from) : 0;
    m.error.code = lists & 3;
    m.error.low = m.error.high = 1;
    for (uint32_t i = 0; lists & 8 && i < 1u + (lists & 1u); i++) {
        reads[i].position = lists & 0x40 ? 0 : 4u * fuzz_u8(&p->from);
        reads[i].segment = offer(p, t, end);
        m.read = (struct rpcrdma_read_list){.segments = reads, .count = i + 1};
    }
    for (uint32_t i = 0; lists & 16 && i < 1u + (lists & 1u); i++) {
        writes[i] = offer_chunk(p, t, end, segments[i]);
        m.write = (struct rpcrdma_write_list){.chunks = writes, .count = i + 1};
    }
    m.reply_present = lists & 32;
    if (m.reply_present)
        m.reply = offer_chunk(p, t, end, segments[2]);
    n = lists & 0x80 ? 0 : rpc_header(p, m.xid, call, payload, sizeof(payload));
    body = fuzz_bytes(&p->from, fuzz_u16(&p->from) % 900, &got);
    if (got)
        memcpy(payload + n, body, got);
    m.payload.data = payload;
    m.payload.caplen = m.payload.len = (uint32_t)(n + got);
    MUST(rpcrdma_message_encode(&m, bytes, sizeof(bytes), &n) == RPCRDMA_OK);
    if (lists == 0xff && t->n_offers > 0) {
        op.flags = RPCRDMA_OP_INVALIDATE;
        op.invalidate = t->offer[(t->n_offers - 1) % OFFERS].segment.handle;
    }
    give_all(p, t, end, &op, bytes, (uint32_t)n, 256);
}

/* --- RDMA --------------------------------------------------------------------------------------
 */

/* What the other end offered: some of it. */
static struct rpcrdma_op aim(struct play *p, struct talk *t, int end, enum rpcrdma_op_kind kind)
{
    struct rpcrdma_op op = begin(t, end, kind);
    uint8_t choice = fuzz_u8(&p->from);
    uint32_t n = t->n_offers < OFFERS ? t->n_offers : OFFERS;
    const struct offer *o = n ? &t->offer[(t->n_offers - 1 - choice % n) % OFFERS] : NULL;

    op.flags = RPCRDMA_OP_RETH;
    op.rkey = 99;
    op.length = choice;
    if (o) {
        op.rkey = o->segment.handle;
        op.remote_address = o->segment.offset;
        op.length = o->segment.length;
    }
    if (choice & 0x80) {
        op.remote_address += fuzz_u8(&p->from);
        op.length = fuzz_u16(&p->from);
    }
    return op;
}

static void write_chunk(struct play *p, struct talk *t, int end)
{
    static const uint8_t data[2048];
    struct rpcrdma_op op = aim(p, t, end, RPCRDMA_OP_WRITE);

    give_all(p, t, end, &op, data, op.length < sizeof(data) ? op.length : sizeof(data), 512);
}

static void read_request(struct play *p, struct talk *t, int end)
{
    struct rpcrdma_op op = aim(p, t, end, RPCRDMA_OP_READ_REQUEST);
    uint32_t n = (op.length + 511) / 512;

    op.flags |= RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST;
    op.seq = next(t, end);
    op.sink_stag = op.rkey;
    if (t->carrier != RPCRDMA_CARRIER_IWARP && n > 1) /* its responses take PSNs */
        t->seq[end] = rpcrdma_psn_add(t->seq[end], n - 1);
    t->read[end] = op;
    give(p, &op);
}

static void read_response(struct play *p, struct talk *t, int end)
{
    static const uint8_t data[2048];
    const struct rpcrdma_op *request = &t->read[1 - end];
    struct rpcrdma_op op = begin(t, end, RPCRDMA_OP_READ_RESPONSE);
    uint32_t n = request->length < sizeof(data) ? request->length : sizeof(data);

    op.seq = request->seq;
    op.sink_stag = request->sink_stag;
    give_all(p, t, end, &op, data, n, 512);
}

static void answer(struct play *p, struct talk *t, int end, enum rpcrdma_op_kind kind)
{
    struct rpcrdma_op op = begin(t, end, kind);

    op.seq = rpcrdma_psn_add(t->seq[1 - end], 0u - fuzz_u8(&p->from) % 4u);
    op.msn = fuzz_u8(&p->from);
    op.nak = (uint8_t)(op.msn % (RPCRDMA_NAK_OTHER + 1));
    give(p, &op);
}

/* --- set-up ------------------------------------------------------------------------------------
 */

static void set_up(struct play *p, struct talk *t, int end)
{
    static const uint8_t data[] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3};
    static const uint8_t kinds[] = {
        RPCRDMA_OP_CONNECT,    RPCRDMA_OP_ACCEPT,    RPCRDMA_OP_ESTABLISHED, RPCRDMA_OP_REJECT,
        RPCRDMA_OP_DISCONNECT, RPCRDMA_OP_TERMINATE, RPCRDMA_OP_RESET,       RPCRDMA_OP_LOST,
        RPCRDMA_OP_CONGESTION, RPCRDMA_OP_SYN,       RPCRDMA_OP_SYN_ACK};
    uint8_t choice = fuzz_u8(&p->from);
    struct rpcrdma_op op = begin(t, end, kinds[choice % sizeof(kinds)]);
    struct rpcrdma_op_connect connect = {.local_comm_id = 10 + (uint32_t)end,
                                         .remote_comm_id = 11 - (uint32_t)end,
                                         .service_id = 0x1000000 | 20049,
                                         .port = choice & 8 ? 20049 : 0,
                                         .qpn = choice & 16 ? 0 : t->qpn[end],
                                         .remote_qpn = t->qpn[1 - end],
                                         .start_psn = t->seq[1 - end],
                                         .has_start_psn = !(choice & 32),
                                         .path_mtu = 1024};

    if (op.kind >= RPCRDMA_OP_CONNECT && op.kind <= RPCRDMA_OP_DISCONNECT) {
        if (choice & 64) {
            connect.private_data = data;
            connect.private_len = sizeof(data);
            connect.private_caplen = choice & 128 ? 6 : sizeof(data);
        }
        op.connect = &connect;
        op.dst_qpn = t->carrier == RPCRDMA_CARRIER_IWARP ? 0 : 1;
    }
    give(p, &op);
}

/* The same QP numbers, or other ones, for another conversation. */
static void open_again(struct play *p, struct talk *t)
{
    uint8_t choice = fuzz_u8(&p->from);

    t->qpn[choice & 1] += choice & 2 ? 1 : 0;
    t->seq[choice & 1] = choice & 4 ? 0xfffff8 : fuzz_u16(&p->from);
    if (choice & 8)
        t->xid = 1000;
}

static void again(struct play *p)
{
    uint32_t n = p->n_last < REMEMBERED ? p->n_last : REMEMBERED;
    struct rpcrdma_op op;

    if (n == 0)
        return;
    op = p->last[(p->n_last - 1 - fuzz_u8(&p->from) % n) % REMEMBERED];
    if (op.kind >= RPCRDMA_OP_CONNECT && op.kind <= RPCRDMA_OP_DISCONNECT)
        return; /* what it said is gone */
    op.caplen = 0;
    give(p, &op);
}

static void command(struct play *p)
{
    uint8_t what = fuzz_u8(&p->from);
    struct talk *t = &p->talk[(what >> 5 & 3) % CONNECTIONS];
    int end = what >> 7;

    switch (what & 15) {
    case 0:
    case 1:
    case 2:
        message(p, t, end, true);
        break;
    case 3:
    case 4:
    case 5:
        message(p, t, end, false);
        break;
    case 6:
    case 7:
        write_chunk(p, t, end);
        break;
    case 8:
        read_request(p, t, end);
        break;
    case 9:
        read_response(p, t, end);
        break;
    case 10:
        answer(p, t, end, RPCRDMA_OP_ACK);
        break;
    case 11:
        answer(p, t, end, RPCRDMA_OP_NAK);
        break;
    case 12:
        set_up(p, t, end);
        break;
    case 13:
        again(p);
        break;
    case 14:
        p->now += (int64_t)fuzz_u16(&p->from) * (end ? 1000000 : -1000);
        break;
    case 15:
        open_again(p, t);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct play p;
    struct watch_config config = {.credits = true, .whole = true, .no_net = true};
    uint8_t flags, dialect;

    memset(&p, 0, sizeof(p));
    p.from = (struct fuzz_choices){data, size};
    flags = fuzz_u8(&p.from);
    dialect = fuzz_u8(&p.from) % (RPCRDMA_DIALECT_COUNT + 1);
    if (dialect < RPCRDMA_DIALECT_COUNT)
        p.dialect = rpcrdma_dialect(dialect);
    config.dialect = flags & 1 ? p.dialect : NULL;
    config.max_memory = flags & 2 ? 300000 : 0;
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        struct talk *t = &p.talk[i];

        t->carrier = i == 2 && flags & 4 ? RPCRDMA_CARRIER_IWARP : RPCRDMA_CARRIER_ROCEV2;
        for (uint32_t end = 0; end < 2; end++) {
            t->address[end].family = RPCRDMA_ADDRESS_IPV4;
            t->address[end].bytes[3] = (uint8_t)(1 + (flags & 8 ? 2 * i : 0) + end);
            t->qpn[end] = 0x10 + 4 * i + (flags & 16 ? end : 0);
            t->seq[end] = 100 * (end + 1);
        }
        if (t->carrier == RPCRDMA_CARRIER_IWARP)
            t->qpn[1] = 20049;
        t->xid = 1000 * (flags & 32 ? 1 : i);
    }
    watch_begin(&p.watch, &config);
    while (p.from.size > 0)
        command(&p);
    watch_end(&p.watch);
    return 0;
}
