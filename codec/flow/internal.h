/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_INTERNAL_H
#define RPCRDMA_FLOW_INTERNAL_H

/*
 * The parts of flow/ and the way of an operation through them:
 *
 *   flow.c      rpcrdma_flow_op: which half, which part
 *   direction.c      a QP (or TCP direction) as receiver: found by hash
 *   setup.c        connection set-up and end
 *   window.c    the request stream towards a half in PSN order: duplicates, reordering, gaps
 *   send_assembly.c  Sends of several packets
 *   response.c    Acks, Naks, responses: what they prove about the other half
 *   classify.c     is this Send RPC-over-RDMA?
 *   pairing.c      which two halves are one connection
 *   admission.c      events kept back while their connection is undecided
 *   lru.c      which connection goes when memory is short
 *   output_order.c     messages of all connections -> the sink, in the order of the capture
 *   event.c     events in order -> observers, messages
 *   emit.c   one Send -> one message: decode, direction, roles -> sink
 *   dialect_detection.c    which dialect of version 2
 *   version.c, continuation.c, properties.c   what a message says about those that follow
 *   call_table.c       outstanding Calls
 *   credit*.c   messages, Acks and Naks -> credit accounts
 *
 * Functions that keep something may fail to: memory.failed is sticky, and rpcrdma_flow_op returns
 * it; nothing else is said about it on the way.
 */

#include "flow/state.h"

/* direction.c */
struct flow_direction *flow_direction_find(struct flow *flow, const struct rpcrdma_op *op);
/* The same, NULL where there is none. */
struct flow_direction *flow_direction_seen(struct flow *flow, const struct rpcrdma_op *op);
struct flow_direction *flow_direction_get(struct flow *flow, const struct flow_path *path,
                                          uint8_t carrier);
struct flow_direction *flow_direction_lookup(struct flow *flow, const struct flow_path *path);
struct flow_direction *flow_direction_of(const struct flow *flow, uint32_t handle, uint64_t id);
void flow_direction_free(struct flow *flow, struct flow_direction *dir);
struct flow_path flow_path_of(const struct rpcrdma_op *op);
void flow_direction_owned(struct flow *flow, struct flow_direction *dir, bool owned);

static inline struct flow_direction *flow_peer(const struct flow_direction *dir)
{
    return dir->conn ? dir->conn->dir[1 - dir->index] : NULL;
}

/* conn.c */
struct flow_conn *flow_conn_new(struct flow *flow, uint8_t carrier);
void flow_conn_attach(struct flow *flow, struct flow_conn *conn, int end,
                      struct flow_direction *dir);
void flow_conn_accept(struct flow *flow, struct flow_conn *conn);
void flow_conn_number(struct flow *flow, struct flow_conn *conn);
/* Gives out what is held of it; nothing more will come. */
void flow_conn_last(struct flow *flow, struct flow_conn *conn);
/* Ends it: drains, tells observers and the sink, frees it and its halves. */
void flow_conn_finish(struct flow *flow, struct flow_conn *conn);
/* It was disconnected; it stays for what still trails in. */
void flow_conn_closed(struct flow *flow, struct flow_conn *conn);
/* For a half that nothing is known of yet: what comes is kept back. */
struct flow_conn *flow_conn_unclassified(struct flow *flow, struct flow_direction *dir);
void flow_conn_touch(struct flow *flow, struct flow_conn *conn);
void flow_conn_thresholds(struct flow_conn *conn);
void flow_conn_role(struct flow_conn *conn, int end, enum rpcrdma_role role);
bool flow_conn_evict(struct flow *flow);

/* setup.c */
uint64_t flow_cm_key(const struct rpcrdma_address *opener, const struct rpcrdma_address *acceptor,
                     uint32_t comm_id);
void flow_cm(struct flow *flow, const struct rpcrdma_op *op);
/* The connection that a CM message is of, or NULL. */
const struct flow_conn *flow_cm_conn(struct flow *flow, const struct rpcrdma_op *op);

/* window.c */
void flow_request(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op);
/* Gives up gaps that are known not to be filled; `all`: every one. */
void flow_stream_check(struct flow *flow, struct flow_direction *dir, bool all);
void flow_stream_start(struct flow_direction *dir, uint32_t psn);
void flow_stream_free(struct flow *flow, struct flow_direction *dir);
uint32_t flow_packets(const struct flow_direction *dir, uint32_t length);

