/* SPDX-License-Identifier: BSD-2-Clause */
#include "standin.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static uint32_t power_of_two(uint32_t n)
{
    uint32_t size = 1;

    while (size < n)
        size *= 2;
    return size;
}

static uint32_t used(const struct standin_ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_acquire) -
           atomic_load_explicit(&ring->tail, memory_order_acquire);
}

/* Completion queues. */

static struct standin_cq *of(struct ibv_cq *cq)
{
    return (struct standin_cq *)cq;
}

bool standin_complete(struct standin_cq *cq, const struct standin_completion *completion)
{
    uint32_t head = atomic_load_explicit(&cq->ring.head, memory_order_relaxed);
    struct standin_channel *channel = (struct standin_channel *)cq->u.cq.channel;

    if (used(&cq->ring) >= cq->limit)
        return false;
    cq->entries[head & (cq->ring.size - 1)] = *completion;
    atomic_store_explicit(&cq->ring.head, head + 1, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    if (channel && atomic_load(&cq->armed) && atomic_exchange(&cq->armed, false)) {
        atomic_store(&channel->cq, cq);
        if (write(channel->write_fd, "e", 1) != 1)
            abort();
    }
    return true;
}

/* The program looked, and found something or not. */
static void looked(struct standin_cq *cq, bool found)
{
    int64_t now = standin_now(), least = atomic_load(&cq->least_rest_ns);

    if (cq->emptied_ns && (least == 0 || now - cq->emptied_ns < least))
        atomic_store(&cq->least_rest_ns, now - cq->emptied_ns);
    cq->emptied_ns = !found && cq->took ? now : 0;
    cq->took = found;
}

static int poll_cq(struct ibv_cq *given, int n, struct ibv_wc *wc)
{
    struct standin_cq *cq = of(given);
    uint32_t tail = atomic_load_explicit(&cq->ring.tail, memory_order_relaxed),
             there = used(&cq->ring);
    int i;

    looked(cq, there > 0);
    for (i = 0; i < n && (uint32_t)i < there; i++) {
        const struct standin_completion *one =
            &cq->entries[(tail + (uint32_t)i) & (cq->ring.size - 1)];

        wc[i] = (struct ibv_wc){.wr_id = one->wr_id,
                                .status = one->status,
                                .opcode = IBV_WC_RECV,
                                .byte_len = one->length};
    }
    atomic_store_explicit(&cq->ring.tail, tail + (uint32_t)i, memory_order_release);
    return i;
}

static const struct standin_completion *current(struct ibv_cq_ex *given)
{
    struct standin_cq *cq = (struct standin_cq *)given;

    return &cq->entries[(atomic_load_explicit(&cq->ring.tail, memory_order_relaxed) + cq->polled -
                         1) &
                        (cq->ring.size - 1)];
}

static int next_poll(struct ibv_cq_ex *given)
{
    struct standin_cq *cq = (struct standin_cq *)given;

    if (used(&cq->ring) <= cq->polled)
        return ENOENT;
    cq->polled++;
    given->wr_id = current(given)->wr_id;
    given->status = current(given)->status;
    return 0;
}

static int start_poll(struct ibv_cq_ex *given, struct ibv_poll_cq_attr *attr)
{
    struct standin_cq *cq = (struct standin_cq *)given;
    int status;

    if (attr->comp_mask)
        return EINVAL;
    cq->polled = 0;
    status = next_poll(given);
    looked(cq, status == 0);
    return status;
}

static void end_poll(struct ibv_cq_ex *given)
{
    struct standin_cq *cq = (struct standin_cq *)given;

    atomic_fetch_add_explicit(&cq->ring.tail, cq->polled, memory_order_release);
    cq->polled = 0;
}

static uint32_t read_byte_len(struct ibv_cq_ex *given)
{
    return current(given)->length;
}

static uint64_t read_wallclock(struct ibv_cq_ex *given)
{
    return (uint64_t)current(given)->time_ns;
}

static struct standin_cq *new_cq(struct ibv_context *context, uint32_t cqe,
                                 struct ibv_comp_channel *channel)
{
    int refused = standin_refused("cq");
    struct standin_cq *cq;

    if (refused) {
        errno = refused < 0 ? 0 : refused;
        return NULL;
    }
    cq = calloc(1, sizeof(*cq));
    cq->limit = cqe;
    cq->ring.size = power_of_two(cqe);
    cq->entries = calloc(cq->ring.size, sizeof(*cq->entries));
    cq->u.cq.context = context;
    cq->u.cq.channel = channel;
    cq->u.cq.cqe = (int)cqe;
    return cq;
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                                    struct ibv_comp_channel *channel, int vector)
{
    struct standin_cq *cq = new_cq(context, (uint32_t)cqe, channel);

    (void)cq_context;
    (void)vector;
    return cq ? &cq->u.cq : NULL;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
    struct standin_cq *cq = new_cq(context, attr->cqe, attr->channel);

    if (!cq)
        return NULL;
    cq->u.ex.start_poll = start_poll;
    cq->u.ex.next_poll = next_poll;
    cq->u.ex.end_poll = end_poll;
    /* as with a real device: what was not asked for is not there */
    if (attr->wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
        cq->u.ex.read_byte_len = read_byte_len;
    if (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
        cq->u.ex.read_completion_wallclock_ns = read_wallclock;
    return &cq->u.ex;
}

EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
    free(of(cq)->entries);
    free(cq);
    return 0;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
    (void)solicited;
    atomic_store(&of(cq)->armed, true);
    return 0;
}

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    struct standin_channel *channel = calloc(1, sizeof(*channel));
    int fds[2];

    if (!channel || pipe(fds) != 0)
        return NULL;
    channel->channel.context = context;
    channel->channel.fd = fds[0];
    channel->write_fd = fds[1];
    return &channel->channel;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *given)
{
    close(given->fd);
    close(((struct standin_channel *)given)->write_fd);
    free(given);
    return 0;
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *given, struct ibv_cq **cq, void **cq_context)
{
    struct standin_channel *channel = (struct standin_channel *)given;
    char event;

    if (read(given->fd, &event, 1) != 1)
        return -1;
    *cq = &atomic_load(&channel->cq)->u.cq;
    *cq_context = NULL;
    return 0;
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
    (void)cq;
    (void)n;
}

/* Queue pairs. */

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    int refused = standin_refused("qp");
    struct standin_qp *qp;

    if (!refused && (attr->qp_type != IBV_QPT_RAW_PACKET ||
                     attr->cap.max_recv_wr > standin_number("STANDIN_MAX_WR", 16384)))
        refused = EINVAL;
    if (refused) {
        errno = refused < 0 ? 0 : refused;
        return NULL;
    }
    qp = calloc(1, sizeof(*qp));
    qp->limit = attr->cap.max_recv_wr;
    qp->ring.size = power_of_two(qp->limit);
    qp->receives = calloc(qp->ring.size, sizeof(*qp->receives));
    qp->cq = of(attr->recv_cq);
    qp->qp.context = pd->context;
    qp->qp.pd = pd;
    qp->qp.state = IBV_QPS_RESET;
    return &qp->qp;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
    free(((struct standin_qp *)qp)->receives);
    free(qp);
    return 0;
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    int refused = standin_refused("modify");

    if (refused)
        return refused;
    if (!(mask & IBV_QP_STATE) ||
        attr->qp_state != (qp->state == IBV_QPS_RESET ? IBV_QPS_INIT : IBV_QPS_RTR))
        return EINVAL;
    qp->state = attr->qp_state;
    return 0;
}

