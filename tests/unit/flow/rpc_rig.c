/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpc_rig.h"

static uint8_t *flatten(const struct rpcrdma_iovec *iovec, size_t n, uint64_t length)
{
    uint8_t *out = malloc(length ? length : 1), *p = out;

    assert_non_null(out);
    for (size_t i = 0; i < n; i++) {
        if (iovec[i].data)
            memcpy(p, iovec[i].data, iovec[i].length);
        else
            memset(p, iovec[i].kind == RPCRDMA_IOVEC_PAD ? 0 : 0xee, iovec[i].length);
        p += iovec[i].length;
    }
    assert_true((uint64_t)(p - out) <= length);
    return out;
}

static void record(struct got_message *got, const struct rpcrdma_rpc_message *m)
{
    *got = (struct got_message){.direction = m->direction,
                                .xid = m->xid,
                                .connection = m->connection->number,
                                .whole = m->whole,
                                .complete = m->complete,
                                .reverse = m->direction_known && m->reverse,
                                .length = m->length,
                                .frame = m->frame,
                                .send_frame = m->send_frame,
                                .n_unplaced_chunks = m->n_unplaced_chunks,
                                .has_call = m->call != NULL};
    got->bytes = flatten(m->iovec, m->n_iovec, m->length);
    if (m->n_unplaced_chunks > 0) {
        got->loose_length = m->unplaced_chunks[0].length;
        got->unplaced_chunks = flatten(m->iovec + m->unplaced_chunks[0].first_iovec,
                                       m->unplaced_chunks[0].n_iovec, m->unplaced_chunks[0].length);
    }
    for (size_t i = 0; i < m->n_findings && i < RPC_RIG_RULES; i++, got->n_rules++) {
        got->rules[i] = m->findings[i].rule;
        got->arg[i][0] = m->findings[i].arg[0];
        got->arg[i][1] = m->findings[i].arg[1];
        got->arg[i][2] = m->findings[i].arg[2];
    }
}

static void on_rpc(void *context, const struct rpcrdma_rpc_message *m)
{
    struct rpc_rig *r = context;

    assert_true(r->messages < RPC_RIG_MAX);
    record(&r->message[r->messages++], m);
}

static void on_partial(void *context, const struct rpcrdma_flow_message *message,
                       const struct rpcrdma_rpc_message *m)
{
    struct rpc_rig *r = context;

    assert_true(message->held_back || m);
    if (!m || r->partials == RPC_RIG_MAX) /* some tests send a lot */
        return;
    assert_int_equal(m->send_frame, message->frame);
    record(&r->partial[r->partials], m);
    r->partial[r->partials++].held_back = message->held_back;
}

static void on_transaction(void *context, const struct rpcrdma_transaction *t)
{
    struct rpc_rig *r = context;
    struct got_transaction *got = &r->transaction[r->transactions++];

    assert_true(r->transactions <= RPC_RIG_MAX);
    got->t = *t;
    got->connection = t->connection->number;
    rpcrdma_transaction_name(t, got->name, sizeof(got->name));
    for (size_t i = 0; i < t->n_findings && i < RPC_RIG_RULES; i++) {
        got->rules[i] = t->findings[i].rule;
        got->offset[i] = t->findings[i].offset;
        got->frame[i] = t->findings[i].frame;
        got->n_rules++;
    }
}

static void on_moved(void *context, const struct rpcrdma_data_transfer *data_transfer)
{
    struct rpc_rig *r = context;

    if (r->moves < RPC_RIG_MAX) /* some tests move a lot, and look at something else */
        r->data_transfer[r->moves] = *data_transfer;
    r->moves++;
}

void rpc_rig_begin_late(struct rpc_rig *r, const struct rpcrdma_flow_config *config, bool data)
{
    struct rpcrdma_flow_sink sink = {.transaction = on_transaction,
                                     .data_transfer = on_moved,
                                     .partial = on_partial,
                                     .credits = rig_credits,
                                     .context = r};

    memset(r, 0, sizeof(*r));
    if (data)
        sink.rpc = on_rpc;
    r->rig.time_ns = INT64_C(1700000000000000000);
    r->rig.flow = rpcrdma_flow_new(config, &sink);
    assert_non_null(r->rig.flow);
    r->a = RIG_A;
    r->b = RIG_B;
}

