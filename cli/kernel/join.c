/* SPDX-License-Identifier: BSD-2-Clause */
/* Which RPC of the capture is which of a trace; the trace's hosts, and what bounds their clocks. */
#include "kernel/kernel_state.h"

#include <string.h>

bool kernel_same_address(const struct rpcrdma_address *a, const struct rpcrdma_address *b)
{
    if (a->family == RPCRDMA_ADDRESS_IPV4 && b->family == RPCRDMA_ADDRESS_IPV4)
        return memcmp(a->bytes, b->bytes, 4) == 0; /* traces name no VLAN */
    return memcmp(a, b, sizeof(*a)) == 0;
}

bool kernel_of_client(const struct kernel_record *record, const struct rpcrdma_address *client)
{
    return record->side == KERNEL_CLIENT || record->client.family != client->family ||
           kernel_same_address(&record->client, client);
}

/* Its number; KERNEL_HOSTS: there are too many. */
static unsigned host_of(struct kernel_trace *source, enum kernel_side side,
                        const struct rpcrdma_address *address)
{
    struct kernel_host *host;

    for (unsigned i = 0; i < source->n_hosts; i++)
        if (source->hosts[i]->side == side &&
            kernel_same_address(&source->hosts[i]->address, address))
            return i;
    if (source->n_hosts == KERNEL_HOSTS)
        return KERNEL_HOSTS;
    host = g_new0(struct kernel_host, 1);
    host->side = side;
    host->address = *address;
    kernel_clock_begin(&host->clock, source->first_ns, source->last_ns);
    source->hosts[source->n_hosts] = host;
    return source->n_hosts++;
}

/* Mark the records whose segments have the Call's handles. */
static void fit(const struct kernel_records *records, uint32_t xid, uint32_t handle)
{
    struct kernel_record *record = kernel_records_find(records, xid);

    if (!record || !record->ambiguous)
        return;
    for (; record; record = kernel_records_next(records, record))
        if (record->handle == handle)
            record->fits = true;
}

static void fit_all(struct kernel *kernel, uint32_t xid, uint32_t handle)
{
    for (unsigned i = 0; i < kernel->n; i++)
        fit(&kernel->sources[i].records, xid, handle);
}

/* A Call that is sent again, on another connection, is another RPC of the capture, and the same of
 * the trace. */
static void note_sending(struct kernel *kernel, const struct rpcrdma_flow_message *m)
{
    for (unsigned i = 0; i < kernel->n; i++) {
        struct kernel_records *records = &kernel->sources[i].records;

        for (struct kernel_record *record = kernel_records_find(records, m->message->xid); record;
             record = kernel_records_next(records, record)) {
            if ((record->ambiguous && !record->fits) ||
                !kernel_of_client(record, &m->connection->end[m->sender_end].address))
                continue;
            record->sent_connection = m->connection->number;
            record->sent_ns = m->time_ns;
        }
    }
}

void kernel_message(struct kernel *kernel, const struct rpcrdma_flow_message *m)
{
    const struct rpcrdma_read_list *lists[] = {&m->message->call, &m->message->read};
    struct rpcrdma_write_iter writes = rpcrdma_write_begin(&m->message->write);
    struct rpcrdma_chunk chunk;

    if (!kernel)
        return;
    kernel_read(kernel);
    if (m->direction != RPCRDMA_DIRECTION_CALL || !(m->message->present & RPCRDMA_HAS_XID))
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++) {
        struct rpcrdma_read_iter reads = rpcrdma_read_begin(lists[i]);
        struct rpcrdma_read_segment segment;

        while (rpcrdma_read_next(&reads, &segment))
            fit_all(kernel, m->message->xid, segment.segment.handle);
    }
    while (rpcrdma_write_next(&writes, &chunk))
        for (uint32_t i = 0; i < chunk.count; i++)
            fit_all(kernel, m->message->xid, rpcrdma_chunk_segment(&chunk, i).handle);
    if (m->message->reply_present)
        for (uint32_t i = 0; i < m->message->reply.count; i++)
            fit_all(kernel, m->message->xid, rpcrdma_chunk_segment(&m->message->reply, i).handle);
    if (m->sender_end >= 0)
        note_sending(kernel, m);
}

static void bound_clock(struct kernel_host *host, const struct kernel_record *record,
                        const struct rpcrdma_transaction *t)
{
    bool client = host->side == KERNEL_CLIENT;
    int64_t posted = record->at[client ? KERNEL_POSTED : KERNEL_ANSWERED];
    int64_t received = record->at[client ? KERNEL_REPLIED : KERNEL_RECEIVED];
    const struct rpcrdma_delivery *out = client ? &t->call : &t->reply;
    const struct rpcrdma_delivery *in = client ? &t->reply : &t->call;

    if (posted != KERNEL_NO_TIME && out->first_frame != 0)
        kernel_clock_before(&host->clock, posted, out->first_time_ns);
    if (received != KERNEL_NO_TIME && in->first_frame != 0)
        kernel_clock_after(&host->clock, received, in->first_time_ns);
}

static void join(struct kernel_trace *source, struct kernel_record *record,
                 const struct rpcrdma_transaction *t, const struct rpcrdma_address *client,
                 const struct rpcrdma_address *server)
{
    unsigned number =
        host_of(source, record->side, record->side == KERNEL_CLIENT ? client : server);
    struct kernel_host *host;

    if (number == KERNEL_HOSTS) {
        source->homeless++;
        return;
    }
    if (record->joined & UINT64_C(1) << number)
        return; /* its Call was sent more than once */
    record->joined |= UINT64_C(1) << number;
    host = source->hosts[number];
    host->rpcs++;
    host->refused += record->refused;
    /* of a Call that was retransmitted the first sending may be on a connection that was not
     * captured
     */
    if (!t->retransmitted && record->posted <= 1)
        bound_clock(host, record, t);
    for (unsigned i = 0; i < KERNEL_PHASES; i++) {
        int64_t ns;

        if (kernel_phase_ns(record, i, &ns))
            latency_add(&host->phases[i], ns);
    }
}

void kernel_transaction(struct kernel *kernel, const struct rpcrdma_transaction *t)
{
    const struct rpcrdma_address *client, *server;

    if (!kernel)
        return;
    kernel_read(kernel);
    if (t->reverse || t->call_frame == 0)
        return;
    client = &t->connection->end[t->caller_end].address;
    server = &t->connection->end[1 - t->caller_end].address;
    for (unsigned i = 0; i < kernel->n; i++) {
        struct kernel_trace *source = &kernel->sources[i];
        struct kernel_record *record = kernel_records_find(&source->records, t->xid);

        while (record &&
               ((record->ambiguous && !record->fits) || !kernel_of_client(record, client)))
            record = kernel_records_next(&source->records, record);
        if (record)
            join(source, record, t, client, server);
    }
}
