/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_STREAM_STREAM_STATE_H
#define RPCRDMA_FLOW_STREAM_STREAM_STATE_H

/*
 * What the stage of streams keeps; for the files of this folder only.
 *
 *   direction.c      directions, by hash
 *   selection.c      what the user selected
 *   window.c         requests in the order of PSNs: duplicates, reordering, gaps
 *   begin.c          where requests begin
 *   fits.c           whether a packet is what is expected
 *   gaps.c           gaps that were given up, which a late packet may fill
 *   renewal.c        QP numbers that another connection uses again
 *   reorder.c        the reorder queue
 *   send_assembly.c  Sends of several packets
 *   write.c          where the packets of Writes go
 *   preview.c        Sends that are whole in the reorder queue
 *   acknowledge.c    what Acks, Naks and responses prove to have arrived
 *   read_request.c   Read requests and their responses
 */

#include <string.h>
#include <sys/queue.h>

#include "base/siphash.h"
#include "base/table.h"
#include "flow/stream/stream.h"
#include "wire/hot.h"

enum {
    STREAM_CACHE = 1024, /* directions found without the table; a power of two */
    STREAM_GAPS = 4,
    STREAM_OTHER_QP = 1 << 20, /* PSNs further apart are another connection, not a gap */
    STREAM_LONG_AGO = 1 << 16, /* and so are PSNs this far behind */
    STREAM_RECENT = 8, /* Sends remembered to distinguish a duplicate from a QP number used again */
    STREAM_LEAST_MTU = 256,
};

struct stream_reordered {
    TAILQ_ENTRY(stream_reordered) next;
    int64_t time_ns;
    struct rpcrdma_op op; /* data points to `bytes` */
    size_t size;
    uint8_t bytes[];
};

TAILQ_HEAD(stream_reorder, stream_reordered);

/* Of a direction in which packets ever waited behind a gap. */
struct stream_queue {
    struct stream_reorder packets;          /* by PSN */
    const struct stream_reordered *preview; /* the first packet of a Send at its end */
    struct stream_reordered *lent;          /* an event of the step in hand is of this packet */
    uint64_t order;           /* frame to order events by, while a gap fills; 0: its own */
    uint32_t count, bytes;    /* of the packets, and of one that is lent */
    int64_t evident_ns;       /* when the gap before it became evident, */
    uint32_t evident_packets; /* and the packets since */
    bool disorder;            /* a gap was filled by one of the next packets */
};

struct stream_range {
    uint32_t first, count;
};

/* Given-up gaps that a late packet may still fill. Of more than STREAM_GAPS the oldest is
 * forgotten: what comes of it later counts as retransmitted, as its loss was reported. */
struct stream_gaps {
    struct stream_range range[STREAM_GAPS];
    uint32_t next;
    struct stream_range skipped; /* the latest that a Read of unknown length may have taken */
};

/* A Send being put together. */
struct stream_assembly {
    bool active, hole; /* hole: what follows `have` is not in the buffer */
    uint8_t *buffer;
    uint32_t size, have; /* of the buffer; captured prefix */
    uint32_t len;        /* on the wire */
    uint32_t msn;        /* iWARP */
    uint32_t first_seq, stream_first;
    uint64_t first_frame;
    int64_t first_time_ns;
};

/* The Write in progress. */
struct stream_write {
    uint32_t psn, packets, rkey;
    uint64_t address;
};

/* Of a direction that has messages of several packets. */
struct stream_parts {
    struct stream_assembly assembly;
    struct stream_write write;
};

/* Read requests: a ring. */
struct stream_reads {
    uint32_t size, first, count; /* size: a power of two */
    struct flow_read at[];
};

enum stream_review { STREAM_REVIEW_NONE, STREAM_REVIEW_TIME, STREAM_REVIEW_ALL };

struct stream {
    struct flow_direction pub; /* first */
    uint32_t next;             /* PSN expected */
    bool started;              /* next is valid */
    bool fresh;                /* no packet yet */
    bool presumed : 1;         /* likewise, and `next` is what an Ack named: flow_stream_presume */
    bool from_first : 1;       /* the first message of all was captured, as an Ack of it says */
    bool moves_data : 1;       /* there was an RDMA Write, or a Read request */
    bool selected : 1;         /* by the user */
    bool has_far : 1;
    bool evident : 1; /* the gap before the reorder queue is known to be filled for the receiver */
    bool filling : 1; /* of the step in hand: what the gap held up is being taken */
    bool resync;      /* next is a lower bound: an unknown number of PSNs was taken */
    bool has_acked;
    uint8_t review;                  /* of the step in hand: enum stream_review */
    uint8_t recent_next, recent_set; /* bit by bit: that one is of a Send */
    uint32_t far_next;               /* PSN after that of a packet far from the others */
    uint32_t acked;                  /* highest PSN the receiver acknowledged */
    uint32_t longest_read;           /* bytes */

