/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_FLOW_H
#define RPCRDMA_FLOW_FLOW_H

/*
 * RDMA operations in; connections, messages and findings out. Whole RPCs, transactions and credits
 * (flow/rpc.h, flow/credit.h) are further callbacks of the same sink.
 *
 * Memory is bounded by what is outstanding on the wire and by max_memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../export.h"
#include "../finding.h"
#include "../op.h"
#include "../wire/dialect.h"
#include "../wire/message.h"
#include "../wire/private_data.h"
#include "../wire/rpc.h"
#include "credit.h"
#include "delivery.h"
#include "life.h"

RPCRDMA_BEGIN_DECLS

enum rpcrdma_role {
    RPCRDMA_ROLE_UNKNOWN,
    RPCRDMA_ROLE_CLIENT, /* opened the connection */
    RPCRDMA_ROLE_SERVER,
    RPCRDMA_ROLE_COUNT /* how many there are */
};

enum rpcrdma_paired_by {
    RPCRDMA_PAIRED_NOT, /* only one direction is known */
    RPCRDMA_PAIRED_CM,
    RPCRDMA_PAIRED_INFERRED,
};

struct rpcrdma_endpoint {
    struct rpcrdma_address address;
    uint32_t qpn;  /* IB, RoCE; has_qpn says whether it is known */
    uint16_t port; /* iWARP: TCP port */
    bool has_qpn;
};

/* The transport properties in effect for one end (what it announced, else its version's default).
 */
struct rpcrdma_properties {
    uint32_t send_size, receive_size;     /* bytes */
    uint32_t segment_size, segment_count; /* 0: no limit known */
    uint32_t reverse_direction;           /* RDMA2_RVRSDIR_ value of ietf-07 */
    bool remote_invalidation;
    bool announced; /* by private data, properties or characteristics; else defaults */
};

/* What is known of a connection now. Ends are [0] and [1]; roles says who is the client. */
struct rpcrdma_connection {
    uint32_t number; /* from 1, in the order in which connections were recognised */
    enum rpcrdma_carrier carrier;
    struct rpcrdma_endpoint end[2];
    enum rpcrdma_role role[2];
    enum rpcrdma_paired_by paired_by;
    uint16_t service_port; /* 0: unknown */
    bool has_private_data[2];
    uint32_t version;  /* 0 until a message was seen */
    uint32_t dialects; /* bit per enum rpcrdma_dialect_id the bytes do not distinguish */
    const struct rpcrdma_dialect *dialect; /* NULL until decided or settled */
    struct rpcrdma_private_data private_data[2];
    struct rpcrdma_properties properties[2];
    uint32_t threshold_call, threshold_reply; /* bytes; see rpcrdma_threshold_assumed */
    uint64_t first_frame, last_frame;
    int64_t first_time_ns, last_time_ns;
    uint64_t messages;
    uint64_t invalidations[2]; /* Sends with Invalidate, by sender */
    uint32_t path_mtu;         /* of the REQ, bytes; 0: not known */
    bool established, closed, rejected;
    /* What this end announces at set-up was captured whole: where it announced nothing, the
     * defaults are in effect; where false, they are only what is assumed. */
    bool set_up_seen[2];
    struct rpcrdma_life life;
    /* config.delivery: what was sent towards each end. Valid during the sink's call that reports
     * the connection's end; NULL before, and where nothing was followed */
    const struct rpcrdma_path *path[2];
    uint64_t
        stream[2]; /* names what is sent towards each end: the same before and after its peer is
                    * known, never used again when a QP number is. 0: nothing was sent yet */
    void *user;    /* the caller's, NULL at first: rpcrdma_connection_set_user */
};

enum rpcrdma_rpc_direction {
    RPCRDMA_DIRECTION_UNKNOWN,
    RPCRDMA_DIRECTION_CALL,
    RPCRDMA_DIRECTION_REPLY,
};

