/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

static void record(struct rig_message *r, const struct rpcrdma_flow_message *m)
{
    *r = (struct rig_message){
        .frame = m->frame,
        .first_frame = m->first_frame,
        .connection = m->connection->number,
        .stream = {m->connection->stream[1 - m->sender_end], m->connection->stream[m->sender_end]},
        .xid = m->message->xid,
        .version = m->message->version,
        .type = m->message->type,
        .part = m->part,
        .src_qpn = m->src.qpn,
        .has_src = m->src.has_qpn,
        .dst_qpn = m->dst.qpn,
        .caplen = m->message->caplen,
        .len = m->message->len,
        .reverse = m->reverse,
        .has_rpc = m->rpc != NULL,
        .has_call = m->call != NULL,
        .sender = m->sender,
        .direction = m->direction,
        .dialect = m->message->dialect->id,
        .threshold_call = m->connection->threshold_call,
        .threshold_reply = m->connection->threshold_reply};
    r->has_header_length = (m->message->present & RPCRDMA_HAS_HEADER_LENGTH) != 0;
    memcpy(r->properties, m->connection->properties, sizeof(r->properties));
    if (m->rpc && m->rpc->present & RPCRDMA_RPC_HAS_PROGRAM)
        r->program = m->rpc->program, r->procedure = m->rpc->procedure;
    if (m->call)
        r->program = m->call->program, r->procedure = m->call->procedure;
    assert_true(m->n_findings <= FLOW_FINDINGS);
    for (size_t i = 0; i < m->n_findings; i++)
        r->rules[r->n_rules++] = m->findings[i].rule;
}

/* What is hung on it is there from then on. */
static void check_user(struct rig *rig, const struct rpcrdma_connection *c)
{
    char *user = c->number < sizeof(rig->users) ? &rig->users[c->number] : NULL;

    assert_ptr_equal(c->user, user && *user ? user : NULL);
}

static void hang_user(struct rig *rig, const struct rpcrdma_connection *c)
{
    check_user(rig, c);
    if (c->number >= sizeof(rig->users))
        return;
    rig->users[c->number] = 1;
    rpcrdma_connection_set_user(c, &rig->users[c->number]);
}

static void on_message(void *context, const struct rpcrdma_flow_message *m)
{
    struct rig *rig = context;

    assert_true(rig->messages < RIG_MAX);
    hang_user(rig, m->connection);
    record(&rig->message[rig->messages++], m);
}

static void on_partial(void *context, const struct rpcrdma_flow_message *m,
                       const struct rpcrdma_rpc_message *rpc)
{
    struct rig *rig = context;

    (void)rpc;
    if (!m->held_back)
        return;
    assert_true(rig->n_held_back < RIG_MAX);
    record(&rig->held_back[rig->n_held_back++], m);
}

static void on_finding(void *context, const struct rpcrdma_connection *c,
                       const struct rpcrdma_finding *f)
{
    struct rig *rig = context;
    struct rig_finding *r = &rig->finding[rig->findings++];

    assert_true(rig->findings <= RIG_MAX);
    r->rule = f->rule;
    r->connection = c ? c->number : 0;
    r->frame = f->frame;
    memcpy(r->arg, f->arg, sizeof(r->arg));
}

static void on_connection(void *context, const struct rpcrdma_connection *c)
{
    struct rig *rig = context;

    assert_true(rig->connections < 64);
    check_user(rig, c);
    rig->connection[rig->connections++] = *c;
}

void rig_credits(void *context, const struct rpcrdma_connection *c,
                 const struct rpcrdma_credit_result *results, size_t n)
{
    struct rig *rig = context;

    for (size_t i = 0; i < n; i++) {
        assert_true(rig->credits < 64);
        rig->credit_connection[rig->credits] = c->number;
        rig->credit[rig->credits++] = results[i];
    }
}

void rig_begin(struct rig *rig, const struct rpcrdma_flow_config *config)
{
    const struct rpcrdma_flow_sink sink = {
        .connection = on_connection,
        .message = on_message,
        .partial = on_partial,
        .finding = on_finding,
        .credits = rig_credits,
        .context = rig,
    };

    memset(rig, 0, sizeof(*rig));
    rig->time_ns = INT64_C(1700000000000000000);
    rig->flow = rpcrdma_flow_new(config, &sink);
    assert_non_null(rig->flow);
}

void rig_end(struct rig *rig)
{
    rpcrdma_flow_end(rig->flow);
    rpcrdma_flow_free(rig->flow);
    rig->flow = NULL;
}