/* send_assembly.c */
void flow_assemble(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op);
/* Packets are missing; `goes_on`: what follows them is not the start of a Send. */
void flow_assemble_gap(struct flow *flow, struct flow_direction *dir, uint32_t packets,
                       bool goes_on);
void flow_assemble_free(struct flow *flow, struct flow_direction *dir);
/* A packet was put into the stash; `follows`: at its end, and the packet there had the PSN before.
 */
void flow_assemble_early(struct flow *flow, struct flow_direction *dir,
                         const struct flow_reordered *s, bool follows);

/* response.c */
void flow_answer(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op);

/* read_request.c */
/* NULL: no memory. */
struct flow_read *flow_read_add(struct flow *flow, struct flow_direction *dir,
                                const struct rpcrdma_op *op);
/* The Read request that the response answers, and where its payload goes; NULL: none known. */
struct flow_read *flow_read_find(struct flow_direction *dir, const struct rpcrdma_op *op,
                                 uint64_t *offset);
void flow_read_free(struct flow *flow, struct flow_direction *dir);

/* classify.c */
enum flow_verdict { FLOW_NO, FLOW_MAYBE, FLOW_YES };

/* What a Send shows before anything is decided. */
struct flow_probe {
    enum flow_verdict verdict;
    int msg_type; /* RPCRDMA_RPC_CALL or _REPLY; -1: not told */
    bool has_program;
    uint32_t program;
};
struct flow_probe flow_probe_send(const struct flow *flow, const struct flow_send *send);
/* The role of who calls this program. */
enum rpcrdma_role flow_caller_role(uint32_t program);
bool flow_port_known(const struct flow *flow, uint16_t port);
/* Taken as RPC-over-RDMA because the user says so, whatever else tells: this QP, TCP connection, or
 * what is sent to this half. */
bool flow_forced_qpn(const struct flow *flow, uint32_t qpn);
bool flow_forced_ports(const struct flow *flow, uint16_t a, uint16_t b);
bool flow_forced(const struct flow *flow, const struct flow_direction *dir);
bool flow_probe_plausible(const uint8_t *data, uint32_t caplen, uint32_t len);

/* pairing.c */
void flow_pair_request(struct flow *flow, struct flow_direction *dir, uint32_t seq);
bool flow_pair_answer(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op);
bool flow_pair_xid(struct flow *flow, struct flow_direction *dir, uint32_t xid, int msg_type);
bool flow_pair(struct flow *flow, struct flow_direction *a, struct flow_direction *b);
/* A claimed connection lacks its peer (or no longer does). */
void flow_pair_lacks(struct flow *flow, struct flow_conn *conn, bool lacks);
/* Is there a claimed half without peer that this one may be the peer of? */
bool flow_pair_possible(const struct flow *flow, const struct flow_direction *dir);
/* A CM exchange told one end's QP only. */
void flow_pair_half_open(struct flow *flow, struct flow_conn *conn, bool open);
/* No answer told the peer: was there one such exchange just before? */
bool flow_pair_with_half_open(struct flow *flow, struct flow_conn *conn);

/* lru.c */
void flow_lru_add(struct flow *flow, struct flow_conn *conn);
void flow_lru_remove(struct flow *flow, struct flow_conn *conn);
/* The connection whose last packet is longest ago; NULL: there is none. */
struct flow_conn *flow_lru_longest(struct flow *flow);

/* admission.c */
void flow_admission_op(struct flow *flow, struct flow_conn *conn, struct flow_direction *dir,
                       const struct rpcrdma_op *op, const struct flow_write *write);
void flow_admission_send(struct flow *flow, struct flow_conn *conn, struct flow_direction *dir,
                         const struct flow_send *send);
void flow_admission_gap(struct flow *flow, struct flow_conn *conn, struct flow_direction *dir,
                        uint32_t first, uint32_t last);
void flow_admission_merge(struct flow *flow, struct flow_conn *into, struct flow_conn *from);
void flow_admission_release(struct flow *flow, struct flow_conn *conn);
void flow_admission_drop(struct flow *flow, struct flow_conn *conn);
/* Drops the events of a half that is about to go. */
void flow_admission_forget(struct flow *flow, struct flow_conn *conn,
                           const struct flow_direction *dir);