/* One RPC-over-RDMA message, complete or as much of it as was captured. Valid during the call. */
struct rpcrdma_flow_message {
    const struct rpcrdma_connection *connection;
    int sender_end; /* index into connection->end; -1: not known */
    enum rpcrdma_role sender;
    enum rpcrdma_rpc_direction
        direction;               /* of the RPC message, or of what the header speaks about */
    bool reverse;                /* an RPC from server to client; valid when sender and direction
                                  * are known */
    uint64_t frame, first_frame; /* the packet that completes it, and its first */
    int64_t time_ns, first_time_ns;
    struct rpcrdma_endpoint src, dst; /* src.has_qpn false: not paired */
    bool has_invalidate;
    uint32_t invalidate;
    const struct rpcrdma_message *message;
    const struct rpcrdma_rpc *rpc;  /* NULL: carries no RPC header in this message. Of a first part
                                     * it is TRUNCATED where another part has the rest */
    const struct rpcrdma_rpc *call; /* of a Reply, or a later part of a Call: the header of
                                     * the Call, where seen; else NULL */
    uint32_t part; /* continued messages: number of this part from 1; 0: not continued */
    const struct rpcrdma_finding *findings;
    size_t n_findings;
    bool held_back; /* only where the sink's `partial` is given it: `message` is given it later */
};

struct rpcrdma_rpc_message; /* flow/rpc.h */
struct rpcrdma_transaction;
struct rpcrdma_data_transfer;
struct rpcrdma_payload_stream;

/* Calls come during rpcrdma_flow_op and rpcrdma_flow_end. Any may be NULL. */
struct rpcrdma_flow_sink {
    size_t size; /* sizeof(struct rpcrdma_flow_sink); 0: that of version 1.0 */
    void (*connection)(void *context,
                       const struct rpcrdma_connection *connection); /* once, at its end */
    void (*message)(void *context, const struct rpcrdma_flow_message *message);
    /* For views that cannot wait: at the last packet of a message, what `message` or `rpc` is not
     * given at once. Both are given it in full later.
     * `message`: held_back where its peer or dialect is undecided, or packets before it are
     * missing. It has no part then, and perhaps no connection number and no Call of a Reply. A Send
     * of several packets is among these only where they come one after the other.
     * `rpc`: the RPC message that begins in it: all bytes of chunks are LOST. NULL: none begins,
     * or it cannot be laid out (RDMA_MSGP, chunks that do not fit). Where the sink has no `rpc` of
     * its own this is all that is given of it. */
    void (*partial)(void *context, const struct rpcrdma_flow_message *message,
                    const struct rpcrdma_rpc_message *rpc);
    /* findings that belong to no message; connection may be NULL */
    void (*finding)(void *context, const struct rpcrdma_connection *connection,
                    const struct rpcrdma_finding *finding);
    /* config.credits: see flow/credit.h. `credits`: results of a connection's directions of RPC (or
     * senders), by end, n 1 or 2. `credit_point`: the state of the one of `end` changed */
    void (*credits)(void *context, const struct rpcrdma_connection *connection,
                    const struct rpcrdma_credit_result *results, size_t n);
    void (*credit_point)(void *context, const struct rpcrdma_connection *connection, int end,
                         const struct rpcrdma_credit_point *point);
    /* a whole RPC message, or what there is of it: once it is, or will not become more */
    void (*rpc)(void *context, const struct rpcrdma_rpc_message *message);
    /* once for every Call: when it is answered, or will not be; and for Replies without Call */
    void (*transaction)(void *context, const struct rpcrdma_transaction *transaction);
    /* the Payload stream of a Call or a Reply, before its `transaction` and without a whole message
     * being kept: what is needed to read arguments and results but for what chunks carry */
    void (*payload_stream)(void *context, const struct rpcrdma_payload_stream *stream);
    /* config.delivery: a `transaction` waits for its Reply to be delivered. Tells what is known
     * when the Reply is there, for views that cannot wait: without delivery, phases and stall, its
     * latency that of the response. `transaction` reports it again, with the findings reported here
     * first */
    void (*answered)(void *context, const struct rpcrdma_transaction *transaction);
    /* config.delivery: a Send, Write, Read request or Read response was sent before, or late */
    void (*repeated)(void *context, const struct rpcrdma_repeated *repeated);
    /* a packet moves bytes of a chunk that is known */
    void (*data_transfer)(void *context, const struct rpcrdma_data_transfer *data_transfer);
    void *context;
    bool replies_only; /* `payload_stream` is given those of Replies alone */
    /* not NULL: `message` and `transaction` are given only what has findings; messages that have
     * none are counted here. It outlives the flow */
    uint64_t *without_findings;
    /* not NULL, and without_findings is: a plain message is given here, in less time, and not to
     * `message`: a Call (is_call) or a Reply of version 1, without chunks, whole in one Send and
     * without findings. Not of every connection, and not in order with the messages of others. It
     * has no effect where the sink has `rpc` or `partial` */
    void (*plain_message)(void *context, const struct rpcrdma_connection *connection,
                          int sender_end, bool is_call);
};

