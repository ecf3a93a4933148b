/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RFC 9293 (TCP), RFC 791, RFC 8200. The window is scaled as far as RFC 7323 allows, so that no
 * message fills it; unacknowledged bytes are acknowledged long before it is reached.
 */
#include "extract/tcp_stream.h"

#include <glib.h>

#include "base/internet_sum.h"
#include "source/source.h"

enum {
    ETHERNET = 14,
    IPV4 = 20,
    IPV6 = 40,
    TCP = 20,
    SYN_OPTIONS = 8, /* MSS, window scale, padding */
    MAX_DATA = 32768,
    FRAME_MAX = ETHERNET + IPV6 + TCP + SYN_OPTIONS + MAX_DATA,
    BLOCK_MAX = FRAME_MAX + 128, /* of pcapng: a frame; or a section and an interface */
    SNAPLEN = 262144,
    LINK = 1, /* Ethernet */
    WINDOW_SCALE = 14,
    UNACKED_MAX = 1 << 28,
    CLOCK_NS = 1000,
    SECOND = 1000000000,
};

#define PCAP_TIME_MAX ((INT64_C(1) << 32) * SECOND - 1)

enum { FIN = 0x01, SYN = 0x02, PSH = 0x08, ACK = 0x10 };

static void put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v >> 16);
    put16(p + 2, v & 0xffff);
}

/* Headers are in the byte order of whoever wrote them: little-endian here. */
static void out_le32(struct out *out, uint32_t v)
{
    const char b[4] = {(char)(v & 0xff), (char)(v >> 8 & 0xff), (char)(v >> 16 & 0xff),
                       (char)(v >> 24)};

    out_bytes(out, b, sizeof(b));
}

bool tcp_file_has_time(int64_t time_ns)
{
    return time_ns >= 0 && time_ns <= PCAP_TIME_MAX;
}

/* What gathered of pcapng. */
static void out_blocks(struct tcp_file *file)
{
    out_bytes(file->out, (const char *)file->blocks.buffer, file->blocks.n);
    file->blocks.n = 0;
}

static void start_wide(struct tcp_file *file)
{
    const struct pcapng_interface one = {.linktype = LINK, .snaplen = SNAPLEN, .early = true};

    pcapng_writer_gather(&file->blocks, file->frame + FRAME_MAX);
    pcapng_write_interface(&file->blocks, &one);
    out_blocks(file);
}

static void out_frame(struct tcp_file *file, int64_t time_ns, uint32_t n)
{
    const struct rpcrdma_packet packet = {
        .time_ns = time_ns, .data = file->frame, .caplen = n, .len = n};
    int64_t has = CLAMP(time_ns, 0, PCAP_TIME_MAX);

    if (file->wide) {
        pcapng_write_packet(&file->blocks, 0, true, &packet, NULL);
        out_blocks(file);
        return;
    }
    out_le32(file->out, (uint32_t)(has / SECOND));
    out_le32(file->out, (uint32_t)(has % SECOND / (file->nanoseconds ? 1 : CLOCK_NS)));
    out_le32(file->out, n);
    out_le32(file->out, n);
    out_bytes(file->out, (const char *)file->frame, n);
    file->mistimed += has != time_ns;
}

void tcp_file_start(struct tcp_file *file)
{
    if (file->started)
        return;
    file->started = true;
    if (!file->frame)
        file->frame = g_malloc(FRAME_MAX + BLOCK_MAX);
    if (file->wide) {
        start_wide(file);
        return;
    }
    out_le32(file->out, file->nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4);
    out_le32(file->out, 2 | 4u << 16);
    out_le32(file->out, 0);
    out_le32(file->out, 0);
    out_le32(file->out, SNAPLEN);
    out_le32(file->out, LINK);
}

bool tcp_stream_init(struct tcp_stream *stream, const struct rpcrdma_address *caller,
                     const struct rpcrdma_address *callee, uint16_t caller_port,
                     uint16_t callee_port)
{
    *stream = (struct tcp_stream){.end = {{.address = *caller, .port = caller_port, .next = 1},
                                          {.address = *callee, .port = callee_port, .next = 1}}};
    return caller->family == callee->family &&
           (caller->family == RPCRDMA_ADDRESS_IPV4 || caller->family == RPCRDMA_ADDRESS_IPV6);
}

static void put_mac(uint8_t *p, const struct rpcrdma_address *a)
{
    const uint8_t *last = a->bytes + (a->family == RPCRDMA_ADDRESS_IPV4 ? 0 : 12);

    p[0] = 0x02; /* locally administered */
    p[1] = 0;
    memcpy(p + 2, last, 4);
}

