/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/check_private.h"

/* RPC programs, as IANA lists them. */
enum { RPCBIND = 100000, MOUNT = 100005, NLM = 100021, NSM = 100024 };

/* In a Call's RPC header (RFC 5531 section 9). */
enum { RPC_PROGRAM = 12, RPC_FLAVOR = 24 };

enum { OFF_VERSION = 4, OFF_CREDITS = 8, OFF_TYPE = 12, OFF_ERROR_ARGS = 20 };

void message_check_add(const struct message_check *c, enum rpcrdma_rule_id rule, int64_t offset,
                       const char *what, uint64_t arg0, uint64_t arg1, uint64_t arg2)
{
    flow_finding_add(c->findings, &(struct rpcrdma_finding){.rule = rule,
                                                            .frame = c->out->frame,
                                                            .offset = offset,
                                                            .arg = {arg0, arg1, arg2},
                                                            .what = what});
}

/* RDMA_NOMSG has its RPC message in a chunk: which one depends on the direction. */
static void check_nomsg(const struct message_check *c)
{
    const struct rpcrdma_message *m = c->message;

    if (m->status != RPCRDMA_OK)
        return;
    if (c->out->direction == RPCRDMA_DIRECTION_CALL && !rpcrdma_read_position_zero(&m->read))
        message_check_add(c, RPCRDMA_RULE_NOMSG_NO_PZRC, OFF_TYPE, NULL, 0, 0, 0);
    else if (c->out->direction == RPCRDMA_DIRECTION_REPLY && m->read.count == 0 &&
             (!m->reply_present || rpcrdma_chunk_length(&m->reply) == 0))
        message_check_add(c, RPCRDMA_RULE_NOMSG_NO_REPLY_CHUNK, OFF_TYPE, NULL, 0, 0, 0);
}

/* An error answers a Call, says of its version what is true, and comes from the Responder. */
static void check_error(const struct message_check *c)
{
    const struct rpcrdma_message *m = c->message;
    uint32_t version = c->mc->other_version > 0 && c->mc->other_xid == m->xid
                           ? c->mc->other_version
                           : flow_conn_public_const(c->conn)->version;

    if (c->out->direction == RPCRDMA_DIRECTION_UNKNOWN && m->present & RPCRDMA_HAS_ERROR &&
        flow_conn_saw_all(c->conn))
        message_check_add(c, RPCRDMA_RULE_ERROR_UNEXPECTED, 0, NULL, m->xid, 0, 0);
    if (m->error.body != RPCRDMA_ERROR_RANGE || !(m->present & RPCRDMA_HAS_ERROR_ARGS))
        return;
    if (m->error.low > m->error.high || (c->out->direction == RPCRDMA_DIRECTION_REPLY &&
                                         version >= m->error.low && version <= m->error.high))
        message_check_add(c, RPCRDMA_RULE_ERR_VERS_RANGE, OFF_ERROR_ARGS, NULL, m->error.low,
                          m->error.high, version);
}

static void check_call(const struct message_check *c)
{
    const struct rpcrdma_message *m = c->message;
    const struct rpcrdma_rpc *rpc = c->out->rpc;

    if (m->credits == 0)
        message_check_add(c, RPCRDMA_RULE_CREDIT_REQUEST_ZERO, OFF_CREDITS, NULL, 0, 0, 0);
    if (c->out->reverse) {
        if (message_has_chunks(m))
            message_check_add(c, RPCRDMA_RULE_REVERSE_CHUNKS, m->read.off, NULL, 0, 0, 0);
    }
    if (!rpc || !(rpc->present & RPCRDMA_RPC_HAS_PROGRAM))
        return;
    switch (rpc->program) {
    case RPCBIND:
    case MOUNT:
    case NLM:
    case NSM:
        message_check_add(c, RPCRDMA_RULE_PROGRAM_UNBOUND, (int64_t)m->payload.off + RPC_PROGRAM,
                          NULL, rpc->program, 0, 0);
        break;
    default:
        break;
    }
    if (rpc->present & RPCRDMA_RPC_HAS_CRED && rpc->cred_flavor == MESSAGE_AUTH_TLS)
        message_check_add(c, RPCRDMA_RULE_AUTH_TLS, (int64_t)m->payload.off + RPC_FLAVOR, NULL,
                          rpc->cred_flavor, 0, 0);
}

