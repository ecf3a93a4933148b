/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message_list [-n] [-d N] [-k N] [-s SNAPLEN] [-1 client|server] [-r REPEATS] FILE.pcap: what
 * flow/ makes of a capture file, an object of JSON per line. -n leaves the CM exchange out, -d
 * drops every Nth packet, -k the first N, -1 all but what one sender sent. -r runs the file so many
 * times without output and says what a packet cost, with and without flow/.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../tools/pcap.h"
#include "flow/flow.h"
#include "net/net.h"

struct run {
    struct rpcrdma_flow *flow;
    bool no_cm, quiet;
    const char *only;
    struct rpcrdma_address client;
    bool has_client;
    uint64_t ops, messages;
};

static const char *role(enum rpcrdma_role r)
{
    return r == RPCRDMA_ROLE_CLIENT ? "client" : r == RPCRDMA_ROLE_SERVER ? "server" : "unknown";
}

static void print_segment(const struct rpcrdma_segment *s)
{
    printf("\"handle\":%u,\"length\":%u,\"offset\":%" PRIu64, s->handle, s->length, s->offset);
}

static void print_chunk(const struct rpcrdma_chunk *chunk)
{
    putchar('[');
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct rpcrdma_segment s = rpcrdma_chunk_segment(chunk, i);

        printf("%s{", i ? "," : "");
        print_segment(&s);
        putchar('}');
    }
    putchar(']');
}

static void print_chunks(const struct rpcrdma_message *m)
{
    struct rpcrdma_read_iter r = rpcrdma_read_begin(&m->read);
    struct rpcrdma_write_iter w = rpcrdma_write_begin(&m->write);
    struct rpcrdma_read_segment s;
    struct rpcrdma_chunk c;
    const char *comma = "";

    if (m->present & RPCRDMA_HAS_READ) {
        printf(",\"read\":[");
        for (; rpcrdma_read_next(&r, &s); comma = ",") {
            printf("%s{\"position\":%u,", comma, s.position);
            print_segment(&s.segment);
            putchar('}');
        }
        putchar(']');
    }
    comma = "";
    if (m->present & RPCRDMA_HAS_WRITE) {
        printf(",\"write\":[");
        for (; rpcrdma_write_next(&w, &c); comma = ",") {
            printf("%s", comma);
            print_chunk(&c);
        }
        putchar(']');
    }
    if (m->present & RPCRDMA_HAS_REPLY && m->reply_present) {
        printf(",\"reply\":");
        print_chunk(&m->reply);
    }
}

static void print_findings(const struct rpcrdma_finding *f, size_t n)
{
    printf("\"findings\":[");
    for (size_t i = 0; i < n; i++) {
        char text[256];

        rpcrdma_finding_text(&f[i], text, sizeof(text));
        printf("%s{\"rule\":\"%s\",\"frame\":%" PRIu64 ",\"text\":\"%s\"}", i ? "," : "",
               rpcrdma_rule(f[i].rule)->name, f[i].frame, text);
    }
    putchar(']');
}

static const char *direction(const struct rpcrdma_flow_message *m)
{
    return m->direction == RPCRDMA_DIRECTION_CALL    ? "call"
           : m->direction == RPCRDMA_DIRECTION_REPLY ? "reply"
                                                     : "unknown";
}

static void message(void *context, const struct rpcrdma_flow_message *m)
{
    struct run *run = context;

    run->messages++;
    if (run->quiet)
        return;
    printf("{\"frame\":%" PRIu64 ",\"first\":%" PRIu64
           ",\"connection\":%u,\"sender\":\"%s\",\"direction\":\"%s\"",
           m->frame, m->first_frame, m->connection->number, role(m->sender), direction(m));
    if (m->sender != RPCRDMA_ROLE_UNKNOWN && m->direction != RPCRDMA_DIRECTION_UNKNOWN)
        printf(",\"reverse\":%s", m->reverse ? "true" : "false");
    if (m->src.has_qpn)
        printf(",\"src_qpn\":%u", m->src.qpn);
    if (m->message->present & RPCRDMA_HAS_XID)
        printf(",\"xid\":%u", m->message->xid);
    if (m->message->present & RPCRDMA_HAS_CREDITS)
        printf(",\"credits\":%u", m->message->credits);
    if (m->message->present & RPCRDMA_HAS_TYPE)
        printf(",\"version\":%u,\"type\":%u", m->message->version, m->message->type);
    if (m->message->version == 2)
        printf(",\"dialect\":\"%s\"", m->message->dialect->name);
    if (m->message->present & RPCRDMA_HAS_HEADER_LENGTH)
        printf(",\"header_length\":%u", m->message->header_length);
    if (m->has_invalidate)
        printf(",\"invalidate\":%u", m->invalidate);
    if (m->part)
        printf(",\"part\":%u", m->part);
    print_chunks(m->message);
    if (m->rpc && m->rpc->present & RPCRDMA_RPC_HAS_PROGRAM)
        printf(",\"program\":%u,\"procedure\":%u", m->rpc->program, m->rpc->procedure);
    if (m->call)
        printf(",\"program\":%u,\"procedure\":%u", m->call->program, m->call->procedure);
    putchar(',');
    print_findings(m->findings, m->n_findings);
    printf("}\n");
}

