/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_KERNEL_KERNEL_H
#define RPCRDMA_CLI_KERNEL_KERNEL_H

/*
 * The kernels beside the wire: text of `trace-cmd report` or `perf script`, joined with the
 * capture's RPCs by XID, and by the handle of a segment where several RPCs have that XID. Which
 * host a trace is of, and what its clock is, shows from the RPCs that both have.
 *
 *     kernel = kernel_open(paths, bytes);            before the sandbox
 *     kernel_message(), kernel_transaction()         of each; the first reads the traces
 *     status = kernel_end(kernel, status);           then what is below
 */

#include "flow/rpc.h"
#include "kernel/clock.h"
#include "kernel/records.h"
#include "out/key.h"
#include "rpcs/latency.h"

enum { KERNEL_PHASES = 5 };

/* What a host's kernel spends on an RPC, out of the wire's sight. */
struct kernel_phase {
    const char *name; /* "slot"; in JSON "slot_ns". NULL: the side has no more */
    struct json_key json;
    enum kernel_point from, to, or_from; /* or_from: where `from` is not there */
};

/* KERNEL_PHASES of a side. */
const struct kernel_phase *kernel_phases(enum kernel_side side);

/* How long it took. False: the trace does not say. */
bool kernel_phase_ns(const struct kernel_record *record, unsigned phase, int64_t *ns);

/* "slot 0.021, queue 0.108 ms": what the record says of. */
void kernel_phases_text(const struct kernel_record *record, char *text, size_t size);

/* A trace, and the host it is of. */
struct kernel_source {
    const char *path;
    bool joined; /* RPCs of the capture are in it; what is below is valid then */
    enum kernel_side side;
    struct rpcrdma_address host;
    uint64_t rpcs; /* that were joined */
    struct kernel_clock clock;
    struct latency phases[KERNEL_PHASES];
    uint64_t refused; /* how often Calls had to wait for memory regions */
};

struct kernel;

/* paths: NULL-terminated. NULL: one cannot be opened, which was said. */
struct kernel *kernel_open(char *const *paths, size_t max_bytes);
void kernel_free(struct kernel *kernel);

void kernel_message(struct kernel *kernel, const struct rpcrdma_flow_message *message);
void kernel_transaction(struct kernel *kernel, const struct rpcrdma_transaction *transaction);

/* Sets clocks, says what cannot be used, and returns the exit status. */
int kernel_end(struct kernel *kernel, int status);

unsigned kernel_sources(const struct kernel *kernel);
const struct kernel_source *kernel_source(const struct kernel *kernel, unsigned i);
const char *kernel_side_name(enum kernel_side side); /* "client" */

struct kernel_rpc {
    uint32_t xid;
    const struct rpcrdma_address *client, *server;
    int64_t call_time_ns;
    uint32_t connection; /* number */
};

/* What the trace has of this RPC; NULL: nothing. */
const struct kernel_record *kernel_find(const struct kernel *kernel, unsigned source,
                                        const struct kernel_rpc *rpc);

/* Its lines, in the trace's order: time by the capture's clock, the event, what it says less the
 * task and XID. */
typedef void kernel_line_fn(void *context, int64_t time_ns, const char *event, const char *text);
void kernel_lines(const struct kernel *kernel, unsigned source, const struct kernel_record *record,
                  kernel_line_fn *each, void *context);

#endif
