/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BENCH_TALK_H
#define RPCRDMA_BENCH_TALK_H

/*
 * RC conversations on RoCEv2 as a capture file, as fast as a disk takes it: connection set-up,
 * Sends, RDMA Writes and Reads, their Acks and PSNs. ICRCs are zero. What a tests/tools/talk.py
 * writes in minutes this writes in seconds; it is a reading of its own, and nothing of codec/ is in
 * it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct talk_file {
    FILE *out;
    uint64_t bytes, packets;
    int64_t time_ns, step_ns; /* of the last packet; between two */
    uint32_t vlans;           /* 802.1ad's and 802.1Q's, 12 bits each; 0: no tags */
};

struct talk_end {
    uint32_t address, qpn;
    uint32_t psn; /* next of its requests */
    uint32_t msn; /* requests of the other end that it completed */
};

struct talk {
    struct talk_file *file;
    struct talk_end client, server;
    uint32_t mtu;
    bool one_way; /* nothing acknowledges */
};

/* False with a line on stderr. */
bool talk_open(struct talk_file *file, const char *path);
bool talk_close(struct talk_file *file);

/* A client and a server by their numbers, of which nothing is acknowledged; both have this QP. */
struct talk talk_between(struct talk_file *file, uint32_t client, uint32_t server, uint32_t qpn);

/* CM REQ, REP, RTU to the NFS/RDMA port. `private` is 8 bytes of private data, or NULL. */
void talk_connect(struct talk *talk, const uint8_t *private);

/* Each by itself. */
void talk_request(struct talk *talk, const uint8_t *private);
void talk_accept(struct talk *talk, const uint8_t *private);
void talk_ready(struct talk *talk);

/* A REQ that the server rejects: nothing listens there. */
void talk_refuse(struct talk *talk);
/* DREQ and DREP. `from` is the talk's client or server. */
void talk_disconnect(struct talk *talk, const struct talk_end *from);

/* One message and its Ack. `from` is the talk's client or server. */
void talk_send(struct talk *talk, struct talk_end *from, const void *data, uint32_t len);
/* The other end acknowledges all that `from` sent. */
void talk_acknowledge(struct talk *talk, const struct talk_end *from);
/* The other end answers a packet of `from` with this syndrome. */
void talk_answer(struct talk *talk, const struct talk_end *from, uint32_t syndrome, uint32_t psn);
/* The other end asks for what `from` sent from this PSN on: a Nak. */
void talk_ask_again(struct talk *talk, const struct talk_end *from, uint32_t psn);

/* `from` writes into, or reads from, the other end's memory; len is a multiple of the MTU. */
void talk_write(struct talk *talk, struct talk_end *from, uint32_t rkey, uint64_t address,
                uint32_t len);
/* Of one packet, and any length. */
void talk_write_short(struct talk *talk, struct talk_end *from, uint32_t rkey, uint64_t address,
                      uint32_t len);
void talk_read(struct talk *talk, struct talk_end *from, uint32_t rkey, uint64_t address,
               uint32_t len);

/* A frame as it is. */
void talk_bytes(struct talk_file *file, const void *data, uint32_t len);

/* A TCP segment from the client to the NFS/RDMA port: `at` bytes into its stream. */
void talk_tcp(struct talk *talk, uint32_t at, const void *data, uint32_t len);

static inline uint8_t *put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
    return p + 2;
}

static inline uint8_t *put32(uint8_t *p, uint32_t v)
{
    return put16(put16(p, v >> 16), v & 0xffff);
}

static inline uint8_t *put64(uint8_t *p, uint64_t v)
{
    return put32(put32(p, (uint32_t)(v >> 32)), (uint32_t)v);
}

#endif