struct rpcrdma_flow_config {
    size_t size;           /* sizeof(struct rpcrdma_flow_config); 0: that of version 1.0 */
    const uint16_t *ports; /* service ports taken as RPC-over-RDMA; NULL: 20049 */
    size_t n_ports;
    const uint32_t *qpns; /* QP numbers taken as RPC-over-RDMA without further evidence */
    size_t n_qpns;
    const uint16_t *tcp_ports; /* TCP ports (iWARP) likewise, of either end */
    size_t n_tcp_ports;
    bool all; /* every connection is taken as RPC-over-RDMA, whatever its set-up or its bytes say */
    const struct rpcrdma_dialect *dialect; /* of version 2 messages; NULL: find out */
    uint64_t max_memory;                   /* bytes; 0: the default */
    bool credits;                          /* keep account of credits */
    /* follow what becomes of each message on its way (flow/delivery.h). A transaction then waits
     * until its Reply is known to be delivered, or for some seconds */
    bool delivery;
    /* `message` need not wait for messages of other connections that are older and held back: its
     * order is the capture's within each connection only */
    bool unordered;
    /* bytes besides max_memory that may be used, less *shared_used, which may change at any time:
     * those of somebody who seldom needs them. NULL: none. It outlives the flow */
    uint64_t shared_memory;
    const uint64_t *shared_used;
    /* a connection that was closed is reported when nothing of it came for so long, by the times of
     * operations and of rpcrdma_flow_time: what comes later is not known for a part of it. 0: when
     * many more have closed, or its QP number or port is used again, or at the end. Of use where
     * the end is far away, as in a live capture */
    uint64_t linger_ns;
    /* RoCE, InfiniBand: whether the packet of an operation just given was damaged on its way, so
     * that its receiver took nothing of it. Asked of some that do not fit in where they stand, in
     * as many bytes as it takes little time to check; where it was, the operation is left out.
     * NULL: that is not known */
    bool (*damaged)(void *context, const struct rpcrdma_op *op);
    void *damaged_context;
};

/* True when the thresholds rest on a default that may not hold, because what `end` announced at
 * set-up, if anything, was not captured (RFC 8797 section 4). */
static inline bool rpcrdma_threshold_assumed(const struct rpcrdma_connection *connection, int end)
{
    return !connection->properties[end].announced && !connection->set_up_seen[end];
}

/* Hangs something of the caller's on a connection that the sink was given: `user` of this one from
 * now on, until its end is reported. The caller frees it then, in `connection`. */
RPCRDMA_API void rpcrdma_connection_set_user(const struct rpcrdma_connection *connection,
                                             void *user);

struct rpcrdma_flow;

/* The caller's, until it calls rpcrdma_flow_free; NULL when memory is short. config may be NULL:
 * defaults. Both are copied, with the ports and QP numbers. */
RPCRDMA_API struct rpcrdma_flow *rpcrdma_flow_new(const struct rpcrdma_flow_config *config,
                                                  const struct rpcrdma_flow_sink *sink);
/* NULL is fine. The sink is given nothing more: rpcrdma_flow_end does that. */
RPCRDMA_API void rpcrdma_flow_free(struct rpcrdma_flow *flow);

/* One operation, in the order of the capture. False when memory is short: nothing more will come.
 */
RPCRDMA_API bool rpcrdma_flow_op(struct rpcrdma_flow *flow, const struct rpcrdma_op *op);

/* What a batch of operations shares with the caller's sink; the memory is the caller's. */
struct rpcrdma_flow_batch {
    uint64_t *frame;  /* set to those of each operation before it is taken: not NULL */
    int64_t *time_ns; /* since 1970 */
    const bool *stop; /* set by the sink to have no operation taken after this one: not NULL */
    /* Memory that the caller reads next, of so many bytes. The processor is asked to fetch it, some
     * with each operation; it is not looked at, and need not be there. NULL: none. */
    const char *prefetch;
    size_t prefetch_bytes;
    /* Set to whether the last one taken was no Send, Write, Ack or response in the usual course of
     * its connection, or rpcrdma_flow_path has more to say of it than how much was sent. None is
     * taken after such a one. NULL: nobody asks. */
    bool *unusual;
};
/* *n operations (not 0), one behind the other; after, *n is how many it took. Those are all unless
 * memory is short, which false says, or *batch->stop was set, or rpcrdma_flow_stop called, or one
 * was `unusual`. */
