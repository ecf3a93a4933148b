/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_RPC_RIG_H
#define RPCRDMA_TESTS_UNIT_FLOW_RPC_RIG_H

/* Synthetic RPCs with chunks into flow/, and the whole messages and transactions that came out. */

#include "rig.h"

#include "flow/rpc.h"
#include "flow/rpc/rpc_stage.h"
#include "wire/message.h"

enum { RPC_RIG_MAX = 1024, RPC_RIG_RULES = 24 };

struct got_message {
    enum rpcrdma_rpc_direction direction;
    uint32_t xid, connection;
    bool whole, complete, reverse;
    bool held_back; /* of a partial one: its message is */
    uint64_t length, frame, send_frame;
    uint8_t *bytes; /* holes are 0xee */
    size_t n_unplaced_chunks;
    uint32_t loose_length;
    uint8_t *unplaced_chunks;
    bool has_call;
    enum rpcrdma_rule_id rules[RPC_RIG_RULES];
    uint64_t arg[RPC_RIG_RULES][3];
    size_t n_rules;
};

struct got_transaction {
    struct rpcrdma_transaction t; /* its pointers are stale */
    uint32_t connection;
    char name[256];
    enum rpcrdma_rule_id rules[RPC_RIG_RULES];
    int64_t offset[RPC_RIG_RULES]; /* of the finding by each, */
    uint64_t frame[RPC_RIG_RULES]; /* and its frame */
    size_t n_rules;
};

struct rpc_rig {
    struct rig rig;
    struct got_message message[RPC_RIG_MAX];
    size_t messages;
    struct got_message partial[RPC_RIG_MAX];
    size_t partials;
    struct got_transaction transaction[RPC_RIG_MAX];
    size_t transactions;
    struct rpcrdma_data_transfer data_transfer[RPC_RIG_MAX]; /* their pointers are stale */
    size_t moves;
    struct rig_end a, b;
};

/* A connection between a and b, made by a. */
void rpc_rig_begin(struct rpc_rig *r, const struct rpcrdma_flow_config *config, bool data);
/* Without CM exchange. */
void rpc_rig_begin_late(struct rpc_rig *r, const struct rpcrdma_flow_config *config, bool data);
void rpc_rig_end(struct rpc_rig *r);  /* what came out stays */
void rpc_rig_free(struct rpc_rig *r); /* and goes */

/* Bytes of an RPC message; XDR words and opaques. */
struct rpc_bytes {
    uint8_t data[1 << 17];
    uint32_t n;
};
void rpc_put(struct rpc_bytes *b, uint32_t word);
void rpc_fill(struct rpc_bytes *b, uint32_t n, uint8_t seed); /* n bytes that differ */
void rpc_pad(struct rpc_bytes *b);
void rpc_call_header(struct rpc_bytes *b, uint32_t xid, uint32_t program, uint32_t version,
                     uint32_t procedure);
void rpc_reply_header(struct rpc_bytes *b, uint32_t xid);
/* A WRITE whose read list has n segments of 8 bytes, each a chunk, the last in the message first:
 * handles from 1000 on, addresses from 0 on. Returns its bytes, 24 for each and 80. */
uint32_t rpc_backwards_call(uint8_t *message, uint32_t xid, uint32_t n);
/* The Reply to an NFSv3 READ up to its data, of which n bytes are to follow. */
void rpc_read_reply_header(struct rpc_bytes *b, uint32_t xid, uint32_t n);

/* A version 1 header in preparation; add lists, then send it with a payload. */
struct rpc_header {
    struct rpcrdma_message message;
    struct rpcrdma_read_segment reads[16];
    struct rpcrdma_read_segment call[4];
    struct rpcrdma_segment segments[16];
    struct rpcrdma_chunk chunks[8];
    struct rpcrdma_segment reply[4];
    uint32_t n_segments;
};
void rpc_header_init(struct rpc_header *h, uint32_t xid, uint32_t type);
void rpc_add_read(struct rpc_header *h, uint32_t position, uint32_t handle, uint64_t offset,
                  uint32_t length);
void rpc_add_call(struct rpc_header *h, uint32_t handle, uint64_t offset, uint32_t length);
void rpc_add_write(struct rpc_header *h, bool new_chunk, uint32_t handle, uint64_t offset,
                   uint32_t length);
void rpc_add_reply(struct rpc_header *h, uint32_t handle, uint64_t offset, uint32_t length);
void rpc_send(struct rpc_rig *r, bool from_a, struct rpc_header *h, const void *payload,
              uint32_t n);

/* Likewise in one packet, of which `caplen` bytes were captured. */
void rpc_send_cut(struct rpc_rig *r, bool from_a, struct rpc_header *h,
                  const struct rpc_bytes *payload, uint32_t caplen);

/* An NFSv3 READ Call of a, without chunks. */
void rpc_send_read_call(struct rpc_rig *r, uint32_t xid);

/* RDMA Write in packets of `part` bytes. skip: this packet (from 0) is not captured; UINT32_MAX
 * none. */
void rpc_write(struct rpc_rig *r, bool from_a, uint32_t handle, uint64_t address,
               const uint8_t *data, uint32_t n, uint32_t part, uint32_t skip);
/* The other end reads: request, and its responses. Returns the request's PSN. */
uint32_t rpc_read_request(struct rpc_rig *r, bool from_a, uint32_t handle, uint64_t address,
                          uint32_t n);
/* One response packet, number i of the request with this PSN. */
void rpc_read_response(struct rpc_rig *r, bool from_a, uint32_t psn, uint32_t i,
                       const uint8_t *data, uint32_t n, bool last);
void rpc_read(struct rpc_rig *r, bool from_a, uint32_t handle, uint64_t address,
              const uint8_t *data, uint32_t n);

const struct got_message *rpc_find(const struct rpc_rig *r, uint32_t xid,
                                   enum rpcrdma_rpc_direction direction);
const struct got_transaction *rpc_transaction(const struct rpc_rig *r, uint32_t xid);
void rpc_check_bytes(const struct got_message *m, const struct rpc_bytes *want);
bool rpc_has_rule(const enum rpcrdma_rule_id *rules, size_t n, enum rpcrdma_rule_id rule);

#endif
