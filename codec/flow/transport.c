/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/delivery.h"
#include "flow/flow_state.h"

/* What is found of the packets of a connection, reported once, at its end: what was refused, lost,
 * retransmitted; why it ended. */

enum {
    PER_PACKETS = 1000, /* one packet in so many retransmitted is worth a word */
    LEAST = 3,
};
_Static_assert((int)RPCRDMA_NAKS == (int)RPCRDMA_NAK_COUNT, "flow/delivery.h lacks op.h");
#define SILENT_NS INT64_C(1000000000)

static const char *role(const struct rpcrdma_connection *pub, int end)
{
    switch (pub->role[end]) {
    case RPCRDMA_ROLE_CLIENT:
        return "client";
    case RPCRDMA_ROLE_SERVER:
        return "server";
    default:
        return "other end";
    }
}

static void report(struct rpcrdma_flow *flow, const struct rpcrdma_connection *pub,
                   enum rpcrdma_rule_id rule, uint64_t frame, const char *what, uint64_t a,
                   uint64_t b)
{
    flow_report(&flow->context, pub,
                &(struct rpcrdma_finding){
                    .rule = rule, .frame = frame, .offset = -1, .arg = {a, b}, .what = what});
}

static const char *refusal(enum rpcrdma_nak nak, enum rpcrdma_role role)
{
    static const char *const names[RPCRDMA_NAKS][3] = {
        [RPCRDMA_NAK_INVALID_REQUEST] = {"an end, invalid request", "the client, invalid request",
                                         "the server, invalid request"},
        [RPCRDMA_NAK_REMOTE_ACCESS] = {"an end, remote access error",
                                       "the client, remote access error",
                                       "the server, remote access error"},
        [RPCRDMA_NAK_REMOTE_OPERATIONAL] = {"an end, remote operational error",
                                            "the client, remote operational error",
                                            "the server, remote operational error"},
        [RPCRDMA_NAK_INVALID_RD] = {"an end, invalid RD request", "the client, invalid RD request",
                                    "the server, invalid RD request"},
        [RPCRDMA_NAK_OTHER] = {"an end, of a reserved code", "the client, of a reserved code",
                               "the server, of a reserved code"},
    };

    return names[nak][role];
}

/* What was sent towards `end`. */
static void of_path(struct rpcrdma_flow *flow, const struct rpcrdma_connection *pub, int end)
{
    const struct rpcrdma_path *path = pub->path[end];
    const uint64_t sent = path->packets - path->duplicated; /* what is there twice was sent once */
    const char *to = role(pub, end);
    bool tcp = pub->carrier == RPCRDMA_CARRIER_IWARP;

    if (path->naks[RPCRDMA_NAK_PSN_SEQUENCE] > 0)
        report(flow, pub, RPCRDMA_RULE_NAK_SEQUENCE, path->nak_frame[RPCRDMA_NAK_PSN_SEQUENCE], to,
               path->naks[RPCRDMA_NAK_PSN_SEQUENCE], 0);
    for (int nak = RPCRDMA_NAK_INVALID_REQUEST; nak < RPCRDMA_NAKS; nak++)
        if (path->naks[nak] > 0)
            report(flow, pub, RPCRDMA_RULE_NAK_REFUSED, path->nak_frame[nak],
                   refusal((enum rpcrdma_nak)nak, pub->role[end]), path->naks[nak], 0);
    if (path->retransmitted >= LEAST && path->retransmitted > sent / PER_PACKETS)
        report(flow, pub, RPCRDMA_RULE_RETRANSMISSION_RATE, path->retransmitted_frame, to,
               path->retransmitted, sent);
    if (path->timeouts > 0)
        report(flow, pub, tcp ? RPCRDMA_RULE_TRANSPORT_TIMEOUT_TCP : RPCRDMA_RULE_TRANSPORT_TIMEOUT,
               path->timeout_frame, to, path->timeouts, (uint64_t)path->timeout_ns / 1000000);
    if (path->congestion_frame > 0 && path->cnps == 0 && pub->paired_by != RPCRDMA_PAIRED_NOT)
        report(flow, pub, RPCRDMA_RULE_CONGESTION_UNANSWERED, path->congestion_frame, to,
               path->congestion_marks, 0);
    if (path->different > path->different_arrived)
        report(flow, pub, RPCRDMA_RULE_RETRANSMISSION_DIFFERS, path->different_frame, to,
               path->different - path->different_arrived, 0);
    if (path->different_arrived > 0)
        report(flow, pub, RPCRDMA_RULE_RETRANSMISSION_ARRIVED, path->different_arrived_frame, to,
               path->different_arrived, 0);
    if (path->different_data > 0)
        report(flow, pub, RPCRDMA_RULE_RETRANSMISSION_DATA, path->different_data_frame, to,
               path->different_data, 0);
}

