/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md about the way between the ends: what was lost, refused, copied
 * or reordered on it. */
#include "report/causes/connections/life.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"
#include "out/connection.h"

/* It answered nothing any more until the connection ended. Not every adapter sends often again:
 * where it did not, it has to have been silent for longer. Where it did, all of that may pass at
 * once, as from a host that captured and stood still. */
static bool died(const struct report *r, const struct report_connection *c, int end)
{
    const uint32_t in_vain = c->pub.life.silence[end].in_vain;
    int64_t ns;
    bool silent = connection_silent(&c->pub, end, &ns);

    if (silent && in_vain >= REPORT_RETRIES)
        return true;
    return in_vain > 1 && (in_vain >= REPORT_RETRIES || ns >= 5 * SECOND) &&
           report_resent_on(r, c, SECOND);
}

/* What was sent to a host that died was not lost: what came again since it answered last belongs to
 * `connection-failed`. */
static struct rpcrdma_path until_answered(const struct report *r, const struct report_connection *c,
                                          int end)
{
    struct rpcrdma_path path = c->path[end];

    if (!died(r, c, end))
        return path;
    path.retransmitted = path.answered.retransmitted;
    path.timeouts = path.answered.timeouts;
    path.waited_ns = path.answered.waited_ns;
    path.longest_wait_ns = path.answered.longest_wait_ns;
    return path;
}

/* What was sent to an end that stood still was not lost, either: `stalled-end` tells of it. */
static void leave_out_silence(struct rpcrdma_path *path)
{
    uint64_t arrived = path->late_timeouts + path->acked_timeouts + path->served_timeouts;

    path->retransmitted -= MIN(path->silent_again, path->retransmitted);
    path->timeouts -= MIN(path->silent_timeouts, path->timeouts - MIN(arrived, path->timeouts));
    path->waited_ns -= MIN(path->silent_waited_ns, path->waited_ns);
}

bool report_lacks_packets(const struct rpcrdma_path *path)
{
    enum { FEW = 10 };

    return path->uncaptured > path->packets / FEW;
}

/* RoCE: what came out of order here is behind what was retransmitted, not a loss: Naks asked for
 * such packets, and nearly none for others. */
static bool only_disorder(const struct rpcrdma_path *path)
{
    enum { FEW = 10 };

    return path->late_naks > 0 && path->reordered > 0 && path->lost * FEW <= path->late_naks;
}

/* RoCE: nearly all Read requests that came again did so beside responses that came out of order
 * here: these were not lost. */
static bool asked_in_disorder(const struct rpcrdma_path *back)
{
    enum { FEW = 10 };

    return back->asked_again > 0 && back->asked_late * FEW >= back->asked_again * (FEW - 1);
}

/* It asked for half of that time or more, a second at least. */
static bool asked_until_the_end(const struct report_connection *c, int end)
{
    const struct rpcrdma_silence *silence = &c->pub.life.silence[end];
    int64_t asked_ns = time_less(silence->naked_ns, silence->since_ns);

    return silence->transmissions >= REPORT_RETRIES && asked_ns >= SECOND &&
           asked_ns >= time_less(c->pub.last_time_ns, silence->naked_ns);
}

int report_out_of_order(const struct report_connection *c)
{
    for (int end = 0; end < 2; end++)
        if (only_disorder(&c->path[end]) && asked_until_the_end(c, end))
            return end;
    return -1;
}

/* What came the other way, and what was lost of what it asked for. */
static struct rpcrdma_path way_back(const struct rpcrdma_path *path)
{
    struct rpcrdma_path back = *path;

    if (asked_in_disorder(path)) {
        back.asked_again = back.asked_timeouts = 0;
        back.asked_waited_ns = back.asked_longest_ns = 0;
    }
    return back;
}

/* Which cause it is that packets towards an end were lost, and what that end is called. */
static enum report_cause_id lost_towards(bool known, bool server)
{
    if (!known)
        return CAUSE_LOST;
    return server ? CAUSE_LOST_TO_SERVER : CAUSE_LOST_TO_CLIENT;
}

static const char *end_called(bool known, bool server)
{
    if (!known)
        return "peer";
    return server ? "server" : "client";
}

