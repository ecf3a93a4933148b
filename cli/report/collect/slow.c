/* SPDX-License-Identifier: BSD-2-Clause */
/* Of what took long: the slowest RPCs, each by itself, and which end was slow. */
#include "report/collect/collect.h"

#include <string.h>

#include "common/times.h"
#include "out/transaction.h"
#include "wire/hot.h"

int64_t report_waited_ns(const struct report *r, const struct rpcrdma_transaction *t)
{
    const struct rpcrdma_connection *c = t->connection;
    int64_t until_ns = c->life.ended != RPCRDMA_ENDED_NOT ? c->life.ended_ns
                       : c->life.next != 0                ? c->last_time_ns
                                                          : report_now_ns(r);

    return time_less(until_ns, t->call_time_ns);
}

/* Of a length of time, where times have steps: it may be so much less. */
static int64_t surely(const struct report *r, int64_t ns)
{
    return time_less(ns, r->pipeline->step_ns);
}

void report_slow_add(struct report_slow *sum, const struct report_slow *one)
{
    if (one->rpcs == 0)
        return;
    if (sum->rpcs == 0 || one->frame < sum->frame)
        sum->frame = one->frame;
    if (sum->rpcs == 0) {
        sum->end = one->end;
        sum->connection = one->connection;
    }
    sum->several_ends |= memcmp(&sum->end, &one->end, sizeof(one->end)) != 0;
    if (sum->connection != one->connection)
        sum->connection = 0;
    sum->rpcs += one->rpcs;
    sum->reads += one->reads;
    sum->again += one->again;
    sum->alone += one->alone;
    sum->behind += one->behind;
    sum->unacked += one->unacked;
    sum->unmoved += one->unmoved;
    sum->queued += one->queued;
    sum->ns = time_plus(sum->ns, one->ns);
    report_idle_add(sum, one);
    report_periods_add(&sum->periods, &one->periods);
}

/* It takes its place in the list, whose last one gives way. */
RPCRDMA_RARE static void keep_slow(struct report *r, const struct rpc *rpc, int64_t latency)
{
    const struct rpcrdma_transaction *t = rpc->transaction;
    struct report_rpc *last = &r->slowest[REPORT_SLOWEST - 1];
    char title[TRANSACTION_NAME], path[NFS_PATH];
    unsigned at;
    size_t n;

    if (r->n_slowest == REPORT_SLOWEST) {
        g_free(last->title);
        g_free(last->path);
        r->n_slowest--;
    }
    for (at = r->n_slowest; at > 0 && r->slowest[at - 1].latency_ns < latency; at--)
        r->slowest[at] = r->slowest[at - 1];
    r->n_slowest++;
    rpcrdma_transaction_title(t, title, sizeof(title));
    n = rpc_path(rpc, path);
    r->slowest[at] = (struct report_rpc){
        .title = g_strdup(title),
        .path = n > 0 ? g_strndup(path, n) : NULL,
        .xid = t->xid,
        .connection = t->connection->number,
        .src = *rpc_caller(t),
        .dst = *rpc_responder(t),
        .call_frame = t->call_frame,
        .reply_frame = t->reply_frame,
        .call_time_ns = t->call_time_ns,
        .latency_ns = latency,
        .reverse = transaction_is_callback(t),
        .answered = t->has_latency,
        .has_phases = t->has_phases,
        .phases = t->phases,
        .stalled_ns = t->stalled_ns,
        .stalled_by = t->stalled_by,
    };
}

void report_note_slowest(struct report *r, const struct rpc *rpc)
{
    const struct rpcrdma_transaction *t = rpc->transaction;
    int64_t latency = t->has_latency ? t->latency_ns : report_waited_ns(r, t);

    if (latency < 0)
        latency = 0;
    if (t->call_frame != 0 && (t->has_latency || report_has_no_reply(t)) &&
        (r->n_slowest < REPORT_SLOWEST || latency > r->slowest[REPORT_SLOWEST - 1].latency_ns))
        keep_slow(r, rpc, latency);
}

static void note_slow_one(const struct report *r, struct report_slow *slow,
                          const struct rpcrdma_transaction *t, const struct rpcrdma_address *end,
                          const struct report_period *when)
{
    if (slow->rpcs++ == 0) {
        slow->frame = t->call_frame;
        slow->end = *end;
        slow->connection = t->connection->number;
    }
    slow->several_ends |= memcmp(&slow->end, end, sizeof(*end)) != 0;
    if (slow->connection != t->connection->number)
        slow->connection = 0;
    slow->reads += MAX(t->segments, 1);
    slow->again += t->retransmitted && t->original_connection == 0;
    slow->ns = time_plus(slow->ns, when->ns);
    report_note_idle(r, slow, when);
    report_period_add(&slow->periods, when);
}

