/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/verbs/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LINK_ETHERNET = 1,
    LINK_INFINIBAND = 247,
    /* A packet that does not fit ends its receive with an error: room for the longest there is.
     * Ethernet: jumbo frames, whatever the interface's MTU. InfiniBand: 4096 bytes and headers. */
    STRIDE_ETHERNET = 10240,
    STRIDE_INFINIBAND = 4608,
    RECEIVES_MIN = 16,
};

/* "mlx5_0:2" is port 2 of mlx5_0. */
static size_t name_length(const char *name, uint8_t *port)
{
    const char *colon = strrchr(name, ':');
    char *end;
    unsigned long n;

    *port = 1;
    if (!colon)
        return strlen(name);
    n = strtoul(colon + 1, &end, 10);
    if (end == colon + 1 || *end != '\0' || n < 1 || n > UINT8_MAX)
        return strlen(name);
    *port = (uint8_t)n;
    return (size_t)(colon - name);
}

static struct ibv_device *find(struct ibv_device **list, const char *name, uint8_t *port)
{
    size_t n = name_length(name, port);

    for (; list && *list; list++) {
        const char *one = ibv_get_device_name(*list);

        if (one && strlen(one) == n && strncmp(one, name, n) == 0)
            return *list;
    }
    return NULL;
}

bool verbs_is_device(const char *name)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    uint8_t port;
    bool found = list && find(list, name, &port);

    if (list)
        ibv_free_device_list(list);
    return found;
}

static void stats(struct device *device, struct device_stats *out)
{
    struct verbs *verbs = (struct verbs *)device;
    uint64_t now;

    *out = (struct device_stats){.received_known = true,
                                 .received = verbs->received,
                                 .failed = verbs->failed,
                                 .interruptions = device->interruptions};
    /* The port's queue pairs share the counter: where others drop, too, it says too much. */
    if (verbs_read_counter(verbs->out_of_buffer, &now)) {
        out->dropped_known = true;
        out->dropped = now - verbs->out_of_buffer_before;
    }
}

static void close_verbs(struct device *device)
{
    struct verbs *verbs = (struct verbs *)device;

    if (verbs->flow)
        ibv_destroy_flow(verbs->flow);
    if (verbs->qp)
        ibv_destroy_qp(verbs->qp);
    if (verbs->cq)
        ibv_destroy_cq(verbs->cq);
    if (verbs->channel)
        ibv_destroy_comp_channel(verbs->channel);
    if (verbs->mr)
        ibv_dereg_mr(verbs->mr);
    if (verbs->pd)
        ibv_dealloc_pd(verbs->pd);
    if (verbs->context)
        ibv_close_device(verbs->context);
    if (verbs->memory)
        munmap(verbs->memory, verbs->memory_size);
    if (device->fd >= 0)
        close(device->fd);
    if (verbs->out_of_buffer >= 0)
        close(verbs->out_of_buffer);
    live_filter_free(verbs->filter);
    free(verbs->wr);
    free(verbs->sge);
    device_clear(device);
    free(verbs);
}

/* Why a function of libibverbs gave nothing: not each of them sets errno, and without a reason it would seem to have
 * given something. */
static int reason(void)
{
    int number = errno;

    return number != 0 ? number : EIO;
}