/* Nothing that was sent to this end was captured, but its Naks were. */
static void only_naks(struct report *r, const struct report_connection *c, int end)
{
    const struct rpcrdma_path *a = &c->path[end];
    uint64_t naks = a->naks[RPCRDMA_NAK_PSN_SEQUENCE];
    bool server = end == report_server_end(&c->pub);
    bool known = c->pub.role[end] != RPCRDMA_ROLE_UNKNOWN;
    struct report_cause *cause;

    if (naks == 0)
        return;
    cause = report_cause_add(r, lost_towards(known, server), CONFIDENCE_MEDIUM);
    cause->rpcs = c->rpcs;
    cause->frame = a->nak_frame[RPCRDMA_NAK_PSN_SEQUENCE];
    snprintf(cause->text, sizeof(cause->text),
             "Packets towards the %s were lost on the network: it sent %" PRIu64
             " Nak%s (connection %u). What was sent to it, and so how long it waited, was not "
             "captured.",
             end_called(known, server), naks, plural(naks), (unsigned)c->pub.number);
    snprintf(cause->against, sizeof(cause->against),
             "packets that come out of order, or damaged, are answered with Naks, too");
}

/* What was lost on the way towards an end: requests, and the responses that it sent again. */
struct loss {
    uint64_t all_naks, naks; /* of a PSN sequence error; but for what only came late */
    uint64_t own;            /* requests that were lost */
    uint64_t packets, timeouts;
    int64_t waited_ns, longest_ns;
    uint64_t asked;   /* Read requests that came again, with no Nak and no timeout: a later response
                         came */
    uint64_t at_once; /* of those that came again beside timeouts, these: a later response came */
    uint64_t reordered; /* that came late here */
    /* many of these are missing here, too, and not only damaged: that is no other order */
    bool gaps, all_passed;
    bool disorder; /* most Naks are of what came out of order: these may be, too */
    bool lacking;  /* the capture lacks many packets: what is missing here may have passed */
};

static struct loss look_loss(const struct rpcrdma_path *a, const struct rpcrdma_path *back)
{
    uint64_t all = a->naks[RPCRDMA_NAK_PSN_SEQUENCE];
    /* what was retransmitted for want of responses was not lost on this way, but they on the other
     */
    uint64_t other = a->asked_again + a->refused_again + a->spurious; /* nor what had no buffer */
    uint64_t own = a->retransmitted - MIN(other, a->retransmitted);
    /* nor was what had arrived when the timer ended: its Ack was late, or lost on the other way */
    uint64_t arrived = a->late_timeouts + a->acked_timeouts + a->served_timeouts;
    int64_t arrived_ns =
        time_plus(time_plus(a->late_timeout_ns, a->acked_timeout_ns), a->served_timeout_ns);
    int64_t other_ns = time_plus(arrived_ns, a->refused_waited_ns);
    uint64_t elsewhere = a->asked_timeouts + arrived;
    struct loss loss = {
        .all_naks = all,
        .naks = all - MIN(a->late_naks, all),
        .own = own,
        .packets = own + back->asked_again,
        .timeouts = a->timeouts - MIN(elsewhere, a->timeouts) + back->asked_timeouts,
        .waited_ns = time_plus(a->waited_ns - MIN(other_ns, a->waited_ns), back->asked_waited_ns),
        .gaps = a->lost > a->lost_behind && (a->lost - a->lost_behind) * 2 >= a->lost,
        .all_passed = a->lost == a->lost_behind,
        .lacking = report_lacks_packets(a),
        .at_once = back->asked_again - MIN(back->asked_timeouts, back->asked_again),
    };

    if (loss.naks == 0 && loss.timeouts == 0)
        loss.asked = back->asked_again;
    loss.reordered = a->reordered;
    loss.disorder = loss.naks * 2 < loss.all_naks;
    loss.longest_ns = MIN(MAX(a->longest_wait_ns, back->asked_longest_ns), loss.waited_ns);
    return loss;
}

void report_tell_lost(const struct report_lost *lost, int64_t waited_ns, bool tcp,
                      char text[REPORT_LOST_ROOM])
{
    char naks[32] = "", timeouts[32] = "";

    if (!tcp && lost->naks == 0)
        snprintf(naks, sizeof(naks), "no Nak, ");
    else if (!tcp)
        snprintf(naks, sizeof(naks), "%" PRIu64 " Nak%s, ", lost->naks, plural(lost->naks));
    if (lost->timeouts > 0)
        snprintf(timeouts, sizeof(timeouts), "%" PRIu64 " timeout%s, ", lost->timeouts,
                 plural(lost->timeouts));
    snprintf(text, REPORT_LOST_ROOM,
             "%s%s%" PRIu64 " packet%s retransmitted, %.3f s of waiting in all, %.3f s at most",
             naks, timeouts, lost->packets, plural(lost->packets), report_seconds(waited_ns),
             report_seconds(lost->longest_ns));
}