/* That long, between the Call's arrival and the Reply: the rest of that is RDMA. */
static struct report_period inside(const struct rpcrdma_transaction *t, int64_t ns)
{
    const struct rpcrdma_phases *phases = &t->phases;
    int64_t since_ns = time_plus(t->call_time_ns, phases->call_ns);
    int64_t all_ns = time_plus(phases->server_ns, phases->data_ns);

    return (struct report_period){since_ns, time_plus(since_ns, MAX(all_ns, ns)), ns};
}

static void note_responder(const struct report *r, struct report_slow *slow,
                           const struct rpcrdma_transaction *t, int64_t ns)
{
    struct report_period when = inside(t, ns);

    note_slow_one(r, slow, t, rpc_responder(t), &when);
}

/* For half of that time no other Reply passed. Else theirs was not sent yet, as a connection keeps
 * their order: it was not lost on its way to the place of capture. Or it passed within a second
 * behind such a one: what is lost holds up all that is sent behind it. */
static void note_alone(struct report *r, struct report_slow *slow,
                       const struct rpcrdma_transaction *t, int64_t ns)
{
    struct report_tally *tally = report_tally_of(r, t->connection);
    struct report_trouble *trouble = tally ? report_trouble(tally) : NULL;
    int64_t arrived_ns = time_plus(t->call_time_ns, t->phases.call_ns);
    int64_t since_ns = MAX(arrived_ns, tally ? tally->answers.last_ns : 0);

    if (time_less(t->reply_time_ns, since_ns) >= ns / 2) {
        if (trouble)
            trouble->held = (struct report_period){since_ns, t->reply_time_ns, ns};
        slow->alone++;
    } else if (trouble && time_less(t->reply_time_ns, trouble->held.until_ns) < SECOND) {
        since_ns = MAX(arrived_ns, trouble->held.since_ns);
        slow->behind += time_less(trouble->held.until_ns, since_ns) >= ns / 2;
    }
}

/* And what speaks against it: see doubt_end in causes/time/slow.c. */
static void note_slow_responder(struct report *r, struct report_slow *slow,
                                const struct rpcrdma_transaction *t, int64_t ns)
{
    note_responder(r, slow, t, ns);
    if (!transaction_is_callback(t))
        note_alone(r, slow, t, ns);
    slow->unacked += !t->phases.has_call;
    slow->unmoved += t->segments > 0 && !t->complete;
    slow->queued += report_behind_data(report_tally_of(r, t->connection), t, ns);
}

static void note_slow_reads(struct report *r, const struct rpcrdma_transaction *t)
{
    struct report_tally *tally = report_tally_of(r, t->connection);
    struct report_period when = inside(t, t->phases.data_peer_ns);

    if (tally)
        note_slow_one(r, &report_trouble(tally)->slow_reads, t, rpc_caller(t), &when);
}

/* What asks for data has a timer, but for that of TCP, which acknowledged it. */
static void note_reads_jump(struct report *r, const struct rpcrdma_transaction *t, int64_t ns)
{
    struct report_period when = inside(t, ns);

    if (t->connection->carrier != RPCRDMA_CARRIER_IWARP)
        report_note_jump(r, t, &when);
}

/* No loss that was seen is part of its time. */
static bool untouched(const struct rpcrdma_transaction *t)
{
    return (t->stalled_ns == 0 || t->stalled_by == RPCRDMA_STALL_SET_UP) && !t->retransmitted &&
           t->call.transmissions == 1 && t->reply.transmissions == 1;
}

/* It is long by itself, whatever the rest of the RPC took. */
static bool is_long(const struct report *r, int64_t ns)
{
    return surely(r, ns) >= MAX(r->slow_ns, SECOND);
}

/* Nor was anything sent again to that end since then. */
static bool nothing_resent(const struct report_tally *tally, int end, int64_t since_ns)
{
    return !tally->trouble || tally->trouble->resent_packets_ns[end] < since_ns;
}

/* A message's way, which is that long, of which the sender took a part from its first packet to
 * its last. */
struct way {
    int64_t since_ns, sending_ns, rest_ns;
};

static struct way way_of(const struct rpcrdma_delivery *message, int64_t ns)
{
    int64_t sending_ns = time_less(message->last_time_ns, message->first_time_ns);

