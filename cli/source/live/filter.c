/* SPDX-License-Identifier: BSD-2-Clause */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>

#include "source/devices/device.h"

struct device_filter {
    pcap_t *pcap; /* of no device: it compiled the program */
    struct bpf_program program;
};

/* The same number by libpcap's names, where that is another. */
static int dlt(uint32_t linktype)
{
    return linktype == 247 ? DLT_INFINIBAND : linktype == 101 ? DLT_RAW : (int)linktype;
}

struct device_filter *live_filter_new(const char *text, uint32_t linktype, uint32_t snaplen,
                                        char *error, size_t size)
{
    struct device_filter *filter = calloc(1, sizeof(*filter));

    if (filter)
        filter->pcap = pcap_open_dead(dlt(linktype), (int)snaplen);
    if (!filter || !filter->pcap) {
        snprintf(error, size, "out of memory");
        free(filter);
        return NULL;
    }
    if (pcap_compile(filter->pcap, &filter->program, text, 1, PCAP_NETMASK_UNKNOWN) == 0)
        return filter;
    snprintf(error, size, "filter \"%s\": %s", text, pcap_geterr(filter->pcap));
    pcap_close(filter->pcap);
    free(filter);
    return NULL;
}

bool live_filter_match(const struct device_filter *filter, const struct rpcrdma_packet *packet)
{
    struct pcap_pkthdr header = {.caplen = packet->caplen, .len = packet->len};

    return pcap_offline_filter(&filter->program, &header, packet->data) != 0;
}

void live_filter_free(struct device_filter *filter)
{
    if (!filter)
        return;
    pcap_freecode(&filter->program);
    pcap_close(filter->pcap);
    free(filter);
}