void rpc_rig_begin(struct rpc_rig *r, const struct rpcrdma_flow_config *config, bool data)
{
    rpc_rig_begin_late(r, config, data);
    rig_connect(&r->rig, &r->a, &r->b, 20049);
}

void rpc_rig_end(struct rpc_rig *r)
{
    struct rpcrdma_flow *flow = r->rig.flow;

    rpcrdma_flow_end(r->rig.flow);
    if (flow->rpcs) { /* with the connections every transaction and its bytes have gone */
        assert_int_equal(flow->messages->calls.count, 0);
        for (size_t i = 0; i < MESSAGE_RING; i++)
            assert_null(flow->messages->ring[i]);
        assert_int_equal(flow->rpcs->regions.table.count, 0);
        assert_int_equal(flow->rpcs->n_held, 0);
    }
    rpcrdma_flow_free(r->rig.flow);
    r->rig.flow = NULL;
}

void rpc_rig_free(struct rpc_rig *r)
{
    if (r->rig.flow)
        rpc_rig_end(r);
    for (size_t i = 0; i < r->messages; i++) {
        free(r->message[i].bytes);
        free(r->message[i].unplaced_chunks);
    }
    r->messages = 0;
    for (size_t i = 0; i < r->partials; i++) {
        free(r->partial[i].bytes);
        free(r->partial[i].unplaced_chunks);
    }
    r->partials = 0;
}

void rpc_put(struct rpc_bytes *b, uint32_t word)
{
    assert_true(b->n + 4 <= sizeof(b->data));
    rig_word(b->data + b->n, word);
    b->n += 4;
}

void rpc_fill(struct rpc_bytes *b, uint32_t n, uint8_t seed)
{
    assert_true(b->n + n <= sizeof(b->data));
    for (uint32_t i = 0; i < n; i++)
        b->data[b->n++] = (uint8_t)(seed + i * 7 + (i >> 8) + 1);
}

void rpc_pad(struct rpc_bytes *b)
{
    while (b->n % 4)
        b->data[b->n++] = 0;
}

void rpc_call_header(struct rpc_bytes *b, uint32_t xid, uint32_t program, uint32_t version,
                     uint32_t procedure)
{
    const uint32_t w[] = {xid, 0, 2, program, version, procedure, 0, 0, 0, 0};

    b->n = 0;
    for (size_t i = 0; i < sizeof(w) / sizeof(w[0]); i++)
        rpc_put(b, w[i]);
}

uint32_t rpc_backwards_call(uint8_t *message, uint32_t xid, uint32_t n)
{
    enum { CREDITS = 32, RDMA_MSG = 0, NFS = 100003, WRITE = 7, FIRST_POSITION = 100000 };
    struct rpc_bytes inner;
    uint8_t *p = message;

    rpc_call_header(&inner, xid, NFS, 3, WRITE);
    p = rig_word(rig_word(rig_word(rig_word(p, xid), 1), CREDITS), RDMA_MSG);
    for (uint32_t i = 0; i < n; i++) {
        p = rig_word(rig_word(p, 1), FIRST_POSITION - i * 4);
        p = rig_word(rig_word(p, 1000 + i), 8);
        p = rig_word(rig_word(p, 0), i * 8);
    }
    p = rig_word(rig_word(rig_word(p, 0), 0), 0);
    memcpy(p, inner.data, 40);
    return (uint32_t)(p + 40 - message);
}

void rpc_reply_header(struct rpc_bytes *b, uint32_t xid)
{
    const uint32_t w[] = {xid, 1, 0, 0, 0, 0};

    b->n = 0;
    for (size_t i = 0; i < sizeof(w) / sizeof(w[0]); i++)
        rpc_put(b, w[i]);
}

