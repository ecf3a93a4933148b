/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/step.h"
#include "flow/delivery/delivery.h"
#include "flow/rpc/check.h"
#include "flow/rpc/rpc_state.h"
#include "wire/hot.h"

/* RDMA on its way into the regions that Calls opened, or into none that is known. */

/* There twice, it was sent once. Of a Write the copy does not come here. */
static bool is_copy(const struct rpc_transaction *t, int sender, const struct rpcrdma_op *op)
{
    const struct flow_delivery *answers =
        op->kind == RPCRDMA_OP_READ_RESPONSE ? rpc_delivery_towards(t->conn, 1 - sender) : NULL;

    return answers && t->rdma_last_frame != 0 && flow_delivery_twice(answers, op->frame);
}

static void moved(struct flow_rpcs *rpcs, struct rpc_transaction *t, int sender,
                  const struct rpcrdma_op *op, int64_t asked_ns)
{
    rpc_timing_data(rpcs, t, sender, op, asked_ns);
    /* a capture's times can go back, and begin at 0 */
    if (t->rdma_last_frame == 0 || op->time_ns < t->rdma_first_ns) {
        t->rdma_first_ns = op->time_ns;
        t->pub.rdma_first_frame = op->frame;
    }
    if (t->rdma_last_frame == 0 || op->time_ns > t->rdma_last_ns) {
        t->rdma_last_ns = op->time_ns;
        t->rdma_last_frame = op->frame;
    }
}

static void data_transfer(struct flow_rpcs *rpcs, struct flow_region *region, uint64_t start,
                          int sender, const struct rpcrdma_op *op, int64_t asked_ns)
{
    struct rpc_transaction *t = region->owner;
    uint32_t n = region->seen;

    if (rpcs->context->sink.data_transfer)
        rpc_data_transfer_emit(rpcs, region, (enum rpcrdma_op_kind)op->kind, op->frame, start,
                               op->len);
    if (!is_copy(t, sender, op))
        moved(rpcs, t, sender, op, asked_ns);
    if (region->use == RPC_CALL_READ && t->call_emitted)
        return; /* retransmitted: it was reported */
    if (!flow_region_place(&rpcs->regions, region, start, op->data, op->caplen, op->len))
        rpc_add_finding(rpcs, t,
                        (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_OUTSIDE,
                                             .frame = op->frame,
                                             .a = region->handle,
                                             .b = start + op->len,
                                             .c = region->length});
    n = region->seen - n;
    if (n == 0)
        return;
    if (region->use == RPC_CALL_READ) {
        t->pending -= n < t->pending ? n : t->pending;
        t->asked -= n < t->asked ? n : t->asked;
        t->last_frame = op->frame;
        t->last_ns = op->time_ns;
        if (t->pending == 0 && !t->open)
            rpc_call_deliver(rpcs, t);
    }
    if (region->use == RPC_REPLY_READ)
        t->reply.pending -= n < t->reply.pending ? n : t->reply.pending;
    rpc_reply_release_if_ready(rpcs, t);
}

/* One run of memory may be offered as several segments of one handle, and moved at once (RFC 8166
 * section 3.4.3): each segment gets what is its own. What lies in none stays with the last. */
RPCRDMA_RARE static void spread(struct flow_rpcs *rpcs, struct flow_region *region,
                                uint64_t address, int sender, const struct rpcrdma_op *op,
                                int64_t asked_ns)
{
    const struct flow_region first = *region;
    struct rpcrdma_op part = *op;

    for (uint32_t done = 0; done < op->len; done += part.len, address += part.len) {
        const uint64_t start = address - region->offset;
        const bool inside = start < region->length;
        struct flow_region *next =
            flow_region_find(&rpcs->regions, first.conn, first.end, first.handle,
                             inside ? region->offset + region->length : address);

        if (next && (next == region || next->owner != first.owner || next->use != first.use))
            next = NULL;
        part.len = op->len - done;
        if (next && (!inside || part.len > region->length - start))
            part.len = inside ? region->length - (uint32_t)start : 0;
        part.data = op->data ? op->data + (done < op->caplen ? done : op->caplen) : NULL;
        part.caplen = op->caplen > done ? op->caplen - done : 0;
        if (part.caplen > part.len)
            part.caplen = part.len;
        if (part.len > 0)
            data_transfer(rpcs, region, start, sender, &part, asked_ns);
        asked_ns = 0;
        if (!next)
            return;
        /* what was placed may have ended the transaction, and its regions with it */
        region = flow_region_find(&rpcs->regions, first.conn, first.end, first.handle,
                                  address + part.len);
        if (!region || region->owner != first.owner)
            return;
    }
}

