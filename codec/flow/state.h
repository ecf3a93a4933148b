/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_STATE_H
#define RPCRDMA_FLOW_STATE_H

/* What flow/ keeps: its bounds, halves, connections, what is held back of them, and the whole. */

#include <string.h>

#include "base/memory.h"
#include "base/table.h"
#include "bound.h"
#include "flow/flow.h"
#include "flow/observe.h"
#include "wire/hot.h"

enum {
    FLOW_CACHE_SIZE = 1024, /* halves found without the table; a power of two */
    /* ahead of a gap, per half */
    FLOW_REORDER_PACKETS = RPCRDMA_BOUND(256, 4),
    FLOW_REORDER_BYTES = RPCRDMA_BOUND(1 << 20, 2048),
    FLOW_REORDER_TOTAL = RPCRDMA_BOUND(16 << 20, 4096), /* all halves */
    /* of a Send, what is put together; RFC 8797 can say 256 KiB */
    FLOW_SEND_MAX = RPCRDMA_BOUND(1 << 20, 2048),
    FLOW_ADMISSION_EVENTS = RPCRDMA_BOUND(512, 6), /* per undecided connection */
    FLOW_ADMISSION_BYTES = RPCRDMA_BOUND(1 << 20, 8192),
    FLOW_READS = RPCRDMA_BOUND(256, 16), /* outstanding Read requests per half */
    FLOW_CALLS = RPCRDMA_BOUND(4096, 4), /* outstanding Calls per connection and direction */
    FLOW_GAPS = 4,                       /* given-up gaps that a late packet may still fill */
    FLOW_RECENT = 8,    /* Sends remembered to tell a duplicate from a QP used again */
    FLOW_FINDINGS = 24, /* per message */
};
#define FLOW_ADMISSION_NS INT64_C(1000000000) /* an undecided connection waits this long */
#define FLOW_CHECK_NS INT64_C(50000000)       /* how often silent connections are looked at */
#define FLOW_REORDER_NS INT64_C(1000000)      /* what capture may reorder */

enum flow_class {
    FLOW_UNCLASSIFIED,
    FLOW_RPCRDMA,
    FLOW_FOREIGN, /* its CM exchange names a service that has no port */
};

/* Why events of a connection are kept back. */
enum {
    FLOW_WAIT_CLASS = 1u << 0,
    FLOW_WAIT_PEER = 1u << 1,
    FLOW_WAIT_ROLE = 1u << 2,
    FLOW_WAIT_DIALECT = 1u << 3,
    FLOW_WAIT_GAP0 = 1u << 4, /* half[0] has packets ahead of a gap */
    FLOW_WAIT_GAP1 = 1u << 5,
};

/* Where packets go: same layout as in the operation, so that one memcmp tells. */
struct flow_path {
    struct rpcrdma_address src, dst;
    uint32_t qpn; /* dst's; iWARP: both ports, src first */
};

struct flow_reordered {
    struct flow_reordered *next;
    int64_t time_ns;
    struct rpcrdma_op op; /* data points to `bytes` */
    size_t size;
    uint8_t bytes[];
};

struct flow_range {
    uint32_t first, count;
};

/* A Send being put together. */
struct flow_assembly {
    bool active, hole; /* hole: what follows `have` is not in the buffer */
    uint8_t *buffer;
    uint32_t size, have; /* of the buffer; captured prefix */
    uint32_t len;        /* on the wire */
    uint32_t msn;        /* iWARP */
    uint32_t first_seq;
    uint64_t first_frame;
    int64_t first_time_ns;
};

/* A receiver: a QP at an address, as one other address sends to it; or a direction of TCP. */
struct flow_direction {
    struct flow_path path;
    uint32_t next;          /* PSN expected */
    struct flow_conn *conn; /* NULL: nothing known */
    uint8_t index;          /* in conn->half */
    uint8_t carrier;
    bool started; /* next is valid */
    bool fresh;   /* no packet yet */
    bool resync;  /* next is a lower bound: an unknown number of PSNs was taken */
    bool foreign;
    bool closed;
    bool has_far;
    uint32_t far_next; /* PSN after that of a packet far from the others */
    bool has_acked;
    bool evident;   /* the gap before the stash is known to be filled for the receiver */
    uint32_t acked; /* highest PSN the receiver acknowledged */
    uint32_t pmtu;  /* bytes; 0: not known */