struct rpcrdma_op rig_op(struct rig *rig, enum rpcrdma_op_kind kind, const struct rig_end *from,
                         const struct rig_end *to, uint32_t psn)
{
    struct rpcrdma_op op;

    memset(&op, 0, sizeof(op));
    rig->time_ns += 10000;
    op.frame = ++rig->frame;
    op.time_ns = rig->time_ns;
    op.kind = (uint8_t)kind;
    op.src = (struct rpcrdma_address){RPCRDMA_ADDRESS_IPV4, {10, 0, 0, from->address}};
    op.dst = (struct rpcrdma_address){RPCRDMA_ADDRESS_IPV4, {10, 0, 0, to->address}};
    op.dst_qpn = to->qpn;
    op.seq = psn & 0xffffff;
    op.flags = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST;
    return op;
}

void rig_feed(struct rig *rig, struct rpcrdma_op *op)
{
    uint8_t *copy = op->caplen ? heap_copy(op->data, op->caplen) : NULL;

    if (op->flags & RPCRDMA_OP_LAST)
        op->flags |= RPCRDMA_OP_ACK_REQUEST;
    op->data = copy;
    assert_true(rpcrdma_flow_op(rig->flow, op) || rig->may_fail);
    op->data = NULL;
    free(copy);
}

void rig_packet(struct rig *rig, const struct rig_end *from, const struct rig_end *to, uint32_t psn,
                uint32_t flags, const void *data, uint32_t n)
{
    struct rpcrdma_op op = rig_op(rig, RPCRDMA_OP_SEND, from, to, psn);

    op.flags = (uint16_t)flags;
    op.data = data;
    op.caplen = op.len = n;
    rig_feed(rig, &op);
}

void rig_send(struct rig *rig, struct rig_end *from, const struct rig_end *to, const void *data,
              uint32_t n)
{
    const uint8_t *p = data;
    uint32_t flags = RPCRDMA_OP_FIRST;

    do {
        uint32_t part = n > RIG_PMTU ? RIG_PMTU : n;

        n -= part;
        if (n == 0)
            flags |= RPCRDMA_OP_LAST;
        rig_packet(rig, from, to, from->psn, flags, p, part);
        from->psn = rpcrdma_psn_add(from->psn, 1);
        p += part;
        flags = 0;
    } while (n > 0);
}

void rig_send_cut(struct rig *rig, struct rig_end *from, const struct rig_end *to, const void *data,
                  uint32_t caplen, uint32_t len)
{
    struct rpcrdma_op op = rig_op(rig, RPCRDMA_OP_SEND, from, to, from->psn);

    op.flags = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST;
    op.data = data;
    op.caplen = caplen;
    op.len = len;
    rig_feed(rig, &op);
    from->psn = rpcrdma_psn_add(from->psn, 1);
}

void rig_ack(struct rig *rig, const struct rig_end *from, const struct rig_end *to, uint32_t psn)
{
    struct rpcrdma_op op = rig_op(rig, RPCRDMA_OP_ACK, from, to, psn);

    rig_feed(rig, &op);
}

void rig_nak(struct rig *rig, const struct rig_end *from, const struct rig_end *to, uint32_t psn,
             enum rpcrdma_nak nak)
{
    struct rpcrdma_op op = rig_op(rig, RPCRDMA_OP_NAK, from, to, psn);

    op.nak = (uint8_t)nak;
    rig_feed(rig, &op);
}

static void cm(struct rig *rig, enum rpcrdma_op_kind kind, const struct rig_end *from,
               const struct rig_end *to, const struct rpcrdma_op_connect *connect)
{
    struct rig_end gsi = *to;
    struct rpcrdma_op op;

    gsi.qpn = 1;
    op = rig_op(rig, kind, from, &gsi, 0);
    op.connect = connect;
    rig_feed(rig, &op);
}

static uint32_t comm_id(const struct rig_end *end)
{
    return (uint32_t)end->address << 24 | end->qpn;
}

