/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CONN_CONN_H
#define RPCRDMA_FLOW_CONN_CONN_H

/*
 * The stage of connections: which two directions are one, who opened it, whether it is
 * RPC-over-RDMA at all.
 *
 * In go the messages that set connections up and end them, and the events of streams. While a
 * connection is undecided its events wait in its admission queue: as long as it has a reason to
 * wait. The pump gives an event to flow_conn_event, then to the stage of messages, which may have a
 * reason of its own, and then either delivers it or has it kept; and it delivers what the queue
 * lets go.
 *
 * Nothing is freed here but by flow_conn_free, which only the pump calls. A connection whose time
 * is over is handed to it by flow_conn_overdue.
 */

#include <sys/queue.h>

#include "flow/stream/stream.h"
#include "wire/property.h"

struct flow_conn;
struct flow_conns;

/* Stages above that keep something per connection. */
enum flow_stage_slot { FLOW_SLOT_RPC, FLOW_SLOT_CREDIT, FLOW_SLOTS };

struct flow_conns_config {
    const uint16_t *ports; /* service ports taken as RPC-over-RDMA. Copied */
    size_t n_ports;
    const struct rpcrdma_dialect *dialect; /* of version 2 messages; NULL: not known */
    bool messages_only;                    /* nobody wants operations that are no Sends */
    size_t above;                          /* bytes of each connection for the stage of messages */
};

/* NULL when memory is short. context and streams are borrowed. */
struct flow_conns *flow_conns_new(struct flow_context *context, struct flow_streams *streams,
                                  const struct flow_conns_config *config);
/* All connections must be gone. NULL is fine. */
void flow_conns_free(struct flow_conns *conns);
bool flow_conns_messages_only(const struct flow_conns *conns);

/*
 * What is known of a connection. Of the public struct the stage of messages may set version,
 * dialect, dialects, established and messages, and properties by flow_conn_announce; the pump may
 * set path, and what of life needs other stages.
 */
struct rpcrdma_connection *flow_conn_public(struct flow_conn *conn);
const struct rpcrdma_connection *flow_conn_public_const(const struct flow_conn *conn);
uint64_t flow_conn_id(const struct flow_conn *conn); /* never used again */
/* What is sent towards `end`; NULL: not known. */
struct flow_direction *flow_conn_direction(const struct flow_conn *conn, int end);
/* What is known to have arrived at `end`; NULL: nothing was captured that tells. */
const struct flow_delivery *flow_conn_delivery(const struct flow_conn *conn, int end);
/* The same of the end towards which nothing was captured, for its answers. NULL: no memory. */
struct flow_delivery *flow_conn_unseen(struct flow_conn *conn, struct flow_memory *memory);
bool flow_conn_is_rpcrdma(const struct flow_conn *conn);
bool flow_conn_is_undecided(const struct flow_conn *conn); /* it may show to be */
bool flow_conn_by_cm(const struct flow_conn *conn);        /* its REQ, or MPA's Request, was seen */
/* Both ends' messages of the set-up were: the first message of each end is known to be its first.
 */
bool flow_conn_set_up_seen(const struct flow_conn *conn);
/* Where what is sent to `end` begins is known. */
bool flow_conn_begins(const struct flow_conn *conn, int end);
/* Everything that both ends sent was captured and could be read, from the set-up on: what was not
 * seen was not sent. */
bool flow_conn_saw_all(const struct flow_conn *conn);
/* Some of what this end sent is known not to have been captured, or not yet. */
bool flow_conn_lacks(const struct flow_conn *conn, int end);
/* A message was cut before what it is about could be read. */
void flow_conn_unread(struct flow_conn *conn);
bool flow_conn_waits(const struct flow_conn *conn); /* for packets that may yet come */
/* The frame that brought the end's private data, where it did. */
uint64_t flow_conn_set_up_frame(const struct flow_conn *conn, int end);
/* Any packet of this end was captured. */
bool flow_conn_heard_from(const struct flow_conn *conn, int end);
/* The last frame that this end sent, of what shows in a direction; 0: none. */
uint64_t flow_conn_heard_frame(const struct flow_conn *conn, int end);
/* When it was disconnected. False: it was not. */
bool flow_conn_closed_at(const struct flow_conn *conn, uint64_t *frame, int64_t *time_ns);
/* What was sent to an end and has no answer by now. */
struct rpcrdma_silence flow_conn_silence(const struct flow_conn *conn, int end);
/* What ends it was seen, sent by end `by`: the first counts. */
void flow_conn_ended(struct flow_conns *conns, struct flow_conn *conn, enum rpcrdma_ended how,
                     int by);
