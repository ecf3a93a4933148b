/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_STREAM_STREAM_H
#define RPCRDMA_FLOW_STREAM_STREAM_H

/*
 * The stage of streams: what is sent towards one receiver, a QP at an address as one other address
 * sends to it, or one direction of a TCP connection.
 *
 * In go requests (Sends, Writes, Read requests, Atomics) as they were captured. Out come events in
 * the order of the transport: every request once, whatever was retransmitted, duplicated or
 * reordered; Sends put together; Writes with their place; gaps that are given up. A packet ahead of
 * a gap waits in the reorder queue.
 *
 *     event = flow_stream_op(streams, direction, op, &events);
 *     for (; event; event = event->final ? NULL : flow_stream_next(streams, direction, &events))
 *         ...
 *
 * An event is in the caller's `events` and is valid until the next call with those: other streams
 * may be asked meanwhile, with others. The stage knows nothing of what is above it: `conn`, `index`
 * and the flags so marked are set from there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bound.h"
#include "finding.h"
#include "flow/context/context.h"
#include "op.h"

enum {
    FLOW_REORDER_PACKETS = RPCRDMA_BOUND(256, 4), /* ahead of a gap, per direction */
    FLOW_REORDER_BYTES = RPCRDMA_BOUND(1 << 20, 2048),
    FLOW_REORDER_TOTAL = RPCRDMA_BOUND(16 << 20, 4096), /* all directions */
    /* of a Send, what is put together; RFC 8797 can say 256 KiB */
    FLOW_SEND_MAX = RPCRDMA_BOUND(1 << 20, 2048),
    FLOW_READS = RPCRDMA_BOUND(256, 16), /* outstanding Read requests per direction */
};

/* Where packets go: same layout as in the operation, so that one memcmp compares them. */
struct flow_path {
    struct rpcrdma_address src, dst;
    uint32_t qpn; /* dst's; iWARP: both ports, src first */
};

struct flow_conn;

/* A direction that an answer seemed to name, after many that named none; and that answer, where it
 * is an Ack, which says what had arrived then. */
struct flow_guess {
    uint64_t id;
    uint64_t frame; /* 0: it is no Ack */
    int64_t ns;
    uint32_t seq;
};

/* What each packet looks at comes first: of many connections it is not in the processor's cache. */
struct flow_direction {
    struct flow_path path;
    uint8_t carrier;

    /* set by the stage of connections */
    uint8_t index;          /* which end of conn receives it */
    bool foreign;           /* another protocol's: nothing of it is of interest */
    bool classified;        /* RPC-over-RDMA: every Send is worth putting together */
    bool paired;            /* its opposite is known; until then every request is reported */
    bool closed;            /* disconnected */
    bool ends_silence;      /* its sender has not answered what was sent to it again */
    bool repeated;          /* something was there before: repeated_seq, repeated_ns are set */
    struct flow_conn *conn; /* NULL: nothing known; then nothing waits in the reorder queue */

    uint64_t last_frame; /* of what was sent to it and was of interest; 0: nothing yet */

    struct flow_delivery *delivery; /* the pump's: of what is sent to it; NULL: not followed */
    uint64_t id;                    /* never used again */
    uint32_t handle; /* gives the direction, or NULL once it is gone: flow_direction_of */
    uint32_t pmtu;   /* bytes; 0: not known */
    uint64_t lost;   /* packets that were given up, or cut before what says what they do */
    uint64_t first_frame;
    int64_t first_time_ns;
    int64_t repeated_ns;   /* of what was there before: when it last was, */
    uint32_t repeated_seq; /* and its highest PSN */

    /* set by the stage of connections */
    uint32_t responses_unpaired; /* that named no known request */
    struct flow_guess *guess;    /* what one of them seemed to name; NULL: nothing. Owned */
};

/* A whole Send, put together; or the part of it that was captured (caplen < len). */
struct flow_send {
    const uint8_t *data;
    uint32_t caplen, len;
    uint64_t frame, first_frame; /* of the packet that completed it, and of its first */
    int64_t time_ns, first_time_ns;
    uint32_t first_seq, last_seq;      /* PSN; iWARP: both the MSN */
    uint32_t stream_first, stream_end; /* iWARP: in the TCP stream; see op.h */
    bool has_invalidate;
    uint32_t invalidate;
};