/* Locks memory for n receives, or fewer where the system allows no more. */
static int lock_memory(struct verbs *verbs, uint32_t n)
{
    int number = ENOMEM;

    for (; n >= RECEIVES_MIN; n /= 2) {
        void *memory;

        verbs->memory_size = n * verbs->stride;
        memory = mmap(NULL, verbs->memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
        if (memory == MAP_FAILED)
            continue;
        verbs->mr = ibv_reg_mr(verbs->pd, memory, verbs->memory_size, IBV_ACCESS_LOCAL_WRITE);
        if (verbs->mr) {
            verbs->memory = memory;
            verbs->n = n;
            return 0;
        }
        number = reason();
        munmap(memory, verbs->memory_size);
        if (number != ENOMEM && number != EAGAIN)
            return number;
    }
    return number;
}

/* With the adapter's time stamps as wall-clock time, where it has them. */
static int create_cq(struct verbs *verbs)
{
    struct ibv_device_attr_ex attr = {0};
    struct ibv_cq_init_attr_ex extended = {
        .cqe = verbs->n,
        .channel = verbs->channel,
        .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
    };

    if (ibv_query_device_ex(verbs->context, NULL, &attr) == 0 &&
        attr.completion_timestamp_mask != 0)
        verbs->cq_ex = ibv_create_cq_ex(verbs->context, &extended);
    if (verbs->cq_ex) {
        verbs->cq = ibv_cq_ex_to_cq(verbs->cq_ex);
        snprintf(verbs->device.clock, sizeof(verbs->device.clock),
                 "time stamps: adapter's clock, when the packet came in, as wall-clock time");
        return 0;
    }
    snprintf(verbs->device.clock, sizeof(verbs->device.clock),
             "time stamps: host's clock, when the packet was taken from the adapter");
    verbs->cq = ibv_create_cq(verbs->context, (int)verbs->n, NULL, verbs->channel, 0);
    return verbs->cq ? 0 : reason();
}

static int create_qp(struct verbs *verbs)
{
    struct ibv_qp_init_attr init = {
        .send_cq = verbs->cq,
        .recv_cq = verbs->cq,
        .cap = {.max_recv_wr = verbs->n, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RAW_PACKET,
    };
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = verbs->port};
    int number;

    verbs->qp = ibv_create_qp(verbs->pd, &init);
    if (!verbs->qp)
        return reason();
    number = ibv_modify_qp(verbs->qp, &attr, IBV_QP_STATE | IBV_QP_PORT);
    if (number != 0)
        return number;
    attr.qp_state = IBV_QPS_RTR;
    return ibv_modify_qp(verbs->qp, &attr, IBV_QP_STATE);
}

static int post_all(struct verbs *verbs)
{
    verbs->wr = calloc(verbs->n, sizeof(*verbs->wr));
    verbs->sge = calloc(verbs->n, sizeof(*verbs->sge));
    verbs->again_tail = &verbs->again;
    if (!verbs->wr || !verbs->sge)
        return ENOMEM;
    for (uint32_t i = 0; i < verbs->n; i++) {
        verbs->sge[i] = (struct ibv_sge){.addr = (uintptr_t)(verbs->memory + i * verbs->stride),
                                         .length = (uint32_t)verbs->stride,
                                         .lkey = verbs->mr->lkey};
        verbs->wr[i] = (struct ibv_recv_wr){.wr_id = i, .sg_list = &verbs->sge[i], .num_sge = 1};
        *verbs->again_tail = &verbs->wr[i];
        verbs->again_tail = &verbs->wr[i].next;
    }
    return verbs_post(verbs);
}

static int watch(struct verbs *verbs)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fds[] = {verbs->channel->fd, verbs->context->async_fd};

    verbs->device.fd = epoll_create1(EPOLL_CLOEXEC);
    if (verbs->device.fd < 0)
        return errno;
    for (size_t i = 0; i < 2; i++) {
        int flags = fcntl(fds[i], F_GETFL);

        if (flags < 0 || fcntl(fds[i], F_SETFL, flags | O_NONBLOCK) != 0 ||
            epoll_ctl(verbs->device.fd, EPOLL_CTL_ADD, fds[i], &event) != 0)
            return errno;
    }
    return 0;
}

/* How many receives: what was asked for, what fits in the buffer, what the device can. */
static uint32_t receives(const struct verbs *verbs, const struct device_config *config)
{
    struct ibv_device_attr attr;
    uint64_t n = DEVICE_RECEIVES;

    if (config->receives)
        n = config->receives;
    else if (config->buffer)
        n = config->buffer / verbs->stride;
    if (ibv_query_device(verbs->context, &attr) == 0) {
        if (attr.max_qp_wr > 0 && n > (uint64_t)attr.max_qp_wr)
            n = (uint64_t)attr.max_qp_wr;
        if (attr.max_cqe > 0 && n > (uint64_t)attr.max_cqe)
            n = (uint64_t)attr.max_cqe;
    }
    return n < RECEIVES_MIN ? RECEIVES_MIN : (uint32_t)n;
}