/* Zeroed memory of the stage of messages; a slot of another stage, NULL until it is set. */
void *flow_conn_above(struct flow_conn *conn);
void **flow_conn_slot(struct flow_conn *conn, enum flow_stage_slot slot);
/* A hash of two addresses, in this order, and a number. */
uint64_t flow_address_key(const struct rpcrdma_address *a, const struct rpcrdma_address *b,
                          uint32_t number);

/* Numbers it, where it has none. */
void flow_conn_number(struct flow_conns *conns, struct flow_conn *conn);
/* It has the packet in hand; one of this frame and time. */
void flow_conn_touch(struct flow_conns *conns, struct flow_conn *conn);
void flow_conn_touch_at(struct flow_conn *conn, uint64_t frame, int64_t time_ns);
/* The role of who calls this program, UNKNOWN where it does not show. */
enum rpcrdma_role flow_caller_role(uint32_t program);
/* The same by the first two bytes of its number, behind which the capture was cut. */
enum rpcrdma_role flow_caller_role_cut(uint16_t high);
void flow_conn_role(struct flow_conn *conn, int end, enum rpcrdma_role role);

/* Properties that `end` announces. Those it does not are its version's defaults. */
enum {
    FLOW_ANNOUNCES_SEND_SIZE = 1,
    FLOW_ANNOUNCES_RECEIVE_SIZE = 2,
    FLOW_ANNOUNCES_SEGMENT_SIZE = 4,
    FLOW_ANNOUNCES_SEGMENT_COUNT = 8,
    FLOW_ANNOUNCES_REVERSE = 16,
    FLOW_ANNOUNCES_INVALIDATION = 32,
};
void flow_conn_announces(struct flow_conn *conn, int end, uint32_t property, uint32_t value);
uint32_t flow_conn_announced(const struct flow_conn *conn, int end); /* FLOW_ANNOUNCES_ */
/* The version changed: other defaults. */
void flow_conn_default_properties(struct flow_conn *conn);
/* After announcements. */
void flow_conn_thresholds(struct flow_conn *conn);

/*
 * Set-up and end. flow_setup_obstacle: a connection that the message takes the place of, and that
 * is to be finished before; ask until NULL. flow_setup returns the connection the message is of, or
 * NULL.
 */
struct flow_conn *flow_setup_obstacle(struct flow_conns *conns, const struct rpcrdma_op *op);
/* This segment passes long after a RST that ended its connection. If it goes on there, it says
 * nothing of losses, for who got the RST takes and answers nothing; and that the RST was another's,
 * if it came in the name of this end. */
bool flow_conn_behind_reset(const struct flow_conn *conn,
                            const struct rpcrdma_tcp_segment *segment);
void flow_conn_deny_reset(struct flow_conn *conn, int from,
                          const struct rpcrdma_tcp_segment *segment);
struct flow_conn *flow_setup(struct flow_conns *conns, const struct rpcrdma_op *op);
/* The connection that a CM message is of, or NULL. */
const struct flow_conn *flow_setup_conn(struct flow_conns *conns, const struct rpcrdma_op *op);

/*
 * An event of a stream: what it shows of its connection. Returns the connection that it is
 * delivered to or kept for; NULL: it is of no interest. `last`: the connection is being finished,
 * and nothing can become a part of it any more.
 */
struct flow_conn *flow_conn_event(struct flow_conns *conns, struct flow_direction *dir,
                                  const struct flow_stream_event *event, bool last);
/* An Ack, a Nak or a response towards the direction: whose requests it answers. */
void flow_conn_response(struct flow_conns *conns, struct flow_direction *dir,
                        const struct rpcrdma_op *op);
/* The same of a paired direction of RoCE or InfiniBand. */
void flow_conn_answer(struct flow_conns *conns, const struct flow_direction *dir,
                      const struct rpcrdma_op *op);
/* The packet of a direction that is not paired yet may have been sent again: what answers it may
 * come as long after that as after the first. */
void flow_conn_asks_again(struct flow_conns *conns, const struct flow_direction *dir, uint32_t seq);
/* Is there a classified direction without peer between the same two hosts, that this one may be the
 * peer of? */
bool flow_conn_pair_possible(const struct flow_conns *conns, const struct flow_direction *dir);
/* The Ack, Nak or response is of another connection's request, whose answers nothing else awaits:
 * its queue pair has the same number. Of a connection that was not closed, as far as was captured,
 * only what is far from all that it was sent. */
bool flow_conn_answers_other(struct flow_conns *conns, const struct flow_direction *dir,
                             const struct rpcrdma_op *op);
/* The memory limit kept the last call from making a connection or a direction: nothing was changed,
 * and it may be repeated when something has gone. Asking clears it. */
bool flow_conns_lacked_memory(struct flow_conns *conns);