    /* the Write in progress */
    uint32_t write_psn, write_packets, write_rkey, write_length;
    uint64_t write_address;

    struct flow_reordered *reorder, *reorder_tail;
    const struct flow_reordered *early; /* the first packet of a Send at the stash's end */
    bool busy;                          /* the stash is being emptied */
    uint32_t reorder_count, reorder_bytes;
    uint64_t order;           /* frame to order events by, while a gap fills; 0: the operation's */
    uint32_t evident_packets; /* packets since the gap became evident */
    int64_t evident_ns;

    struct flow_assembly assembly;

    struct flow_read *reads; /* a ring */
    uint32_t reads_size, reads_first, reads_count, reads_id;

    struct flow_range gaps[FLOW_GAPS];
    uint32_t gap_next;
    struct {
        uint32_t psn;
        uint8_t xid[4]; /* as on the wire */
        bool set;
    } recent[FLOW_RECENT];
    uint32_t recent_next;

    uint32_t answers_unpaired; /* answers that named no known request */
    uint64_t guess;            /* the half that one of them seemed to name */
    uint64_t lost;             /* packets */
    uint64_t first_frame, last_frame;
    int64_t first_time_ns, last_time_ns;
    uint64_t hash;                        /* of the path */
    struct flow_direction *chain;         /* next with the same hash */
    struct flow_direction *newer, *older; /* halves without connection, by creation */
    uint32_t handle;                      /* index in flow->handles */
    uint64_t id;                          /* never used again */
};

struct flow_cached {
    struct flow_direction *dir; /* NULL: none */
    uint64_t quick;             /* hash of its path: see direction.c */
};

struct flow_handle {
    struct flow_direction *dir;
    uint32_t next_free; /* handle + 1; 0: none */
};

struct flow_event {
    struct flow_event *next;
    uint64_t order; /* frame */
    struct flow_direction *dir;
    enum { FLOW_EVENT_OP, FLOW_EVENT_SEND, FLOW_EVENT_GAP } kind;
    size_t size;
    union {
        struct rpcrdma_op op;
        struct flow_send send;
        struct {
            uint32_t first, last;
            uint64_t frame;
            int64_t time_ns;
        } gap;
    };
    bool placed; /* op: a Write, with its place */
    uint32_t rkey;
    uint64_t address;
    uint8_t bytes[];
};

/* An outstanding Call. */
struct flow_call {
    struct flow_call *newer, *older;
    const struct flow_conn *conn;
    uint32_t xid;
    uint8_t sender; /* end */
    bool has_rpc;
    uint32_t program, version, procedure, flavor, gss_procedure, gss_service;
    uint64_t frame;
};

/* A version 2 message in several parts. */
struct flow_continuation {
    bool active;
    uint8_t stream;   /* what is continued: see continuation.c */
    uint8_t readings; /* of rdma_remaining that fit so far */
    uint32_t xid, parts;
    uint32_t remaining, last; /* as the last part said; its payload */
    uint64_t bytes;           /* payload so far */
    uint64_t frame;           /* of the first part */
};

struct flow_property {
    enum rpcrdma_property_kind kind;
    uint32_t value;
};

/* What one end asked the other to change. */
enum { FLOW_WANTED = 8 };
struct flow_wanted {
    bool set;
    uint32_t xid, count;
    bool known[FLOW_WANTED];
    struct flow_property property[FLOW_WANTED];
};

struct flow_conn {
    struct rpcrdma_connection pub; /* end[i] receives half[i] */
    uint64_t closed_frame;         /* where pub.closed */
    int64_t closed_time_ns;
    uint64_t id; /* never used again */
    struct flow_conn *newer, *older;
    struct {
        uint64_t frame; /* not after pub.last_frame */
        struct flow_conn *child, *next, *previous;
    } lru; /* in flow->idle: see lru.c */
    struct flow_direction *dir[2];
    enum flow_class class;
    bool opened;  /* observers know it */
    bool gave_up; /* nothing is held for it any more */
    uint64_t counted_key;
    bool counted;   /* in flow->unpaired */
    bool half_open; /* in flow->half_open */
    bool ambiguous; /* likewise, and not the only one */
    bool by_cm;     /* its set-up was seen: the REQ, MPA's Request */
    bool accepted;  /* and the answer to it */
    bool has_comm_id[2];
    uint32_t comm_id[2];   /* by end; end 0 opened */
    bool registered;       /* in flow->cm, under end 0's address, end 1's and comm_id[0] */
    uint32_t start_psn[2]; /* of the stream towards each end, from the CM exchange */
    bool has_start_psn[2];
    uint32_t path_mtu; /* of the REQ; 0: not known */
    bool fin[2];       /* iWARP: the stream towards this end was closed */