/* Naks ask for it, and it is missing here, too. */
static bool is_sure(const struct loss *loss)
{
    return loss->naks > 0 && loss->gaps && !loss->disorder && !loss->lacking;
}

/* What speaks against a loss. `checked`: of what is damaged is known already. */
static void tell_doubt(const struct loss *loss, bool tcp, bool checked, struct report_cause *cause)
{
    const char *or_damaged = checked ? "" : ", or damaged (--check-icrc shows these),";
    bool at_once = loss->naks == 0 && loss->at_once > 0;

    if (tcp && loss->all_passed && loss->timeouts > 0 && loss->timeouts >= loss->packets)
        snprintf(cause->against, sizeof(cause->against),
                 "all of it came again when timers ended: answers to it may have been lost "
                 "instead, on the way back");
    else if (tcp)
        snprintf(cause->against, sizeof(cause->against),
                 "TCP retransmits what comes out of order by far, too");
    else if (at_once && loss->reordered > 0)
        snprintf(cause->against, sizeof(cause->against),
                 "%" PRIu64 " packet%s came late here: responses that come out of order are asked "
                 "for again, too",
                 loss->reordered, plural(loss->reordered));
    else if (at_once)
        snprintf(cause->against, sizeof(cause->against),
                 "responses that come out of order behind the place of capture%s are asked for "
                 "again, too",
                 or_damaged);
    else if (loss->naks == 0)
        snprintf(cause->against, sizeof(cause->against),
                 "no Nak %s: an end may have been slow to answer",
                 loss->all_naks == 0 ? "was seen" : "shows a loss");
    else if (!loss->gaps)
        snprintf(cause->against, sizeof(cause->against),
                 "%s the Naks ask for had passed here: packets that come out of order behind the "
                 "place of capture%s are answered with Naks, too%s",
                 loss->all_passed ? "all that" : "most of what", or_damaged,
                 loss->all_naks > loss->naks ? ", as others here were" : "");
    else if (loss->disorder)
        snprintf(cause->against, sizeof(cause->against),
                 "its other %" PRIu64
                 " Naks asked for what came out of order: what these asked for "
                 "may have, too, and be missing in the capture",
                 loss->all_naks - loss->naks);
    else if (loss->lacking)
        snprintf(cause->against, sizeof(cause->against),
                 "the capture lacks packets: what the Naks ask for may be among these, and have "
                 "come out of order");
}

/* The way to an end and back takes as long as the timer of what waited for its Acks, or longer:
 * nothing had to be lost, and no Ack. */
static bool timer_too_short(const struct report_connection *c, bool to_server, uint64_t timeouts,
                            int64_t waited_ns)
{
    return waited_ns / 2 < time_times(report_ack_time(c, to_server, 50), (int64_t)timeouts);
}

/* TCP: all that came again to it had arrived before, as it says (D-SACK). It says the same of what
 * the network or the capture doubled. */
static bool all_had_arrived(const struct rpcrdma_path *path)
{
    return path->retransmitted > 0 && path->spurious >= path->retransmitted &&
           path->duplicated == 0;
}

/* RoCE: nothing that this end answers was captured, and what came again did so sooner than any
 * timer ends: it cost nothing, and may have had a reason that was not captured. */
static bool costs_nothing(const struct rpcrdma_path *a, const struct loss *loss)
{
    enum { FEW = 2 };

    return !a->acknowledged && loss->timeouts <= FEW && loss->waited_ns < INT64_C(50000000);
}

/* Packets towards this end were lost: what was sent to it came again; or its own Read requests did,
 * though they were answered in part, as answers to it were lost. */
