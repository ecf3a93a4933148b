/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed/keep.h"

#include "connections/decode_as.h"
#include "store/once.h"
#include "store/timing.h"
#include "store/titles.h"
#include "taps/taps.h"
#include "wireshark/prefs.h"

/* Transactions, as flow/ emits them -> the store. */

static const struct amounts *amounts_of(const struct rpcrdma_transaction *from)
{
    struct amounts amounts;

    memset(&amounts, 0, sizeof(amounts)); /* its padding, too */
    amounts.has_rdma = from->has_rdma;
    amounts.rdma_ns = from->rdma_ns;
    amounts.call_length = from->call_length;
    amounts.reply_length = from->reply_length;
    amounts.read_chunk_length = from->reads_known ? from->read_chunk_length : 0;
    amounts.write_chunk_length = from->returns_known ? from->write_chunk_length : 0;
    amounts.reply_chunk_length = from->returns_known ? from->reply_chunk_length : 0;
    return store_share(&amounts, sizeof(amounts));
}

static void add(uint32_t frame, struct transacted *t)
{
    struct transacted **end = &store_get(frame)->transacted;

    while (*end)
        end = &(*end)->next[frame != (*end)->call_frame];
    *end = t;
}

/* A finding that names no frame is about the Call; without one, about the Reply. Those before
 * `first` were reported already. */
static void keep_findings(const struct rpcrdma_transaction *from, size_t first)
{
    for (size_t i = first; i < from->n_findings; i++) {
        const struct rpcrdma_finding *finding = &from->findings[i];
        uint64_t frame = finding->frame != 0     ? finding->frame
                         : from->call_frame != 0 ? from->call_frame
                                                 : from->reply_frame;

        keep_found((uint32_t)frame, from->connection->number, &from->xid, finding);
    }
}

static struct arrival arrival(const struct rpcrdma_delivery *delivery)
{
    return (struct arrival){.transmissions = delivery->transmissions,
                            .frame = (uint32_t)delivery->frame,
                            .arrived = (uint32_t)delivery->arrived_frame,
                            .transit_ns = delivery->transit_ns,
                            .state = (uint8_t)delivery->state};
}

static const uint8_t *timing_of(const struct rpcrdma_transaction *from)
{
    const struct rpcrdma_phases *phases = &from->phases;
    struct timing timing = {.call = arrival(&from->call), .reply = arrival(&from->reply)};

    if (from->call.transmissions == 0 && from->reply.transmissions == 0 && !from->has_phases)
        return NULL;
    if (!from->has_latency)
        return timing_keep(&timing);
    timing.has_latency = true;
    timing.latency_ns = from->latency_ns;
    if (!from->has_phases)
        return timing_keep(&timing);
    timing.has_phases = true;
    timing.has_call = phases->has_call;
    timing.has_data = phases->has_data;
    timing.has_reply = phases->has_reply;
    timing.call_ns = phases->call_ns;
    timing.server_waiting_ns = phases->server_waiting_ns;
    timing.data_ns = phases->data_ns;
    timing.data_waiting_ns = phases->data_waiting_ns;
    timing.data_peer_ns = phases->data_peer_ns;
    timing.has_network = phases->has_network;
    timing.data_network_ns = phases->data_network_ns;
    timing.reply_ns = phases->reply_ns;
    timing.exact = phases->exact;
    timing.client_ns = phases->client_ns;
    timing.stalled_ns = from->stalled_ns;
    timing.stalled_by = (uint8_t)from->stalled_by;
    timing.stalled_from = (uint32_t)from->stalled_from_frame;
    timing.stalled_to = (uint32_t)from->stalled_to_frame;
    return timing_keep(&timing);
}

static struct resent *resent_of(uint32_t frame, uint32_t xid)
{
    struct resent **at = &store_more(frame)->resent;

    while (*at && (*at)->xid != xid)
        at = &(*at)->next;
    if (!*at) {
        *at = store_new(sizeof(**at));
        (*at)->xid = xid;
    }
    return *at;
}

/* Each knows the first and the next. Those that were not answered are reported late, and in any
 * order.
 */
static void keep_resent(uint32_t frame, uint32_t original, uint32_t xid)
{
    struct resent *first = resent_of(original, xid);
    struct resent *before =
        first->last != 0 && first->last < frame ? resent_of(first->last, xid) : first;

    while (before->again != 0 && before->again < frame)
        before = resent_of(before->again, xid);
    if (before->again == frame)
        return;
    resent_of(frame, xid)->original = original;
    resent_of(frame, xid)->again = before->again;
    before->again = frame;
    first->last = MAX(first->last, frame);
}

static struct transacted *make(const struct rpcrdma_transaction *from)
{
    struct transacted *t;

    if ((from->call_frame == 0 && from->reply_frame == 0) || decode_as_given(from->connection))
        return NULL;
    t = store_new(sizeof(*t));
    t->title = title_of(from);
    t->amounts = amounts_of(from);
    t->connection = from->connection->number;
    t->xid = from->xid;
    t->call_frame = (uint32_t)from->call_frame;
    t->reply_frame = (uint32_t)from->reply_frame;
    t->response_ns = from->response_ns;
    t->has_response = from->has_response;
    t->complete = from->complete;
    t->retransmitted = from->retransmitted;
    t->error = from->error;
    t->left_alone = settings.leave_version1 && from->connection->version == 1;
    if (t->call_frame != 0)
        add(t->call_frame, t);
    if (t->reply_frame != 0 && t->reply_frame != t->call_frame)
        add(t->reply_frame, t);
    if (t->left_alone)
        return t;
    if (from->original_frame != 0 && from->original_frame < from->call_frame)
        keep_resent(t->call_frame, (uint32_t)from->original_frame, t->xid);
    keep_findings(from, 0);
    tap_transaction(t);
    return t;
}

void keep_answered(void *context, const struct rpcrdma_transaction *from)
{
    struct transacted *t = make(from);

    (void)context;
    if (!t)
        return;
    t->waits = true;
    t->n_findings = (uint16_t)from->n_findings;
}

/* What was reported when it was answered. */
static struct transacted *find_waiting(const struct rpcrdma_transaction *from)
{
    uint32_t frame = (uint32_t)from->reply_frame;
    const struct frame_note *note = store_find(frame);

    for (struct transacted *t = note ? note->transacted : NULL; t; t = transacted_next(t, frame))
        if (t->waits && t->xid == from->xid && t->call_frame == from->call_frame &&
            t->reply_frame == frame)
            return t;
    return NULL;
}

void keep_transaction(void *context, const struct rpcrdma_transaction *from)
{
    struct transacted *t = find_waiting(from);

    (void)context;
    if (!t) {
        t = make(from);
    } else {
        t->waits = false;
        if (!t->left_alone)
            keep_findings(from, t->n_findings);
    }
    if (!t)
        return;
    t->timing = timing_of(from);
    once_ended(t);
}
