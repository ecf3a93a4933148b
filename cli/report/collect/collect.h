/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_COLLECT_COLLECT_H
#define RPCRDMA_CLI_REPORT_COLLECT_COLLECT_H

/* What the files of this folder share: collect.c is the flow's sink, and gives what comes to the
 * others. */

#include "out/transaction.h"
#include "report/report.h"

/* slow.c: the slowest of all; and at which end it took long, if it did */
void report_note_slowest(struct report *r, const struct rpc *rpc);
/* How long a Call without Reply was under way: until its connection was closed, or until the last
 * packet of one that another took the place of. */
int64_t report_waited_ns(const struct report *r, const struct rpcrdma_transaction *t);
void report_note_responder(struct report *r, const struct rpcrdma_transaction *t);
/* and packets towards that end were sent again then, which may explain it */
void report_note_loss(struct report_trouble *trouble, int end, int64_t time_ns);

/* idle.c: that this wait was nearly all one time in which nothing passed; ... */
void report_note_idle(const struct report *r, struct report_slow *slow,
                      const struct report_period *when);
/* ... and in which the RPC waited for what its sender's timer should have ended */
void report_note_jump(struct report *r, const struct rpcrdma_transaction *t,
                      const struct report_period *when);
/* As report_slow_add, which calls it. */
void report_idle_add(struct report_slow *sum, const struct report_slow *one);

/* statuses.c: an error that a Reply gives */
void report_status(struct report *r, const struct rpcrdma_transaction *t,
                   const struct nfs_arguments *nfs);
/* servers.c: what its server took for an RPC whose phases are known */
void report_spend(struct report *r, const struct rpcrdma_transaction *t);
/* servers.c: RPCs of a connection that has ended count for its server */
void report_served(struct report *r, const struct rpcrdma_connection *c,
                   const struct report_tally *t);

/* tally.c: what its connection is known by */
void report_note_connection(struct report *r, const struct rpcrdma_transaction *t);
/* slots.c: it took the last slot of its session */
void report_note_full(struct report_tally *tally, const struct rpcrdma_transaction *t);
/* pauses.c: none of the client's Calls was answered in that time */
void report_pause(struct report_pauses *pauses, int64_t since_ns, int64_t until_ns);

/* timeline.c: time since the capture's start */
struct report_bin *report_another_bin(struct report *report, int64_t since_start_ns);
/* The bin of that time, for which all may be widened. Nearly always the one before, which takes no
 * division. */
static inline struct report_bin *report_bin_at(struct report *r, int64_t time_ns)
{
    int64_t since = time_less(time_ns, r->pipeline->clock.start_ns);

    if (since < 0)
        since = 0;
    return r->bin && since >= r->bin_since_ns && since - r->bin_since_ns < r->bin_ns
               ? r->bin
               : report_another_bin(r, since);
}
/* What was in flight on a connection was so until now: it is over. */
void report_timeline_over(struct report *report, struct report_detail *detail);
/* rpcrdma_flow's credit_point */
void report_credit_point(void *context, const struct rpcrdma_connection *connection, int end,
                         const struct rpcrdma_credit_point *point);

/* keep.c: of the one of that number, which may be new; NULL: more than are counted */
struct report_tally *report_tally_of(struct report *report,
                                     const struct rpcrdma_connection *connection);
/* A Call on another one was sent first on that one: a cause may name it. */
void report_keep(struct report *report, uint32_t number);
/* rpcrdma_flow's connection and credits: it has ended, and its credits just before. */
void report_ended(struct report *report, const struct rpcrdma_connection *connection);
void report_credits(void *context, const struct rpcrdma_connection *connection,
                    const struct rpcrdma_credit_result *results, size_t n);
void report_free_connection(gpointer connection);
void report_keeping_begin(struct report *report, size_t max_bytes);
void report_keeping_end(struct report *report);

/* tallies.c: its troubles, which may be new */
struct report_trouble *report_trouble(struct report_tally *tally);
struct report_detail *report_detail_begin(struct report *report, struct report_tally *tally);
/* NULL: there is no room, or was none when there was something to be kept. */
static inline struct report_detail *report_detail(struct report *r, struct report_tally *tally)
{
    return tally->detail || r->detailed >= REPORT_DETAILED ? tally->detail
                                                           : report_detail_begin(r, tally);
}
/* By that end: see report_ack_time. */
void report_ack(struct report *report, struct report_tally *tally, bool server, int64_t ns);
void report_move(struct report *report, struct report_tally *tally,
                 const struct rpcrdma_transaction *t);
/* From the arrival of this Call to its first Read request: while others' data was read slowly. */
int64_t report_behind_reads_ns(const struct report_tally *tally,
                               const struct rpcrdma_transaction *t);
/* For half of that time before its data moved, that of others did, and none of those whose Calls
 * were sent long after this one were answered before: it may have waited for its turn. */
bool report_behind_data(const struct report_tally *tally, const struct rpcrdma_transaction *t,
                        int64_t ns);
/* What was slow until now counts, if it was so for a while. */
void report_limited_end(struct report_detail *detail, bool to_server);

/* missed.c: what that operation shows to be missing in what was sent towards this end */
bool report_missed_shows(const struct rpcrdma_op *op, const struct rpcrdma_path *path);
void report_missed(struct report *report, struct report_tally *tally,
                   const struct rpcrdma_connection *connection, int end,
                   const struct rpcrdma_op *op, const struct rpcrdma_path *path);
/* The same of a message towards it that was cut, so that it is not known what it answers. */
void report_missed_message(struct report *report, struct report_tally *tally,
                           const struct rpcrdma_connection *connection, int end, int64_t time_ns);
/* A Call that was not answered, counted already. */
void report_missed_answer(const struct report_tally *tally, struct report_unanswered *without,
                          const struct rpcrdma_transaction *transaction);
/* How many Calls what is missing explains, now that the connection has ended. */
void report_missed_end(struct report *report, struct report_connection *connection,
                       struct report_trouble *trouble);
static inline int64_t report_resend_ns(const struct rpcrdma_connection *c)
{
    return c->carrier == RPCRDMA_CARRIER_IWARP ? REPORT_RESEND_TCP_NS : REPORT_RESEND_NS;
}

/* This operation refuses a request of the other end's for good. */
static inline bool report_refuses(const struct rpcrdma_op *op)
{
    return op->kind == RPCRDMA_OP_TERMINATE ||
           (op->kind == RPCRDMA_OP_NAK && op->nak > RPCRDMA_NAK_PSN_SEQUENCE);
}
/* refusal.c: it is one of end `by` */
void report_refusal(struct report_tally *tally, int by, const struct rpcrdma_op *op);

/* An RPC message, once: not its later parts, nor what version 2 has beside. */
static inline bool report_begins_rpc(const struct rpcrdma_flow_message *m)
{
    return m->part <= 1 && !(m->message->present & (RPCRDMA_HAS_ERROR | RPCRDMA_HAS_DONE |
                                                    RPCRDMA_HAS_OPTIONAL | RPCRDMA_HAS_PROPERTIES));
}

/* A Reply that a clock set back gave no latency is an answer all the same. */
static inline bool report_has_no_reply(const struct rpcrdma_transaction *t)
{
    return t->call_frame != 0 && !t->error &&
           (t->reply_frame == 0 || t->reply.state == RPCRDMA_NOT_DELIVERED);
}

#endif
