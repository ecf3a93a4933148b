/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_CAUSES_CAUSES_H
#define RPCRDMA_CLI_REPORT_CAUSES_CAUSES_H

/* What the files of rules share: all files of this folder. */

#include <string.h>

#include "report/report.h"

/* So many of one kind are told one by one; more of one server, or of one client, are one cause. */
enum { REPORT_FEW = 3 };

/* About the connection that is looked at; valid until the next one is added. */
struct report_cause *report_cause_add(struct report *r, enum report_cause_id id,
                                      enum report_confidence confidence);

/* credits.c: it ran out of credits; its inline threshold is small */
void causes_of_credits(struct report *r, const struct report_connection *c);
void causes_of_threshold(struct report *r, const struct report_connection *c);
/* slots.c: its session ran out of slots */
void causes_of_slots(struct report *r, const struct report_connection *c);
/* credits.c: how long at least one RPC of 200 ms or more, or of --slow, waited for the server */
int64_t report_server_slow_ns(const struct report_connection *c);

/* incomplete.c: the capture lacks packets or a direction, or --max-memory was reached; whether a
 * capture without causes is undecided. Behind the rules that find causes. */
void causes_of_incomplete(struct report *r);

/* reads_alone.c: RDMA Reads that were sent again and again on a queue pair of which no message was
 * captured, between hosts that have RPCs on other connections */
void causes_of_reads_alone(struct report *r);

/* clocks.c: the two directions have times of two clocks. What was found and depends on which
 * was first is taken back, or doubted. */
void causes_of_clocks(struct report *r);

/* jumped.c: the clock of the capture was set forward, or may have been, while ends were
 * waited for */
void causes_of_jumps(struct report *r);

/* time.c: that the way is long, or data moves slowly */
void causes_of_time(struct report *r, const struct report_connection *c);

/* time.c: of the Acks by an end, of Calls (the server) or of Replies (the client), `percent`
 * took that long at most. Of iWARP, whose client has nothing to send behind a Reply and waits for
 * 40 ms: its first responses to Read requests. 0: there are fewer than 20. Where only
 * few times are counted, that long at least. */
int64_t report_ack_time(const struct report_connection *c, bool server, unsigned percent);

/* life.c: that it failed, or an end was restarted before it began (restarted.c) */
void causes_of_life(struct report *r, const struct report_connection *c);

/* forgot.c: the server refused it, because it still has the client's queue pair in another
 * connection. */
bool report_stale(const struct rpcrdma_connection *c);
/* attempts.c: it was refused, and not by what listens there (REJ, consumer reject), which may have
 * been asked too late. */
bool report_nothing_listened(const struct rpcrdma_connection *c);

/* set_up.c: the server did not get to know for long that it was set up, and answered
 * nothing on it: no Call had reached what answers. */
bool report_never_set_up(const struct report_connection *c);

/* RFC 5044 section 7.1.2: TCP is open, and what the client said first has no answer. */
bool report_mpa_unanswered(const struct report_connection *c);

/* overtaken.c: the connection that had its last Call answered before that came here; NULL:
 * there is none. */
const struct report_connection *report_overtaken(const struct report *r,
                                                 const struct report_connection *c);

/* held.c: all of the client's Calls that were not answered had been acknowledged. */
bool report_has_held(const struct report_connection *c);
/* The path was in order and the server had the Calls: it did not answer, until the
 * client gave up. */
bool report_server_held(const struct report_connection *c);
/* Likewise, of those that were sent again on this one, a second and more after the first sending.
 */
bool report_held_again(const struct report *r, const struct report_connection *c);
/* The server had acknowledged all Calls without Reply, and ended it. */
bool report_ended_by_holder(const struct report_connection *from);
/* Why the server may have answered nevertheless. NULL: nothing says so. */
const char *report_maybe_too_large(const struct report_connection *c);
/* Likewise, also where their Calls were cut before what they ask for. */
const char *report_too_large_or_cut(const struct report_connection *c);
/* Where clients did so again and again, and where they gave up in the end. */
void causes_of_held_again(struct report *r);
/* large.c: large packets were sent again and again, and these alone may be lost: Calls were cut, so
 * that it is not known what hangs. */
