/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/message_values.h"

#include "upper/names.h"

static void on_begin(void *context, const struct rpcrdma_record *record, uint32_t off, uint32_t len)
{
    (void)context, (void)record, (void)off, (void)len;
}

static void on_end(void *context, const struct rpcrdma_record *record)
{
    (void)context, (void)record;
}

static void on_field(void *context, const struct rpcrdma_value *value)
{
    filter_value(context, value);
}

static void number(struct filter *f, enum rpcrdma_field_id id, uint64_t value)
{
    filter_number(f, id, value, rpcrdma_value_name(rpcrdma_field(id)->names, value));
}

void filter_findings(struct filter *f, const struct rpcrdma_finding *finding, size_t n)
{
    char text[256];

    for (; n > 0; n--, finding++) {
        const struct rpcrdma_rule *rule = rpcrdma_rule(finding->rule);

        filter_text(f, RPCRDMA_FIELD_FINDING_RULE, rule->name);
        filter_text(f, RPCRDMA_FIELD_FINDING_SEVERITY, rpcrdma_severity_name(rule->severity));
        if (rule->section)
            filter_text(f, RPCRDMA_FIELD_FINDING_SECTION, rule->section);
        if (finding->frame)
            filter_number(f, RPCRDMA_FIELD_FINDING_FRAME, finding->frame, NULL);
        if (finding->offset >= 0)
            filter_number(f, RPCRDMA_FIELD_FINDING_OFFSET, (uint64_t)finding->offset, NULL);
        if (filter_needs(f, RPCRDMA_FIELD_FINDING_TEXT)) {
            rpcrdma_finding_text(finding, text, sizeof(text));
            filter_text(f, RPCRDMA_FIELD_FINDING_TEXT, text);
        }
    }
}

static void ports(struct filter *f, enum rpcrdma_carrier carrier,
                  const struct rpcrdma_endpoint *src, const struct rpcrdma_endpoint *dst)
{
    if (carrier == RPCRDMA_CARRIER_IWARP) {
        number(f, RPCRDMA_FIELD_SRC_PORT, src->port);
        number(f, RPCRDMA_FIELD_DST_PORT, dst->port);
        return;
    }
    if (src->has_qpn)
        number(f, RPCRDMA_FIELD_SRC_QPN, src->qpn);
    if (dst->has_qpn)
        number(f, RPCRDMA_FIELD_DST_QPN, dst->qpn);
}

/* As view_json_ends has them: the client first, where it is known; else the two ends, and then they
 * have their ports. */
static void connection_ends(struct filter *f, const struct rpcrdma_connection *c)
{
    int client = view_client_end(c);
    const struct rpcrdma_endpoint *src = &c->end[client > 0 ? 1 : 0];
    const struct rpcrdma_endpoint *dst = &c->end[client > 0 ? 0 : 1];

    number(f, RPCRDMA_FIELD_CONNECTION, c->number);
    filter_address(f, RPCRDMA_FIELD_SRC, &src->address);
    filter_address(f, RPCRDMA_FIELD_DST, &dst->address);
    if (client < 0)
        ports(f, c->carrier, src, dst);
}

/* Who they are, whoever sent what a finding is about. */
static void roles(struct filter *f, const struct rpcrdma_connection *c)
{
    int client = view_client_end(c);

    if (client < 0)
        return;
    filter_address(f, RPCRDMA_FIELD_RPCS_CLIENT, &c->end[client].address);
    filter_address(f, RPCRDMA_FIELD_RPCS_SERVER, &c->end[1 - client].address);
}

bool filter_message(struct filter *f, const struct rpcrdma_flow_message *m)
{
    struct rpcrdma_visitor visitor = {on_begin, on_field, on_end, f};

    if (!f)
        return true;
    filter_begin(f);
    number(f, RPCRDMA_FIELD_FRAME, m->frame);
    filter_signed(f, RPCRDMA_FIELD_TIME, m->time_ns);
    number(f, RPCRDMA_FIELD_CONNECTION, m->connection->number);
    roles(f, m->connection);
    filter_text(f, RPCRDMA_FIELD_SENDER, view_role(m->sender));
    filter_address(f, RPCRDMA_FIELD_SRC, &m->src.address);
    filter_address(f, RPCRDMA_FIELD_DST, &m->dst.address);
    ports(f, m->connection->carrier, &m->src, &m->dst);
    if (m->has_invalidate)
        number(f, RPCRDMA_FIELD_INVALIDATE, m->invalidate);
    rpcrdma_walk_message(m->message, view_direction(m), &visitor);
    if (m->rpc && m->rpc->present & RPCRDMA_RPC_HAS_TYPE) {
        rpcrdma_walk_rpc_header(m->rpc, m->message->payload.off, view_procedure(m), &visitor);
        if (m->rpc->type == RPCRDMA_RPC_REPLY) /* what it answers */
            rpcrdma_walk_rpc(view_direction(m), view_call(m), view_procedure(m), &visitor);
    }
    filter_findings(f, m->findings, m->n_findings);
    return filter_match(f);
}

