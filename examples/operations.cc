// SPDX-License-Identifier: BSD-2-Clause
// operations FILE: how often each operation was called, and how long its Replies took, in C++.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <pcap/pcap.h>
#include <rpcrdma/rpcrdma.h>

namespace
{

using Latencies = std::map<std::string, std::vector<int64_t>>;

void on_transaction(void *context, const rpcrdma_transaction *transaction)
{
    char name[256];

    if (!transaction->has_latency)
        return;
    rpcrdma_transaction_title(transaction, name, sizeof(name));
    (*static_cast<Latencies *>(context))[name].push_back(transaction->latency_ns);
}

} // namespace

int main(int argc, char **argv)
{
    Latencies latencies;
    rpcrdma_flow_config delivery{};
    rpcrdma_analyzer_config config{};
    rpcrdma_flow_sink flow{};
    rpcrdma_analyzer_sink sink{};
    char error[PCAP_ERRBUF_SIZE] = "usage: operations FILE";

    delivery.size = sizeof(delivery);
    delivery.delivery = true; // a Reply counts when it arrived
    config.size = sizeof(config);
    config.flow = &delivery;
    flow.size = sizeof(flow);
    flow.transaction = on_transaction;
    flow.context = &latencies;
    sink.size = sizeof(sink);
    sink.flow = &flow;

    std::unique_ptr<rpcrdma_analyzer, decltype(&rpcrdma_analyzer_free)> analyzer{
        rpcrdma_analyzer_new(&config, &sink), rpcrdma_analyzer_free};
    std::unique_ptr<pcap_t, decltype(&pcap_close)> pcap{
        argc == 2 ? pcap_open_offline_with_tstamp_precision(argv[1], PCAP_TSTAMP_PRECISION_NANO,
                                                            error)
                  : nullptr,
        pcap_close};
    if (!pcap || !analyzer) {
        std::fprintf(stderr, "%s\n", pcap ? "out of memory" : error);
        return 1;
    }

    rpcrdma_packet packet{};
    pcap_pkthdr *header;
    const u_char *data;
    packet.linktype = static_cast<uint32_t>(pcap_datalink(pcap.get()));
    while (pcap_next_ex(pcap.get(), &header, &data) == 1) {
        packet.frame++;
        packet.time_ns = header->ts.tv_sec * INT64_C(1000000000) + header->ts.tv_usec;
        packet.caplen = header->caplen;
        packet.len = header->len;
        packet.data = data;
        if (rpcrdma_analyzer_packet(analyzer.get(), &packet) != RPCRDMA_ANALYZER_OK)
            break;
    }
    if (rpcrdma_analyzer_end(analyzer.get()) != RPCRDMA_ANALYZER_OK)
        return 1;
    for (auto &[name, times] : latencies) {
        std::sort(times.begin(), times.end());
        std::printf("%s: %zu, median %.3f ms\n", name.c_str(), times.size(),
                    static_cast<double>(times[times.size() / 2]) / 1e6);
    }
}
