/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_STAGE_ABOVE_H
#define RPCRDMA_TESTS_UNIT_FLOW_STAGE_ABOVE_H

/* For a stage above that of messages: a connection, and messages made by that stage, which is told
 * when the stage above has had each. */

#include "stage_conn.h"

struct stage_above {
    struct stage_conns on;
    struct flow_messages *messages;
    struct flow_conn *conn;
    struct flow_making making;
    struct flow_send send;
};

static inline void stage_above_begin(struct stage_above *s)
{
    stage_conns_begin(&s->on);
    s->messages = flow_messages_new(&s->on.stage.context, s->on.conns, NULL, false);
    assert_non_null(s->messages);
}

static inline void stage_above_end(struct stage_above *s)
{
    flow_message_close(s->messages, s->conn);
    flow_messages_free(s->messages);
    stage_conns_end(&s->on);
}

static inline const struct flow_message *stage_message(struct stage_above *s, int sender,
                                                       const uint8_t *data, uint32_t len)
{
    s->send = stage_send(&s->on.stage, data, len, (uint32_t)s->on.stage.context.frame);
    flow_message_make(s->messages, s->conn, flow_conn_direction(s->conn, 1 - sender), &s->send,
                      &s->making);
    return &s->making.event;
}

#endif
