/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the capture lacks, and how many Calls without Reply that explains. A Reply that was sent and
 * not captured leaves a gap behind its Call, in what was sent to the end that called. A gap of n
 * packets explains n Calls at most, and none that was sent later; those that responses show to be
 * of a Read request are no Replies. So from each Call on there must be as many packets missing as
 * there are Calls, and where there are fewer the rest had no Reply: the most that any Call leaves
 * so. With Calls in their order, that is the one with the least (its number - what was missing
 * before it).
 */
#include "report/report.h"

#include "times.h"

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
static void add(struct report *r, struct report_missed *m, uint64_t pieces, int64_t time_ns)
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
        for (unsigned i = 0; i < moments->n; i++)
            moments->at[i] = moments->at[2 * i + 1];
    }
    if (moments->n > 0)
        time_ns = MAX(time_ns, moments->at[moments->n - 1].time_ns);
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

void report_missed_message(struct report *r, struct report_tally *t, int end, int64_t time_ns)
{
    add(r, &report_trouble(t)->missed[end], 1, time_ns);
}

void report_missed(struct report *r, struct report_tally *t, int end, const struct rpcrdma_op *op,
                   const struct rpcrdma_path *path)
{
    struct report_missed *m = &report_trouble(t)->missed[end];

    if (tcp_lost(op)) {
        add(r, m, op->len / LEAST_REPLY + BROKEN, op->time_ns);
    } else if (path) {
        if (missing(path) > m->missing)
            add(r, m, missing(path) - m->missing, op->time_ns);
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

void report_missed_answer(struct report_trouble *trouble, struct report_unanswered *without,
                          const struct rpcrdma_transaction *t)
{
    int64_t least = (int64_t)without->calls;

    if (t->caller_end >= 0)
        least -= (int64_t)missing_before(trouble->missed[t->caller_end].moments, t->call_time_ns);
    if (without->calls > 1 && least >= without->least)
        return;
    without->least = least;
    without->least_frame = t->call_frame;
    without->caller_end = t->caller_end;
}

/* What was sent towards this end last, if only answers to its RDMA Reads, it neither acknowledged
 * nor was it sent again, though there was time for that. */
static bool acks_lack(const struct report *r, const struct report_connection *c, int end)
{
    int64_t once_ns = c->pub.life.silence[end].once_ns;

    return once_ns != 0 && c->trouble.refusal.frame == 0 &&
           time_less(report_now_ns(r), once_ns) >= report_resend_ns(&c->pub);
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
    if (path->acknowledged && (ended || !acks_lack(r, c, 1 - end)))
        return without->dropped;
    /* what was under way when the capture ended is not late */
    return MAX(without->dropped, ended ? without->behind : MIN(without->behind, without->late));
}

static void forget(struct report *r, struct report_missed *m)
{
    r->moments -= m->moments != NULL;
    g_clear_pointer(&m->moments, g_free);
}

void report_missed_end(struct report *r, struct report_connection *c)
{
    for (int i = 0; i < 2; i++) {
        struct report_unanswered *without = &c->trouble.unanswered[i];
        int end = without->caller_end;
        const struct report_missed *m;
        int64_t left, all;

        r->under_way_silent |= without->under_way_silent;
        if (without->calls == 0)
            continue;
        if (end < 0) {
            r->under_way += without->under_way;
            continue;
        }
        m = &c->trouble.missed[end];
        all = (int64_t)m->pieces;
        if (c->has_path[end] && c->pub.carrier != RPCRDMA_CARRIER_IWARP)
            all += (int64_t)(missing(&c->path[end]) - m->missing);
        else if (c->has_path[end]) /* before MPA's frames were found, gaps are no operations */
            all = MAX(all, (int64_t)c->path[end].uncaptured);
        left =
            CLAMP((int64_t)without->calls + 1 - all - without->least, 0, (int64_t)without->calls);
        without->unseen = MIN(unseen(r, c, end, without), (uint64_t)left);
        left -= (int64_t)without->unseen;
        without->explained = without->calls - (uint64_t)left;
        r->under_way += MIN(without->under_way, (uint64_t)left);
        if (left > 0)
            without->frame = without->least_frame;
    }
    forget(r, &c->trouble.missed[0]);
    forget(r, &c->trouble.missed[1]);
}