bool report_large_alone(const struct report_connection *c);
/* It was set up, for which small packets had to arrive, and its first Reply came only when
 * large ones had come in vain, for a second and more. */
bool report_began_stuck(const struct report_connection *c);

/* lacking.c: packets of all kept connections that the capture lacks. */
uint64_t report_uncaptured(const struct report *r);
/* Nothing was captured behind its Calls without Reply that shows whether they were
 * answered, and the capture lacks packets elsewhere. How that shows; NULL: it is not so. */
const char *report_may_lack_replies(const struct report *r, const struct report_connection *c);

/* unanswered.c: Calls that no Reply came for; and those of a server as one. */
void causes_of_calls(struct report *r, const struct report_connection *c);
/* Such Calls of this connection are told of with another one: one at least was sent again there. */
bool report_sent_again(const struct report *r, const struct report_connection *c);

/* path.c: the capture lacks a tenth of these or more: what is not in it may have passed. */
bool report_lacks_packets(const struct rpcrdma_path *path);

/* path.c: "2 Naks, 1 timeout, 3 packets retransmitted, 2.1 s of waiting in all, ..." */
enum { REPORT_LOST_ROOM = 200 };
void report_tell_lost(const struct report_lost *lost, int64_t waited_ns, bool tcp,
                      char text[REPORT_LOST_ROOM]);
/* lossy.c: what was lost on many connections of a server is one cause. */
void causes_of_all_lost(struct report *r);

/* stalled.c: an end stood still, and nothing was lost */
void causes_of_stalls(struct report *r, const struct report_connection *c);

/* stalled.c: this end was silent for so long that it is told: what was sent to it again
 * meanwhile was not lost. */
bool report_stood_silent(const struct report_connection *c, int end);

/* stalled.c: which end gave the connection up, as the other one stood still for so long; -1:
 * none did. It sent nothing behind what was not answered in time, and answered nothing. */
int report_gave_up(const struct report_connection *c);

/* beside.c: connections of the same two hosts whose Calls were answered all that time, ... */
guint report_answered_beside(const struct report *r, const struct report_connection *c,
                             int64_t since_ns, int64_t until_ns);
/* ... and those to the same server that had answers before and behind it: it was not restarted. */
guint report_survived(const struct report *r, const struct report_connection *c, int64_t since_ns,
                      int64_t until_ns);
#define REPORT_BESIDE_ROOM 320
/* Connections whose Calls were answered meanwhile, and what that says: nothing is surer than medium
 * then. */
struct report_beside {
    guint same, others; /* of the same hosts; else of other clients */
};
struct report_beside report_look_beside(const struct report *r, const struct report_connection *c,
                                        const struct report_connection *failed, int64_t since_ns,
                                        int64_t until_ns, char text[REPORT_BESIDE_ROOM]);

/* Of all connections of the hosts of this one, this one, too; "": none had Calls answered. */
void report_look_hosts(const struct report *r, const struct report_connection *c, int64_t since_ns,
                       int64_t until_ns, char text[REPORT_BESIDE_ROOM]);

/* one_way.c: of some connections the capture lacks one direction. told: that it does of all
 */
void causes_of_one_way(struct report *r, bool told);

/* path.c: what happened to its packets on the way */
void causes_of_path(struct report *r, const struct report_connection *c);

/* copied.c: packets that are there twice. Returns how many it has, each counted once where each is
 * there twice. */
uint64_t causes_of_copies(struct report *r, const struct report_connection *c);

/* damaged.c: to packets of any connection, whose checksums are wrong */
void causes_of_damage(struct report *r);

/* not_ready.c: what was sent towards this end was refused for want of buffers; where that is
 * so on several connections of one host */
void causes_of_not_ready(struct report *r, const struct report_connection *c, int end);
/* That ended it, with Calls under way: its sender did not send again what was refused. */
bool report_ended_not_ready(const struct report_connection *c);
void causes_of_all_not_ready(struct report *r);

/* refused.c: an end refused a request on it for good: of connections between the same hosts,
 * one cause for all that it ended. */
bool report_remote_error(const struct report_connection *c);
void causes_of_remote_errors(struct report *r);

/* large.c: large packets do not pass, small ones do: of connections between the same hosts,
 * one cause. Before the others, which look at what it found: */
