/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

/*
 * Which connection was silent longest. A packet does not move its connection in the heap: the key
 * is the last frame as it was when the connection was last looked at, which is never later than it
 * is now. Looking once more costs a packet's share each time, no more.
 */

void conn_lru_add(struct flow_conns *conns, struct flow_conn *conn)
{
    heap_add(&conns->lru, &conn->lru, conn->pub.last_frame, 0);
}

void conn_lru_remove(struct flow_conns *conns, struct flow_conn *conn)
{
    heap_remove(&conns->lru, &conn->lru);
}

struct flow_conn *conn_lru_longest(struct flow_conns *conns)
{
    for (;;) {
        struct flow_conn *conn = conns->lru ? HEAP_OF(conns->lru, struct flow_conn, lru) : NULL;

        if (!conn || conn->lru.key == conn->pub.last_frame)
            return conn;
        heap_set(&conns->lru, &conn->lru, conn->pub.last_frame, 0);
    }
}
