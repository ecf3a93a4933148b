/* SPDX-License-Identifier: BSD-2-Clause */
/* messages FILE: one line for each RPC-over-RDMA message of a capture file. */
#include <inttypes.h>
#include <pcap/pcap.h>
#include <rpcrdma/rpcrdma.h>
#include <stdio.h>

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    static const char *const senders[] = {"unknown", "client", "server"};
    const struct rpcrdma_message *header = message->message;
    const struct rpcrdma_type_desc *type = rpcrdma_dialect_type(header->dialect, header->type);

    (void)context;
    printf("%" PRIu64 " connection %" PRIu32 " %s 0x%08" PRIx32 " %s credits %" PRIu32 "\n",
           message->frame, message->connection->number, senders[message->sender], header->xid,
           type ? type->name : "?", header->credits);
}

int main(int argc, char **argv)
{
    const struct rpcrdma_flow_sink flow = {.size = sizeof(flow), .message = on_message};
    const struct rpcrdma_analyzer_sink sink = {.size = sizeof(sink), .flow = &flow};
    struct rpcrdma_analyzer *analyzer = rpcrdma_analyzer_new(NULL, &sink);
    enum rpcrdma_analyzer_status status = RPCRDMA_ANALYZER_OK;
    char error[PCAP_ERRBUF_SIZE] = "usage: messages FILE";
    struct rpcrdma_packet packet = {.frame = 0};
    struct pcap_pkthdr *header;
    const u_char *data;
    pcap_t *pcap = NULL;

    if (argc == 2)
        pcap = pcap_open_offline_with_tstamp_precision(argv[1], PCAP_TSTAMP_PRECISION_NANO, error);
    if (!pcap || !analyzer) {
        fprintf(stderr, "%s\n", pcap ? "out of memory" : error);
        return 1;
    }
    packet.linktype = (uint32_t)pcap_datalink(pcap);
    while (status == RPCRDMA_ANALYZER_OK && pcap_next_ex(pcap, &header, &data) == 1) {
        packet.frame++;
        packet.time_ns = header->ts.tv_sec * INT64_C(1000000000) + header->ts.tv_usec;
        packet.caplen = header->caplen;
        packet.len = header->len;
        packet.data = data;
        status = rpcrdma_analyzer_packet(analyzer, &packet);
    }
    status = rpcrdma_analyzer_end(analyzer);
    rpcrdma_analyzer_free(analyzer);
    pcap_close(pcap);
    return status != RPCRDMA_ANALYZER_OK;
}
