/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the capture lacks, and how many Calls without Reply that explains. A Reply that was sent and
 * not captured leaves a gap behind its Call, in what was sent to the end that called. A gap of n
 * packets explains n Calls at most, and none that was sent later; those that responses show to be
 * of a Read request are no Replies. So from each Call on there must be as many packets missing as
 * there are Calls, and where there are fewer the rest had no Reply: the most that any Call leaves
 * so. With Calls in their order, that is the one with the least (its number - what was missing
 * before it).
 *
 * A Call whose caller is gone, or whose Reply was never acknowledged, needs no explanation by that.
 *
 * A Call that had waited for a second and more when the first of it was missing is not among them:
 * that it may have been answered then is no excuse. (But it is where others waited as long for
 * their Replies.)
 */
#include "report/collect/collect.h"

#include "common/times.h"
#include "out/transaction.h"
#include "report/collect/acked.h"

/* Of TCP bytes are missing. What each Reply takes at least, with the headers of MPA, DDP and
 * RPC-over-RDMA; and of a gap's ends each may have spoiled one more. */
enum { LEAST_REPLY = 64, BROKEN = 2 };

static bool tcp_lost(const struct rpcrdma_op *op)
{
    return op->carrier == RPCRDMA_CARRIER_IWARP &&
           (op->kind == RPCRDMA_OP_LOST || /* also of packets that were cut: which message? */
            (op->kind == RPCRDMA_OP_SEND && op->flags & RPCRDMA_OP_TRUNCATED));
}

static uint64_t missing(const struct rpcrdma_path *path)
{
    return path->uncaptured - path->uncaptured_reads;
}

bool report_missed_shows(const struct rpcrdma_op *op, const struct rpcrdma_path *path)
{
    return tcp_lost(op) || (op->carrier != RPCRDMA_CARRIER_IWARP && path &&
                            (path->uncaptured > 0 || path->retransmitted > 0));
}

/* Where there is no room, two become one, at the later time: that explains more, and blames less.
 * Likewise what has no time. */
static void add(struct report *r, struct report_missed *m, uint64_t pieces, int64_t since_ns,
                int64_t time_ns)
{
    struct report_moments *moments = m->moments;

    if (!moments && m->pieces == 0 && r->moments < REPORT_UNENDED) {
        r->moments++;
        moments = m->moments = g_new0(struct report_moments, 1);
    }
    m->pieces += pieces;
    if (!moments)
        return;
    if (moments->n == G_N_ELEMENTS(moments->at)) {
        moments->n /= 2;
        for (size_t i = 0; i < moments->n; i++) {
            int64_t first_ns = MIN(moments->at[2 * i].since_ns, moments->at[2 * i + 1].since_ns);

            moments->at[i] = moments->at[2 * i + 1];
            moments->at[i].since_ns = first_ns;
        }
    }
    if (moments->n > 0)
        time_ns = MAX(time_ns, moments->at[moments->n - 1].time_ns);
    moments->at[moments->n].since_ns = since_ns;
    moments->at[moments->n].time_ns = time_ns;
    moments->at[moments->n++].through = m->pieces;
}

/* What seemed to be missing came, or was no Reply: mostly what showed last. */
static void take_back(struct report_missed *m, uint64_t pieces)
{
    m->pieces -= MIN(pieces, m->pieces);
    for (unsigned i = 0; m->moments && i < m->moments->n; i++)
        m->moments->at[i].through = MIN(m->moments->at[i].through, m->pieces);
}

/* Behind it nothing shows that was missing since then. */
static int64_t missing_since(const struct report_tally *t, const struct rpcrdma_connection *c,
                             int end)
{
    return c->role[end] == RPCRDMA_ROLE_CLIENT ? t->whole.ns : 0;
}

/* It answers one of the Calls that waited for it, if these waited for long with nothing else that
 * passed. */
void report_missed_message(struct report *r, struct report_tally *t,
                           const struct rpcrdma_connection *c, int end, int64_t time_ns)
{
    add(r, &report_trouble(t)->missed[end], 1, missing_since(t, c, end), time_ns);
}

void report_missed(struct report *r, struct report_tally *t, const struct rpcrdma_connection *c,
                   int end, const struct rpcrdma_op *op, const struct rpcrdma_path *path)
{
    struct report_missed *m = &report_trouble(t)->missed[end];
    int64_t since_ns = path && path->acknowledged ? missing_since(t, c, end) : 0;

    if (tcp_lost(op)) {
        add(r, m, op->len / LEAST_REPLY + BROKEN, since_ns, op->time_ns);
    } else if (path) {
        if (missing(path) > m->missing)
            add(r, m, missing(path) - m->missing, since_ns, op->time_ns);
        else if (missing(path) < m->missing)
            take_back(m, m->missing - missing(path));
        m->missing = missing(path);
    }
}

static uint64_t missing_before(const struct report_moments *moments, int64_t time_ns)
{
    unsigned i = moments ? moments->n : 0;

    while (i > 0 && moments->at[i - 1].time_ns >= time_ns)
        i--;
    return i > 0 ? moments->at[i - 1].through : 0;
}

