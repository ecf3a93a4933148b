/* SPDX-License-Identifier: BSD-2-Clause */
/* What is counted of each connection that has not ended: found by its number, in a bounded number
 * of pages. */
#include "report/collect/tallies.h"
#include "report/collect/collect.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "common/times.h"

/* Tallies by number, those of 64 numbers together: connections are numbered one after the other. */
enum { PAGE = 64, LINE = 64 };

struct page {
    alignas(LINE) struct report_tally tallies[PAGE];
    uint64_t used; /* one bit for each */
};

static void empty(struct report_tally *t)
{
    if (t->detail) {
        latency_clear(&t->detail->acks);
        latency_clear(&t->detail->client_answers);
    }
    g_free(t->detail);
    g_free(t->moved);
    for (int end = 0; t->trouble && end < 2; end++)
        g_free(t->trouble->missed[end].moments);
    g_free(t->trouble);
    *t = (struct report_tally){0};
}

static void free_page(gpointer p)
{
    struct page *page = p;

    for (int i = 0; i < PAGE; i++)
        empty(&page->tallies[i]);
    free(page);
}

static gpointer page_key(uint32_t number)
{
    return GUINT_TO_POINTER(number / PAGE);
}

static uint64_t page_bit(uint32_t number)
{
    return UINT64_C(1) << number % PAGE;
}

struct report_tally *report_tally(const struct report *r, uint32_t number)
{
    struct page *page = g_hash_table_lookup(r->tallies, page_key(number));

    return number != 0 && page && page->used & page_bit(number) ? &page->tallies[number % PAGE]
                                                                : NULL;
}

struct report_tally *report_tally_add(struct report *r, uint32_t number)
{
    struct page *page = g_hash_table_lookup(r->tallies, page_key(number));

    if (!page) {
        if (g_hash_table_size(r->tallies) >= r->most_pages)
            return NULL;
        page = aligned_alloc(LINE, sizeof(*page));
        if (!page)
            g_error("out of memory");
        memset(page, 0, sizeof(*page));
        g_hash_table_insert(r->tallies, page_key(number), page);
    }
    page->used |= page_bit(number);
    return &page->tallies[number % PAGE];
}

void report_tally_drop(struct report *r, uint32_t number)
{
    struct page *page = g_hash_table_lookup(r->tallies, page_key(number));

    empty(&page->tallies[number % PAGE]);
    page->used &= ~page_bit(number);
    if (page->used == 0)
        g_hash_table_remove(r->tallies, page_key(number));
}

void report_tallies_begin(struct report *r, size_t max_bytes)
{
    r->most_pages =
        (guint)CLAMP(max_bytes / 8 / REPORT_TALLY_BYTES, REPORT_UNENDED, G_MAXUINT) / PAGE;
    r->tallies = g_hash_table_new_full(NULL, NULL, NULL, free_page);
}

struct report_trouble *report_trouble(struct report_tally *t)
{
    if (!t->trouble)
        t->trouble = g_new0(struct report_trouble, 1);
    return t->trouble;
}

static bool is_brief(const struct report_tally *t)
{
    return t->moved || t->acks[0].count > 0 || t->acks[1].count > 0;
}

struct report_detail *report_detail_begin(struct report *r, struct report_tally *t)
{
    if (!is_brief(t)) {
        t->detail = g_new0(struct report_detail, 1);
        r->detailed++;
    }
    return t->detail;
}

static struct report_moved *moved_of(struct report *r, struct report_tally *t)
{
    struct report_detail *detail = report_detail(r, t);

    if (!detail && !t->moved)
        t->moved = g_new0(struct report_moved, 2);
    return detail ? detail->moved : t->moved;
}