/* Only what the receiver said at set-up counts, and only where that was captured. */
static void check_invalidate(const struct message_check *c)
{
    int receiver = 1 - c->out->sender_end;
    const struct rpcrdma_connection *pub = flow_conn_public_const(c->conn);

    if (pub->set_up_seen[receiver] && !pub->properties[receiver].remote_invalidation)
        message_check_add(c, RPCRDMA_RULE_INVALIDATE_UNANNOUNCED, -1, NULL, c->out->invalidate, 0,
                          0);
}

/* Most messages: nothing here can be wrong with them. */
static bool plain(const struct rpcrdma_flow_message *out)
{
    const struct rpcrdma_message *m = out->message;

    return m->version == 1 && m->kind == RPCRDMA_KIND_MSG && !message_has_chunks(m) && out->rpc &&
           !message_check_asks(out);
}

RPCRDMA_APART static void check_other(const struct message_check *c)
{
    const struct rpcrdma_flow_message *out = c->out;
    const struct rpcrdma_message *m = c->message;

    if (m->version == 2 && message_has_chunks(m))
        message_check_chunks(c);
    if (m->version != 1)
        return;
    switch (m->kind) {
    case RPCRDMA_KIND_MSGP:
        message_check_add(c, RPCRDMA_RULE_TYPE_OBSOLETE, OFF_TYPE, "RDMA_MSGP", 0, 0, 0);
        break;
    case RPCRDMA_KIND_DONE:
        message_check_add(c, RPCRDMA_RULE_TYPE_OBSOLETE, OFF_TYPE, "RDMA_DONE", 0, 0, 0);
        return;
    case RPCRDMA_KIND_NOMSG:
        check_nomsg(c);
        break;
    case RPCRDMA_KIND_ERROR:
        check_error(c);
        break;
    default:
        break;
    }
    if (out->direction == RPCRDMA_DIRECTION_CALL)
        check_call(c);
    if (out->direction == RPCRDMA_DIRECTION_REPLY && m->read.count > 0)
        message_check_add(c, RPCRDMA_RULE_READ_LIST_IN_REPLY, m->read.off, NULL, m->read.count, 0,
                          0);
    if (message_has_chunks(m))
        message_check_chunks(c);
    if (out->has_invalidate)
        check_invalidate(c);
}

void message_check(const struct flow_conn *conn, const struct message_conn *mc,
                   const struct rpcrdma_flow_message *out, struct flow_findings *findings)
{
    const struct message_check c = {conn, mc, out, out->message, findings};

    if (!plain(out))
        check_other(&c);
}

void message_check_set_up(const struct flow_conn *conn, struct flow_findings *findings)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);

    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_private_data *pd = &pub->private_data[end];
        struct rpcrdma_finding finding = {.frame = flow_conn_set_up_frame(conn, end), .offset = -1};

        if (!pub->has_private_data[end])
            continue;
        if (pd->version != RPCRDMA_PRIVATE_DATA_VERSION) {
            finding.rule = RPCRDMA_RULE_PRIVATE_DATA_VERSION;
            finding.arg[0] = pd->version;
            flow_finding_add(findings, &finding);
        } else if (pd->flags & ~RPCRDMA_PRIVATE_DATA_F_INVALIDATE) {
            finding.rule = RPCRDMA_RULE_PRIVATE_DATA_FLAGS;
            finding.arg[0] = pd->flags;
            flow_finding_add(findings, &finding);
        }
        if (!pub->has_private_data[1 - end] && pub->set_up_seen[1 - end]) {
            finding.rule = RPCRDMA_RULE_PRIVATE_DATA_ONE_SIDED;
            finding.what = pub->role[end] == RPCRDMA_ROLE_CLIENT ? "client" : "server";
            flow_finding_add(findings, &finding);
        }
    }
}