void rpc_read_reply_header(struct rpc_bytes *b, uint32_t xid, uint32_t n)
{
    rpc_reply_header(b, xid);
    rpc_put(b, 0); /* status */
    rpc_put(b, 0); /* no attributes */
    rpc_put(b, n);
    rpc_put(b, 1); /* eof */
    rpc_put(b, n);
}

void rpc_header_init(struct rpc_header *h, uint32_t xid, uint32_t type)
{
    memset(h, 0, sizeof(*h));
    h->message.dialect = rpcrdma_dialect(RPCRDMA_V1);
    h->message.xid = xid;
    h->message.version = 1;
    h->message.credits = 32;
    h->message.type = type;
    h->message.read.segments = h->reads;
    h->message.call.segments = h->call;
    h->message.write.chunks = h->chunks;
    h->message.reply.segments = h->reply;
}

void rpc_add_read(struct rpc_header *h, uint32_t position, uint32_t handle, uint64_t offset,
                  uint32_t length)
{
    h->reads[h->message.read.count++] =
        (struct rpcrdma_read_segment){position, {handle, length, offset}};
}

void rpc_add_call(struct rpc_header *h, uint32_t handle, uint64_t offset, uint32_t length)
{
    h->call[h->message.call.count++] = (struct rpcrdma_read_segment){0, {handle, length, offset}};
}

void rpc_add_write(struct rpc_header *h, bool new_chunk, uint32_t handle, uint64_t offset,
                   uint32_t length)
{
    struct rpcrdma_chunk *chunk;

    if (new_chunk)
        h->chunks[h->message.write.count++] =
            (struct rpcrdma_chunk){.segments = &h->segments[h->n_segments]};
    chunk = &h->chunks[h->message.write.count - 1];
    h->segments[h->n_segments++] = (struct rpcrdma_segment){handle, length, offset};
    chunk->count++;
    chunk->declared++;
}

void rpc_add_reply(struct rpc_header *h, uint32_t handle, uint64_t offset, uint32_t length)
{
    h->message.reply_present = true;
    h->reply[h->message.reply.count++] = (struct rpcrdma_segment){handle, length, offset};
    h->message.reply.declared++;
}

/* The message with this payload; until the next. */
static const uint8_t *encoded(struct rpc_header *h, const void *payload, uint32_t n, uint32_t *len)
{
    static uint8_t buf[1 << 17];
    size_t written;

    h->message.payload = (struct rpcrdma_span){.data = payload, .caplen = n, .len = n};
    assert_int_equal(rpcrdma_message_encode(&h->message, buf, sizeof(buf), &written), RPCRDMA_OK);
    *len = (uint32_t)written;
    return buf;
}

void rpc_send(struct rpc_rig *r, bool from_a, struct rpc_header *h, const void *payload, uint32_t n)
{
    uint32_t len;
    const uint8_t *message = encoded(h, payload, n, &len);

    rig_send(&r->rig, from_a ? &r->a : &r->b, from_a ? &r->b : &r->a, message, len);
}

void rpc_send_read_call(struct rpc_rig *r, uint32_t xid)
{
    struct rpc_header h;
    struct rpc_bytes bytes;

    rpc_call_header(&bytes, xid, 100003, 3, 6);
    rpc_fill(&bytes, 20, 1);
    rpc_header_init(&h, xid, 0);
    rpc_send(r, true, &h, bytes.data, bytes.n);
}

void rpc_send_cut(struct rpc_rig *r, bool from_a, struct rpc_header *h,
                  const struct rpc_bytes *payload, uint32_t caplen)
{
    uint32_t len;
    const uint8_t *message = encoded(h, payload->data, payload->n, &len);

    rig_send_cut(&r->rig, from_a ? &r->a : &r->b, from_a ? &r->b : &r->a, message, caplen, len);
}