/* Reasons to wait. */
enum {
    FLOW_WAIT_CLASS = 1u << 0,
    FLOW_WAIT_PEER = 1u << 1,
    FLOW_WAIT_ROLE = 1u << 2,
    FLOW_WAIT_DIALECT = 1u << 3, /* of the stage of messages */
    FLOW_WAIT_GAP0 = 1u << 4,    /* packets towards end 0 are ahead of a gap */
    FLOW_WAIT_GAP1 = 1u << 5,
};
uint32_t flow_conn_waiting(const struct flow_conn *conn);
void flow_conn_wait(struct flow_conn *conn, uint32_t reason);
/* A reason to wait has gone. */
void flow_conn_wait_over(struct flow_conns *conns, struct flow_conn *conn, uint32_t reason);

/* Whether its events are to be kept: it has a reason to wait, or others wait already. */
bool flow_conn_keeps(const struct flow_conn *conn);
bool flow_admission_holds(const struct flow_conn *conn); /* others wait already */
/* Keeps a copy. False: no memory. */
bool flow_admission_keep(struct flow_conns *conns, struct flow_conn *conn,
                         struct flow_direction *dir, const struct flow_stream_event *event);
/* What comes next out of the queue; NULL: nothing does, or it waits. The caller frees it. */
struct flow_kept {
    TAILQ_ENTRY(flow_kept) next;
    struct flow_direction *dir;
    size_t size; /* of the allocation */
    struct flow_stream_event event;
    struct rpcrdma_op op; /* event.op points here */
    uint8_t bytes[];
};
struct flow_kept *flow_admission_next(struct flow_conns *conns, struct flow_conn *conn);
void flow_admission_free(struct flow_conns *conns, struct flow_kept *kept);
void flow_admission_drop(struct flow_conns *conns, struct flow_conn *conn);

/* The bounds of waiting. */
enum flow_patience {
    FLOW_PATIENCE_LEFT,   /* it may wait on */
    FLOW_PATIENCE_NEVER,  /* nothing says that it is RPC-over-RDMA: what was kept is gone */
    FLOW_PATIENCE_PAIRED, /* its opposite was found, and it may be another connection now */
    FLOW_PATIENCE_OVER,   /* it waits for nothing any more but gaps */
    FLOW_PATIENCE_FULL,   /* nor for those: flow_stream_review gives them up */
};
enum flow_patience flow_admission_review(struct flow_conns *conns, struct flow_conn *conn);
/* Nothing more will come: no reason to wait holds. */
void flow_admission_open(struct flow_conns *conns, struct flow_conn *conn);

bool flow_admission_any(const struct flow_conns *conns); /* any connection keeps something */
/* A connection that keeps something, whose time to be looked at has come; NULL: none. Each is
 * returned once for each time. */
struct flow_conn *flow_admission_silent(struct flow_conns *conns);
/* The frame of the oldest event that any connection holds back; UINT64_MAX: none does. */
uint64_t flow_admission_oldest(struct flow_conns *conns);

/* Of those with a number between the same two hosts, the one before or after by age; NULL: none.
 * And a key that all these have. */
struct flow_conn *flow_conn_before(const struct flow_conn *conn);
struct flow_conn *flow_conn_after(const struct flow_conn *conn);
uint64_t flow_hosts_key(const struct flow_conns *conns, const struct rpcrdma_connection *pub);
/* So many are looked at, at most, for one whose place another takes. */
enum { FLOW_LOOK_BACK = 32 };

/* Asks for the memory of a connection that soon has a packet; that soon ends; of which it is soon
 * asked whether another one takes its place. */
void flow_conn_fetch(const struct flow_conns *conns, const struct flow_conn *conn);
void flow_conn_fetch_whole(const struct flow_conns *conns, const struct flow_conn *conn);
void flow_conn_fetch_life(const struct flow_conn *conn);

/* For the end: connections by age; one that is to be finished (merged into *into, where that is not
 * NULL, its ends counted the other way round where *swapped; or disconnected long ago); the one to
 * go when memory is short, which is not the one in hand (that may be NULL). NULL: none. */
struct flow_conn *flow_conns_oldest(const struct flow_conns *conns);
struct flow_conn *flow_conn_newer(const struct flow_conn *conn);
bool flow_conns_any_overdue(const struct flow_conns *conns); /* flow_conn_overdue is not NULL */
struct flow_conn *flow_conn_overdue(struct flow_conns *conns, struct flow_conn **into,
                                    bool *swapped);
/* One that was disconnected, and had no packet for linger_ns until now_ns; NULL: there is none.
 * Where the clock was set back, the time begins anew. */
struct flow_conn *flow_conn_lingered(struct flow_conns *conns, int64_t now_ns, int64_t linger_ns);
struct flow_conn *flow_conn_victim(struct flow_conns *conns, struct flow_conn *in_hand);
void flow_conn_free(struct flow_conns *conns, struct flow_conn *conn);

#define FLOW_ADMISSION_NS INT64_C(1000000000) /* an undecided connection waits this long */

#endif