/* The way may have become long while it was captured. */
static void note_slow_ack(struct report_slow_run *run, struct report_slow_run *longest, bool slow,
                          int64_t now_ns, int64_t ns)
{
    if (!slow) {
        run->acks = 0;
        return;
    }
    if (run->acks++ == 0)
        *run = (struct report_slow_run){.acks = 1, .since_ns = time_less(now_ns, ns)};
    run->until_ns = now_ns;
    run->ns = time_plus(run->ns, ns);
    if (run->acks > longest->acks)
        *longest = *run;
}

static void note_slow_acks(struct report_slow_run *runs, struct report_slow_run *longest,
                           int64_t now_ns, int64_t ns)
{
    note_slow_ack(&runs[REPORT_RUN_SLOW], &longest[REPORT_RUN_SLOW], ns >= REPORT_RUN_ACK_NS,
                  now_ns, ns);
    note_slow_ack(&runs[REPORT_RUN_LONG], &longest[REPORT_RUN_LONG], ns >= REPORT_LONG_ACK_NS,
                  now_ns, ns);
}

void report_ack(struct report *r, struct report_tally *t, bool server, int64_t ns)
{
    struct report_detail *detail = report_detail(r, t);

    if (detail) {
        latency_add(server ? &detail->acks : &detail->client_answers, ns);
        if (ns >= REPORT_RUN_ACK_NS || detail->slow_now[server][REPORT_RUN_SLOW].acks > 0)
            note_slow_acks(detail->slow_now[server], detail->slow_longest[server], report_now_ns(r),
                           ns);
    } else {
        struct report_acks *acks = &t->acks[server];

        acks->count++;
        acks->slow += ns >= REPORT_SLOW_ACK_NS;
        acks->very_slow += ns >= REPORT_LONG_ACK_NS;
    }
}

static void move_add(struct report_moved *moved, const struct rpcrdma_transaction *rpc,
                     uint64_t bytes, int64_t ns)
{
    if (moved->rpcs++ == 0) {
        moved->frame = rpc->call_frame;
        moved->since_ns = rpc->call_time_ns;
    } else {
        ns = MIN(ns, MAX(time_less(rpc->rdma_last_ns, moved->until_ns), 0));
    }
    moved->until_ns = MAX(moved->until_ns, rpc->rdma_last_ns);
    moved->latest_ns = MAX(moved->latest_ns, rpc->reply_time_ns);
    moved->bytes += bytes;
    moved->ns = time_plus(moved->ns, ns);
}

bool report_moves_slowly(const struct report_moved *moved)
{
    enum { LEAST_BYTES = 256 * 1024, LEAST_RPCS = 8 };

    return moved->rpcs >= LEAST_RPCS && moved->bytes >= LEAST_BYTES &&
           (double)moved->bytes * 1e9 < (double)moved->ns * REPORT_SLOW_RATE;
}

void report_limited_end(struct report_detail *detail, bool to_server)
{
    struct report_moved *now = &detail->slow_moved_now[to_server];
    struct report_limited *limited = &detail->limited[to_server];
    int64_t ns = report_moved_ns(now);

    if (report_moves_slowly(now) && ns >= REPORT_A_WHILE_NS) {
        struct report_moved *all = &limited->all;

        if (limited->times++ == 0) {
            *all = *now;
        } else {
            all->rpcs += now->rpcs;
            all->bytes += now->bytes;
            all->ns = time_plus(all->ns, now->ns);
            all->latest_ns = now->latest_ns;
        }
        report_period_add(&limited->when,
                          &(struct report_period){now->since_ns, now->latest_ns, ns});
        if (ns > report_moved_ns(&limited->longest))
            limited->longest = *now;
    }
    *now = (struct report_moved){0};
}

/* A queue pair has only so many Read requests under way at once: what is to be read for an RPC
 * waits for those of others, where these take long to answer. */
static void note_slow_reads(struct report_detail *detail, const struct rpcrdma_transaction *rpc)
{
    int64_t ns = rpc->phases.data_ns;

    report_period_add(&detail->slow_reads, &(struct report_period){time_less(rpc->rdma_last_ns, ns),
                                                                   rpc->rdma_last_ns, ns});
}

