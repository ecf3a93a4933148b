/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/*
 * The version of a connection is that of its first message; a peer that does not know it says so
 * with an ERR_VERS and the range it knows, and the other chooses from that. Otherwise it stays.
 * (draft-ietf-nfsv4-rpcrdma-version-two-07 sections 4.3 and 7.1; RFC 8166 section 5.1)
 */

enum { ERR_VERS = 1 };

static void set_version(struct flow_conn *conn, uint32_t version)
{
    conn->pub.version = version;
    flow_properties_default(conn);
}

void flow_version(struct flow_conn *conn, const struct rpcrdma_message *m,
                  struct flow_findings *findings, uint64_t frame)
{
    struct rpcrdma_finding finding;

    if (!(m->present & RPCRDMA_HAS_VERSION) || (m->version != 1 && m->version != 2))
        return;
    if (m->kind == RPCRDMA_KIND_ERROR && m->error.code == ERR_VERS &&
        m->error.body == RPCRDMA_ERROR_RANGE && m->present & RPCRDMA_HAS_ERROR_ARGS) {
        conn->refused = true;
        conn->offered[0] = m->error.low;
        conn->offered[1] = m->error.high;
        return;
    }
    if (m->version == conn->pub.version)
        return;
    if (conn->pub.version == 0) {
        set_version(conn, m->version);
        return;
    }
    finding = (struct rpcrdma_finding){
        .rule = conn->pub.version == 1 ? RPCRDMA_RULE_VERSION_CHANGED_1
                                       : RPCRDMA_RULE_VERSION_CHANGED,
        .frame = frame,
        .offset = 4,
        .arg = {m->version, conn->pub.version},
    };
    if (conn->refused) {
        conn->refused = false;
        if (m->version < conn->offered[0] || m->version > conn->offered[1]) {
            finding.rule = RPCRDMA_RULE_VERSION_NOT_OFFERED;
            finding.arg[1] = conn->offered[0];
            finding.arg[2] = conn->offered[1];
            flow_finding_add(findings, &finding);
        }
        set_version(conn, m->version);
        return;
    }
    flow_finding_add(findings, &finding);
}
