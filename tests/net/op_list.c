/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * op_list [-c] [-s SNAPLEN] [-r REPEATS] FILE: every RDMA operation of a capture file as key=value
 * words, one line each, for comparison with other tools. -c checks CRCs. -r runs the file so many
 * times without output and says what a packet cost.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../tools/pcap.h"
#include "base/crc.h"
#include "net/net.h"

static const char *const kinds[] = {
    [RPCRDMA_OP_SEND] = "send",
    [RPCRDMA_OP_WRITE] = "write",
    [RPCRDMA_OP_READ_REQUEST] = "read_request",
    [RPCRDMA_OP_ATOMIC] = "atomic",
    [RPCRDMA_OP_READ_RESPONSE] = "read_response",
    [RPCRDMA_OP_ATOMIC_RESPONSE] = "atomic_response",
    [RPCRDMA_OP_ACK] = "ack",
    [RPCRDMA_OP_NAK] = "nak",
    [RPCRDMA_OP_CONNECT] = "connect",
    [RPCRDMA_OP_ACCEPT] = "accept",
    [RPCRDMA_OP_ESTABLISHED] = "established",
    [RPCRDMA_OP_REJECT] = "reject",
    [RPCRDMA_OP_DISCONNECT] = "disconnect",
    [RPCRDMA_OP_TERMINATE] = "terminate",
    [RPCRDMA_OP_RESET] = "reset",
    [RPCRDMA_OP_CONGESTION] = "cnp",
    [RPCRDMA_OP_LOST] = "lost",
};

static void print_address(const char *key, const struct rpcrdma_address *a)
{
    size_t n = a->family == RPCRDMA_ADDRESS_IPV4 ? 4 : a->family == RPCRDMA_ADDRESS_IPV6 ? 16 : 2;

    printf(" %s=", key);
    for (size_t i = 0; i < n; i++)
        printf("%02x", a->bytes[i]);
}

static struct rpcrdma_crc crc; /* zlib's crc32 */

static uint32_t checksum(const uint8_t *p, size_t n)
{
    return ~rpcrdma_crc_add(&crc, UINT32_C(0xffffffff), p, n);
}

static void print_op(void *context, const struct rpcrdma_op *op)
{
    (void)context;
    if (op->kind > RPCRDMA_OP_CONGESTION) /* TCP's own */
        return;
    printf("frame=%" PRIu64 " kind=%s flags=%x", op->frame, kinds[op->kind], op->flags);
    print_address("src", &op->src);
    print_address("dst", &op->dst);
    if (op->carrier == RPCRDMA_CARRIER_IWARP)
        printf(" src_port=%u dst_port=%u", op->src_port, op->dst_port);
    printf(" dst_qpn=%u seq=%u msn=%u nak=%u rnr=%u rkey=%u va=%" PRIu64 " dmalen=%u", op->dst_qpn,
           op->seq, op->msn, op->nak, op->rnr_timer, op->rkey, op->remote_address, op->length);
    printf(" sink_stag=%u sink_offset=%" PRIu64 " mo=%u inv=%u imm=%u len=%u caplen=%u data=%08x",
           op->sink_stag, op->sink_offset, op->message_offset, op->invalidate, op->immediate,
           op->len, op->caplen, checksum(op->data, op->caplen));
    if (op->connect)
        printf(" local=%u remote=%u service=%" PRIu64 " port=%u qpn=%u remote_qpn=%u psn=%u mtu=%u"
               " reason=%u private_len=%u private=%08x",
               op->connect->local_comm_id, op->connect->remote_comm_id, op->connect->service_id,
               op->connect->port, op->connect->qpn, op->connect->remote_qpn, op->connect->start_psn,
               op->connect->path_mtu, op->connect->reason, op->connect->private_len,
               checksum(op->connect->private_data, op->connect->private_caplen));
    putchar('\n');
}

static void print_finding(void *context, const struct rpcrdma_finding *f)
{
    char text[256];

    (void)context;
    rpcrdma_finding_text(f, text, sizeof(text));
    printf("frame=%" PRIu64 " finding=%s text=%s\n", f->frame, rpcrdma_rule(f->rule)->name, text);
}

struct tally {
    uint64_t ops, findings, bytes;
};

static void count_op(void *context, const struct rpcrdma_op *op)
{
    struct tally *t = context;

    t->ops++;
    t->bytes += op->caplen;
}

static void count_finding(void *context, const struct rpcrdma_finding *f)
{
    struct tally *t = context;

    (void)f;
    t->findings++;
}

static uint64_t run(struct pcap_file *file, struct rpcrdma_net *net, uint32_t snaplen)
{
    struct rpcrdma_packet packet = {.linktype = file->linktype};
    struct pcap_record record;

    file->at = 24;
    while (pcap_next(file, &record)) {
        packet.frame++;
        packet.time_ns = record.time_ns;
        packet.caplen = record.caplen < snaplen ? record.caplen : snaplen;
        packet.len = record.len;
        packet.data = record.data;
        rpcrdma_net_packet(net, &packet);
    }
    return packet.frame;
}

int main(int argc, char **argv)
{
    struct rpcrdma_net_config config = {0};
    struct rpcrdma_net_sink sink = {.op = print_op, .finding = print_finding};
    struct tally tally = {0};
    struct pcap_file file;
    struct rpcrdma_net *net;
    uint32_t snaplen = UINT32_MAX;
    long repeats = 0;
    int option;

    rpcrdma_crc_init(&crc, RPCRDMA_CRC_ETHERNET);
    while ((option = getopt(argc, argv, "cs:r:")) != -1) {
        if (option == 'c')
            config.check_icrc = true;
        else if (option == 's')
            snaplen = (uint32_t)strtoul(optarg, NULL, 0);
        else if (option == 'r')
            repeats = strtol(optarg, NULL, 0);
        else
            return 2;
    }
    if (optind + 1 != argc || !pcap_open(&file, argv[optind])) {
        fprintf(stderr, "usage: op_list [-c] [-s SNAPLEN] [-r REPEATS] FILE.pcap\n");
        return 2;
    }
    if (repeats > 0) {
        struct timespec a, b;
        uint64_t packets = 0;
        double ns;

        sink =
            (struct rpcrdma_net_sink){.op = count_op, .finding = count_finding, .context = &tally};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        for (long i = 0; i < repeats; i++) {
            net = rpcrdma_net_new(&config, &sink);
            packets += run(&file, net, snaplen);
            rpcrdma_net_end(net);
            rpcrdma_net_free(net);
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
        printf("%" PRIu64 " packets, %" PRIu64 " operations, %" PRIu64
               " findings, %.1f ns a packet\n",
               packets, tally.ops, tally.findings, ns / (double)packets);
    } else {
        const struct rpcrdma_net_stats *s;

        net = rpcrdma_net_new(&config, &sink);
        if (!net)
            return 1;
        run(&file, net, snaplen);
        rpcrdma_net_end(net);
        s = rpcrdma_net_stats(net);
        printf("stats packets=%" PRIu64 " rdma=%" PRIu64 " fragments=%" PRIu64 " truncated=%" PRIu64
               " unknown_link=%" PRIu64 " other=%" PRIu64 " bad_icrc=%" PRIu64 "\n",
               s->packets, s->rdma, s->fragments, s->truncated, s->unknown_link, s->other,
               s->bad_icrc);
        rpcrdma_net_free(net);
    }
    pcap_close(&file);
    return 0;
}