void causes_of_black_holes(struct report *r);
/* A cause of its own tells why it ended: a remote error, a receiver that was not ready, or large
 * packets that did not pass. */
static inline bool report_end_told(const struct report_connection *c)
{
    return c->large_lost[0] || c->large_lost[1] || report_remote_error(c) ||
           report_ended_not_ready(c);
}

/* attempts.c: the server refused to be connected to, and nothing was accepted since. */
void causes_of_attempts(struct report *r);
/* unanswered.c: where it is of several connections of a server. */
void causes_of_unanswered(struct report *r);

/* broken.c: the one before it broke, and it was back within a second. */
bool report_broke_before(const struct report *r, const struct report_connection *c);
/* ... and so it was of others before it or behind it, in little time. */
bool report_in_storm(const struct report *r, const struct report_connection *c);
void causes_of_breaks(struct report *r);

/* again.c: it is told of with others, where there are many of its kind. */
void report_cause_lasted(struct report_cause *cause, enum report_failure how, int64_t since_ns,
                         int64_t until_ns);
void causes_that_came_again(struct report *r);

/* common.c: what befell connections of one host with many others is one cause. Behind those
 * that came again, as these are of two hosts each. */
void causes_in_common(struct report *r);

/* joined.c: several causes of connections become one. */
struct report_join {
    bool (*concerns)(const struct report_cause *cause);
    /* 0: they are of one kind */
    int (*compare)(const struct report_cause *a, const struct report_cause *b);
    /* is given all of one kind, by their beginning, and may put one in their place */
    void (*join)(const struct report *r, struct report_cause *const *all, guint n);
};
void report_causes_join(struct report *r, const struct report_join *rule);
void report_causes_replace(struct report_cause *const *all, guint n, const struct report_cause *by);
/* Those whose id is N_CAUSES. */
void report_causes_remove(struct report *r);

/* `one` is as sure as half of them are; of one restart, as the surest. */
void report_causes_judge(struct report_cause *one, struct report_cause *const *all, guint n,
                         bool restart);

/* The numbers of their connections, in order; the caller's. */
GArray *report_causes_connections(struct report_cause *const *all, guint n);

/* How many hosts their servers, or their clients, are. */
guint report_causes_hosts(struct report_cause *const *all, guint n, bool servers);

/* The first of those that took longest. */
const struct report_cause *report_causes_longest(struct report_cause *const *all, guint n);

/* Gives `one` the RPCs of all, how often they happened (each once at least), and their first frame.
 */
void report_causes_add_up(struct report_cause *one, struct report_cause *const *all, guint n);

/* How many of them, by their beginning, lasted in one moment. */
guint report_causes_at_once(struct report_cause *const *all, guint n);

/* Of causes by their beginning. Of what overlaps the time counts once. */
struct report_lasted {
    int64_t until_ns, sum_ns, longest_ns;
    guint times; /* that do not overlap */
};
struct report_lasted report_causes_lasted(struct report_cause *const *all, guint n);

/* lost.c: a connection on which Calls of this one were sent again, after that time or more.
 * NULL: there is none. */
const struct report_connection *
report_resent_on(const struct report *r, const struct report_connection *c, int64_t least_ns);

/* unreachable.c: what ICMP and ARP say of connections that failed, or lost packets. */
void causes_of_unreachable(struct report *r);

/* alike.c: what is wrong with many connections of a server is one cause. Behind all rules
 * that look at causes of one connection. */
void causes_alike(struct report *r);

/* before.c: RPCs that were under way when the capture began, and took long. */
void causes_of_before(struct report *r);

/* slow.c: an end was slow to answer. Behind the rules that explain it otherwise. */
void causes_of_slow_ends(struct report *r);

/* later.c: NFS told clients to try again later, for long */
void causes_of_later(struct report *r);

/* failed.c: many RPCs failed, at RPC or RDMA level or in NFS */
void causes_of_failures(struct report *r);

/* marks.c: which connections the causes told so far may have made slow; none where the user
 * says what is slow. */
void report_mark_disturbed(struct report *r);
/* The causes are known: connections that these name are marked. */
void report_mark_named(struct report *r);

/* The same for who only reads. */
static inline const struct report_connection *report_numbered(const struct report *r,
                                                              uint32_t number)
{
    return report_kept(r, number);
}

#endif
