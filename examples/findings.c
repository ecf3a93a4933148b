/* SPDX-License-Identifier: BSD-2-Clause */
/* findings FILE: what `rpcrdma check` finds in a capture file, a line each. A finding comes with
 * what it is about: a message, an RPC, or neither. */
#include <inttypes.h>
#include <pcap/pcap.h>
#include <rpcrdma/rpcrdma.h>
#include <stdio.h>

static void print(const struct rpcrdma_connection *connection,
                  const struct rpcrdma_finding *finding)
{
    const struct rpcrdma_rule *rule = rpcrdma_rule(finding->rule);
    char text[256];

    if (rule->severity < RPCRDMA_WARNING)
        return; /* of what was not captured, or could not be decided */
    rpcrdma_finding_text(finding, text, sizeof(text));
    printf("%s %s: frame %" PRIu64 ", connection %" PRIu32 ": %s (%s)\n",
           rpcrdma_severity_name(rule->severity), rule->name, finding->frame,
           connection ? connection->number : 0, text, rule->section ? rule->section : "no text");
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    (void)context;
    for (size_t i = 0; i < message->n_findings; i++)
        print(message->connection, &message->findings[i]);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    (void)context;
    for (size_t i = 0; i < transaction->n_findings; i++)
        print(transaction->connection, &transaction->findings[i]);
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    (void)context;
    print(connection, finding);
}

int main(int argc, char **argv)
{
    const struct rpcrdma_flow_sink flow = {.size = sizeof(flow),
                                           .message = on_message,
                                           .transaction = on_transaction,
                                           .finding = on_finding};
    /* those of credits and of what arrived are computed only where they are asked for */
    const struct rpcrdma_flow_config all = {.size = sizeof(all), .credits = true, .delivery = true};
    const struct rpcrdma_analyzer_config config = {.size = sizeof(config), .flow = &all};
    const struct rpcrdma_analyzer_sink sink = {.size = sizeof(sink), .flow = &flow};
    struct rpcrdma_analyzer *analyzer = rpcrdma_analyzer_new(&config, &sink);
    enum rpcrdma_analyzer_status status = RPCRDMA_ANALYZER_OK;
    char error[PCAP_ERRBUF_SIZE] = "usage: findings FILE";
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