RPCRDMA_API bool rpcrdma_flow_ops(struct rpcrdma_flow *flow, const struct rpcrdma_op *ops,
                                  size_t *n, const struct rpcrdma_flow_batch *batch);

/*
 * For captures of many connections, where waiting for memory is most of the time: n operations that
 * come soon, of which carrier, addresses and dst_qpn are known, at most RPCRDMA_FLOW_AHEAD of them;
 * `data` is NULL where kind and payload are not known, too.
 * What is known of their connections, and 128 bytes from their `user` on, is brought into the
 * processor's cache; nothing else changes. Not worth it unless rpcrdma_flow_crowded.
 */
enum { RPCRDMA_FLOW_AHEAD = 64 };
RPCRDMA_API void rpcrdma_flow_ahead(struct rpcrdma_flow *flow, const struct rpcrdma_op *ops,
                                    size_t n);
/* Whether there are more connections now than stay in a processor's cache. */
RPCRDMA_API bool rpcrdma_flow_crowded(const struct rpcrdma_flow *flow);

/* The packets given from now on were captured at this place, a number from 1 on; 0, as at first:
 * not known. A packet captured at two places then shows how long it was on the way between them
 * (config.delivery). */
RPCRDMA_API void rpcrdma_flow_tap(struct rpcrdma_flow *flow, uint8_t tap);

/* One segment of TCP, before the operations it completes; of use with config.delivery and
 * config.credits. False as from rpcrdma_flow_op. */
RPCRDMA_API bool rpcrdma_flow_segment(struct rpcrdma_flow *flow,
                                      const struct rpcrdma_tcp_segment *segment);

/* No operation came until now_ns (since the epoch, by the capture's clock): what waits for one that
 * would be late waits no more. Of use in a live capture. */
RPCRDMA_API void rpcrdma_flow_time(struct rpcrdma_flow *flow, int64_t now_ns);

/* The capture is at its end, which is later than its last operation: other packets passed, or its
 * file says so. What an end left without answer until then is told. */
RPCRDMA_API void rpcrdma_flow_until(struct rpcrdma_flow *flow, int64_t end_ns);

/* The connection that an operation just given belongs to, where it was taken as RPC-over-RDMA; else
 * NULL. Valid until the next operation. */
RPCRDMA_API const struct rpcrdma_connection *rpcrdma_flow_connection(struct rpcrdma_flow *flow,
                                                                     const struct rpcrdma_op *op);

/* The same of a message just given that sets up or ends a connection, which the CM sends by a QP of
 * its own; NULL likewise, and where the message came after the end. */
RPCRDMA_API const struct rpcrdma_connection *
rpcrdma_flow_setup_connection(struct rpcrdma_flow *flow, const struct rpcrdma_op *op);

/* Names what the operation is part of: one of its connection's `stream`, before as after the
 * connection is recognised; of a message that sets up or ends one, likewise. 0: nothing is known of
 * it. Valid until the next operation. */
RPCRDMA_API uint64_t rpcrdma_flow_stream(struct rpcrdma_flow *flow, const struct rpcrdma_op *op);

/* What was sent so far in the direction of an operation just given (config.delivery); NULL: nothing
 * is known. Valid until the next operation. */
RPCRDMA_API const struct rpcrdma_path *rpcrdma_flow_path(struct rpcrdma_flow *flow,
                                                         const struct rpcrdma_op *op);

/* Whether it is too early to say that an operation just given belongs to no RPC-over-RDMA: nothing
 * has shown it to, and its connection is young, or waits for what will decide. */
RPCRDMA_API bool rpcrdma_flow_undecided(struct rpcrdma_flow *flow, const struct rpcrdma_op *op);

/* From within the sink: it gets nothing more than each connection's end (`connection`), whatever
 * operations are given. */
RPCRDMA_API void rpcrdma_flow_stop(struct rpcrdma_flow *flow);

/* No more operations: what is held back is given out, every connection reported. False when memory
 * ran out, now or before: then something may not have been given. */
RPCRDMA_API bool rpcrdma_flow_end(struct rpcrdma_flow *flow);

RPCRDMA_END_DECLS

#endif