int64_t report_behind_reads_ns(const struct report_tally *tally,
                               const struct rpcrdma_transaction *t)
{
    int64_t arrived_ns = time_plus(t->call_time_ns, t->phases.call_ns);
    int64_t asked_ns = time_less(t->rdma_last_ns, t->phases.data_ns);
    struct report_periods own = {0};

    if (!tally || !tally->detail || t->read_chunk_length == 0 || !t->phases.has_data)
        return 0;
    report_period_add(
        &own, &(struct report_period){arrived_ns, asked_ns, time_less(asked_ns, arrived_ns)});
    return CLAMP(report_periods_shared(&own, &tally->detail->slow_reads), 0, t->phases.server_ns);
}

static void note_moving(struct report_detail *detail, const struct rpcrdma_transaction *rpc)
{
    const int64_t pause_ns = 50000000;
    struct report_period *moving = &detail->moving;
    int64_t ns = rpc->phases.data_ns, last_ns = rpc->rdma_last_ns;
    int64_t since_ns = time_less(last_ns, ns);

    detail->moving_call_ns = MAX(detail->moving_call_ns, rpc->call_time_ns);
    if (last_ns <= moving->until_ns)
        return;
    if (time_less(since_ns, moving->until_ns) > pause_ns)
        *moving = (struct report_period){.since_ns = since_ns};
    moving->ns = time_plus(moving->ns, MIN(ns, time_less(last_ns, moving->until_ns)));
    moving->until_ns = last_ns;
}

bool report_behind_data(const struct report_tally *tally, const struct rpcrdma_transaction *t,
                        int64_t ns)
{
    const struct report_detail *detail = tally ? tally->detail : NULL;
    int64_t arrived_ns = time_plus(t->call_time_ns, t->phases.call_ns);
    int64_t begun_ns = time_less(t->rdma_last_ns, t->phases.data_ns), shared_ns, all_ns;

    if (!detail || !t->phases.has_data ||
        time_less(detail->moving_call_ns, t->call_time_ns) > ns / 4)
        return false;
    all_ns = time_less(detail->moving.until_ns, detail->moving.since_ns);
    shared_ns =
        time_less(MIN(begun_ns, detail->moving.until_ns), MAX(arrived_ns, detail->moving.since_ns));
    return all_ns > 0 &&
           (double)shared_ns * (double)detail->moving.ns / (double)all_ns >= (double)ns / 2;
}

void report_move(struct report *r, struct report_tally *t, const struct rpcrdma_transaction *rpc)
{
    const struct rpcrdma_phases *phases = &rpc->phases;
    uint64_t in = rpc->read_chunk_length, out = rpc->write_chunk_length + rpc->reply_chunk_length;
    uint64_t bytes = in + out;
    int64_t ns = phases->data_ns - phases->data_peer_ns;
    struct report_moved *moved;
    bool slow;

    if (phases->has_data && report_detail(r, t))
        note_moving(t->detail, rpc);
    if (!rpc->reads_known || !rpc->returns_known)
        return;
    if (!phases->has_data || rpc->stalled_ns > 0 || phases->data_waiting_ns > 0 || ns <= 0 ||
        (in > 0) == (out > 0))
        return;
    moved = &moved_of(r, t)[in > 0];
    slow = (double)bytes * 1e9 < (double)ns * REPORT_SLOW_RATE;
    moved->slow += slow;
    move_add(moved, rpc, bytes, ns);
    if (t->detail && slow && in > 0)
        note_slow_reads(t->detail, rpc);
    if (t->detail && slow)
        move_add(&t->detail->slow_moved_now[in > 0], rpc, bytes, ns);
    else if (t->detail && t->detail->slow_moved_now[in > 0].rpcs > 0)
        report_limited_end(t->detail, in > 0);
}
