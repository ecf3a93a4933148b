/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_KERNEL_LINE_H
#define RPCRDMA_CLI_KERNEL_LINE_H

/*
 * A line of a kernel's trace as text: what `trace-cmd report`, `perf script` and tracefs' own
 * `trace` print.
 *
 *     dd-288   [000] .....   127.844602: rpc_request: task:00000006@00000001 nfsv3 ACCESS (sync)
 *     dd   288 [000]   127.844602: sunrpc:rpc_request: task:00000006@00000001 nfsv3 ACCESS (sync)
 */

#include <stdbool.h>
#include <stdint.h>

struct kernel_line {
    int64_t time_ns; /* by the trace's own clock */
    uint32_t pid;    /* of who ran */
    const char *event, *arguments;
};

/* Of a line without its end, which is cut into parts. False: it is none of an event. */
bool kernel_line_parse(char *line, struct kernel_line *parsed);

/* "xid=0x" and the like: the number in base 10 or 16 behind it. False: it is not there. */
bool kernel_argument(const struct kernel_line *line, const char *name, int base, uint64_t *value);

/* How many events a line that is none of an event says were lost, 1 where it does not say how many:
 *
 *     CPU:3 [LOST 17 EVENTS]                            tracefs
 *     CPU:3 [17 EVENTS DROPPED]                         trace-cmd report
 *     # entries-in-buffer/entries-written: 8/25   #P:4  tracefs, whose buffer was too small
 */
uint64_t kernel_line_lost(const char *line);

#endif
