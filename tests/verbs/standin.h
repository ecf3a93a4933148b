/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_VERBS_STANDIN_H
#define RPCRDMA_TESTS_VERBS_STANDIN_H

/*
 * An RDMA device that is not there: a library to preload (LD_PRELOAD) that has libibverbs' ABI and
 * plays a capture file into the receives that a program posts, as an adapter with a sniffer rule
 * would. It tests the program as shipped.
 *
 * What it does is said by the environment:
 *
 *   STANDIN_CAPTURE     pcap file to play
 *   STANDIN_DEVICES     names, with commas (standin0); each plays the file
 *   STANDIN_PORTS       ports per device (1)
 *   STANDIN_LINK        ethernet (default), infiniband
 *   STANDIN_SPEED       LinkSpeedActive (32: EDR, 4 lanes); 1: SDR, one lane
 *   STANDIN_RNIC        1: an iWARP device, not a channel adapter
 *   STANDIN_SYSFS       folder that holds NAME/ for each device, as /sys/class/infiniband does; the
 *                       counter NAME/ports/N/hw_counters/out_of_buffer is kept if it is there
 *   STANDIN_RATE        packets per second (1000); 0: as fast as it can copy
 *   STANDIN_LOOPS       times to play the file (1)
 *   STANDIN_CLOCK       1: completions have the adapter's time, as wall-clock time: the file's
 *   STANDIN_MAX_WR      most receives of a queue pair (16384)
 *   STANDIN_MEMLOCK     most bytes that may be registered; more is ENOMEM
 *   STANDIN_FAIL_EVERY  each Nth receive completes with an error
 *   STANDIN_PATIENCE    how many milliseconds a packet waits for a receive before it is lost (0)
 *   STANDIN_REMOVE      after so many packets the device is removed
 *   STANDIN_DOWN        after so many packets the port is down for a moment
 *   STANDIN_REFUSE      STEP:ERRNO, what is refused: open, memory, cq, qp, modify, post, flow
 *   STANDIN_REPORT      file to write at the end: played, delivered, dropped, failed, seconds,
 *                       cpu (seconds that the device itself used), rest (ns: the shortest
 *                       time the program looked away from a queue that it had emptied)
 *
 *   device.c  devices, contexts, what is refused
 *   queue.c   completion queues and queue pairs, with real limits
 *   player.c  the thread that receives
 */

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct standin_packet {
    int64_t time_ns;
    uint32_t len;
    const uint8_t *data;
};

struct standin_receive {
    uint64_t wr_id;
    uint8_t *to;
    uint32_t length;
};

struct standin_completion {
    uint64_t wr_id;
    uint32_t length;
    enum ibv_wc_status status;
    int64_t time_ns;
};

/* A ring with one writer and one reader. */
struct standin_ring {
    uint32_t size; /* a power of two */
    _Atomic uint32_t head, tail;
};

struct standin_cq {
    union {
        struct ibv_cq cq;
        struct ibv_cq_ex ex;
    } u;
    struct standin_ring ring;
    struct standin_completion *entries;
    uint32_t limit;
    uint32_t polled; /* of the extended interface's session */
    atomic_bool armed;
    bool took;                     /* the last look found something */
    int64_t emptied_ns;            /* when the program saw that it had taken all; 0: it has not */
    _Atomic int64_t least_rest_ns; /* until it looked again; 0: not yet */
};

struct standin_channel {
    struct ibv_comp_channel channel;
    int write_fd;
    _Atomic(struct standin_cq *) cq; /* whose event it was */
};

struct standin_device;

struct standin_qp {
    struct ibv_qp qp;
    struct standin_ring ring;
    struct standin_receive *receives;
    uint32_t limit;
    struct standin_cq *cq;
};

struct standin_context {
    struct verbs_context verbs; /* grows at its beginning: context is its end */
    struct standin_device *device;
    int async_write_fd;
    struct standin_qp *qp;
    uint8_t port;
    pthread_t thread;
    bool playing;
    atomic_bool stop;
};

struct standin_device {
    struct ibv_device device;
};

/* The environment's number; `otherwise` where there is none. */
uint64_t standin_number(const char *name, uint64_t otherwise);
/* errno if this step is refused, 0 if not. */
int standin_refused(const char *step);

/* queue.c: its part of a context's operations */
void standin_queue_ops(struct standin_context *context);
/* A receive completed. False when the completion queue has no room. */
bool standin_complete(struct standin_cq *cq, const struct standin_completion *completion);
bool standin_receive_take(struct standin_qp *qp, struct standin_receive *out);
int64_t standin_now(void);

/* player.c */
bool standin_play(struct standin_context *context);
void standin_stop(struct standin_context *context);

#endif