    uint32_t waiting; /* FLOW_WAIT_ */
    struct flow_event *admission, *admission_tail;
    uint32_t admission_count;
    size_t admission_bytes;
    int64_t admission_since_ns;
    bool holding; /* in flow->holding: hold is not empty */
    struct flow_conn *next_holding, *previous_holding;
    int64_t checked_ns;
    uint64_t last_given; /* frame of the latest message given to the sink */
    bool draining;
    bool finishing; /* is being told for the last time: nothing can be merged with it any more */

    struct flow_call *newest_call[2], *oldest_call[2]; /* by sending end */
    uint32_t calls[2];

    struct flow_continuation continuation[2]; /* by sending end */
    bool final_properties[2];                 /* it sent CONNPROP_FINAL */
    struct flow_wanted wanted[2];
    uint32_t announced[2]; /* properties that are not the default: see properties.c */
    bool has_last_xid[2];
    uint32_t last_xid[2];
    uint32_t chosen_after; /* messages looked at after the dialect was settled */
    bool server_called, client_called;
    uint64_t set_up_frame[2]; /* where pub.has_private_data */
    bool refused;        /* an ERR_VERS came, and no message since that follows it */
    uint32_t offered[2]; /* its range */

    struct flow_conn *next_closed, *previous_closed;
    void *attached[FLOW_OBSERVERS];
};

/* A bounded table for inference: entries are overwritten, never searched for. */
struct flow_awaiting {
    uint64_t key;
    uint64_t id; /* of the half */
    uint32_t handle;
    uint32_t kind; /* FLOW_AWAIT_ */
    int64_t time_ns;
};

struct track;

struct flow {
    struct rpcrdma_flow_sink sink;
    struct track *track; /* whole RPCs; NULL where the sink wants none */
    uint16_t *ports;
    uint32_t *qpns;
    uint16_t *tcp_ports;
    size_t n_ports, n_qpns, n_tcp_ports;
    bool all;
    const struct rpcrdma_dialect *dialect;
    struct flow_memory memory;

    struct flow_observer *observers[FLOW_OBSERVERS];
    int n_observers;
    struct flow_credits *credits; /* NULL: not asked for */
    bool unordered;               /* messages need not wait for other connections' */
    bool ending;                  /* no more operations */

    struct flow_cached cache[FLOW_CACHE_SIZE];
    struct flow_table directions; /* path hash -> chain of halves */
    struct flow_handle *handles;
    uint32_t n_handles, handles_size, free_handle; /* free_handle: handle + 1; 0: none */
    struct flow_direction *newest_direction, *oldest_direction;
    uint32_t unowned; /* halves without connection */

    struct flow_table cm;       /* (opener, acceptor, opener's comm id) -> connection */
    struct flow_table unpaired; /* (addresses) -> claimed halves without peer, a count */
    struct flow_table
        half_open;           /* (opener, acceptor) -> connection of which one end's QP is known */
    struct flow_table calls; /* (connection, sender, XID) -> outstanding Call */
    struct flow_call *spare_calls;
    uint32_t n_spare_calls;
    struct flow_awaiting *awaiting;

    struct flow_conn *newest, *oldest;
    struct flow_conn *lru; /* a heap: the one that was silent longest on top */
    struct flow_conn *closed_newest, *closed_oldest;
    uint64_t ids;
    uint32_t numbers;
    uint32_t n_conns, n_closed;
    struct flow_conn *holding;
    int64_t next_check_ns;                  /* of those */
    struct flow_queued *queue, *queue_tail; /* messages on their way to the sink, by frame */
    size_t queue_count, queue_bytes;
    size_t reorder_bytes;
    bool said_limit;
    bool from_reorder; /* the packet in hand waited: it had its early word, if it was to have one */

    uint64_t frame; /* of the operation in hand */
    int64_t time_ns;
};

struct rpcrdma_flow {
    struct flow flow;
};

struct flow_findings {
    struct rpcrdma_finding at[FLOW_FINDINGS];
    size_t count;
};

#endif
