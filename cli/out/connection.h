/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_CONNECTION_H
#define RPCRDMA_CLI_OUT_CONNECTION_H

/* How a connection began and ended, and what happened to its packets, in words and in JSON. */

#include "out/view.h"

/* A Call that came again, and where it was sent first. */
struct connection_again {
    uint32_t xid, original_connection;
    uint64_t frame, original_frame;
    int64_t time_ns;
};

/* ", VLAN 10", where that distinguishes connections */
void connection_put_network(struct out *out, const struct rpcrdma_connection *c);
void connection_json_network(struct json *json, uint32_t connection);

/* ", closed by the client, 2 Calls outstanding, #2 took its place" */
void connection_put_life(struct view *view, const struct rpcrdma_connection *c);
/* The lines below it, each indented. */
void connection_put_details(struct view *view, const struct rpcrdma_connection *c, size_t indent);
void connection_put_again(struct view *view, const struct connection_again *again, size_t n,
                          size_t indent);

void connection_json_life(struct json *json, const struct rpcrdma_connection *c);
void connection_json_again(struct json *json, const struct connection_again *again, size_t n);
void connection_json_paths(struct json *json, const struct rpcrdma_connection *c);

/* "open", "closed", "replaced", "unanswered", "rejected", "reset", "terminated". */
const char *connection_state(const struct rpcrdma_connection *c);
/* Nothing came back for an attempt to connect, and the client gave it up (REJ, timeout). */
bool connection_withdrawn(const struct rpcrdma_connection *c);
/* An attempt that was withdrawn, or whose REQ was repeated and got no answer. */
bool connection_unanswered(const struct rpcrdma_connection *c);
/* An attempt whose REQ was sent once, and has no answer: it may come yet. */
bool connection_awaits_answer(const struct rpcrdma_connection *c);
/* Towards `end` something was sent again and again in the last *ns of the connection, longer than
 * any answer takes. */
bool connection_silent(const struct rpcrdma_connection *c, int end, int64_t *ns);

/* Which end this operation of it went to. */
int connection_towards(const struct rpcrdma_connection *c, const struct rpcrdma_op *op);

/* How long its latest RNR Nak asked the sender to wait (IBTA volume 1 table 46). */
int64_t connection_rnr_timer_ns(const struct rpcrdma_path *path);

/* "disconnect", "rst", ...: how it ended. "psn_sequence", "rnr", ...: of a Nak. The words of JSON.
 */
const char *connection_ended(enum rpcrdma_ended ended);
const char *connection_nak(uint8_t nak);

#endif
