/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_PIPELINE_OTHERS_H
#define RPCRDMA_CLI_PIPELINE_OTHERS_H

/* What the packets were that are no RDMA: whoever finds nothing wants to know what there was. */

#include "net/net.h"
#include "out/json_writer.h"
#include "source/source.h"

enum { OTHERS = 32 };

struct others {
    size_t n;
    struct rpcrdma_net_other entry[OTHERS]; /* the most frequent first */
    struct rpcrdma_net_stats stats;
    uint32_t snaplen; /* the least that an interface of the file has; 0: they keep all, or many */
    uint32_t longest, longest_cut; /* bytes of a packet that are there; of one that lacks some */
    size_t n_unreachable;
    struct rpcrdma_net_unreachable unreachable[OTHERS];
    size_t n_unresolved;
    struct rpcrdma_net_unresolved unresolved[OTHERS];
    size_t n_claimed;
    struct rpcrdma_net_claimed claimed[OTHERS];
};

/* Packets that were read, before anything is found. */
void others_look(struct others *others, const struct source_packet *packets, size_t n);

/* To how many bytes packets were cut, as the file says, or else as they are; 0: they were not, or
 * that many are enough. */
uint32_t others_cut_to(const struct others *others);

void others_collect(struct others *others, const struct rpcrdma_net *net,
                    const struct source *source);

/* "12 of EtherType 0x0806 (ARP), 3 IP fragments"; empty where every packet was RDMA. The caller
 * frees it by g_free. */
char *others_text(const struct others *others);

/* The key "not_rdma", with an array of {"kind", "value", "packets"}. */
void others_json(struct json *json, const struct others *others);

#endif
