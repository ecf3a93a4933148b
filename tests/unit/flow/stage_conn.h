/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_STAGE_CONN_H
#define RPCRDMA_TESTS_UNIT_FLOW_STAGE_CONN_H

/* A connection for the tests of the stages above it: client 10.0.0.1 QP 33, server 10.0.0.2 QP 44.
 */

#include "stage.h"

#include "flow/message/message.h"

enum { CLIENT = 1, SERVER = 2, CLIENT_QPN = 33, SERVER_QPN = 44, NFS = 100003, NFS_PORT = 20049 };

struct stage_conns {
    struct stage stage;
    struct flow_streams *streams;
    struct flow_conns *conns;
};

static inline void stage_conns_begin(struct stage_conns *s)
{
    static const struct flow_selection nothing;
    static const uint16_t port = NFS_PORT;
    const struct flow_conns_config config = {
        .ports = &port, .n_ports = 1, .above = flow_messages_above()};

    stage_begin(&s->stage);
    s->streams = flow_streams_new(&s->stage.context, &nothing);
    assert_non_null(s->streams);
    s->conns = flow_conns_new(&s->stage.context, s->streams, &config);
    assert_non_null(s->conns);
}

static inline void stage_conns_end(struct stage_conns *s)
{
    struct flow_direction *dir;
    struct flow_conn *conn;

    while ((conn = flow_conns_oldest(s->conns)))
        flow_conn_free(s->conns, conn);
    while ((dir = flow_direction_unowned(s->streams, 0)))
        flow_direction_free(s->streams, dir);
    flow_conns_free(s->conns);
    flow_streams_free(s->streams);
    assert_int_equal(s->stage.context.memory.used, 0);
}

/* The CM's REQ and REP (IBTA volume 1 section 12.6). */
static inline struct flow_conn *stage_connect(struct stage_conns *s, uint16_t port)
{
    struct rpcrdma_op_connect req = {.local_comm_id = 5, .port = port, .qpn = CLIENT_QPN};
    struct rpcrdma_op_connect rep = {.local_comm_id = 6, .remote_comm_id = 5, .qpn = SERVER_QPN};
    struct rpcrdma_op op = stage_op(&s->stage, RPCRDMA_OP_CONNECT, CLIENT, SERVER, 1, 0);
    struct flow_conn *conn;

    req.service_id = 0x1060000 | port;
    op.connect = &req;
    assert_null(flow_setup_obstacle(s->conns, &op));
    conn = flow_setup(s->conns, &op);
    assert_non_null(conn);
    op = stage_op(&s->stage, RPCRDMA_OP_ACCEPT, SERVER, CLIENT, 1, 0);
    op.connect = &rep;
    assert_ptr_equal(flow_setup(s->conns, &op), conn);
    return conn;
}

static inline uint32_t stage_words(uint8_t *to, const uint32_t *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < 4; j++)
            to[4 * i + j] = (uint8_t)(words[i] >> (24 - 8 * j));
    return 4 * n;
}

/* RDMA_MSG without chunks (RFC 8166 section 4.1) with a NULL Call, or its Reply (RFC 5531). */
static inline uint32_t stage_call(uint8_t *to, uint32_t xid, uint32_t credits)
{
    const uint32_t words[] = {xid, 1, credits, 0, 0, 0, 0, xid, 0, 2, NFS, 3, 0, 0, 0, 0, 0};

    return stage_words(to, words, sizeof(words) / sizeof(words[0]));
}

static inline uint32_t stage_reply(uint8_t *to, uint32_t xid, uint32_t credits)
{
    const uint32_t words[] = {xid, 1, credits, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0};

    return stage_words(to, words, sizeof(words) / sizeof(words[0]));
}

/* A whole Send of these bytes, now. */
static inline struct flow_send stage_send(struct stage *stage, const uint8_t *data, uint32_t len,
                                          uint32_t psn)
{
    struct flow_send send = {.data = data, .caplen = len, .len = len};

    send.frame = send.first_frame = ++stage->context.frame;
    send.time_ns = send.first_time_ns = stage->context.time_ns += 10000;
    send.first_seq = send.last_seq = psn;
    return send;
}

#endif