static void connect_as(struct rig *rig, const struct rig_end *a, const struct rig_end *b,
                       uint16_t port, bool has_psn)
{
    struct rpcrdma_op_connect c = {.local_comm_id = comm_id(a),
                                   .service_id = 0x1060000u | port,
                                   .port = port,
                                   .qpn = a->qpn,
                                   .start_psn = has_psn ? b->psn : 0,
                                   .has_start_psn = has_psn,
                                   .path_mtu = has_psn ? RIG_PMTU : 0};

    cm(rig, RPCRDMA_OP_CONNECT, a, b, &c);
    c = (struct rpcrdma_op_connect){.local_comm_id = comm_id(b),
                                    .remote_comm_id = comm_id(a),
                                    .qpn = b->qpn,
                                    .start_psn = a->psn,
                                    .has_start_psn = true};
    cm(rig, RPCRDMA_OP_ACCEPT, b, a, &c);
    c = (struct rpcrdma_op_connect){.local_comm_id = comm_id(a), .remote_comm_id = comm_id(b)};
    cm(rig, RPCRDMA_OP_ESTABLISHED, a, b, &c);
}

void rig_connect(struct rig *rig, struct rig_end *a, struct rig_end *b, uint16_t port)
{
    connect_as(rig, a, b, port, true);
}

void rig_connect_cut(struct rig *rig, struct rig_end *a, struct rig_end *b, uint16_t port)
{
    connect_as(rig, a, b, port, false);
}

void rig_begin_connected(struct rig *rig, struct rig_end *a, struct rig_end *b)
{
    rig_begin(rig, NULL);
    rig_connect(rig, a, b, 20049);
}

void rig_disconnect(struct rig *rig, const struct rig_end *a, const struct rig_end *b)
{
    struct rpcrdma_op_connect c = {
        .local_comm_id = comm_id(a), .remote_comm_id = comm_id(b), .remote_qpn = b->qpn};

    cm(rig, RPCRDMA_OP_DISCONNECT, a, b, &c);
}

uint8_t *rig_word(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)(value >> 24);
    p[1] = (uint8_t)(value >> 16);
    p[2] = (uint8_t)(value >> 8);
    p[3] = (uint8_t)value;
    return p + 4;
}

static uint8_t *words(uint8_t *p, const uint32_t *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p = rig_word(p, w[i]);
    return p;
}

uint32_t rig_call(uint8_t *buf, uint32_t xid, uint32_t program, uint32_t inline_bytes)
{
    const uint32_t w[] = {xid, 1, 32, 0, 0, 0, 0, xid, 0, 2, program, 3, 1, 0, 0, 0, 0};
    uint8_t *p = words(buf, w, sizeof(w) / sizeof(w[0]));

    for (uint32_t i = 0; i < inline_bytes; i++)
        *p++ = (uint8_t)(xid + i);
    return (uint32_t)(p - buf);
}

uint32_t rig_reply(uint8_t *buf, uint32_t xid, uint32_t inline_bytes)
{
    const uint32_t w[] = {xid, 1, 32, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0};
    uint8_t *p = words(buf, w, sizeof(w) / sizeof(w[0]));

    for (uint32_t i = 0; i < inline_bytes; i++)
        *p++ = (uint8_t)(xid + i);
    return (uint32_t)(p - buf);
}

uint32_t rig_nomsg_call(uint8_t *buf, uint32_t xid)
{
    const uint32_t w[] = {xid, 1, 32, 1, 1, 0, 0x1234, 4000, 0, 0x10000, 0, 0, 0};

    return (uint32_t)(words(buf, w, sizeof(w) / sizeof(w[0])) - buf);
}

uint32_t rig_nomsg_reply(uint8_t *buf, uint32_t xid)
{
    const uint32_t w[] = {xid, 1, 32, 1, 0, 0, 1, 1, 0x4321, 5000, 0, 0x20000};

    return (uint32_t)(words(buf, w, sizeof(w) / sizeof(w[0])) - buf);
}

void rig_send_call(struct rig *rig, struct rig_end *from, const struct rig_end *to, uint32_t xid)
{
    uint8_t buf[256];

    rig_send(rig, from, to, buf, rig_call(buf, xid, 100003, 0));
}

void rig_send_reply(struct rig *rig, struct rig_end *from, const struct rig_end *to, uint32_t xid)
{
    uint8_t buf[256];

    rig_send(rig, from, to, buf, rig_reply(buf, xid, 0));
}

size_t rig_count(const struct rig *rig, enum rpcrdma_rule_id rule)
{
    size_t n = 0;

    for (size_t i = 0; i < rig->findings; i++)
        n += rig->finding[i].rule == rule;
    for (size_t i = 0; i < rig->messages; i++)
        for (size_t j = 0; j < rig->message[i].n_rules; j++)
            n += rig->message[i].rules[j] == rule;
    return n;
}
