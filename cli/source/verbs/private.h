/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_VERBS_PRIVATE_H
#define RPCRDMA_CLI_SOURCE_VERBS_PRIVATE_H

/*
 *   verbs.c    opens a device: memory, completion queue, raw packet QP, sniffer flow
 *   receive.c  takes completions and posts receives again, in batches
 *   refuse.c   why a device cannot be captured from, and what to do
 *   list.c     the devices there are
 *   sysfs.c    what only files of the kernel's show
 */

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "source/verbs/verbs.h"

enum verbs_step {
    VERBS_OPEN,
    VERBS_PORT,
    VERBS_MEMORY,
    VERBS_CQ,
    VERBS_QP,
    VERBS_FLOW,
};

enum {
    VERBS_POLL = 64, /* completions asked for at once */
    /* With the adapter's clock nothing is lost by taking packets later, and an event costs more
     * than a packet. At 500 us a thousand receives are enough for two million packets per second.
     */
    VERBS_NAP_NS = 500000,
    VERBS_NAP_RECEIVES = 1024,
    VERBS_TURNS = 16, /* of a port in a second, that are reported one by one */
};

struct verbs {
    struct device device;
    uint8_t port;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_cq_ex *cq_ex; /* the same one, where it has time stamps; else NULL */
    struct ibv_mr *mr;
    struct ibv_qp *qp;
    struct ibv_flow *flow;

    /* receives: slot i is stride bytes at memory + i * stride */
    uint8_t *memory;
    size_t memory_size, stride;
    uint32_t n;
    struct ibv_recv_wr *wr;
    struct ibv_sge *sge;
    struct ibv_recv_wr *again, **again_tail; /* to be posted */

    struct device_filter *filter;
    bool armed, slept, gone;
    bool
        turns[VERBS_TURNS]; /* of the port, true: down; reported to nobody yet from `reported` on */
    unsigned n_turns, reported;
    uint64_t received, failed;
    int out_of_buffer; /* fd of the counter; -1: the device has none */
    uint64_t out_of_buffer_before;
};

/* receive.c */
int verbs_take(struct device *device, size_t max, device_packet *packet, void *context);
bool verbs_arm(struct device *device);
bool verbs_news(struct device *device, char *line, size_t size);
/* Posts what is to be posted. errno of the first that was not, or 0. */
int verbs_post(struct verbs *verbs);

/* refuse.c: the line for `step` having failed with `number`, an errno value. */
void verbs_refuse(const struct verbs *verbs, struct ibv_device *ib, enum verbs_step step,
                  int number, char *error, size_t size);

/* sysfs.c. "mlx5_core"; "" where unknown. */
void verbs_driver(const struct ibv_device *ib, char *name, size_t size);
/* "eth2", the network interface of a port; "" where there is none. */
void verbs_netdev(const struct ibv_device *ib, uint8_t port, char *name, size_t size);
/* The file of packets dropped because no receive was posted; -1: none. */
int verbs_open_out_of_buffer(const struct ibv_device *ib, uint8_t port);
bool verbs_read_counter(int fd, uint64_t *value);

#endif
