/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

/*
 * The transport properties in effect for each end: the defaults of the version, RFC 8797 private
 * data, and what the stage of messages learns from version 2's properties and characteristics. The
 * thresholds that follow from them.
 */

static uint32_t lower(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A direction's threshold is the lower of its sender's send size and its receiver's receive size
 * (RFC 8797 section 4; draft-ietf-nfsv4-rpcrdma-version-two-07 section 5). Where no end is known as
 * client, a value that holds for both directions is given, else 0. */
void flow_conn_thresholds(struct flow_conn *conn)
{
    const struct rpcrdma_properties *p = conn->pub.properties;
    uint32_t by_sender[2];

    for (int i = 0; i < 2; i++)
        by_sender[i] = lower(p[i].send_size, p[1 - i].receive_size);
    if (conn->pub.role[0] == RPCRDMA_ROLE_UNKNOWN) {
        conn->pub.threshold_call = conn->pub.threshold_reply =
            by_sender[0] == by_sender[1] ? by_sender[0] : 0;
    } else {
        int client = conn->pub.role[0] == RPCRDMA_ROLE_CLIENT ? 0 : 1;

        conn->pub.threshold_call = by_sender[client];
        conn->pub.threshold_reply = by_sender[1 - client];
    }
}

void flow_conn_default_properties(struct flow_conn *conn)
{
    bool two = conn->pub.version == 2;

    for (int i = 0; i < 2; i++) {
        struct rpcrdma_properties *p = &conn->pub.properties[i];
        uint32_t known = conn->announced[i];

        /* RFC 8166 section 3.3.2; ietf-07 section 5.2 */
        if (!(known & FLOW_ANNOUNCES_SEND_SIZE))
            p->send_size = two ? 4096 : 1024;
        if (!(known & FLOW_ANNOUNCES_RECEIVE_SIZE))
            p->receive_size = two ? 4096 : 1024;
        if (!(known & FLOW_ANNOUNCES_SEGMENT_SIZE))
            p->segment_size = two ? 1048576 : 0;
        if (!(known & FLOW_ANNOUNCES_SEGMENT_COUNT))
            p->segment_count = two ? 16 : 0;
        if (!(known & FLOW_ANNOUNCES_REVERSE))
            p->reverse_direction = 0;
    }
    flow_conn_thresholds(conn);
}

void conn_private_data(struct flow_conn *conn, int end, const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;
    struct rpcrdma_private_data pd;
    struct rpcrdma_properties *p = &conn->pub.properties[end];

    conn->pub.set_up_seen[end] =
        c && c->private_caplen == c->private_len && !(op->flags & RPCRDMA_OP_TRUNCATED);
    if (c && c->private_data &&
        rpcrdma_private_data_find(c->private_data, c->private_caplen, c->private_len, &pd) ==
            RPCRDMA_OK) {
        conn->pub.has_private_data[end] = true;
        conn->pub.private_data[end] = pd;
        conn->set_up_frame[end] = op->frame;
        if (pd.version == RPCRDMA_PRIVATE_DATA_VERSION) {
            p->send_size = pd.send_size;
            p->receive_size = pd.receive_size;
            p->remote_invalidation = (pd.flags & RPCRDMA_PRIVATE_DATA_F_INVALIDATE) != 0;
            p->announced = true;
            conn->announced[end] |= FLOW_ANNOUNCES_SEND_SIZE | FLOW_ANNOUNCES_RECEIVE_SIZE |
                                    FLOW_ANNOUNCES_INVALIDATION;
        }
    }
    flow_conn_default_properties(conn);
}

void flow_conn_announces(struct flow_conn *conn, int end, uint32_t property, uint32_t value)
{
    struct rpcrdma_properties *p = &conn->pub.properties[end];

    switch (property) {
    case FLOW_ANNOUNCES_SEND_SIZE:
        p->send_size = value;
        break;
    case FLOW_ANNOUNCES_RECEIVE_SIZE:
        p->receive_size = value;
        break;
    case FLOW_ANNOUNCES_SEGMENT_SIZE:
        p->segment_size = value;
        break;
    case FLOW_ANNOUNCES_SEGMENT_COUNT:
        p->segment_count = value;
        break;
    case FLOW_ANNOUNCES_REVERSE:
        p->reverse_direction = value;
        break;
    case FLOW_ANNOUNCES_INVALIDATION:
        p->remote_invalidation = value != 0;
        break;
    default:
        return;
    }
    conn->announced[end] |= (uint8_t)property;
    p->announced = true;
}

uint32_t flow_conn_announced(const struct flow_conn *conn, int end)
{
    return conn->announced[end];
}