    sending_ns = CLAMP(sending_ns, 0, MAX(ns, 0));
    return (struct way){message->first_time_ns, sending_ns, ns - sending_ns};
}

static struct way call_way(const struct rpcrdma_transaction *t)
{
    return way_of(&t->call, t->phases.call_ns);
}

static struct way reply_way(const struct rpcrdma_transaction *t)
{
    return way_of(&t->reply, t->phases.reply_ns);
}

/* An end acknowledged a message late. A client that has no Ack of its Call sends others, and one
 * that acknowledges nothing, none: else what acknowledged the Reply may not be in the capture, but
 * where the Ack names the Reply itself, and nothing later. */
static bool acknowledges(const struct report_tally *tally, const struct rpcrdma_transaction *t,
                         bool server, struct report_period *when)
{
    const struct way way = server ? call_way(t) : reply_way(t);
    int64_t since_ns = time_plus(way.since_ns, way.sending_ns);
    int server_end = report_server_end(t->connection);
    bool shown = server
                     ? t->call.frame < t->reply_frame
                     : t->reply.named || t->connection->life.last_call_ns <= t->reply.first_time_ns;

    *when = (struct report_period){since_ns, time_plus(since_ns, way.rest_ns), way.rest_ns};
    return tally && shown && nothing_resent(tally, server ? server_end : 1 - server_end, since_ns);
}

static void note_late(struct report *r, const struct rpcrdma_transaction *t, bool server)
{
    struct report_tally *tally = report_tally_of(r, t->connection);
    struct report_period when;

    if (acknowledges(tally, t, server, &when) && is_long(r, when.ns)) {
        note_slow_one(r, &report_trouble(tally)->late[server], t,
                      server ? rpc_responder(t) : rpc_caller(t), &when);
        report_note_jump(r, t, &when);
    }
}

/* No adapter takes that long, however slow its host is. */
static void note_stutter(struct report *r, struct report_tally *tally,
                         const struct rpcrdma_transaction *t, bool server)
{
    struct report_stutter *stutter;
    struct report_period when;
    bool another;

    if (!acknowledges(tally, t, server, &when) || surely(r, when.ns) < REPORT_OFTEN_NS)
        return;
    stutter = &report_trouble(tally)->stutter[server];
    another = stutter->times == 0 || when.since_ns >= stutter->until_ns;
    if (stutter->times == 0)
        stutter->frame = server ? t->call_frame : t->reply_frame;
    stutter->times += another;
    if (when.until_ns > stutter->until_ns || another) {
        int64_t since_ns = another ? when.since_ns : MAX(when.since_ns, stutter->until_ns);

        stutter->ns = time_plus(stutter->ns, time_less(when.until_ns, since_ns));
        stutter->until_ns = when.until_ns;
    }
    stutter->longest_ns = MAX(stutter->longest_ns, when.ns);
}

/* An end paused between the packets of a message. */
static void note_sending(struct report *r, const struct rpcrdma_transaction *t, bool server)
{
    struct report_tally *tally = report_tally_of(r, t->connection);
    const struct way way = server ? reply_way(t) : call_way(t);
    struct report_period when = {way.since_ns, time_plus(way.since_ns, way.sending_ns),
                                 way.sending_ns};

    if (tally && is_long(r, way.sending_ns))
        note_slow_one(r, &report_trouble(tally)->sending[server], t,
                      server ? rpc_responder(t) : rpc_caller(t), &when);
}

/* From its first to its last RDMA packet, but for what the client took for Reads. */
static int64_t moving_ns(const struct rpcrdma_transaction *t)
{
    return t->phases.data_ns - t->phases.data_peer_ns;
}

/* That is long, and most of the RPC's time. */
static bool is_moving(const struct report *r, const struct rpcrdma_transaction *t)
{
    return is_long(r, moving_ns(t)) && moving_ns(t) > t->latency_ns / 2;
}

/* How much it was that moved: else the Call or the Reply was cut. */
static bool moved_known(const struct rpcrdma_transaction *t)
{
    return t->reads_known && t->returns_known;
}

/* Meanwhile next to nothing moved. False: it was quicker, or that is not known. */
static bool note_paused(struct report *r, const struct rpcrdma_transaction *t)
{
    uint64_t bytes = t->read_chunk_length + t->write_chunk_length + t->reply_chunk_length;
    int64_t ns = moving_ns(t);
    struct report_tally *tally;

    if (!is_moving(r, t) || !moved_known(t) || (double)bytes >= (double)ns / 1e9 * REPORT_SLOW_RATE)
        return false;
    tally = report_tally_of(r, t->connection);
    if (tally)
        note_responder(r, &report_trouble(tally)->paused, t, ns);
    if (t->write_chunk_length + t->reply_chunk_length == 0)
        note_reads_jump(r, t, ns);
    return true;
}