static void connection(void *context, const struct rpcrdma_connection *c)
{
    const struct run *run = context;

    if (run->quiet)
        return;
    printf("{\"record\":\"connection\",\"connection\":%u,\"client\":%d,\"qpns\":[%u,%u],"
           "\"paired_by\":%d,\"threshold\":[%u,%u],\"messages\":%" PRIu64
           ",\"first_frame\":%" PRIu64 ",\"last_frame\":%" PRIu64 ",\"port\":%u,\"version\":%u,"
           "\"closed\":%d}\n",
           c->number,
           c->role[0] == RPCRDMA_ROLE_CLIENT   ? 0
           : c->role[1] == RPCRDMA_ROLE_CLIENT ? 1
                                               : -1,
           c->end[0].qpn, c->end[1].qpn, c->paired_by, c->threshold_call, c->threshold_reply,
           c->messages, c->first_frame, c->last_frame, c->service_port, c->version, c->closed);
}

static void finding(void *context, const struct rpcrdma_connection *c,
                    const struct rpcrdma_finding *f)
{
    const struct run *run = context;

    if (run->quiet)
        return;
    printf("{\"record\":\"finding\",\"connection\":%u,", c ? c->number : 0);
    print_findings(f, 1);
    printf("}\n");
}

static void op(void *context, const struct rpcrdma_op *o)
{
    struct run *run = context;

    run->ops++;
    if (!run->flow)
        return;
    if (o->kind == RPCRDMA_OP_CONNECT && !run->has_client) {
        run->client = o->src;
        run->has_client = true;
    }
    if (run->no_cm && o->connect)
        return;
    if (run->only && run->has_client &&
        (memcmp(&o->src, &run->client, sizeof(o->src)) == 0) != (run->only[0] == 'c'))
        return;
    if (!rpcrdma_flow_op(run->flow, o)) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
}

static uint64_t feed(struct pcap_file *file, struct rpcrdma_net *net, uint32_t snaplen,
                     unsigned drop, unsigned skip)
{
    struct rpcrdma_packet packet = {.linktype = file->linktype};
    struct pcap_record record;

    file->at = 24;
    while (pcap_next(file, &record)) {
        packet.frame++;
        if ((drop && packet.frame % drop == 0) || packet.frame <= skip)
            continue;
        packet.time_ns = record.time_ns;
        packet.caplen = record.caplen < snaplen ? record.caplen : snaplen;
        packet.len = record.len;
        packet.data = record.data;
        rpcrdma_net_packet(net, &packet);
    }
    rpcrdma_net_end(net);
    return packet.frame;
}

static double measure(struct pcap_file *file, struct run *run, long repeats, uint64_t *packets,
                      bool flow)
{
    struct rpcrdma_net_sink sink = {.op = op, .context = run};
    struct rpcrdma_flow_sink flow_sink = {
        .connection = connection, .message = message, .finding = finding, .context = run};
    struct timespec a, b;

    *packets = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    for (long i = 0; i < repeats; i++) {
        struct rpcrdma_net *net = rpcrdma_net_new(NULL, &sink);

        run->flow = flow ? rpcrdma_flow_new(NULL, &flow_sink) : NULL;
        *packets += feed(file, net, UINT32_MAX, 0, 0);
        if (run->flow)
            rpcrdma_flow_end(run->flow);
        rpcrdma_flow_free(run->flow);
        rpcrdma_net_free(net);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) /
           (double)*packets;
}

int main(int argc, char **argv)
{
    struct run run = {0};
    struct rpcrdma_net_sink sink = {.op = op, .context = &run};
    struct rpcrdma_flow_sink flow_sink = {
        .connection = connection, .message = message, .finding = finding, .context = &run};
    struct pcap_file file;
    struct rpcrdma_net *net;
    uint32_t snaplen = UINT32_MAX;
    unsigned drop = 0, skip = 0;
    long repeats = 0;
    int option;

    while ((option = getopt(argc, argv, "nd:k:s:1:r:")) != -1) {
        if (option == 'n')
            run.no_cm = true;
        else if (option == 'd')
            drop = (unsigned)strtoul(optarg, NULL, 0);
        else if (option == 'k')
            skip = (unsigned)strtoul(optarg, NULL, 0);
        else if (option == 's')
            snaplen = (uint32_t)strtoul(optarg, NULL, 0);
        else if (option == '1')
            run.only = optarg;
        else if (option == 'r')
            repeats = strtol(optarg, NULL, 0);
        else
            return 2;
    }
    if (optind + 1 != argc || !pcap_open(&file, argv[optind])) {
        fprintf(stderr, "usage: message_list [-n] [-d N] [-k N] [-s SNAPLEN] [-1 client|server] "
                        "[-r REPEATS] FILE.pcap\n");
        return 2;
    }
    if (repeats > 0) {
        uint64_t packets;
        double with, without;

        run.quiet = true;
        without = measure(&file, &run, repeats, &packets, false);
        with = measure(&file, &run, repeats, &packets, true);
        printf("%" PRIu64 " packets: net %.1f ns, net and flow %.1f ns, flow %.1f ns a packet\n",
               packets, without, with, with - without);
        return 0;
    }
    net = rpcrdma_net_new(NULL, &sink);
    run.flow = rpcrdma_flow_new(NULL, &flow_sink);
    if (!net || !run.flow)
        return 1;
    feed(&file, net, snaplen, drop, skip);
    rpcrdma_flow_end(run.flow);
    rpcrdma_flow_free(run.flow);
    rpcrdma_net_free(net);
    pcap_close(&file);
    return 0;
}
