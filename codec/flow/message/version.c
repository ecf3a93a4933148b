/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

/*
 * The version of a connection is that of its first message; a peer that does not know it says so
 * with an ERR_VERS and the range it knows, and the other chooses from that. Otherwise it stays.
 * (draft-ietf-nfsv4-rpcrdma-version-two-07 sections 4.3 and 7.1; RFC 8166 section 4.5.1)
 */

enum { ERR_VERS = 1 };

static void set_version(struct flow_conn *conn, int sender, const struct rpcrdma_message *m)
{
    struct message_conn *mc = message_conn_of(conn);

    flow_conn_public(conn)->version = m->version;
    flow_conn_default_properties(conn);
    mc->speaks[sender] = m->kind != RPCRDMA_KIND_ERROR;
    mc->speaks[1 - sender] = false;
}

/* The peer sent nothing that shows to be of the connection's version: what it refused that with may
 * be what was not captured. */
static bool refusal_missing(struct flow_conn *conn, int sender)
{
    return !message_conn_of(conn)->speaks[1 - sender] && flow_conn_lacks(conn, 1 - sender);
}

/* It goes on as if it had not been refused. */
static void check_refused(struct message_conn *mc, const struct rpcrdma_message *m,
                          struct flow_findings *findings, uint64_t frame)
{
    mc->refused = false;
    if (m->version >= mc->offered[0] && m->version <= mc->offered[1])
        return;
    flow_finding_add(findings, &(struct rpcrdma_finding){
                                   .rule = m->version == 1 ? RPCRDMA_RULE_VERSION_NOT_OFFERED_1
                                                           : RPCRDMA_RULE_VERSION_NOT_OFFERED,
                                   .frame = frame,
                                   .offset = 4,
                                   .arg = {m->version, mc->offered[0], mc->offered[1]}});
}

/* An error of which the code was not captured, or the range. */
static bool truncated_refusal(const struct rpcrdma_message *m)
{
    return !(m->present & RPCRDMA_HAS_ERROR) ||
           (m->error.code == ERR_VERS && m->error.body == RPCRDMA_ERROR_RANGE &&
            !(m->present & RPCRDMA_HAS_ERROR_ARGS));
}

void message_version(struct flow_conn *conn, int sender, const struct rpcrdma_message *m,
                     struct flow_findings *findings, uint64_t frame)
{
    const struct rpcrdma_connection *pub = flow_conn_public(conn);
    struct message_conn *mc = message_conn_of(conn);
    struct rpcrdma_finding finding;

    if (m->present & RPCRDMA_HAS_VERSION && m->version != pub->version &&
        m->kind != RPCRDMA_KIND_ERROR) {
        mc->other_xid = m->xid;
        mc->other_version = m->version;
    }
    if (!(m->present & RPCRDMA_HAS_VERSION) || (m->version != 1 && m->version != 2))
        return;
    if (m->kind == RPCRDMA_KIND_ERROR && m->error.code == ERR_VERS &&
        m->error.body == RPCRDMA_ERROR_RANGE && m->present & RPCRDMA_HAS_ERROR_ARGS) {
        mc->refused = true;
        mc->refused_end = (uint8_t)(1 - sender);
        mc->offered[0] = m->error.low;
        mc->offered[1] = m->error.high;
        return;
    }
    if (m->kind == RPCRDMA_KIND_ERROR && truncated_refusal(m)) {
        mc->refused = true; /* perhaps; and what is offered nobody saw */
        mc->refused_end = (uint8_t)(1 - sender);
        mc->offered[0] = 0;
        mc->offered[1] = UINT32_MAX;
        return;
    }
    if (m->version == pub->version) {
        mc->speaks[sender] |= m->kind != RPCRDMA_KIND_ERROR;
        if (mc->refused && sender == mc->refused_end && m->kind != RPCRDMA_KIND_ERROR)
            check_refused(mc, m, findings, frame);
        return;
    }
    if (pub->version == 0) {
        set_version(conn, sender, m);
        return;
    }
    if (!mc->refused && refusal_missing(conn, sender)) {
        set_version(conn, sender, m);
        return;
    }
    finding = (struct rpcrdma_finding){
        .rule = pub->version == 1 ? RPCRDMA_RULE_VERSION_CHANGED_1 : RPCRDMA_RULE_VERSION_CHANGED,
        .frame = frame,
        .offset = 4,
        .arg = {m->version, pub->version},
    };
    if (mc->refused) {
        mc->refused = false;
        if (m->version < mc->offered[0] || m->version > mc->offered[1]) {
            finding.rule = RPCRDMA_RULE_VERSION_NOT_OFFERED;
            finding.arg[1] = mc->offered[0];
            finding.arg[2] = mc->offered[1];
            flow_finding_add(findings, &finding);
        }
        set_version(conn, sender, m);
        return;
    }
    flow_finding_add(findings, &finding);
}
