/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>

#include "source/clock.h"
#include "source/verbs/private.h"

/* What one call of take works with. */
struct taking {
    struct verbs *verbs;
    device_packet *packet;
    void *context;
    int64_t now_ns; /* where the device has no clock */
    int given;
};

static void repost(struct verbs *verbs, uint64_t slot)
{
    struct ibv_recv_wr *wr = &verbs->wr[slot];

    wr->next = NULL;
    *verbs->again_tail = wr;
    verbs->again_tail = &wr->next;
}

static void completion(struct taking *taking, uint64_t slot, enum ibv_wc_status status,
                       uint32_t length, int64_t time_ns)
{
    struct verbs *verbs = taking->verbs;
    struct rpcrdma_packet packet = {
        .time_ns = time_ns,
        .linktype = verbs->device.linktype,
        .caplen = length < verbs->device.snaplen ? length : verbs->device.snaplen,
        .len = length,
        .data = verbs->memory + slot * verbs->stride,
    };

    if (slot >= verbs->n)
        return;
    if (status == IBV_WC_WR_FLUSH_ERR) { /* the QP is dead: posting again would not help */
        verbs->gone = true;
        return;
    }
    repost(verbs, slot);
    if (status != IBV_WC_SUCCESS || length > verbs->stride) {
        verbs->failed++;
        return;
    }
    if (verbs->filter && !live_filter_match(verbs->filter, &packet))
        return;
    verbs->received++;
    taking->given++;
    taking->packet(taking->context, &packet);
}

static int poll_extended(struct taking *taking, size_t max)
{
    struct ibv_cq_ex *cq = taking->verbs->cq_ex;
    struct ibv_poll_cq_attr attr = {0};
    int status = ibv_start_poll(cq, &attr), n = 0;

    if (status != 0)
        return status == ENOENT ? 0 : -status;
    do {
        bool good = cq->status == IBV_WC_SUCCESS;

        completion(taking, cq->wr_id, cq->status, good ? ibv_wc_read_byte_len(cq) : 0,
                   good ? (int64_t)ibv_wc_read_completion_wallclock_ns(cq) : 0);
        n++;
        status = (size_t)n < max ? ibv_next_poll(cq) : ENOENT;
    } while (status == 0);
    ibv_end_poll(cq);
    return status == ENOENT ? n : -status;
}

static int poll_plain(struct taking *taking, size_t max)
{
    struct ibv_wc wc[VERBS_POLL];
    int n = ibv_poll_cq(taking->verbs->cq, max < VERBS_POLL ? (int)max : VERBS_POLL, wc);

    for (int i = 0; i < n; i++)
        completion(taking, wc[i].wr_id, wc[i].status, wc[i].byte_len, taking->now_ns);
    return n;
}

int verbs_post(struct verbs *verbs)
{
    struct ibv_recv_wr *bad = NULL;
    int status;

    if (!verbs->again)
        return 0;
    status = ibv_post_recv(verbs->qp, verbs->again, &bad);
    verbs->again = status ? bad : NULL; /* the rest is tried again */
    if (!verbs->again)
        verbs->again_tail = &verbs->again;
    return status;
}

int verbs_take(struct device *device, size_t max, device_packet *packet, void *context)
{
    struct verbs *verbs = (struct verbs *)device;
    struct taking taking = {.verbs = verbs, .packet = packet, .context = context};
    int n;

    if (!verbs->cq_ex)
        taking.now_ns = clock_now(CLOCK_REALTIME);
    n = verbs->cq_ex ? poll_extended(&taking, max) : poll_plain(&taking, max);
    if (n > 0)
        verbs->armed = false;
    if (n < 0) {
        snprintf(device->error, sizeof(device->error), "%s: completions cannot be read",
                 device->name);
        return -1;
    }
    if (n == 0 && verbs->gone) {
        snprintf(device->error, sizeof(device->error),
                 "%s: the device was removed, or reports a fatal error", device->name);
        return -1;
    }
    if (!verbs->gone)
        verbs_post(verbs);
    return n;
}

/* The next event of the device: false where there is none. */
static bool event(struct verbs *verbs, bool *turned, bool *down)
{
    struct ibv_async_event event;

    *turned = false;
    if (ibv_get_async_event(verbs->context, &event) != 0)
        return false;
    switch (event.event_type) {
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_CQ_ERR:
        verbs->gone = true;
        break;
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_PORT_ACTIVE: /* a port that goes down may come back */
        *turned = event.element.port_num == verbs->port;
        *down = event.event_type == IBV_EVENT_PORT_ERR;
        break;
    default:
        break;
    }
    ibv_ack_async_event(&event);
    return true;
}

/* Reads them all: while one is there the device's descriptor is readable. */
static void events(struct verbs *verbs)
{
    bool turned, down;

    while (event(verbs, &turned, &down)) {
        if (!turned)
            continue;
        if (verbs->n_turns == VERBS_TURNS) /* that many within a second: the first are enough */
            verbs->turns[verbs->n_turns - 1] = down;
        else
            verbs->turns[verbs->n_turns++] = down;
    }
}

bool verbs_news(struct device *device, char *line, size_t size)
{
    struct verbs *verbs = (struct verbs *)device;

    events(verbs);
    while (verbs->reported < verbs->n_turns)
        if (device_turned(device, verbs->turns[verbs->reported++], line, size))
            return true;
    verbs->reported = verbs->n_turns = 0;
    return false;
}

bool verbs_arm(struct device *device)
{
    struct verbs *verbs = (struct verbs *)device;
    struct ibv_cq *cq;
    void *context;

    if (verbs->armed) {
        /* something woke us and no packet came: one of the device's events, perhaps */
        if (verbs->slept)
            events(verbs);
        verbs->slept = true;
        return !verbs->gone;
    }
    /* one request makes at most one event */
    if (ibv_get_cq_event(verbs->channel, &cq, &context) == 0)
        ibv_ack_cq_events(cq, 1);
    if (ibv_req_notify_cq(verbs->cq, 0) != 0)
        verbs->gone = true;
    verbs->armed = true;
    verbs->slept = false;
    return false; /* what completed before this makes no event: look once more */
}
