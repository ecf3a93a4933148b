/* SPDX-License-Identifier: BSD-2-Clause */
/* At the end: the host that a trace is of, and what it has of an RPC. */
#include "kernel/kernel_state.h"

#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "common/complain.h"
#include "common/plural.h"
#include "common/times.h"

/* The host that most RPCs of the trace are of. */
static void choose_host(struct kernel_trace *source)
{
    const struct kernel_host *best = NULL;

    for (unsigned i = 0; i < source->n_hosts; i++)
        if (!best || source->hosts[i]->rpcs > best->rpcs)
            best = source->hosts[i];
    if (!best)
        return;
    source->pub.joined = true;
    source->pub.side = best->side;
    source->pub.host = best->address;
    source->pub.rpcs = best->rpcs;
    source->pub.refused = best->refused;
    source->pub.clock = best->clock;
    memcpy(source->pub.phases, best->phases, sizeof(best->phases)); /* best still owns them */
    kernel_clock_set(&source->pub.clock);
}

int kernel_end(struct kernel *kernel, int status)
{
    if (!kernel)
        return status;
    kernel_read(kernel);
    for (unsigned i = 0; i < kernel->n; i++) {
        struct kernel_trace *source = &kernel->sources[i];

        choose_host(source);
        if (!source->unusable && !source->pub.joined)
            complain("%s: none of its %u RPC%s is in the capture", source->pub.path,
                     source->records.all->len, plural(source->records.all->len));
        else if (source->pub.joined && !source->pub.clock.known)
            complain("%s: too little of its RPCs was captured to set its clock", source->pub.path);
        if (source->homeless > 0)
            complain("%s: %" PRIu64 " RPC%s left out: more than %d hosts have RPCs that are in it",
                     source->pub.path, source->homeless, source->homeless == 1 ? " is" : "s are",
                     KERNEL_HOSTS);
        if (source->unusable || !source->pub.joined)
            status = EXIT_UNUSABLE;
    }
    return status;
}

unsigned kernel_sources(const struct kernel *kernel)
{
    return kernel ? kernel->n : 0;
}

const struct kernel_source *kernel_source(const struct kernel *kernel, unsigned i)
{
    return &kernel->sources[i].pub;
}

/* How far its time in the trace is from the Call's in the capture. */
static int64_t distance(const struct kernel_source *source, const struct kernel_record *record,
                        int64_t call_time_ns)
{
    int64_t at = record->at[source->side == KERNEL_CLIENT ? KERNEL_POSTED : KERNEL_TAKEN];
    int64_t apart;

    if (at == KERNEL_NO_TIME || !source->clock.known)
        return INT64_MAX;
    apart = time_less(kernel_clock_capture(&source->clock, at), call_time_ns);
    return apart >= 0 ? apart : time_less(0, apart);
}

/* The server received the Call when it had been sent again, on another connection: it is none of
 * the sending before. */
static bool of_later_sending(const struct kernel_source *source, const struct kernel_record *record,
                             const struct kernel_rpc *rpc)
{
    int64_t at = record->at[KERNEL_RECEIVED];

    return record->side == KERNEL_SERVER && at != KERNEL_NO_TIME && source->clock.known &&
           record->sent_connection != 0 && record->sent_connection != rpc->connection &&
           record->sent_ns > rpc->call_time_ns &&
           kernel_clock_capture(&source->clock, at) >= record->sent_ns;
}

const struct kernel_record *kernel_find(const struct kernel *kernel, unsigned i,
                                        const struct kernel_rpc *rpc)
{
    const struct kernel_trace *source = &kernel->sources[i];
    const struct kernel_record *best = NULL;

    if (!source->pub.joined ||
        !kernel_same_address(source->pub.side == KERNEL_CLIENT ? rpc->client : rpc->server,
                             &source->pub.host))
        return NULL;
    for (const struct kernel_record *record = kernel_records_find(&source->records, rpc->xid);
         record; record = kernel_records_next(&source->records, record)) {
        if (record->side != source->pub.side || !kernel_of_client(record, rpc->client) ||
            of_later_sending(&source->pub, record, rpc))
            continue;
        if (!best || (record->fits && !best->fits) ||
            (record->fits == best->fits && distance(&source->pub, record, rpc->call_time_ns) <
                                               distance(&source->pub, best, rpc->call_time_ns)))
            best = record;
    }
    return best;
}