static int post_recv(struct ibv_qp *given, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct standin_qp *qp = (struct standin_qp *)given;
    uint32_t head = atomic_load_explicit(&qp->ring.head, memory_order_relaxed);
    int refused = standin_refused("post");

    for (; wr; wr = wr->next) {
        if (refused || used(&qp->ring) >= qp->limit || wr->num_sge != 1 ||
            wr->sg_list->lkey != 0x57a4d) {
            *bad = wr;
            return refused ? refused : used(&qp->ring) >= qp->limit ? ENOMEM : EINVAL;
        }
        qp->receives[head & (qp->ring.size - 1)] =
            (struct standin_receive){.wr_id = wr->wr_id,
                                     .to = (uint8_t *)(uintptr_t)wr->sg_list->addr,
                                     .length = wr->sg_list->length};
        atomic_store_explicit(&qp->ring.head, ++head, memory_order_release);
    }
    return 0;
}

bool standin_receive_take(struct standin_qp *qp, struct standin_receive *out)
{
    uint32_t tail = atomic_load_explicit(&qp->ring.tail, memory_order_relaxed);

    if (used(&qp->ring) == 0)
        return false;
    *out = qp->receives[tail & (qp->ring.size - 1)];
    atomic_store_explicit(&qp->ring.tail, tail + 1, memory_order_release);
    return true;
}

void standin_queue_ops(struct standin_context *context)
{
    context->verbs.create_cq_ex = standin_number("STANDIN_CLOCK", 0) ? create_cq_ex : NULL;
    context->verbs.context.ops.poll_cq = poll_cq;
    context->verbs.context.ops.req_notify_cq = req_notify_cq;
    context->verbs.context.ops.post_recv = post_recv;
}