    /* the step in hand */
    uint32_t buffer_size;
    uint32_t read_id;                 /* of the latest Read request */
    const struct rpcrdma_op *in_hand; /* given, not yet taken */
    uint8_t *buffer;                  /* an event is of this, or of queue->lent */

    struct stream_queue *queue; /* NULL: nothing waited yet. Owned */
    struct stream_parts *parts; /* NULL: there are none. Owned */
    struct {
        uint32_t psn;
        uint8_t xid[4]; /* as on the wire */
    } recent[STREAM_RECENT];

    struct stream_reads *reads; /* NULL: there were none. Owned */
    struct stream_gaps *gaps;   /* NULL: there was none. Owned */

    uint64_t hash;               /* of the path */
    struct stream *chain;        /* next with the same hash */
    TAILQ_ENTRY(stream) unowned; /* where there is no connection */
};
#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(struct stream) <= 312, "each connection has two");
#endif

struct stream_handle {
    struct stream *stream;
    uint32_t next_free; /* handle + 1; 0: none */
};

struct flow_streams {
    struct flow_context *context;
    uint32_t *qpns;
    uint16_t *tcp_ports;
    size_t n_qpns, n_tcp_ports;
    bool all;

    struct siphash_key key; /* of the path hash */
    bool hashed;            /* which was last made of this one, in a set-up */
    struct flow_path hashed_path;
    uint64_t hashed_hash;
    struct flow_cached cache[STREAM_CACHE];
    struct flow_table table; /* path hash -> chain of directions */
    struct stream_handle *handles;
    uint32_t n_handles, handles_size, free_handle; /* free_handle: handle + 1; 0: none */
    TAILQ_HEAD(, stream) unowned;                  /* without connection, the oldest first */
    uint32_t n_unowned;
    size_t reorder_bytes;

    struct flow_stream_events *events; /* of the step in hand: the caller's */
};

static inline struct stream *stream_of(struct flow_direction *dir)
{
    return (struct stream *)dir;
}

static inline const struct stream *stream_of_const(const struct flow_direction *dir)
{
    return (const struct stream *)dir;
}

/* Appends an event; the caller fills it. */
static inline bool stream_lends(const struct stream *s)
{
    return s->queue && s->queue->lent;
}

/* See stream_queue.order. */
static inline void stream_order_own(struct stream *s)
{
    if (RPCRDMA_SELDOM(s->queue != NULL))
        s->queue->order = 0;
}

static inline struct flow_stream_event *
stream_event(struct flow_streams *streams, const struct stream *s, enum flow_stream_event_kind kind)
{
    struct flow_stream_events *events = streams->events;
    struct flow_stream_event *event = &events->at[events->count++]; /* of FLOW_STREAM_EVENTS */

    event->kind = kind;
    event->taken = false;
    event->waited = stream_lends(s);
    event->order = s->queue && s->queue->order ? s->queue->order : streams->context->frame;
    event->op = NULL;
    return event;
}

/* gaps.c */
/* So many packets are missing. The place of one gap is not taken for it: `kept`, or NULL. */
void stream_gap_add(struct flow_streams *streams, struct stream *s, uint32_t first, uint32_t count,
                    const struct stream_range *kept);
/* Takes `psn` out of the gaps that were given up. False: it is in none. */
bool stream_gap_take(struct flow_streams *streams, struct stream *s, uint32_t psn);
/* Those before `psn` are expected no more, as a Read may have taken them. */
void stream_skip(struct flow_streams *streams, struct stream *s, uint32_t psn);
/* It took them but for `psn`, which is that of a Send or a Write. False: it is none of them. */
bool stream_skipped_take(struct stream *s, uint32_t psn);
/* `next` lies in the other half of all PSNs: what is known of those goes before they are used
 * again. */
void stream_turn(struct stream *s, uint32_t next);
/* What is expected now. */
static inline void stream_expect(struct stream *s, uint32_t next)
{
    enum { HALF = 1 << 23 };

    if (RPCRDMA_SELDOM((s->next ^ next) & HALF))
        stream_turn(s, next);
    s->next = next;
}

/* A packet that is not the last of its message is one path MTU long (IBTA volume 1 section 9.7.4),
 * which is a power of two. One of another length is damaged, or of a faulty sender: it says nothing
 * of others. */
static inline void stream_show_mtu(struct stream *s, const struct rpcrdma_op *op)
{
    if (!(op->flags & RPCRDMA_OP_LAST) && op->len != s->pub.pmtu && op->len >= STREAM_LEAST_MTU &&
        (op->len & (op->len - 1)) == 0)
        s->pub.pmtu = op->len;
}