static void transfer(struct flow_rpcs *rpcs, struct flow_region *region, uint64_t address,
                     int sender, const struct rpcrdma_op *op, int64_t asked_ns)
{
    if (address - region->offset + op->len > region->length)
        spread(rpcs, region, address, sender, op, asked_ns);
    else
        data_transfer(rpcs, region, address - region->offset, sender, op, asked_ns);
}

/* When the latest Call was sent, this one had waited for so long, and others had had their Replies,
 * that it is not served any more: its Reply was not captured, or it hangs. */
static bool left_behind(const struct rpc_conn *c, int caller, const struct rpc_transaction *before,
                        const struct rpc_transaction *latest)
{
    enum { LONG_NS = 1000000000 };

    return latest->pub.call_time_ns - before->pub.call_time_ns >= LONG_NS &&
           c->replied_ns[caller] > before->pub.call_time_ns;
}

/* Whose RDMA this is that touches memory of the caller and is in no region: the latest Call's, if
 * that was cut within its chunks, and those before it that have no Reply were left behind. NULL: it
 * may be any Call's. */
static struct rpc_transaction *latest_cut(const struct rpc_conn *c, int caller)
{
    struct rpc_transaction *latest = TAILQ_LAST(&c->transactions[caller], rpc_list);
    struct rpc_transaction *before = latest ? TAILQ_PREV(latest, rpc_list, by_age) : NULL;
    struct rpc_transaction *t = latest;

    if (!latest)
        return NULL;
    if (rpc_offers_cut(latest) && latest->pub.reply_frame == 0 && c->gap_frame[caller] == 0 &&
        (!before || left_behind(c, caller, before, latest)))
        t = before;
    else
        latest = NULL;
    for (; t && !t->stray; t = TAILQ_PREV(t, rpc_list, by_age)) {
        RPCRDMA_STEP();
        t->stray = true;
    }
    return latest;
}

/* handle: of a Write whose place is known; else NULL */
static void moved_unplaced(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender, int caller,
                           const struct rpcrdma_op *op, int64_t asked_ns, const uint32_t *handle)
{
    struct rpc_conn *c = op->len > 0 ? rpc_conn_get(rpcs, conn) : NULL;
    struct rpc_transaction *t = c && handle ? rpc_cut_owner(c, caller, *handle) : NULL;

    if (c && !t)
        t = latest_cut(c, caller);
    if (t && !is_copy(t, sender, op))
        moved(rpcs, t, sender, op, asked_ns);
}

static void asked(struct rpc_transaction *t, uint64_t frame, int64_t time_ns)
{
    if (t->rdma_last_frame != 0)
        return;
    t->rdma_first_ns = t->rdma_last_ns = time_ns;
    t->rdma_last_frame = t->pub.rdma_first_frame = frame;
}

static void asked_unplaced(struct flow_rpcs *rpcs, struct flow_conn *conn, int caller,
                           uint64_t frame, int64_t time_ns)
{
    const struct rpc_conn *c = rpc_conn_get(rpcs, conn);
    struct rpc_transaction *t = c ? latest_cut(c, caller) : NULL;

    if (t)
        asked(t, frame, time_ns);
}

static void unknown(struct flow_rpcs *rpcs, struct flow_conn *conn, const struct rpcrdma_op *op,
                    uint32_t handle, const char *what)
{
    struct rpc_conn *c = rpc_conn_get(rpcs, conn);

    if (!c)
        return;
    c->unknown_bytes += op->len;
    c->unknown_frame = op->frame;
    c->unknown_ns = op->time_ns;
    if (c->unknown_packets++ > 0)
        return;
    flow_report(rpcs->context, flow_conn_public_const(conn),
                &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_RPC_UNKNOWN_HANDLE,
                                          .frame = op->frame,
                                          .offset = -1,
                                          .arg = {handle},
                                          .what = what});
}

/* Its own header was cut; or the packet that says where it goes is missing: a Write's first, the
 * Read request. */
static void unplaced(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender,
                     const struct rpcrdma_op *op)
{
    struct rpc_conn *c = rpc_conn_get(rpcs, conn);

    if (c && op->len > 0)
        c->unplaced[sender] = op->frame;
}

bool flow_rpc_advertised(struct flow_rpcs *rpcs, const struct flow_conn *conn, int sender,
                         const struct rpcrdma_op *op)
{
    const struct flow_region *region = flow_region_find(
        &rpcs->regions, flow_conn_id(conn), (uint8_t)(1 - sender), op->rkey, op->remote_address);

    return region && (region->use == RPC_WRITE) == (op->kind == RPCRDMA_OP_WRITE) &&
           op->length <= region->length - (op->remote_address - region->offset);
}

