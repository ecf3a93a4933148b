/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/iwarp/tcp.h"

/* Tells whoever wants to know of a connection's bytes where they are, and what. */

static void tell(const struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c, int end,
                 struct rpcrdma_tcp_bytes *told)
{
    const struct rpcrdma_net_sink *sink = &tcp->net->sink;

    told->src = c->address[end];
    told->dst = c->address[1 - end];
    told->src_port = c->port[end];
    told->dst_port = c->port[1 - end];
    sink->bytes(sink->context, told);
}

void rpcrdma_tcp_tell_segment(const struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c,
                              int end, const struct rpcrdma_tcp_piece *piece, bool begins)
{
    struct rpcrdma_tcp_bytes told;

    if (!tcp->net->sink.bytes)
        return;
    told = (struct rpcrdma_tcp_bytes){.kind = RPCRDMA_TCP_BYTES_SEGMENT,
                                      .begins = begins || tcp->net->replays,
                                      .seq = piece->seq,
                                      .len = piece->len,
                                      .caplen = piece->caplen,
                                      .bytes = piece->bytes};
    tell(tcp, c, end, &told);
}

void rpcrdma_tcp_tell_unit(const struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c,
                           int end, enum rpcrdma_tcp_bytes_kind kind,
                           const struct rpcrdma_tcp_piece *unit)
{
    struct rpcrdma_tcp_bytes told;

    if (!tcp->net->sink.bytes)
        return;
    told = (struct rpcrdma_tcp_bytes){.kind = kind,
                                      .seq = unit->seq,
                                      .len = unit->len,
                                      .caplen = unit->caplen,
                                      .bytes = unit->bytes,
                                      .markers = rpcrdma_mpa_markers(c, end),
                                      .marker_phase = c->stream[end].marker_phase};
    tell(tcp, c, end, &told);
}

void rpcrdma_tcp_tell_none(const struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c)
{
    struct rpcrdma_tcp_bytes told = {.kind = RPCRDMA_TCP_BYTES_NONE};

    if (tcp->net->sink.bytes)
        tell(tcp, c, 0, &told);
}