/* window.c */
void stream_finding(struct flow_streams *streams, const struct stream *s, enum rpcrdma_rule_id rule,
                    uint64_t arg0, uint64_t arg1);
/* How many packets carry so many bytes; 0: the path's MTU is not known. */
uint32_t stream_packets(const struct stream *s, uint32_t length);

/* begin.c: where requests begin, of which `first` was captured first. */
uint32_t stream_presumed(const struct stream *s, uint32_t first);

/* renewal.c */
/* A Send stands where another one stood, of a connection that ended: it is not retransmitted. */
bool stream_differs(const struct stream *s, const struct rpcrdma_op *op);
/* The QP number belongs to another connection now. */
void stream_renewed(struct flow_streams *streams, struct stream *s);
/* The packet in hand is far from all that is expected, and not the first of its message. */
void stream_far_off(struct flow_streams *streams, struct stream *s, const struct rpcrdma_op *op);

/* Neither a step is left to do, nor anything to take back. */
static inline bool stream_is_done(const struct stream *s)
{
    return !s->in_hand && !s->filling && s->review == STREAM_REVIEW_NONE && !s->buffer &&
           !stream_lends(s);
}

/* reorder.c */
/* The first packet that waits behind a gap; NULL: none does. */
static inline struct stream_reordered *stream_first_waiting(const struct stream *s)
{
    return RPCRDMA_SELDOM(s->queue != NULL) ? TAILQ_FIRST(&s->queue->packets) : NULL;
}
/* The gap before the reorder queue became evident with this packet: an Ack, or of the queue. */
void stream_gap_evident(const struct flow_streams *streams, struct stream *s);
/* Room for one more packet of so many bytes. */
bool stream_reorder_full(const struct flow_streams *streams, const struct stream *s,
                         uint32_t bytes);
/* Keeps a packet until what is before it has come. False: no memory. */
bool stream_reorder_add(struct flow_streams *streams, struct stream *s,
                        const struct rpcrdma_op *op);
/* Takes the first one out of the queue, which there is; it is there until it is taken back. */
const struct stream_reordered *stream_reorder_lend(struct stream *s);
void stream_reorder_take_back(struct flow_streams *streams, struct stream *s);
void stream_reorder_free(struct flow_streams *streams, struct stream *s);

/* send_assembly.c */
/* NULL: no memory, which ends the run. */
struct stream_parts *stream_parts(struct flow_streams *streams, struct stream *s);
static inline bool stream_is_assembling(const struct stream *s)
{
    return s->parts && s->parts->assembly.active;
}
void stream_assemble(struct flow_streams *streams, struct stream *s, const struct rpcrdma_op *op);
/* Packets are missing; `goes_on`: what follows them is not the start of a Send. */
void stream_assemble_gap(struct flow_streams *streams, struct stream *s, uint32_t packets,
                         bool goes_on);
/* Nothing is said of a Send that was begun. */
void stream_assemble_forget(struct flow_streams *streams, struct stream *s);
void stream_assemble_free(struct flow_streams *streams, struct stream *s);
/* Its PSN and XID, to distinguish it when something comes under that PSN again. */
static inline void stream_remember(struct stream *s, const struct rpcrdma_op *op)
{
    uint32_t i = s->recent_next++ % STREAM_RECENT;

    s->recent[i].psn = op->seq;
    if (op->caplen >= 4) {
        s->recent_set |= (uint8_t)(1U << i);
        memcpy(s->recent[i].xid, op->data, 4);
    } else {
        s->recent_set &= (uint8_t) ~(1U << i);
    }
}

/* A Send of one packet. */
static inline struct flow_send stream_send_of(const struct rpcrdma_op *op)
{
    return (struct flow_send){.data = op->data,
                              .caplen = op->caplen,
                              .len = op->len,
                              .frame = op->frame,
                              .first_frame = op->frame,
                              .time_ns = op->time_ns,
                              .first_time_ns = op->time_ns,
                              .first_seq = op->seq,
                              .last_seq = op->seq,
                              .stream_first = op->stream_first,
                              .stream_end = op->stream_end,
                              .has_invalidate = (op->flags & RPCRDMA_OP_INVALIDATE) != 0,
                              .invalidate = op->invalidate};
}

/* write.c: of the expected packet, or one that fills a gap late. */
struct flow_write stream_place_write(struct flow_streams *streams, struct stream *s,
                                     const struct rpcrdma_op *op);

/* preview.c. A packet was put into the reorder queue; `follows`: at its end, and the packet there
 * had the PSN before. */
void stream_preview(struct flow_streams *streams, struct stream *s,
                    const struct stream_reordered *packet, bool follows);

/* read_request.c */
void stream_reads_free(struct flow_streams *streams, struct stream *s);

#endif
