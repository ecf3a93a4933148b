/* SPDX-License-Identifier: BSD-2-Clause */
/* credits FILE: credits over time as CSV: for each event, what is in flight and what was granted.
 */
#include <inttypes.h>
#include <pcap/pcap.h>
#include <rpcrdma/rpcrdma.h>
#include <stdio.h>

static void on_point(void *context, const struct rpcrdma_connection *connection, int end,
                     const struct rpcrdma_credit_point *point)
{
    (void)context;
    printf("%" PRIu64 ",%" PRId64 ",%" PRIu32 ",%d,%" PRIu64 ",", point->frame, point->time_ns,
           connection->number, end, point->in_flight);
    if (point->has_granted)
        printf("%" PRIu32, point->granted);
    putchar('\n');
}

int main(int argc, char **argv)
{
    const struct rpcrdma_flow_sink flow = {.size = sizeof(flow), .credit_point = on_point};
    const struct rpcrdma_flow_config credits = {.size = sizeof(credits), .credits = true};
    const struct rpcrdma_analyzer_config config = {.size = sizeof(config), .flow = &credits};
    const struct rpcrdma_analyzer_sink sink = {.size = sizeof(sink), .flow = &flow};
    struct rpcrdma_analyzer *analyzer = rpcrdma_analyzer_new(&config, &sink);
    enum rpcrdma_analyzer_status status = RPCRDMA_ANALYZER_OK;
    char error[PCAP_ERRBUF_SIZE] = "usage: credits FILE";
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
    puts("frame,time_ns,connection,end,in_flight,granted");
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