/* Replies passed a second and more after it, and nothing was missing before that, or since then. */
static bool waited(const struct report_tally *tally, struct report_unanswered *without,
                   const struct rpcrdma_transaction *t)
{
    const struct report_missed *m =
        t->caller_end >= 0 ? &tally->trouble->missed[t->caller_end] : NULL;
    int64_t first_ns = INT64_MAX;

    if (!m || transaction_is_callback(t) || (m->pieces > 0 && !m->moments) ||
        time_less(tally->whole.ns, t->call_time_ns) < SECOND)
        return false;
    for (unsigned i = 0; m->moments && i < m->moments->n; i++)
        if (m->moments->at[i].time_ns >= t->call_time_ns)
            first_ns = MIN(first_ns, time_less(m->moments->at[i].since_ns, t->call_time_ns));
    if (first_ns < report_late_ns(tally->trouble))
        return false;
    if (without->waited++ == 0) {
        without->waited_frame = t->call_frame;
        without->waited_since_ns = t->call_time_ns;
    }
    if (first_ns != INT64_MAX && (without->waited_ns == 0 || first_ns < without->waited_ns))
        without->waited_ns = first_ns;
    return true;
}

/* Those that need an explanation by what is missing. */
static uint64_t to_explain(const struct report_unanswered *without)
{
    return without->calls - without->gone - without->waited - without->unheard;
}

void report_missed_answer(const struct report_tally *tally, struct report_unanswered *without,
                          const struct rpcrdma_transaction *t)
{
    const struct report_missed *missed = tally->trouble->missed;
    int64_t least;

    if (waited(tally, without, t))
        return;
    least = (int64_t)to_explain(without);
    if (t->caller_end >= 0)
        least -= (int64_t)missing_before(missed[t->caller_end].moments, t->call_time_ns);
    if (to_explain(without) > 1 && least >= without->least)
        return;
    without->least = least;
    without->least_frame = t->call_frame;
    without->least_since_ns = t->call_time_ns;
}

/* What was sent towards this end last, if only answers to its RDMA Reads, it neither acknowledged
 * nor was it sent again, though there was time for that. */
static bool acks_lack(const struct report *r, const struct report_connection *c, int end)
{
    int64_t once_ns = c->pub.life.silence[end].once_ns;

    return once_ns != 0 && c->trouble->refusal.frame == 0 &&
           time_less(report_now_ns(r), once_ns) >= report_resend_ns(&c->pub);
}

/* Those by this end: of this connection; or, where the Calls that it sent were acknowledged, of an
 * earlier one. There may have been nothing to acknowledge on this one. */
static bool acks_captured(const struct report *r, const struct report_connection *c, int end,
                          const struct report_unanswered *without)
{
    return c->path[end].acknowledged ||
           (without->held >= without->calls && report_acked_by(r->acked, c, end));
}

/* Without Acks of what was sent towards an end, nothing shows what came behind the last of it that
 * was captured: whether that answered the last Calls. Nor where their Acks are missing. */
static uint64_t unseen(const struct report *r, const struct report_connection *c, int end,
                       const struct report_unanswered *without)
{
    const struct rpcrdma_path *path = &c->path[end];
    bool ended = c->pub.life.ended != RPCRDMA_ENDED_NOT;

    if (!c->has_path[end] || path->packets == 0)
        return 0;
    if (acks_captured(r, c, end, without) && (ended || !acks_lack(r, c, 1 - end)))
        return without->dropped;
    /* what was under way when the capture ended is not late */
    return MAX(without->dropped, ended ? without->behind : MIN(without->behind, without->late));
}

static void forget(struct report *r, struct report_missed *m)
{
    r->moments -= m->moments != NULL;
    g_clear_pointer(&m->moments, g_free);
}

/* What no operation showed. Of TCP: before MPA's frames were found, gaps are none. */
static int64_t missed_besides(const struct report_connection *c, int end)
{
    const struct report_missed *m = &c->trouble->missed[end];

    if (!c->has_path[end])
        return 0;
    return c->pub.carrier == RPCRDMA_CARRIER_IWARP
               ? MAX((int64_t)c->path[end].uncaptured - (int64_t)m->pieces, 0)
               : (int64_t)(missing(&c->path[end]) - m->missing);
}

void report_missed_end(struct report *r, struct report_connection *c,
                       struct report_trouble *trouble)
{
    for (int i = 0; i < 2; i++) {
        struct report_unanswered *without = &trouble->unanswered[i];
        int64_t calls = (int64_t)to_explain(without);
        int64_t left, more, waited;
        int end = without->caller_end;

        r->under_way_silent |= without->under_way_silent;
        if (without->calls == 0)
            continue;
        if (end < 0) {
            r->under_way += without->under_way;
            continue;
        }
        more = missed_besides(c, end);
        left = CLAMP(calls + 1 - (int64_t)trouble->missed[end].pieces - more - without->least, 0,
                     calls);
        waited = (int64_t)without->waited;
        waited -= CLAMP(more, 0, waited);
        if (left > 0) {
            without->frame = without->least_frame;
            without->since_ns = without->least_since_ns;
        }
        if (waited > 0 && (left == 0 || without->waited_frame < without->frame)) {
            without->frame = without->waited_frame;
            without->since_ns = without->waited_since_ns;
        }
        left += waited;
        without->unseen = MIN(unseen(r, c, end, without), (uint64_t)left);
        left -= (int64_t)without->unseen;
        without->explained = without->calls - without->gone - (uint64_t)left;
        r->under_way += MIN(without->under_way, (uint64_t)left);
    }
    forget(r, &trouble->missed[0]);
    forget(r, &trouble->missed[1]);
}
