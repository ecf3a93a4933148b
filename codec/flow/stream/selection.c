/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/stream/stream_state.h"

#include <stdlib.h>

/* Streams that the user selected, and the stage's beginning and end. */

static void *copy(struct flow_memory *memory, const void *from, size_t size)
{
    void *to = flow_alloc_always(memory, size);

    if (to)
        memcpy(to, from, size);
    return to;
}

struct flow_streams *flow_streams_new(struct flow_context *context,
                                      const struct flow_selection *selection)
{
    struct flow_streams *streams = calloc(1, sizeof(*streams));

    if (!streams)
        return NULL;
    streams->key = siphash_key();
    TAILQ_INIT(&streams->unowned);
    streams->context = context;
    streams->all = selection->all;
    streams->n_qpns = selection->qpns ? selection->n_qpns : 0;
    streams->n_tcp_ports = selection->tcp_ports ? selection->n_tcp_ports : 0;
    if (streams->n_qpns > 0)
        streams->qpns =
            copy(&context->memory, selection->qpns, streams->n_qpns * sizeof(*streams->qpns));
    if (streams->n_tcp_ports > 0)
        streams->tcp_ports = copy(&context->memory, selection->tcp_ports,
                                  streams->n_tcp_ports * sizeof(*streams->tcp_ports));
    if (context->memory.failed) {
        flow_streams_free(streams);
        return NULL;
    }
    return streams;
}

void flow_streams_free(struct flow_streams *streams)
{
    struct flow_memory *memory;

    if (!streams)
        return;
    memory = &streams->context->memory;
    flow_table_free(&streams->table, memory);
    flow_release(memory, streams->handles, streams->handles_size * sizeof(*streams->handles));
    flow_release(memory, streams->qpns, streams->n_qpns * sizeof(*streams->qpns));
    flow_release(memory, streams->tcp_ports, streams->n_tcp_ports * sizeof(*streams->tcp_ports));
    free(streams);
}

bool flow_qpn_selected(const struct flow_streams *streams, uint32_t qpn)
{
    for (size_t i = 0; i < streams->n_qpns; i++)
        if (streams->qpns[i] == qpn)
            return true;
    return streams->all;
}

static bool among(const struct flow_streams *streams, uint16_t port)
{
    for (size_t i = 0; i < streams->n_tcp_ports; i++)
        if (streams->tcp_ports[i] == port)
            return true;
    return false;
}

bool flow_ports_selected(const struct flow_streams *streams, uint16_t a, uint16_t b)
{
    return streams->all || among(streams, a) || among(streams, b);
}

bool flow_direction_selected(const struct flow_direction *dir)
{
    return stream_of_const(dir)->selected;
}