/* A reason to wait has gone. */
void flow_admission_clear(struct flow *flow, struct flow_conn *conn, uint32_t reason);
/* Nothing says that this is RPC-over-RDMA. */
void flow_admission_give_up(struct flow *flow, struct flow_conn *conn);
/* Gives up waiting where the bounds say so. */
void flow_admission_check(struct flow *flow, struct flow_conn *conn);

/* output_order.c */
/* Events of conn are held back now, or no longer. */
void flow_order_holding(struct flow *flow, struct flow_conn *conn);
/* A message for the sink: now, or when no older one is held back any more. */
void flow_order_give(struct flow *flow, struct flow_conn *conn,
                     const struct rpcrdma_flow_message *out);
void flow_order_flush(struct flow *flow, bool all);

/* event.c: from ordering */
void flow_event_op(struct flow *flow, struct flow_direction *dir, const struct rpcrdma_op *op);
void flow_event_write(struct flow *flow, struct flow_direction *dir,
                      const struct flow_write *write);
void flow_event_send(struct flow *flow, struct flow_direction *dir, const struct flow_send *send);
void flow_event_gap(struct flow *flow, struct flow_direction *dir, uint32_t first, uint32_t last);
/* event.c: to observers, when it is time */
void flow_deliver(struct flow *flow, struct flow_conn *conn, const struct flow_event *event);

/* emit.c */
void flow_finding_add(struct flow_findings *findings, const struct rpcrdma_finding *finding);
void flow_message_send(struct flow *flow, struct flow_conn *conn, struct flow_direction *dir,
                       const struct flow_send *send);
/* Tells the sink's `early` of a Send whose message will be held back. Changes nothing. */
void flow_message_early(struct flow *flow, struct flow_conn *conn, struct flow_direction *dir,
                        const struct flow_send *send);

/* call_table.c */
void flow_call_add(struct flow *flow, struct flow_conn *conn, int sender, uint32_t xid,
                   const struct rpcrdma_rpc *rpc);
struct flow_call *flow_call_find(const struct flow *flow, const struct flow_conn *conn, int sender,
                                 uint32_t xid);
void flow_call_remove(struct flow *flow, struct flow_conn *conn, struct flow_call *call);
/* Frees what is kept to be used again. */
void flow_call_trim(struct flow *flow);
void flow_call_free(struct flow *flow, struct flow_conn *conn);
void flow_call_rpc(const struct flow_call *call, struct rpcrdma_rpc *out);

/* credit_stage.c */
/* False when memory is short. */
bool flow_credits_start(struct flow *flow);
void flow_credits_free(struct flow *flow);

/* properties.c */
void flow_properties_default(struct flow_conn *conn);
void flow_private_data(struct flow_conn *conn, int end, const struct rpcrdma_op *op);
/* What the message of `end` says of properties takes effect. */
void flow_properties(struct flow_conn *conn, int end, const struct rpcrdma_message *m);

/* dialect_detection.c: version 2's dialects */
void flow_dialect(struct flow *flow, struct flow_conn *conn, struct flow_direction *dir,
                  const struct flow_send *send);
/* By which to decode now: the one that is chosen; else the latest that all messages so far fit. */
const struct rpcrdma_dialect *flow_dialect_likely(const struct flow *flow,
                                                  const struct flow_conn *conn);
/* There will be no more evidence before the messages are given out. */
void flow_dialect_settle(struct flow *flow, struct flow_conn *conn);

/* version.c */
/* Version 1 was spoken here, and nobody asked for another since: it stays (RFC 8166 section 4.2.2). */
static inline bool flow_version_settled(const struct flow_conn *conn)
{
    return conn->pub.version == 1 && !conn->refused;
}
void flow_version(struct flow_conn *conn, const struct rpcrdma_message *m,
                  struct flow_findings *findings, uint64_t frame);

/* continuation.c: returns whether parts follow; *part is 0 where the message is not continued,
 * *part_bytes what payload came before */
bool flow_continue(struct flow_conn *conn, int sender, const struct rpcrdma_message *m,
                   struct flow_findings *findings, uint64_t frame, uint32_t *part,
                   uint64_t *part_bytes);
void flow_continue_lost(struct flow_conn *conn, int sender);
void flow_continue_end(struct flow *flow, struct flow_conn *conn);

#endif
