/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXTRACT_TCP_STREAM_H
#define RPCRDMA_CLI_EXTRACT_TCP_STREAM_H

/*
 * Writes TCP connections that never were: handshake, data, FIN, with sequence numbers,
 * acknowledgments and checksums as a healthy connection would have them, in Ethernet frames with
 * addresses made from the IP addresses.
 */

#include <stdbool.h>
#include <stdint.h>

#include "op.h"
#include "out/out.h"
#include "source/formats/pcapng_writer.h"

struct tcp_file {
    struct out *out;
    bool started, nanoseconds;
    bool wide;         /* it is pcapng: pcap has no times before 1970, nor after 2106 */
    uint64_t mistimed; /* packets of such times where it is pcap: the nearest stands for them */
    uint8_t *frame;    /* scratch; behind it: */
    struct pcapng_writer blocks;
    uint16_t ip_id;
    int64_t last_ns; /* the latest time written */
};

struct tcp_end {
    struct rpcrdma_address address; /* IPV4, both ends or none; IPV6 */
    uint16_t port;
    uint32_t next;  /* sequence number it sends next */
    uint32_t acked; /* of the other's, what it acknowledged last */
};

struct tcp_stream {
    struct tcp_end end[2]; /* [0] connects to [1] */
    bool open;
};

/* False when there is no IP address to write for one of them. */
bool tcp_stream_init(struct tcp_stream *stream, const struct rpcrdma_address *caller,
                     const struct rpcrdma_address *callee, uint16_t caller_port,
                     uint16_t callee_port);

/* n bytes from end `from`; the handshake comes first where it has not. */
void tcp_stream_data(struct tcp_file *file, struct tcp_stream *stream, int from, int64_t time_ns,
                     const uint8_t *data, size_t n);

/* FIN in both directions, where it was opened. */
void tcp_stream_close(struct tcp_file *file, struct tcp_stream *stream);

/* Whether pcap has it. */
bool tcp_file_has_time(int64_t time_ns);

/* The file's header, where nothing was written yet. */
void tcp_file_start(struct tcp_file *file);

#endif
