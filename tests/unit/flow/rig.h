/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_RIG_H
#define RPCRDMA_TESTS_UNIT_FLOW_RIG_H

/* Synthetic operations into flow/, and what came out, for tests. A is the client, B the server. */

#include "../test.h"

#include "flow/conn/conn_state.h"
#include "flow/flow.h"
#include "flow/flow_state.h"
#include "flow/message/message_state.h"
#include "flow/rpc/rpc_state.h"
#include "flow/stream/stream_state.h"

enum { RIG_MAX = 4096, RIG_PMTU = 1024 };

struct rig_message {
    uint64_t frame, first_frame;
    uint64_t stream[2]; /* towards the receiver, towards the sender */
    uint32_t connection, xid, version, type, part, src_qpn, dst_qpn, caplen, len;
    bool has_src, reverse, has_rpc, has_call, has_header_length;
    uint32_t program, procedure;
    enum rpcrdma_role sender;
    enum rpcrdma_rpc_direction direction;
    enum rpcrdma_dialect_id dialect;
    enum rpcrdma_rule_id rules[FLOW_FINDINGS];
    size_t n_rules;
    uint32_t threshold_call, threshold_reply;
    struct rpcrdma_properties properties[2];
};

struct rig_finding {
    enum rpcrdma_rule_id rule;
    uint32_t connection;
    uint64_t frame, arg[4];
};

struct rig {
    struct rpcrdma_flow *flow;
    bool may_fail; /* memory: set after rig_begin */
    uint64_t frame;
    int64_t time_ns;
    struct rig_message message[RIG_MAX];
    size_t messages;
    struct rig_message held_back[RIG_MAX];
    size_t n_held_back;
    struct rig_finding finding[RIG_MAX];
    size_t findings;
    struct rpcrdma_connection connection[64];
    size_t connections;
    char users[64]; /* each of the first connections is given its own, with its first message */
    struct rpcrdma_credit_result credit[64]; /* config.credits */
    uint32_t credit_connection[64];
    size_t credits;
};

/* One side of a connection. */
struct rig_end {
    uint8_t address; /* last byte of 10.0.0.x */
    uint32_t qpn;
    uint32_t psn; /* that it sends next */
};

void rig_begin(struct rig *rig, const struct rpcrdma_flow_config *config);
/* Without configuration, and a connection to NFS's port, made by a. */
void rig_begin_connected(struct rig *rig, struct rig_end *a, struct rig_end *b);
/* The sink's `credits`: records them in the rig, the context. */
void rig_credits(void *context, const struct rpcrdma_connection *c,
                 const struct rpcrdma_credit_result *results, size_t n);
/* Ends the flow and frees it; what came out stays. */
void rig_end(struct rig *rig);

/* An operation from one end to the other, its frame and time set and advanced (10 us). */
struct rpcrdma_op rig_op(struct rig *rig, enum rpcrdma_op_kind kind, const struct rig_end *from,
                         const struct rig_end *to, uint32_t psn);
/* Feeds it, its data in a block of exactly caplen bytes. */
void rig_feed(struct rig *rig, struct rpcrdma_op *op);

/* Sends `n` bytes in as many packets as it takes; advances from->psn. */
void rig_send(struct rig *rig, struct rig_end *from, const struct rig_end *to, const void *data,
              uint32_t n);
/* Likewise `len` bytes in one packet, of which `caplen` were captured. */
void rig_send_cut(struct rig *rig, struct rig_end *from, const struct rig_end *to, const void *data,
                  uint32_t caplen, uint32_t len);
/* One packet of a Send with flags; does not advance. */
void rig_packet(struct rig *rig, const struct rig_end *from, const struct rig_end *to, uint32_t psn,
                uint32_t flags, const void *data, uint32_t n);
/* An Ack of `from` for PSN `psn` of `to`. */
void rig_ack(struct rig *rig, const struct rig_end *from, const struct rig_end *to, uint32_t psn);
void rig_nak(struct rig *rig, const struct rig_end *from, const struct rig_end *to, uint32_t psn,
             enum rpcrdma_nak nak);
/* REQ, REP, RTU between a and b to the service port; PSNs from the ends. */
void rig_connect(struct rig *rig, struct rig_end *a, struct rig_end *b, uint16_t port);
/* The REQ is cut before it says where b's PSNs begin, and the path MTU. */
void rig_connect_cut(struct rig *rig, struct rig_end *a, struct rig_end *b, uint16_t port);
void rig_disconnect(struct rig *rig, const struct rig_end *a, const struct rig_end *b);

/* Messages, into buf; the length. `inline_bytes` are added to the RPC message. */
uint32_t rig_call(uint8_t *buf, uint32_t xid, uint32_t program, uint32_t inline_bytes);
uint32_t rig_reply(uint8_t *buf, uint32_t xid, uint32_t inline_bytes);
/* Version 1 messages without payload: RDMA_NOMSG with a Position-Zero read chunk or a reply chunk.
 */
uint32_t rig_nomsg_call(uint8_t *buf, uint32_t xid);
uint32_t rig_nomsg_reply(uint8_t *buf, uint32_t xid);
uint8_t *rig_word(uint8_t *p, uint32_t value);

/* Sends a Call or Reply of one packet. */
void rig_send_call(struct rig *rig, struct rig_end *from, const struct rig_end *to, uint32_t xid);
void rig_send_reply(struct rig *rig, struct rig_end *from, const struct rig_end *to, uint32_t xid);

size_t rig_count(const struct rig *rig, enum rpcrdma_rule_id rule); /* findings and messages' */
#define RIG_A ((struct rig_end){1, 17, 1000})
#define RIG_B ((struct rig_end){2, 33, 500000})

#endif