/* Those of the last minute and more may turn out to be beside a loss; those before will not. */
static void let_age(struct report_trouble *trouble, int64_t time_ns)
{
    struct report_slow *slow = trouble->slow_apart;
    int64_t age_ns = time_less(time_ns, trouble->slow_apart_ns);
    bool long_ago = age_ns > 2 * REPORT_LOSSES_NS;

    if (age_ns <= REPORT_LOSSES_NS)
        return;
    report_slow_add(&slow[0], &slow[1]);
    slow[1] = (struct report_slow){0};
    report_slow_add(&slow[long_ago ? 0 : 1], &slow[2]);
    slow[2] = (struct report_slow){0};
    trouble->slow_apart_ns =
        long_ago ? time_ns : time_plus(trouble->slow_apart_ns, REPORT_LOSSES_NS);
}

void report_note_loss(struct report_trouble *trouble, int end, int64_t time_ns)
{
    trouble->resent_packets_ns[end] = time_ns;
    let_age(trouble, time_ns);
    for (int i = 1; i < 3; i++) {
        report_slow_add(&trouble->slow_server, &trouble->slow_apart[i]);
        trouble->slow_apart[i] = (struct report_slow){0};
    }
}

/* How long the server did not know the connection to be set up, from the Call's arrival on: its
 * adapter acknowledges Calls meanwhile, and it takes none. */
static int64_t not_set_up_ns(const struct rpcrdma_transaction *t)
{
    const struct rpcrdma_life *life = &t->connection->life;
    int64_t arrived_ns = time_plus(t->call_time_ns, t->phases.call_ns);

    if (life->accepted_again == 0 || transaction_is_callback(t))
        return 0;
    return CLAMP(time_less(life->accepted_again_ns, arrived_ns), 0, t->phases.server_ns);
}

static void add_span(struct report_periods *periods, int64_t since_ns, int64_t until_ns)
{
    if (until_ns > since_ns)
        report_period_add(
            periods, &(struct report_period){since_ns, until_ns, time_less(until_ns, since_ns)});
}

/* TCP sends nothing new to a client that stands still: what the server has for it meanwhile waits
 * behind what it sent before. */
static int64_t held_up_ns(const struct report_tally *tally, const struct rpcrdma_transaction *t)
{
    const struct rpcrdma_connection *c = t->connection;
    int64_t arrived_ns = time_plus(t->call_time_ns, t->phases.call_ns), shared_ns;
    struct report_periods own = {0};

    if (!tally || !tally->trouble || c->carrier != RPCRDMA_CARRIER_IWARP ||
        transaction_is_callback(t))
        return 0;
    if (t->phases.has_data) {
        add_span(&own, arrived_ns, time_less(t->rdma_last_ns, t->phases.data_ns));
        add_span(&own, t->rdma_last_ns, t->reply_time_ns);
    } else {
        add_span(&own, arrived_ns, t->reply_time_ns);
    }
    shared_ns = report_periods_shared(&own, &tally->trouble->still[1 - report_server_end(c)].when);
    return CLAMP(shared_ns, 0, t->phases.server_ns);
}

/* What it took while its adapter was silent, before it could ask for data, or while it could send
 * nothing new, is no time of the server's. */
static int64_t own_ns(struct report *r, const struct rpcrdma_transaction *t)
{
    int64_t apart_ns = MAX(t->phases.server_waiting_ns, not_set_up_ns(t));

    if (t->phases.server_ns >= REPORT_OFTEN_NS && t->read_chunk_length > 0)
        apart_ns = MAX(apart_ns, report_behind_reads_ns(report_tally_of(r, t->connection), t));
    if (t->phases.server_ns >= REPORT_OFTEN_NS)
        apart_ns = MAX(apart_ns, held_up_ns(report_tally_of(r, t->connection), t));
    return t->phases.server_ns - apart_ns;
}

/* What the server sent for it were so many packets, whatever the path MTU is. */
static bool has_train(const struct rpcrdma_transaction *t)
{
    const uint64_t largest_mtu = 4096;

    return t->connection->carrier != RPCRDMA_CARRIER_IWARP && t->complete &&
           t->write_chunk_length + t->reply_chunk_length > (REPORT_TRAIN - 1) * largest_mtu;
}