/* One packet of an RDMA Write, its place worked out (the wire says it in the first packet only). */
struct flow_write {
    bool placed; /* false: its first packet was lost: rkey, address unknown */
    uint32_t rkey;
    uint64_t address; /* of this packet's payload */
};

/* PSNs [first, last] (iWARP: 0, 0) that were not captured and are given up; a whole Send or a Write
 * of them may still come late. */
struct flow_gap {
    uint32_t first, last;
    bool unseen; /* iWARP: nothing that its sender sent was captured so far */
    bool cut; /* iWARP: the packet is there, and was cut before what says which message it is of */
    uint64_t frame; /* when it showed */
    int64_t time_ns;
};

enum flow_stream_event_kind {
    FLOW_STREAM_PACKET, /* a request that completes nothing: only while the opposite is not known */
    FLOW_STREAM_SEND,
    FLOW_STREAM_WRITE,
    FLOW_STREAM_OP, /* any other operation */
    FLOW_STREAM_GAP,
    FLOW_STREAM_WAITS,   /* the reorder queue was empty and is not any more */
    FLOW_STREAM_RESUMES, /* it is empty again */
    FLOW_STREAM_PREVIEW, /* `send` is whole in the reorder queue: it will come in order, too */
    FLOW_STREAM_FINDING,
    FLOW_STREAM_RENEWED, /* the QP number belongs to another connection now: all that was known
                          * ends, and the operation, which was not taken, is the first of something
                          * new */
};

struct flow_stream_event {
    enum flow_stream_event_kind kind;
    bool taken;  /* a request in the order of PSNs: `seq` awaits its answer */
    bool waited; /* from the reorder queue */
    bool final;  /* flow_stream_next has nothing more */
    uint32_t seq;
    uint64_t order;              /* frame by which to order it among the connection's */
    const struct rpcrdma_op *op; /* OP, WRITE (with the payload) */
    union {
        struct flow_send send; /* SEND, PREVIEW */
        struct flow_write write;
        struct flow_gap gap;
        struct rpcrdma_finding finding;
    };
};

/* What one step makes: a packet in order, a gap. */
enum { FLOW_STREAM_EVENTS = 8 };
struct flow_stream_events {
    uint32_t count, emitted;
    struct flow_stream_event at[FLOW_STREAM_EVENTS];
};

/* An RDMA Read request and how far it got. */
struct flow_read {
    uint32_t id;        /* counts the Read requests of the direction from 1 */
    uint32_t seq;       /* PSN; iWARP: MSN */
    uint32_t packets;   /* PSNs it takes; 0: not known (path MTU unknown, or cut). iWARP: 1 */
    uint32_t rkey;      /* of the source: a segment's handle */
    uint64_t address;   /* of the source: within a segment's offset and length */
    uint32_t length;    /* bytes wanted */
    uint32_t sink_stag; /* iWARP */
    uint64_t sink_offset;
    uint64_t frame;
    int64_t time_ns;
    int64_t arrived_ns; /* captured at two places: at the second; 0: not there */
    bool unknown;       /* what it asks for was not captured: no response is known to be its */
    bool answered;      /* its last response was seen, or it is not known */
};

struct flow_streams;

/* What the user selected as RPC-over-RDMA, whatever its bytes say. Copied. */
struct flow_selection {
    const uint32_t *qpns;
    size_t n_qpns;
    const uint16_t *tcp_ports; /* iWARP, of either end */
    size_t n_tcp_ports;
    bool all;
};

/* NULL when memory is short. `context` is borrowed. */
struct flow_streams *flow_streams_new(struct flow_context *context,
                                      const struct flow_selection *selection);
/* All directions must be gone. NULL is fine. */
void flow_streams_free(struct flow_streams *streams);

bool flow_qpn_selected(const struct flow_streams *streams, uint32_t qpn);
bool flow_ports_selected(const struct flow_streams *streams, uint16_t a, uint16_t b);
bool flow_direction_selected(const struct flow_direction *dir);