void flow_rpc_write(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender,
                    const struct rpcrdma_op *op, const struct flow_write *write)
{
    struct flow_region *region;

    if (!TAILQ_EMPTY(&rpcs->held[0]))
        rpc_check_held(rpcs, op->time_ns);
    if (!write->placed) {
        unplaced(rpcs, conn, sender, op);
        moved_unplaced(rpcs, conn, sender, 1 - sender, op, 0, NULL);
        return;
    }
    region = flow_region_find(&rpcs->regions, flow_conn_id(conn), (uint8_t)(1 - sender),
                              write->rkey, write->address);
    if (region && region->use == RPC_WRITE) {
        transfer(rpcs, region, write->address, sender, op, 0);
        return;
    }
    moved_unplaced(rpcs, conn, sender, 1 - sender, op, 0, &write->rkey);
    if (op->len > 0 && rpc_conn_get(rpcs, conn) &&
        !rpc_check_astray(rpcs, conn,
                          &(struct rpc_astray){.address = write->address,
                                               .frame = op->frame,
                                               .time_ns = op->time_ns,
                                               .handle = write->rkey,
                                               .length = op->len,
                                               .end = (uint8_t)(1 - sender),
                                               .write = true}))
        unknown(rpcs, conn, op, write->rkey, "Write");
}

void flow_rpc_read_request(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender,
                           const struct flow_read *read, uint32_t capacity)
{
    struct rpc_conn *c = rpc_conn_get(rpcs, conn);
    struct flow_region *region = flow_region_find(&rpcs->regions, flow_conn_id(conn),
                                                  (uint8_t)(1 - sender), read->rkey, read->address);
    struct rpc_transaction *t;

    if (!c)
        return;
    if (region && region->use == RPC_WRITE)
        region = NULL;
    rpc_read_map_add(rpcs, &c->reads[sender], capacity, read->id, region);
    if (!region && read->length > 0) /* else nothing is touched, whatever it names */
        rpc_check_astray(rpcs, conn,
                         &(struct rpc_astray){.address = read->address,
                                              .frame = read->frame,
                                              .time_ns = read->time_ns,
                                              .handle = read->rkey,
                                              .length = read->length,
                                              .end = (uint8_t)(1 - sender)});
    if (!region) {
        asked_unplaced(rpcs, conn, 1 - sender, read->frame, read->time_ns);
        return;
    }
    t = region->owner;
    if (region->use == RPC_CALL_READ)
        t->asked += read->length;
    rpc_data_transfer_emit(rpcs, region, RPCRDMA_OP_READ_REQUEST, read->frame,
                           read->address - region->offset, read->length);
    if (t->reads[sender].last == 0)
        t->reads[sender].first = read->id;
    t->reads[sender].last = read->id;
    asked(t, read->frame, read->time_ns);
}

void flow_rpc_read_cut(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender,
                       const struct rpcrdma_op *op)
{
    asked_unplaced(rpcs, conn, 1 - sender, op->frame, op->time_ns);
}

void flow_rpc_read_arrived(struct flow_conn *conn, int sender, const struct flow_read *read,
                           int64_t sent_ns, int64_t now_ns)
{
    const struct rpc_conn *c = rpc_of(conn);
    const struct flow_region *region = c ? rpc_read_map_find(&c->reads[sender], read->id) : NULL;

    if (region)
        rpc_timing_read(region->owner, sent_ns, now_ns);
}

void flow_rpc_read_response(struct flow_rpcs *rpcs, struct flow_conn *conn, int sender,
                            const struct flow_read *read, uint64_t offset,
                            const struct rpcrdma_op *op)
{
    struct rpc_conn *c = rpc_of(conn);
    struct flow_region *region;
    int64_t asked_ns = 0;

    if (!TAILQ_EMPTY(&rpcs->held[0]))
        rpc_check_held(rpcs, op->time_ns);
    if (!read)
        unplaced(rpcs, conn, sender, op);
    else if (offset == 0)
        asked_ns = read->arrived_ns != 0 ? read->arrived_ns : read->time_ns;
    region = c && read ? rpc_read_map_find(&c->reads[1 - sender], read->id) : NULL;
    if (region)
        transfer(rpcs, region, read->address + offset, sender, op, asked_ns);
    else
        moved_unplaced(rpcs, conn, sender, sender, op, asked_ns, NULL);
}