static void note_slow_server(struct report *r, const struct rpcrdma_transaction *t)
{
    struct report_tally *tally = report_tally_of(r, t->connection);
    struct report_trouble *trouble = tally ? report_trouble(tally) : NULL;
    int64_t resent_ns, ns;

    if (!trouble || surely(r, t->phases.server_ns) < SECOND)
        return;
    ns = MAX(not_set_up_ns(t), report_behind_reads_ns(tally, t));
    ns = t->phases.server_ns - MAX(ns, held_up_ns(tally, t));
    if (surely(r, ns) < SECOND)
        return;
    if (has_train(t))
        note_slow_responder(r, &trouble->slow_trains, t, ns);
    resent_ns = MAX(trouble->resent_packets_ns[0], trouble->resent_packets_ns[1]);
    if (time_less(t->call_time_ns, resent_ns) > REPORT_LOSSES_NS) {
        let_age(trouble, t->reply_time_ns);
        note_slow_responder(r, &trouble->slow_apart[2], t, ns);
    } else {
        note_slow_responder(r, &trouble->slow_server, t, ns);
    }
}

/* No part of it is long, but all of them are; or what moved for long may be much or little. */
static void note_of_all(struct report *r, const struct rpcrdma_transaction *t)
{
    const struct rpcrdma_phases *phases = &t->phases;
    const struct way call = call_way(t), reply = reply_way(t);
    bool unknown = is_moving(r, t) && !moved_known(t);

    if (!unknown &&
        (is_long(r, MAX(call.sending_ns, call.rest_ns)) ||
         is_long(r, MAX(reply.sending_ns, reply.rest_ns)) ||
         !is_long(r, time_plus(time_plus(phases->call_ns, phases->server_ns), phases->reply_ns))))
        return;
    r->slow_of_all++;
    r->slow_of_all_ns = MAX(r->slow_of_all_ns, t->latency_ns);
}

/* Which part of it is long is not known. */
static void note_cut(struct report *r, const struct rpcrdma_transaction *t)
{
    if (!t->has_response || t->response_ns < 0 || !is_long(r, t->latency_ns))
        return;
    r->slow_cut++;
    r->slow_of_all++;
    r->slow_of_all_ns = MAX(r->slow_of_all_ns, t->latency_ns);
}

/* What its responder took between the Call's arrival and the Reply, but for RDMA; and the others.
 */
void report_note_responder(struct report *r, const struct rpcrdma_transaction *t)
{
    bool callback = transaction_is_callback(t);
    struct report_tally *tally = report_tally_of(r, t->connection);
    int64_t half = t->latency_ns / 2, waited = t->phases.data_peer_ns;
    int64_t own = own_ns(r, t);
    bool responder = surely(r, own) > half || is_long(r, own), reads;

    if (surely(r, own) >= REPORT_OFTEN_NS && !callback && t->has_latency && t->has_phases &&
        untouched(t) && tally)
        note_responder(r, &report_trouble(tally)->slow_often, t, own);
    if (t->has_latency && t->latency_ns >= SECOND && !callback && untouched(t) && tally) {
        struct report_trouble *trouble = report_trouble(tally);

        trouble->longest_ns = MAX(trouble->longest_ns, t->latency_ns);
    }
    if (MAX(t->phases.call_ns, t->phases.reply_ns) >= REPORT_OFTEN_NS && !callback &&
        t->has_latency && t->has_phases && tally && untouched(t) &&
        t->connection->carrier != RPCRDMA_CARRIER_IWARP)
        for (int server = 0; server < 2; server++)
            note_stutter(r, tally, t, server);
    if (!t->has_latency || surely(r, t->latency_ns) < r->slow_ns)
        return;
    r->slow++;
    if (!t->has_phases) {
        note_cut(r, t);
        return;
    }
    if (responder && tally)
        note_slow_responder(r, &report_trouble(tally)->slow_own[!callback], t, own);
    reads =
        !callback && t->read_chunk_length > 0 && (surely(r, waited) > half || is_long(r, waited));
    if (reads)
        note_slow_reads(r, t);
    if (callback || !untouched(t))
        return;
    if (reads)
        note_reads_jump(r, t, waited);
    for (int server = 0; server < 2; server++) {
        note_late(r, t, server);
        note_sending(r, t, server);
    }
    if (responder)
        note_slow_server(r, t);
    else if (!reads && !note_paused(r, t))
        note_of_all(r, t);
}
