/* SPDX-License-Identifier: BSD-2-Clause */
#include "standin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

enum { DEVICES = 8 };

#define EXPORT __attribute__((visibility("default")))

/* libibverbs' own, declared by headers that programs do not see */
EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                       unsigned int access);

uint64_t standin_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* Negative: refused, and errno is not set. */
int standin_refused(const char *step)
{
    const char *text = getenv("STANDIN_REFUSE");
    size_t n = strlen(step);

    if (!text || strncmp(text, step, n) != 0 || text[n] != ':')
        return 0;
    return atoi(text + n + 1);
}

static struct standin_context *standin_context(struct ibv_context *context)
{
    return (struct standin_context *)((char *)context - offsetof(struct verbs_context, context));
}

EXPORT struct ibv_device **ibv_get_device_list(int *n)
{
    const char *names = getenv("STANDIN_DEVICES"), *sysfs = getenv("STANDIN_SYSFS");
    struct ibv_device **list = calloc(DEVICES + 1, sizeof(*list));
    char *copy = strdup(names ? names : "standin0"), *rest = copy, *name;
    int count = 0;

    while (count < DEVICES && (name = strsep(&rest, ",")) && *name) {
        struct standin_device *device = calloc(1, sizeof(*device));

        snprintf(device->device.name, sizeof(device->device.name), "%s", name);
        snprintf(device->device.ibdev_path, sizeof(device->device.ibdev_path), "%s/%s",
                 sysfs ? sysfs : "/nonexistent", name);
        device->device.node_type = standin_number("STANDIN_RNIC", 0) ? IBV_NODE_RNIC : IBV_NODE_CA;
        list[count++] = &device->device;
    }
    free(copy);
    if (n)
        *n = count;
    return list;
}

/* As in libibverbs a device lives on while it is open; here it does for ever. */
EXPORT void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *in,
                           struct ibv_device_attr_ex *attr, size_t size)
{
    (void)in;
    memset(attr, 0, size);
    attr->completion_timestamp_mask = standin_number("STANDIN_CLOCK", 0) ? UINT64_MAX : 0;
    return ibv_query_device(context, &attr->orig_attr);
}

EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    (void)context;
    *attr = (struct ibv_device_attr){
        .max_qp_wr = (int)standin_number("STANDIN_MAX_WR", 16384),
        .max_cqe = 1 << 20,
        .phys_port_cnt = (uint8_t)standin_number("STANDIN_PORTS", 1),
    };
    return 0;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
                      size_t size)
{
    const char *link = getenv("STANDIN_LINK");

    (void)context;
    memset(attr, 0, size);
    if (port < 1 || port > standin_number("STANDIN_PORTS", 1))
        return EINVAL;
    attr->state = IBV_PORT_ACTIVE;
    attr->active_mtu = IBV_MTU_4096;
    attr->active_speed = (uint8_t)standin_number("STANDIN_SPEED", 32);
    attr->active_width = attr->active_speed == 1 ? 1 : 2;
    attr->link_layer = link && strcmp(link, "infiniband") == 0 ? IBV_LINK_LAYER_INFINIBAND
                                                               : IBV_LINK_LAYER_ETHERNET;
    return 0;
}

static struct ibv_flow *create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
    struct standin_context *context = standin_context(qp->context);
    int refused = standin_refused("flow");
    struct ibv_flow *flow;

    if (!refused && (attr->type != IBV_FLOW_ATTR_SNIFFER || qp->state != IBV_QPS_RTR))
        refused = EINVAL;
    flow = refused ? NULL : calloc(1, sizeof(*flow));
    if (!flow) {
        errno = refused < 0 ? 0 : refused ? refused : ENOMEM;
        return NULL;
    }
    flow->context = qp->context;
    context->qp = (struct standin_qp *)qp;
    context->port = attr->port;
    if (!standin_play(context)) {
        free(flow);
        errno = EIO;
        return NULL;
    }
    return flow;
}

static int destroy_flow(struct ibv_flow *flow)
{
    standin_stop(standin_context(flow->context));
    free(flow);
    return 0;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct standin_context *context;
    int fds[2], refused = standin_refused("open");

    if (refused) {
        errno = refused < 0 ? 0 : refused;
        return NULL;
    }
    context = calloc(1, sizeof(*context));
    if (!context || pipe(fds) != 0)
        return NULL;
    context->device = (struct standin_device *)device;
    context->verbs.sz = sizeof(context->verbs);
    context->verbs.query_port = query_port;
    context->verbs.query_device_ex = query_device_ex;
    context->verbs.ibv_create_flow = create_flow;
    context->verbs.ibv_destroy_flow = destroy_flow;
    context->verbs.context.device = device;
    context->verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context->verbs.context.async_fd = fds[0];
    context->verbs.context.cmd_fd = -1;
    context->verbs.context.num_comp_vectors = 1;
    context->async_write_fd = fds[1];
    standin_queue_ops(context);
    return &context->verbs.context;
}

EXPORT int ibv_close_device(struct ibv_context *given)
{
    struct standin_context *context = standin_context(given);

    standin_stop(context);
    close(given->async_fd);
    close(context->async_write_fd);
    free(context);
    return 0;
}

EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    char type;

    if (read(context->async_fd, &type, 1) != 1)
        return -1;
    *event = (struct ibv_async_event){.event_type = (enum ibv_event_type)type};
    if (type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_PORT_ACTIVE)
        event->element.port_num = standin_context(context)->port;
    return 0;
}

EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
}

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = calloc(1, sizeof(*pd));

    pd->context = context;
    return pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    return 0;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                       unsigned int access)
{
    int refused = standin_refused("memory");
    struct ibv_mr *mr;

    (void)iova;
    (void)access;
    if (!refused && length > standin_number("STANDIN_MEMLOCK", UINT64_MAX))
        refused = ENOMEM;
    if (refused) {
        errno = refused < 0 ? 0 : refused;
        return NULL;
    }
    mr = calloc(1, sizeof(*mr));
    mr->context = pd->context;
    mr->pd = pd;
    mr->addr = addr;
    mr->length = length;
    mr->lkey = 0x57a4d;
    return mr;
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return ibv_reg_mr_iova2(pd, addr, length, 0, (unsigned)access);
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
    free(mr);
    return 0;
}
