/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_TRACE_PACKETS_H
#define RPCRDMA_CLI_TRACE_PACKETS_H

/*
 * The last packets of a capture, as rpcrdma trace needs them when it knows which RPC it is about: a
 * ring, so that one pass and bounded memory suffice.
 */

#include <glib.h>

#include "flow/rpc.h"
#include "op.h"

enum { PACKETS_KEPT = 1 << 18 }; /* at most */

struct packet {
    uint64_t frame;
    int64_t time_ns;
    uint8_t kind, nak; /* enum rpcrdma_op_kind, enum rpcrdma_nak */
    uint16_t flags;
    bool has_xid, repeats; /* repeats: there was one before it, see `repeat` */
    uint8_t repeat;        /* enum rpcrdma_repeat */
    bool ends;             /* acknowledges the Reply */
    struct rpcrdma_address src, dst;
    uint32_t dst_qpn, seq, len, xid;
    uint16_t src_port, dst_port;
    uint32_t length; /* of a Read request: bytes asked for */
    uint64_t offset; /* in its chunk; of data */
    uint8_t chunk;   /* enum rpcrdma_chunk_kind, where has_chunk */
    bool has_chunk;
    bool told; /* a Send: its message is known */
};

struct packets {
    struct packet *ring;
    uint32_t size;           /* of the ring */
    uint64_t count;          /* all that came */
    uint64_t frame;          /* asked for; 0: none */
    uint64_t asked, n_asked; /* its packets: the first one's number, how many */
    uint32_t looks;          /* for the one asked for, that may still be taken */
    uint64_t steps;          /* that may be gone back; each packet adds some */
};

/* As many as fit into so many bytes. frame: that packets_has will be asked about, or 0. */
struct packets *packets_new(size_t bytes, uint64_t frame);
void packets_free(struct packets *packets);

void packets_add(struct packets *packets, const struct rpcrdma_op *op);
/* What is known of the packet in hand, or of a message's packets. */
void packets_transfer(struct packets *packets, const struct rpcrdma_data_transfer *transfer);
void packets_message(struct packets *packets, const struct rpcrdma_flow_message *message);
void packets_repeated(struct packets *packets, const struct rpcrdma_repeated *repeated);

enum packets_part {
    PACKETS_NO_PART,
    PACKETS_LISTED, /* it passed meanwhile: an Ack of several, a Nak of another's packet */
    PACKETS_PART,   /* carries part of it, or answers a packet that does */
};

/* Whether the frame that was asked for is of this RPC. */
enum packets_part packets_has(struct packets *packets,
                              const struct rpcrdma_transaction *transaction);

/* The packets of an RPC, in order: an array of struct packet, to be freed. *cut: the first ones are
 * not kept any more. */
GArray *packets_of(const struct packets *packets, const struct rpcrdma_transaction *transaction,
                   bool *cut);

#endif