bool filter_finding(struct filter *f, const struct rpcrdma_connection *connection,
                    const struct rpcrdma_finding *finding, const struct view_clock *clock)
{
    if (!f)
        return true;
    filter_begin(f);
    if (finding->frame)
        number(f, RPCRDMA_FIELD_FRAME, finding->frame);
    if (clock->started)
        filter_signed(f, RPCRDMA_FIELD_TIME, finding_time(finding, clock->now_ns));
    if (connection) {
        connection_ends(f, connection);
        roles(f, connection);
    }
    filter_findings(f, finding, 1);
    return filter_match(f);
}

bool filter_transaction(struct filter *f, const struct rpcrdma_transaction *t,
                        const struct rpcrdma_finding *finding)
{
    const struct rpcrdma_connection *c = t->connection;

    if (!f)
        return true;
    filter_begin(f);
    number(f, RPCRDMA_FIELD_FRAME, t->call_frame ? t->call_frame : t->reply_frame);
    filter_signed(f, RPCRDMA_FIELD_TIME, t->call_frame ? t->call_time_ns : t->reply_time_ns);
    number(f, RPCRDMA_FIELD_CONNECTION, c->number);
    filter_address(f, RPCRDMA_FIELD_SRC, &c->end[t->caller_end].address);
    filter_address(f, RPCRDMA_FIELD_DST, &c->end[1 - t->caller_end].address);
    number(f, RPCRDMA_FIELD_XID, t->xid);
    roles(f, c);
    if (t->call_frame)
        number(f, RPCRDMA_FIELD_RPCS_CALL_FRAME, t->call_frame);
    if (t->reply_frame)
        number(f, RPCRDMA_FIELD_RPCS_REPLY_FRAME, t->reply_frame);
    if (t->has_latency)
        filter_signed(f, RPCRDMA_FIELD_RPCS_LATENCY, t->latency_ns);
    if (t->transmissions > 0)
        number(f, RPCRDMA_FIELD_RPCS_TRANSMISSIONS, t->transmissions);
    number(f, RPCRDMA_FIELD_RPCS_RETRANSMITTED, t->retransmitted);
    if (t->has_program) {
        const char *name = rpcrdma_procedure_name(t->program, t->version, t->procedure, t->reverse);

        number(f, RPCRDMA_FIELD_RPC_PROGRAM, t->program);
        number(f, RPCRDMA_FIELD_RPC_VERSION, t->version);
        number(f, RPCRDMA_FIELD_RPC_PROCEDURE, t->procedure);
        if (name)
            filter_text(f, RPCRDMA_FIELD_RPC_NAME, name);
    }
    filter_findings(f, finding, 1);
    return filter_match(f);
}

bool filter_extract(struct filter *f, const struct rpcrdma_rpc_message *m)
{
    struct rpcrdma_visitor visitor = {on_begin, on_field, on_end, f};
    int direction = m->direction == RPCRDMA_DIRECTION_CALL ? RPCRDMA_RPC_CALL : RPCRDMA_RPC_REPLY;
    const struct rpcrdma_rpc *call = m->direction == RPCRDMA_DIRECTION_CALL ? m->rpc : m->call;

    if (!f)
        return true;
    filter_begin(f);
    number(f, RPCRDMA_FIELD_EXTRACT_FRAME, m->frame);
    filter_signed(f, RPCRDMA_FIELD_EXTRACT_TIME, m->time_ns);
    filter_address(f, RPCRDMA_FIELD_EXTRACT_SRC, &m->src.address);
    filter_address(f, RPCRDMA_FIELD_EXTRACT_DST, &m->dst.address);
    number(f, RPCRDMA_FIELD_EXTRACT_CONNECTION, m->connection->number);
    number(f, RPCRDMA_FIELD_EXTRACT_XID, m->xid);
    number(f, RPCRDMA_FIELD_EXTRACT_DIRECTION, (uint64_t)direction);
    number(f, RPCRDMA_FIELD_EXTRACT_LENGTH, m->length);
    number(f, RPCRDMA_FIELD_EXTRACT_WHOLE, m->whole);
    if (call && call->present & RPCRDMA_RPC_HAS_PROGRAM)
        rpcrdma_walk_rpc(
            direction, call,
            rpcrdma_procedure_name(call->program, call->version, call->procedure, m->reverse),
            &visitor);
    filter_findings(f, m->findings, m->n_findings);
    return filter_match(f);
}
