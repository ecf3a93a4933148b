/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_OBSERVE_H
#define RPCRDMA_FLOW_OBSERVE_H

/*
 * What parts of flow/ that sit above ordering and messages (whole RPCs, credits) are told.
 *
 * Events come per connection and in order: of each direction exactly in the order of the transport
 * (PSN or MSN), every request once, whatever was retransmitted, duplicated or reordered; of the two
 * directions against each other as captured. Only connections taken as RPC-over-RDMA have events,
 * and only once it is known, or given up, who their peer is. `sender` and `receiver` index
 * conn->pub.end: an event has sender 1 - receiver.
 *
 * A callback may be NULL. It keeps nothing it is given a pointer to, except a conn until `closed`.
 * Memory comes from flow_alloc(&flow->memory, ...): it may be refused.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow/flow.h"
#include "op.h"

struct flow;
struct flow_conn;

/* A whole Send, put together; or the part of it that was captured (caplen < len). */
struct flow_send {
    const uint8_t *data;
    uint32_t caplen, len;
    uint64_t frame, first_frame; /* of the packet that completed it, and of its first */
    int64_t time_ns, first_time_ns;
    uint32_t first_seq, last_seq; /* PSN; iWARP: both the MSN */
    bool has_invalidate;
    uint32_t invalidate;
};

/* An RPC-over-RDMA message: what the sink gets, and the Send it came in. */
struct flow_message {
    const struct rpcrdma_flow_message *message;
    const struct flow_send *send;
    int sender;          /* end; never -1: an unpaired sender is end 1 - receiver all the same */
    bool continues;      /* version 2: more parts follow this one */
    uint64_t part_bytes; /* payload bytes of the earlier parts: where this part's payload goes */
};

/* One packet of an RDMA Write, its place worked out (the wire says it in the first packet only). */
struct flow_write {
    const struct rpcrdma_op *op; /* payload: op->data, caplen, len; rkey and remote_address are of
                                  * the packet with the RETH only */
    bool placed;                 /* false: its first packet was lost: rkey, address unknown */
    uint32_t rkey;
    uint64_t address; /* of this packet's payload */
};

/* An RDMA Read request and how far it got. */
struct flow_read {
    uint32_t id;        /* counts the Read requests of the direction from 1 */
    uint32_t seq;       /* PSN; iWARP: MSN */
    uint32_t packets;   /* PSNs it takes; 0: not known (path MTU unknown). iWARP: 1 */
    uint32_t rkey;      /* of the source: a segment's handle */
    uint64_t address;   /* of the source: within a segment's offset and length */
    uint32_t length;    /* bytes wanted */
    uint32_t sink_stag; /* iWARP */
    uint64_t sink_offset;
    uint64_t frame;
    int64_t time_ns;
    bool answered; /* its last response was seen */
};

struct flow_observer {
    /* a new connection: its numbers, roles and private data may still be unknown */
    void (*opened)(void *self, struct flow_conn *conn);
    void (*message)(void *self, struct flow_conn *conn, const struct flow_message *message);
    void (*write)(void *self, struct flow_conn *conn, int sender, const struct flow_write *write);
    /* `sender` asks for data; the same request sent again is not told again */
    void (*read_request)(void *self, struct flow_conn *conn, int sender,
                         const struct flow_read *read);
    /* Data that answers `read`; it goes to read->address + offset of the source. `sender` is who
     * sends the data. read NULL: the request was not captured, offset means nothing. A response
     * sent again comes again: same read, same offset. */
    void (*read_response)(void *self, struct flow_conn *conn, int sender,
                          const struct flow_read *read, uint64_t offset,
                          const struct rpcrdma_op *op);
    /* `sender` acknowledges all requests of the other end up to PSN op->seq (iWARP has none) */
    void (*ack)(void *self, struct flow_conn *conn, int sender, const struct rpcrdma_op *op);
    void (*nak)(void *self, struct flow_conn *conn, int sender, const struct rpcrdma_op *op);
    /* what `sender` sent in [first, last] (PSNs; iWARP: 0, 0) was not captured and is given up; a
     * whole Send or a Write of it may still come late */
    void (*gap)(void *self, struct flow_conn *conn, int sender, uint32_t first, uint32_t last,
                uint64_t frame, int64_t time_ns);
    /* nothing more will come; conn->attached[slot] must be released now */
    void (*closed)(void *self, struct flow_conn *conn);
    void *self;
    int slot; /* index of conn->attached: set by flow_observe */
};

enum { FLOW_OBSERVERS = 4 };

/* Adds an observer; before the first operation. `observer` is borrowed until the flow ends. */
void flow_observe(struct flow *flow, struct flow_observer *observer);

/* Gives the sink a finding of a connection that belongs to no message (or conn NULL). */
void flow_report(struct flow *flow, const struct flow_conn *conn,
                 const struct rpcrdma_finding *finding);

#endif
