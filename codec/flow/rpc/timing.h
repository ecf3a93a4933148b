/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_TIMING_H
#define RPCRDMA_FLOW_RPC_TIMING_H

/* When the messages of a transaction were sent and delivered, and where its time went. */

#include "flow/rpc.h"

struct flow_conn;
struct flow_delivery;
struct flow_message;
struct flow_rpcs;
struct flow_send;
struct rpc_transaction;
struct rpcrdma_op;

/* Where a Send stood in the stream of its direction. */
struct rpc_place {
    bool set;
    uint8_t sender;
    uint32_t first, last; /* PSNs; iWARP: bytes of TCP */
};

/* A time in which something had to wait, and the frames that show it. */
struct rpc_wait {
    int64_t ns;
    uint64_t from_frame, to_frame;
};

enum { RPC_JOURNEYS = 4 };

/* RDMA packets on their way between two places of capture: times that may overlap, by arrival. */
struct rpc_journeys {
    int64_t ns; /* of those that are over */
    uint32_t count;
    struct {
        int64_t from_ns, to_ns;
    } at[RPC_JOURNEYS]; /* apart, in order */
};

/* Of a pair of what the two messages have. */
enum { RPC_CALL, RPC_REPLY };

/* What the RDMA of a transaction waited for. */
struct rpc_data_timing {
    int64_t waiting_ns; /* between its packets, for what was retransmitted */
    enum rpcrdma_stall waiting_for;
    struct rpc_wait longest;
    int64_t longest_since_ns;
    uint8_t
        asked; /* 1 more than the end that was asked again then, and may have been late; 0: none */
    int64_t moved_ns; /* its last packet was sent */
    int64_t peer_ns;
    struct rpc_journeys journeys;
    struct rpc_place response; /* iWARP: the last Read response */
    struct rpc_doubts *doubts; /* iWARP: waits that are not in the above yet; NULL: none. Owned */
};

/* timing.c: nothing without context->delivery */
void rpc_timing_call(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                     const struct flow_message *m);
void rpc_timing_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                      const struct flow_message *m);
/* Where that message stood; `more`: it has a later part of it. */
void rpc_timing_place(const struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                      struct rpc_place *p, int sender, const struct flow_send *send, bool more);
/* Its Call had arrived: the Responder has begun to serve it. */
void rpc_timing_served(const struct rpc_transaction *t);
/* data_timing.c: likewise. A Write, or a Read response of `sender`, passed, its time not yet in
 * rdma_last_ns. asked_ns: of a first response: when its request was there; else 0. */
void rpc_timing_data(struct flow_rpcs *rpcs, struct rpc_transaction *t, int sender,
                     const struct rpcrdma_op *op, int64_t asked_ns);
/* doubt.c. Something was retransmitted while nothing moved until this passed: why is in data, now
 * or in the end. False: nothing was. */
bool rpc_doubt(struct flow_rpcs *rpcs, struct rpc_transaction *t, const struct rpcrdma_op *op,
               int64_t asked_ns);
/* TCP: something was retransmitted to the Responder until it acknowledged the last of its data, and
 * had not arrived before: *wait, and why. RPCRDMA_STALL_NONE: it was not so. */
enum rpcrdma_stall rpc_data_held(const struct rpc_transaction *t, struct rpc_wait *wait);
/* Receivers may have said more of that; nobody will. */
void rpc_doubts_look(struct rpc_transaction *t);
void rpc_doubts_end(struct rpc_transaction *t);
void rpc_doubts_free(struct flow_rpcs *rpcs, struct rpc_transaction *t);
/* data_timing.c: a Read request, sent at `sent_ns`, passes the second place of capture. */
void rpc_timing_read(struct rpc_transaction *t, int64_t sent_ns, int64_t now_ns);
/* How long something was on its way, in all. */
int64_t rpc_journeys_ns(const struct rpc_journeys *journeys);
/* timing.c: towards this end; NULL: not followed. */
struct flow_delivery *rpc_delivery_towards(const struct flow_conn *conn, int end);
/* phases.c: who is to know of losses on the way to this end. */
enum rpcrdma_stall rpc_lost_towards(const struct flow_conn *conn, int end);
/* `why`, unless what was sent again to this end in that time had arrived: then nothing was lost. */
enum rpcrdma_stall rpc_unless_late(const struct flow_conn *conn, int end, int64_t from_ns,
                                   int64_t to_ns, enum rpcrdma_stall why);
/* timing.c */
void rpc_delivery_find(const struct rpc_transaction *t, const struct rpc_place *place,
                       struct rpcrdma_delivery *out);
/* What became of its Call and its Reply, by what is known now. */
void rpc_timing_delivered(struct flow_rpcs *rpcs, struct rpc_transaction *t);
/* Latency and phases; after it. */
void rpc_timing(struct flow_rpcs *rpcs, struct rpc_transaction *t);
/* phases.c: these alone. */
void rpc_phases(struct rpc_transaction *t);
/* transmissions.c: what is found of its delivery; which transmission each finding is about. After
 * those. */
void rpc_timing_findings(struct flow_rpcs *rpcs, struct rpc_transaction *t);
void rpc_timing_transmissions(struct rpc_transaction *t);
/* The connection is over, or the capture: what was sent again and not acknowledged was not
 * delivered, if it was closed, or nothing was answered any more. */
void rpc_timing_end(const struct flow_conn *conn);

#endif