/* It is not known that the connection ended: the capture may have, before its sender would have
 * sent once more. */
static bool goes_on(const struct rpcrdma_flow *flow, const struct rpcrdma_connection *pub, int end)
{
    const struct rpcrdma_silence *silence = &pub->life.silence[end];
    int64_t between = (pub->last_time_ns - silence->since_ns) / (silence->transmissions - 1);
    int64_t now = flow->context.time_ns > flow->until_ns ? flow->context.time_ns : flow->until_ns;

    return pub->life.ended == RPCRDMA_ENDED_NOT && pub->life.next == 0 &&
           now - pub->last_time_ns < 2 * between;
}

/* Of a connection that ended: what was not answered to the last. */
static void of_end(struct rpcrdma_flow *flow, struct flow_conn *conn, int end)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);
    const struct rpcrdma_life *life = &pub->life;
    const struct rpcrdma_path *path = pub->path[end];
    const struct flow_direction *dir = flow_conn_direction(conn, end);
    int64_t ended = life->ended != RPCRDMA_ENDED_NOT ? life->ended_ns : pub->last_time_ns;
    uint64_t frame = life->ended_frame != 0 ? life->ended_frame : pub->last_frame;

    if (path && path->naks[RPCRDMA_NAK_RNR] > 1 && life->ended != RPCRDMA_ENDED_NOT && dir &&
        dir->delivery && flow_delivery_not_ready(dir->delivery))
        report(flow, pub, RPCRDMA_RULE_RNR_EXHAUSTED, path->nak_frame[RPCRDMA_NAK_RNR],
               role(pub, end), path->naks[RPCRDMA_NAK_RNR], 0);
    else if (life->silence[end].transmissions > 1 && !goes_on(flow, pub, end) &&
             ended - life->silence[end].since_ns > SILENT_NS)
        report(flow, pub,
               pub->carrier == RPCRDMA_CARRIER_IWARP ? RPCRDMA_RULE_CONNECTION_SILENT_TCP
                                                     : RPCRDMA_RULE_CONNECTION_SILENT,
               frame, role(pub, end), (uint64_t)(ended - life->silence[end].since_ns) / 1000000,
               life->silence[end].transmissions);
}

void flow_transport_findings(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);
    const struct rpcrdma_life *life = &pub->life;
    const char *reason = rpcrdma_reject_reason(life->reject_reason);

    for (int end = 0; end < 2; end++) {
        if (pub->path[end])
            of_path(flow, pub, end);
        of_end(flow, conn, end);
    }
    if (life->ended == RPCRDMA_ENDED_REFUSED)
        report(flow, pub, RPCRDMA_RULE_CONNECTION_REJECTED_TCP, life->ended_frame, NULL, 0, 0);
    else if (life->ended == RPCRDMA_ENDED_REJECTED && pub->carrier == RPCRDMA_CARRIER_IWARP)
        report(flow, pub, RPCRDMA_RULE_CONNECTION_REJECTED_MPA, life->ended_frame, NULL, 0, 0);
    else if (life->ended == RPCRDMA_ENDED_REJECTED)
        report(flow, pub, RPCRDMA_RULE_CONNECTION_REJECTED, life->ended_frame,
               reason ? reason : "no reason known here", life->reject_reason, 0);
}