/*
 * Directions, by path. _find and _get make one where there is none; NULL: the memory limit is
 * reached, and something must go first. _seen and _lookup make none; _cached is NULL also where
 * there is one that was not asked for of late.
 */
struct flow_cached {
    struct flow_direction *dir; /* NULL: none */
    uint64_t quick;             /* hash of its path: see direction.c */
    uint64_t note; /* the pump's (quick.c), 0 at first; it may go with the rest at any time */
};
struct flow_path flow_path_of(const struct rpcrdma_op *op);
struct flow_direction *flow_direction_find(struct flow_streams *streams,
                                           const struct rpcrdma_op *op);
struct flow_cached *flow_direction_cached(struct flow_streams *streams,
                                          const struct rpcrdma_op *op);
/* Brings the directions of n operations (see rpcrdma_flow_ahead) into the cache; those that are
 * known go to `out`, and the first operation of each to `of`; both have room for n. Returns how
 * many: each once, where its operations follow each other. */
size_t flow_directions_ahead(struct flow_streams *streams, const struct rpcrdma_op *ops, size_t n,
                             struct flow_direction **out, const struct rpcrdma_op **of);
/* Asks for the memory of a direction that soon ends; then for that of its place in the table. */
void flow_direction_fetch(const struct flow_direction *dir);
void flow_direction_fetch_place(const struct flow_streams *streams,
                                const struct flow_direction *dir);
/* About how many there are. */
size_t flow_directions_count(const struct flow_streams *streams);
/* PSNs that a Read request takes; 0: not known. */
uint32_t flow_read_packets(const struct flow_direction *dir, const struct rpcrdma_op *op);
/* The direction of an operation; NULL: it is none that is known. The first of these is for each
 * operation, the other for few. */
struct flow_direction *flow_direction_known(struct flow_streams *streams,
                                            const struct rpcrdma_op *op);
struct flow_direction *flow_direction_seen(struct flow_streams *streams,
                                           const struct rpcrdma_op *op);
struct flow_direction *flow_direction_get(struct flow_streams *streams,
                                          const struct flow_path *path, uint8_t carrier);
struct flow_direction *flow_direction_lookup(struct flow_streams *streams,
                                             const struct flow_path *path);
/* A handle outlives its direction, so that bounded tables need not be cleaned: with the id it then
 * gives NULL. */
struct flow_direction *flow_direction_of(const struct flow_streams *streams, uint32_t handle,
                                         uint64_t id);
/* Belongs to `conn` from now on, and is no longer among those that may go when memory is short. */
void flow_direction_own(struct flow_streams *streams, struct flow_direction *dir,
                        struct flow_conn *conn, int index);
void flow_direction_free(struct flow_streams *streams, struct flow_direction *dir);
/* The oldest that belongs to no connection, but for the `spare` youngest; or NULL. */
struct flow_direction *flow_direction_unowned(const struct flow_streams *streams, uint32_t spare);
/* Is the youngest of those now. */
void flow_direction_refresh(struct flow_streams *streams, struct flow_direction *dir);

/* A request towards the direction, and the first event of it; NULL: there is none. The request is
 * borrowed until the final event was returned, or NULL, or RENEWED. `events` need not be cleared.
 */
const struct flow_stream_event *flow_stream_op(struct flow_streams *streams,
                                               struct flow_direction *dir,
                                               const struct rpcrdma_op *op,
                                               struct flow_stream_events *events);
/* Of RoCE or InfiniBand: it has begun, nothing waits in it, and no Send is begun. Then the next
 * request in order, where it is a Send of one packet, is taken so: *send is what flow_stream_op
 * would give of it. False: it is not that, and was not taken. */
bool flow_stream_quiet(const struct flow_direction *dir);
bool flow_stream_whole_send(struct flow_direction *dir, const struct rpcrdma_op *op,
                            struct flow_send *send);
/* Likewise, where it is a packet of a Write; _pass_: nobody wants to know where it goes. */
bool flow_stream_next_write(struct flow_streams *streams, struct flow_direction *dir,
                            const struct rpcrdma_op *op, struct flow_write *write);
bool flow_stream_pass_write(struct flow_streams *streams, struct flow_direction *dir,
                            const struct rpcrdma_op *op);