static void lost(struct report *r, const struct report_connection *c, int end)
{
    struct rpcrdma_path until = until_answered(r, c, end), other = way_back(&c->path[1 - end]);
    const struct rpcrdma_path *a = &until, *back = &other;
    bool server = end == report_server_end(&c->pub);
    bool known = c->pub.role[end] != RPCRDMA_ROLE_UNKNOWN;
    bool tcp = c->pub.carrier == RPCRDMA_CARRIER_IWARP;
    struct report_cause *cause;
    struct loss loss;
    char told[REPORT_LOST_ROOM], asked[160] = "";

    if (report_stood_silent(c, end))
        leave_out_silence(&until);
    loss = look_loss(a, back);
    if (a->packets == 0) {
        only_naks(r, c, end);
        return;
    }
    if (back->asked_again == 0 && only_disorder(a))
        return;
    if (loss.naks == 0 && back->asked_again == 0 &&
        ((report_gave_up(c) == end && a->lost == 0) || /* to `connection-failed`, too */
         (loss.timeouts == 0 && (!tcp || loss.own * 1000 <= a->packets)) ||
         (tcp && all_had_arrived(&c->path[end])) ||
         (!tcp &&
          (costs_nothing(a, &loss) || timer_too_short(c, server, loss.timeouts, loss.waited_ns)))))
        return;
    cause = report_cause_add(r, lost_towards(known, server),
                             known && is_sure(&loss) ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    cause->rpcs = c->rpcs;
    cause->time_ns = loss.waited_ns;
    /* or it is a Read request that came again, as its responses were lost */
    cause->frame = a->retransmitted_frame != 0 ? a->retransmitted_frame : back->retransmitted_frame;
    cause->has_lost = true;
    cause->when = c->trouble->waits_lost[end].when;
    cause->lost = (struct report_lost){loss.naks, loss.timeouts, loss.packets, loss.longest_ns};
    report_tell_lost(&cause->lost, loss.waited_ns, tcp, told);
    if (loss.asked > 0)
        snprintf(asked, sizeof(asked),
                 " Responses to RDMA Reads %s: with later ones there, it sent %" PRIu64
                 " Read request%s again.",
                 loss.reordered > 0 ? "came late, or were lost" : "were lost", loss.asked,
                 plural(loss.asked));
    snprintf(cause->text, sizeof(cause->text),
             "Packets towards the %s%s were lost on the network: %s (connection %u).%s",
             end_called(known, server),
             tcp || loss.naks > 0 || loss.asked > 0 ? "" : ", or answers to them,", told,
             (unsigned)c->pub.number, asked);
    tell_doubt(&loss, tcp, r->all_checked, cause);
}

/* What this end had came again: the Acks from it were lost. */
static void acks_lost(struct report *r, const struct report_connection *c, int end, bool passed,
                      uint64_t timeouts, int64_t time_ns)
{
    const struct rpcrdma_path *a = &c->path[end];
    bool to_server = end != report_server_end(&c->pub);
    bool known = c->pub.role[end] != RPCRDMA_ROLE_UNKNOWN;
    bool tcp = c->pub.carrier == RPCRDMA_CARRIER_IWARP;
    bool unheard = !passed && a->unheard_timeouts > 0;
    struct report_cause *cause;

    if (timeouts == 0 || timer_too_short(c, to_server, timeouts, time_ns))
        return;
    cause = report_cause_add(r, lost_towards(known, to_server), CONFIDENCE_MEDIUM);
    cause->rpcs = c->rpcs;
    cause->time_ns = time_ns;
    cause->frame = timeouts == a->timeouts ? a->timeout_frame : 0; /* else not known */
    snprintf(cause->text, sizeof(cause->text),
             "Acks towards the %s were lost on the network, %s the place of capture: %" PRIu64
             " timeout%s, %.3f s in all, after which what had been %s was retransmitted "
             "(connection %u).%s",
             end_called(known, to_server), passed ? "behind" : "before", timeouts, plural(timeouts),
             report_seconds(time_ns),
             passed    ? "acknowledged"
             : unheard ? "received"
             : tcp     ? "received, as the receiver says (D-SACK, RFC 2883),"
                       : "answered by a Reply or RDMA",
             (unsigned)c->pub.number,
             unheard ? " Its acknowledgement came long after the last copy, which had no answer."
                     : "");
    snprintf(cause->against, sizeof(cause->against), "%s",
             passed ? "the end that they were sent to may have stood still, or have got them late "
                      "or in another order"
                    : "the end that should have sent them may not have done so");
}

/* What IP IDs show: half of that was waited for what came again, or for its Acks. */
static bool half_is_told(const struct rpcrdma_path *path, const struct rpcrdma_path *back)
{
    return path->restart_missing > 0 &&
           time_plus(path->waited_ns, back->served_timeout_ns) >= path->restart_ns / 2;
}

/* Nothing of that came here, as how TCP goes on shows. */
static void lost_before(struct report *r, const struct report_connection *c, int end)
{
    const struct rpcrdma_path *a = &c->path[end];
    bool known = c->pub.role[end] != RPCRDMA_ROLE_UNKNOWN;
    const char *who = end_called(known, end == report_server_end(&c->pub));
    struct report_cause *cause;
    char times[64] = "";

    if (a->restarts == 0 || report_overtaken(r, c) || half_is_told(a, &c->path[1 - end]))
        return;
    cause = report_cause_add(r, lost_towards(known, end == report_server_end(&c->pub)),
                             CONFIDENCE_MEDIUM);
    cause->rpcs = c->rpcs;
    cause->time_ns = a->restart_ns;
    cause->frame = a->restart_frame;
    if (a->restarts > 1)
        snprintf(times, sizeof(times), ", the longest of %" PRIu64 " such times", a->restarts);
    if (a->restart_missing > 0) {
        snprintf(cause->text, sizeof(cause->text),
                 "What was sent to the %s was lost before the place of capture, for up to %.1f "
                 "s%s: %u packets that its sender counted meanwhile (IP ID) did not pass "
                 "(connection %u). That way of the path was down, at least.",
                 who, report_seconds(a->restart_ns), times, (unsigned)a->restart_missing,
                 (unsigned)c->pub.number);
        snprintf(cause->against, sizeof(cause->against),
                 "the sender may have had nothing to send for a part of that time; or its IDs "
                 "count what it sends to others, too");
        return;
    }
    snprintf(cause->text, sizeof(cause->text),
             "What was sent to the %s was lost before the place of capture for %.1f s%s: then TCP "
             "began anew with one segment and awaited its Ack, as it does "
             "when its timer ended (connection %u). That way of the path was down, at least.",
             who, report_seconds(a->restart_ns), times, (unsigned)c->pub.number);
    snprintf(cause->against, sizeof(cause->against), "the sender may have stood still just then");
}

static void reordered(struct report *r, const struct report_connection *c, uint64_t late,
                      uint64_t naks)
{
    uint64_t packets = c->path[0].packets + c->path[1].packets, again = 0, asked_again = 0;
    struct report_cause *cause = report_cause_add(r, CAUSE_REORDERED, CONFIDENCE_MEDIUM);
    char asked[160] = "", cost[120] = "";

    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_path back = way_back(&c->path[1 - end]);
        uint64_t requests = c->path[1 - end].asked_again;
        bool own = only_disorder(&c->path[end]), asked_late = requests > back.asked_again;

        if (back.asked_again > 0 || !(own || asked_late))
            continue;
        again += c->path[end].retransmitted;
        asked_again += requests;
        if (own)
            cause->time_ns = time_plus(cause->time_ns, c->path[end].waited_ns);
        cause->time_ns = time_plus(cause->time_ns, c->path[1 - end].asked_waited_ns);
    }
    if (naks > 0)
        snprintf(asked, sizeof(asked),
                 "; %" PRIu64 " Nak%s asked for what was not lost: it came out of order, or was "
                 "acknowledged before it passed again",
                 naks, plural(naks));
    else if (asked_again > 0)
        snprintf(asked, sizeof(asked),
                 "; %" PRIu64 " Read request%s came again for responses that were out of order",
                 asked_again, plural(asked_again));
    if (again > 0)
        snprintf(cost, sizeof(cost),
                 ". %" PRIu64 " packet%s retransmitted for it, %.3f s of waiting in all", again,
                 plural(again), report_seconds(cause->time_ns));
    snprintf(cause->text, sizeof(cause->text),
             "Packets were reordered: %" PRIu64 " of %" PRIu64 " on connection %u came late%s%s.",
             late, packets, (unsigned)c->pub.number, asked, cost);
}

/* The network made copies, or took two ways. Few of them cost nothing. */
static void copied_or_reordered(struct report *r, const struct report_connection *c)
{
    uint64_t naks = c->path[0].late_naks + c->path[1].late_naks;
    uint64_t late = c->path[0].reordered + c->path[1].reordered;

    if ((late + naks) * 1000 > causes_of_copies(r, c))
        reordered(r, c, late, naks);
}

void causes_of_path(struct report *r, const struct report_connection *c)
{
    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_path *path = &c->path[end];

        if (!c->large_lost[0] && !c->large_lost[1] && !c->large_cut) {
            lost(r, c, end);
            acks_lost(r, c, end, true, path->acked_timeouts, path->acked_timeout_ns);
            acks_lost(r, c, end, false, path->served_timeouts, path->served_timeout_ns);
            lost_before(r, c, end);
        }
        causes_of_not_ready(r, c, end);
    }
    copied_or_reordered(r, c);
}