void rpc_write(struct rpc_rig *r, bool from_a, uint32_t handle, uint64_t address,
               const uint8_t *data, uint32_t n, uint32_t part, uint32_t skip)
{
    struct rig_end *from = from_a ? &r->a : &r->b, *to = from_a ? &r->b : &r->a;

    for (uint32_t at = 0, i = 0; at < n; at += part, i++) {
        struct rpcrdma_op op = rig_op(&r->rig, RPCRDMA_OP_WRITE, from, to, from->psn);

        op.flags = (uint16_t)((at == 0 ? RPCRDMA_OP_FIRST | RPCRDMA_OP_RETH : 0u) |
                              (at + part >= n ? RPCRDMA_OP_LAST : 0u));
        op.data = data + at;
        op.caplen = op.len = n - at < part ? n - at : part;
        if (at == 0) {
            op.rkey = handle;
            op.remote_address = address;
            op.length = n;
        }
        if (i != skip)
            rig_feed(&r->rig, &op);
        from->psn = rpcrdma_psn_add(from->psn, 1);
    }
}

uint32_t rpc_read_request(struct rpc_rig *r, bool from_a, uint32_t handle, uint64_t address,
                          uint32_t n)
{
    struct rig_end *from = from_a ? &r->a : &r->b, *to = from_a ? &r->b : &r->a;
    struct rpcrdma_op op = rig_op(&r->rig, RPCRDMA_OP_READ_REQUEST, from, to, from->psn);
    uint32_t psn = from->psn;

    op.flags |= RPCRDMA_OP_RETH;
    op.rkey = handle;
    op.remote_address = address;
    op.length = n;
    rig_feed(&r->rig, &op);
    from->psn = rpcrdma_psn_add(psn, n ? (n + RIG_PMTU - 1) / RIG_PMTU : 1);
    return psn;
}

void rpc_read_response(struct rpc_rig *r, bool from_a, uint32_t psn, uint32_t i,
                       const uint8_t *data, uint32_t n, bool last)
{
    struct rig_end *from = from_a ? &r->a : &r->b, *to = from_a ? &r->b : &r->a;
    struct rpcrdma_op op =
        rig_op(&r->rig, RPCRDMA_OP_READ_RESPONSE, from, to, rpcrdma_psn_add(psn, i));

    op.flags = (uint16_t)((i == 0 ? RPCRDMA_OP_FIRST : 0u) | (last ? RPCRDMA_OP_LAST : 0u));
    op.data = data;
    op.caplen = op.len = n;
    rig_feed(&r->rig, &op);
}

void rpc_read(struct rpc_rig *r, bool from_a, uint32_t handle, uint64_t address,
              const uint8_t *data, uint32_t n)
{
    uint32_t psn = rpc_read_request(r, from_a, handle, address, n);

    for (uint32_t at = 0, i = 0; at < n; at += RIG_PMTU, i++) {
        uint32_t part = n - at < RIG_PMTU ? n - at : RIG_PMTU;

        rpc_read_response(r, !from_a, psn, i, data + at, part, at + part == n);
    }
}

const struct got_message *rpc_find(const struct rpc_rig *r, uint32_t xid,
                                   enum rpcrdma_rpc_direction direction)
{
    const struct got_message *found = NULL;

    for (size_t i = 0; i < r->messages; i++)
        if (r->message[i].xid == xid && r->message[i].direction == direction) {
            assert_null(found);
            found = &r->message[i];
        }
    assert_non_null(found);
    return found;
}

const struct got_transaction *rpc_transaction(const struct rpc_rig *r, uint32_t xid)
{
    const struct got_transaction *found = NULL;

    for (size_t i = 0; i < r->transactions; i++)
        if (r->transaction[i].t.xid == xid) {
            assert_null(found);
            found = &r->transaction[i];
        }
    assert_non_null(found);
    return found;
}

void rpc_check_bytes(const struct got_message *m, const struct rpc_bytes *want)
{
    assert_true(m->whole);
    assert_true(m->complete);
    assert_int_equal(m->length, want->n);
    assert_memory_equal(m->bytes, want->data, want->n);
}

bool rpc_has_rule(const enum rpcrdma_rule_id *rules, size_t n, enum rpcrdma_rule_id rule)
{
    for (size_t i = 0; i < n; i++)
        if (rules[i] == rule)
            return true;
    return false;
}