/* `op` comes next: what is between it and `latest` are packets of the same Write, in order. False:
 * `latest` was not the latest in order; nothing was done. */
bool flow_stream_pass_to(struct flow_direction *dir, const struct rpcrdma_op *latest,
                         const struct rpcrdma_op *op);
/* The request is of another connection under the same QP number, or astray: by its PSN, or because
 * another Send stood there. To be asked before it is given. */
bool flow_stream_is_other(const struct flow_direction *dir, const struct rpcrdma_op *op);
/* fits.c: it is the request that is expected there, of RoCE or InfiniBand; or an answer to what was
 * sent: it is neither of what was not sent, nor of what was answered long ago. To be asked before
 * it is given. */
bool flow_stream_fits(const struct flow_direction *dir, const struct rpcrdma_op *op);
bool flow_stream_answer_fits(const struct flow_direction *asked, const struct rpcrdma_op *op);
/* Without a request before, `events` are cleared. */
const struct flow_stream_event *flow_stream_next(struct flow_streams *streams,
                                                 struct flow_direction *dir,
                                                 struct flow_stream_events *events);
/* Gaps that are known not to be filled will be given up; `all`: every one. flow_stream_next returns
 * them.
 */
void flow_stream_review(struct flow_direction *dir, bool all);
/* The receiver acknowledged requests up to this PSN; `newest`: and nothing behind it, as an Ack
 * says, but no response, which may be of what is asked for again. False: where they begin is not
 * known. */
bool flow_stream_acknowledged(struct flow_streams *streams, struct flow_direction *dir,
                              uint32_t psn, bool newest);
/* The receiver says that it has received one message: where requests were captured, the first of
 * them was. */
void flow_stream_first_acknowledged(struct flow_direction *dir);
bool flow_stream_from_first(const struct flow_direction *dir);
/* The end that sends these requests wrote to the other one's memory, or read it. */
bool flow_stream_moves_data(const struct flow_direction *dir);
/* Where the connection was captured from its beginning, and not so far as to know where requests
 * begin: the receiver acknowledged some, which begin with this one, or before, and are missing
 * unless they come yet. */
void flow_stream_presume(struct flow_direction *dir, uint32_t first, uint32_t acked);
/* The receiver acknowledged what was not seen, or not yet. */
bool flow_stream_missing(const struct flow_direction *dir);
/* None was taken yet, and the set-up says, or an Ack, that they begin with this PSN, where `first`
 * was captured first. */
bool flow_stream_begins(const struct flow_direction *dir, uint32_t first, uint32_t *psn);
/* Some stand a few packets behind later ones: so may what is sent to the other end. */
bool flow_stream_disorder(const struct flow_direction *dir);
/* Requests were taken, and the next one in order has this PSN. */
bool flow_stream_expects(const struct flow_direction *dir, uint32_t *psn);
/* The set-up shows the PSN of the first request. */
void flow_stream_start(struct flow_direction *dir, uint32_t psn);
/* Packets are in the reorder queue: the frame and the time of the first one. False: none are. */
bool flow_stream_waits(const struct flow_direction *dir, uint64_t *frame, int64_t *time_ns);

/* A Read request in order, kept to know its responses. NULL: no memory. */
struct flow_read *flow_read_add(struct flow_streams *streams, struct flow_direction *dir,
                                const struct rpcrdma_op *op);
/* The Read request that the response answers, and where its payload goes; NULL: none known. */
struct flow_read *flow_read_find(struct flow_direction *dir, const struct rpcrdma_op *op,
                                 uint64_t *offset);
/* Whether both answer the same one, and so what is between their PSNs does. */
bool flow_read_has_both(struct flow_direction *dir, const struct rpcrdma_op *op,
                        const struct rpcrdma_op *later);
/* Where that is NULL: the Read request beyond whose end the response goes, and up to which byte of
 * what was read; NULL: none is known to. */
const struct flow_read *flow_read_exceeded(struct flow_direction *dir, const struct rpcrdma_op *op,
                                           uint64_t *end);
/* How many Read requests of the direction are kept: their ids modulo this are distinct. */
uint32_t flow_read_capacity(const struct flow_direction *dir);

#endif
