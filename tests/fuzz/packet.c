/* SPDX-License-Identifier: BSD-2-Clause */
/* Input: a link type, a number of bytes that were not captured, a packet. */
#include "fuzz.h"
#include "mutate.h"
#include "net/net.h"

static void on_op(void *context, const struct rpcrdma_op *op)
{
    const struct rpcrdma_packet *packet = context;

    MUST(op->frame == packet->frame);
    MUST(op->caplen <= op->len);
    MUST(op->caplen == 0 || op->data);
    MUST(op->caplen <= packet->caplen);
    if (op->connect)
        MUST(op->connect->private_caplen <= op->connect->private_len);
}

static void on_finding(void *context, const struct rpcrdma_finding *finding)
{
    char text[256];

    (void)context;
    MUST(rpcrdma_finding_text(finding, text, sizeof(text)) > 0);
}

const enum mutate_format mutate_format = MUTATE_ONE;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* null, Ethernet, raw IP, cooked v1, IPv4, IPv6, InfiniBand, ERF, cooked v2, one unknown, PPI
     */
    static const uint32_t links[] = {0, 1, 101, 113, 228, 229, 247, 197, 276, 147, 192, 108};
    const struct rpcrdma_net_config config = {.check_icrc = true};
    struct rpcrdma_packet packet = {.frame = 1};
    const struct rpcrdma_net_sink sink = {.op = on_op, .finding = on_finding, .context = &packet};
    struct rpcrdma_net *net;
    uint8_t *copy;

    if (size < 2)
        return 0;
    packet.linktype = links[data[0] % (sizeof(links) / sizeof(links[0]))];
    packet.caplen = (uint32_t)size - 2;
    packet.len = packet.caplen + data[1];
    copy = fuzz_copy(data + 2, packet.caplen);
    packet.data = copy;
    net = rpcrdma_net_new(&config, &sink);
    MUST(net);
    (data[1] & 1 ? rpcrdma_net_replay : rpcrdma_net_packet)(net, &packet);
    rpcrdma_net_end(net);
    MUST(rpcrdma_net_stats(net)->packets == 1);
    rpcrdma_net_free(net);
    free(copy);
    return 0;
}