static int set_port(struct verbs *verbs, const struct device_config *config)
{
    struct ibv_port_attr attr = {0};
    int number = ibv_query_port(verbs->context, verbs->port, &attr);
    bool infiniband = attr.link_layer == IBV_LINK_LAYER_INFINIBAND ||
                      attr.link_layer == IBV_LINK_LAYER_UNSPECIFIED;

    verbs->device.linktype = infiniband ? LINK_INFINIBAND : LINK_ETHERNET;
    verbs->stride = infiniband ? STRIDE_INFINIBAND : STRIDE_ETHERNET;
    verbs->device.snaplen = config->snaplen ? config->snaplen : DEVICE_SNAPLEN;
    return number;
}

static int create_flow(struct verbs *verbs)
{
    struct ibv_flow_attr attr = {
        .type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof(attr), .port = verbs->port};

    verbs->flow = ibv_create_flow(verbs->qp, &attr);
    return verbs->flow ? 0 : reason();
}

static bool failed(struct verbs *verbs, struct ibv_device *ib, enum verbs_step step, int number,
                   char *error, size_t size)
{
    if (number != 0)
        verbs_refuse(verbs, ib, step, number, error, size);
    return number != 0;
}

static bool set_up(struct verbs *verbs, struct ibv_device *ib, const struct device_config *config,
                   char *error, size_t size)
{
    errno = 0; /* what was before is no reason */
    verbs->context = ibv_open_device(ib);
    if (failed(verbs, ib, VERBS_OPEN, verbs->context ? 0 : reason(), error, size) ||
        failed(verbs, ib, VERBS_PORT, set_port(verbs, config), error, size))
        return false;
    if (config->filter && *config->filter) {
        verbs->filter = live_filter_new(config->filter, verbs->device.linktype,
                                          verbs->device.snaplen, error, size);
        if (!verbs->filter)
            return false;
    }
    verbs->pd = ibv_alloc_pd(verbs->context);
    verbs->channel = verbs->pd ? ibv_create_comp_channel(verbs->context) : NULL;
    if (failed(verbs, ib, VERBS_OPEN, verbs->channel ? 0 : reason(), error, size) ||
        failed(verbs, ib, VERBS_MEMORY, lock_memory(verbs, receives(verbs, config)), error, size) ||
        failed(verbs, ib, VERBS_CQ, create_cq(verbs), error, size) ||
        failed(verbs, ib, VERBS_QP, create_qp(verbs), error, size) ||
        failed(verbs, ib, VERBS_QP, post_all(verbs), error, size) ||
        failed(verbs, ib, VERBS_CQ, watch(verbs), error, size))
        return false;
    verbs->out_of_buffer = verbs_open_out_of_buffer(ib, verbs->port);
    verbs_read_counter(verbs->out_of_buffer, &verbs->out_of_buffer_before);
    return !failed(verbs, ib, VERBS_FLOW, create_flow(verbs), error, size);
}

struct device *verbs_open(const char *name, const struct device_config *config, char *error,
                          size_t size)
{
    static const struct device_ops ops = {verbs_take, verbs_arm, stats, verbs_news, close_verbs};
    struct ibv_device **list = ibv_get_device_list(NULL), *ib;
    struct verbs *verbs = calloc(1, sizeof(*verbs));
    char driver[64] = "", description[160];
    bool good = false;

    if (!verbs || !list || !(verbs->device.name = strdup(name))) {
        snprintf(error, size, "%s: out of memory", name);
        free(verbs);
        if (list)
            ibv_free_device_list(list);
        return NULL;
    }
    verbs->device.ops = &ops;
    verbs->device.fd = verbs->out_of_buffer = -1;
    if (config->filter && *config->filter)
        verbs->device.filter = strdup(config->filter);
    ib = find(list, name, &verbs->port);
    if (ib)
        good = set_up(verbs, ib, config, error, size);
    else
        snprintf(error, size, "%s: there is no such device", name);
    if (good) {
        verbs->device.nap_ns = verbs->cq_ex && verbs->n >= VERBS_NAP_RECEIVES ? VERBS_NAP_NS : 0;
        verbs_driver(ib, driver, sizeof(driver));
        snprintf(description, sizeof(description), "RDMA device, sniffer%s%s, %u receives",
                 *driver ? ", " : "", driver, verbs->n);
        verbs->device.description = strdup(description);
    }
    ibv_free_device_list(list); /* an open device stays */
    if (good)
        return &verbs->device;
    close_verbs(&verbs->device);
    return NULL;
}