static size_t put_ip(struct tcp_file *file, uint8_t *p, const struct tcp_end *from,
                     const struct tcp_end *to, size_t length)
{
    if (from->address.family == RPCRDMA_ADDRESS_IPV6) {
        put32(p, 0x60000000);
        put16(p + 4, (uint32_t)length);
        p[6] = 6;
        p[7] = 64;
        memcpy(p + 8, from->address.bytes, 16);
        memcpy(p + 24, to->address.bytes, 16);
        return IPV6;
    }
    put16(p, 0x4500);
    put16(p + 2, (uint32_t)(IPV4 + length));
    put16(p + 4, ++file->ip_id);
    put16(p + 6, 0x4000); /* don't fragment */
    p[8] = 64;
    p[9] = 6;
    put16(p + 10, 0);
    memcpy(p + 12, from->address.bytes, 4);
    memcpy(p + 16, to->address.bytes, 4);
    put16(p + 10, (uint16_t)~rpcrdma_internet_folded(rpcrdma_internet_sum(0, p, IPV4)));
    return IPV4;
}

static void segment(struct tcp_file *file, struct tcp_stream *stream, int from, int64_t time_ns,
                    uint8_t flags, const uint8_t *data, size_t n)
{
    struct tcp_end *me = &stream->end[from], *peer = &stream->end[1 - from];
    size_t address = me->address.family == RPCRDMA_ADDRESS_IPV6 ? 16 : 4;
    size_t options = flags & SYN ? SYN_OPTIONS : 0;
    size_t length = TCP + options + n;
    uint8_t *ip = file->frame + ETHERNET, *tcp;
    uint64_t s;

    put_mac(file->frame, &peer->address);
    put_mac(file->frame + 6, &me->address);
    put16(file->frame + 12, address == 16 ? 0x86dd : 0x0800);
    tcp = ip + put_ip(file, ip, me, peer, length);
    put16(tcp, me->port);
    put16(tcp + 2, peer->port);
    put32(tcp + 4, flags & SYN ? me->next - 1 : me->next);
    put32(tcp + 8, flags & ACK ? peer->next : 0);
    tcp[12] = (uint8_t)((TCP + options) / 4 << 4);
    tcp[13] = flags;
    put16(tcp + 14, 0xffff);
    put16(tcp + 16, 0);
    put16(tcp + 18, 0);
    if (options) {
        put32(tcp + 20, 0x02040000 | MAX_DATA);
        put32(tcp + 24, 0x03030001 | WINDOW_SCALE << 8);
    }
    if (n > 0)
        memcpy(tcp + TCP + options, data, n);
    s = rpcrdma_internet_sum(0, me->address.bytes, address);
    s = rpcrdma_internet_sum(s, peer->address.bytes, address);
    put16(tcp + 16,
          (uint16_t)~rpcrdma_internet_folded(rpcrdma_internet_sum(s + 6 + length, tcp, length)));

    length += (size_t)(tcp - file->frame);
    out_frame(file, time_ns, (uint32_t)length);
    me->next += (uint32_t)n + (flags & FIN ? 1 : 0);
    if (flags & ACK)
        me->acked = peer->next;
    if (time_ns > file->last_ns)
        file->last_ns = time_ns;
}

static void open_stream(struct tcp_file *file, struct tcp_stream *stream, int64_t time_ns)
{
    stream->open = true;
    tcp_file_start(file);
    segment(file, stream, 0, time_ns, SYN, NULL, 0);
    segment(file, stream, 1, time_ns, SYN | ACK, NULL, 0);
    segment(file, stream, 0, time_ns, ACK, NULL, 0);
}

void tcp_stream_data(struct tcp_file *file, struct tcp_stream *stream, int from, int64_t time_ns,
                     const uint8_t *data, size_t n)
{
    if (!stream->open)
        open_stream(file, stream, time_ns);
    while (n > 0) {
        size_t some = n < MAX_DATA ? n : MAX_DATA;

        if (stream->end[from].next - stream->end[1 - from].acked > UNACKED_MAX)
            segment(file, stream, 1 - from, time_ns, ACK, NULL, 0);
        segment(file, stream, from, time_ns, some == n ? PSH | ACK : ACK, data, some);
        data += some;
        n -= some;
    }
}

void tcp_stream_close(struct tcp_file *file, struct tcp_stream *stream)
{
    if (!stream->open)
        return;
    stream->open = false;
    segment(file, stream, 0, file->last_ns, FIN | ACK, NULL, 0);
    segment(file, stream, 1, file->last_ns, FIN | ACK, NULL, 0);
    segment(file, stream, 0, file->last_ns, ACK, NULL, 0);
}
