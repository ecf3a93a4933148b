/* SPDX-License-Identifier: BSD-2-Clause */
#include "talk.h"

#include <string.h>

/* opcodes: InfiniBand Architecture Specification volume 1, table 38 */
enum {
    SEND_FIRST = 0x00,
    SEND_MIDDLE,
    SEND_LAST,
    SEND_ONLY = 0x04,
    WRITE_FIRST = 0x06,
    WRITE_MIDDLE,
    WRITE_LAST,
    WRITE_ONLY = 0x0a,
    READ_REQUEST = 0x0c,
    RESPONSE_FIRST,
    RESPONSE_MIDDLE,
    RESPONSE_LAST,
    RESPONSE_ONLY,
    ACKNOWLEDGE,
    UD_SEND_ONLY = 0x64,
};

enum {
    PCAP_HEADER = 16,
    ETHERNET = 14,
    TAGS = 8, /* two */
    IPV4 = 20,
    UDP = 8,
    BTH = 12,
    ICRC = 4,
    MAD = 256,
    CM_QPN = 1,
    BUFFER = 1 << 20,
};

static uint8_t *little32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
    return p + 4;
}

bool talk_open(struct talk_file *file, const char *path)
{
    uint8_t header[24], *p = header;

    file->out = fopen(path, "wb");
    if (!file->out) {
        perror(path);
        return false;
    }
    setvbuf(file->out, NULL, _IOFBF, BUFFER);
    p = little32(p, 0xa1b23c4d); /* nanoseconds */
    p = little32(p, 2 | 4u << 16);
    p = little32(little32(p, 0), 0);
    little32(little32(p, 262144), 1 /* Ethernet */);
    fwrite(header, 1, sizeof(header), file->out);
    file->bytes = sizeof(header);
    file->packets = 0;
    file->time_ns = INT64_C(1700000000000000000);
    file->step_ns = 500;
    file->vlans = 0;
    return true;
}

bool talk_close(struct talk_file *file)
{
    bool bad = ferror(file->out);

    bad |= fclose(file->out) != 0;
    if (bad)
        perror("writing");
    return !bad;
}

struct talk talk_between(struct talk_file *file, uint32_t client, uint32_t server, uint32_t qpn)
{
    return (struct talk){.file = file,
                         .mtu = 4096,
                         .one_way = true,
                         .client = {.address = 0x0b000000 + client, .qpn = 0x100 + qpn},
                         .server = {.address = 0x0a010000 + server, .qpn = 0x100 + qpn, .psn = 7}};
}

static uint32_t checksum(const uint8_t *p)
{
    uint32_t sum = 0;

    for (int i = 0; i < IPV4; i += 2)
        sum += (uint32_t)p[i] << 8 | p[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    return ~(sum + (sum >> 16)) & 0xffff;
}

struct packet {
    const struct talk_end *from, *to;
    uint8_t opcode;
    bool ack_request;
    uint32_t qpn, psn;
    const uint8_t *extension;
    uint32_t extension_len;
    const uint8_t *data;
    uint32_t len;
};

static void write_packet(struct talk_file *file, const struct packet *packet)
{
    static const uint8_t zero[8];
    uint32_t pad = -packet->len & 3;
    uint32_t udp = UDP + BTH + packet->extension_len + packet->len + pad + ICRC;
    uint32_t tags = file->vlans ? TAGS : 0, all = ETHERNET + tags + IPV4 + udp;
    uint8_t head[PCAP_HEADER + ETHERNET + TAGS + IPV4 + UDP + BTH], *p = head, *ip;

    file->time_ns += file->step_ns;
    p = little32(p, (uint32_t)(file->time_ns / 1000000000));
    p = little32(p, (uint32_t)(file->time_ns % 1000000000));
    p = little32(little32(p, all), all);
    p = put32(put16(p, 0x0200), packet->to->address);
    p = put32(put16(p, 0x0200), packet->from->address);
    if (file->vlans) {
        p = put32(p, 0x88a8u << 16 | (file->vlans >> 12 & 0xfff));
        p = put32(p, 0x8100u << 16 | (file->vlans & 0xfff));
    }
    p = ip = put16(p, 0x0800);
    p = put32(p, 0x45000000 | (IPV4 + udp));
    p = put32(put32(p, 0x4000), 64u << 24 | 17u << 16); /* do not fragment; TTL; UDP */
    p = put32(put32(p, packet->from->address), packet->to->address);
    put16(ip + 10, checksum(ip));
    p = put32(put16(put16(p, 49152), 4791), udp << 16);
    *p++ = packet->opcode;
    *p++ = (uint8_t)(0x40 | pad << 4);
    p = put32(put16(p, 0xffff), packet->qpn);
    put32(p, (packet->ack_request ? 0x80000000u : 0) | (packet->psn & 0xffffff));
    fwrite(head, 1, (size_t)(p + 4 - head), file->out);
    fwrite(packet->extension, 1, packet->extension_len, file->out);
    fwrite(packet->data, 1, packet->len, file->out);
    fwrite(zero, 1, pad + ICRC, file->out);
    file->bytes += PCAP_HEADER + all;
    file->packets++;
}

static struct talk_end *other(struct talk *talk, const struct talk_end *end)
{
    return end == &talk->client ? &talk->server : &talk->client;
}

/* The CM message of `kind`: its body in a MAD. */
static void datagram(struct talk *talk, const struct talk_end *from, uint32_t kind, uint8_t *mad)
{
    static const uint8_t deth[8] = {0x80, 1, 0, 0, 0, 0, 0, CM_QPN};

    mad[0] = 1;
    mad[1] = 7; /* communication management */
    mad[2] = 2;
    mad[3] = 3;
    put16(mad + 16, kind);
    write_packet(talk->file, &(struct packet){.from = from,
                                              .to = other(talk, from),
                                              .opcode = UD_SEND_ONLY,
                                              .qpn = CM_QPN,
                                              .extension = deth,
                                              .extension_len = sizeof(deth),
                                              .data = mad,
                                              .len = MAD});
}

static uint32_t local_id(const struct talk *talk)
{
    return 0x1000000 + talk->client.qpn;
}

static uint32_t remote_id(const struct talk *talk)
{
    return 0x2000000 + talk->server.qpn;
}

/* IBTA volume 1 section 12.6; the private data begins with annex A11's IP addresses. */
void talk_request(struct talk *talk, const uint8_t *private)
{
    const struct talk_end *c = &talk->client, *s = &talk->server;
    uint8_t mad[MAD] = {0}, *body = mad + 24;

    put32(body, local_id(talk));
    put64(body + 8, 0x0000000001060000 | 20049);
    put32(body + 32, c->qpn << 8 | 16);
    put32(body + 44, s->psn << 8 | 20 << 3 | 7); /* the PSN that the server starts with */
    put16(body + 48, 0xffff);
    body[50] = (uint8_t)((talk->mtu == 4096 ? 5 : talk->mtu == 2048 ? 4 : 3) << 4 | 7);
    put64(body + 64, UINT64_C(0xffff) << 32 | c->address);
    put64(body + 80, UINT64_C(0xffff) << 32 | s->address);
    put32(body + 140, 0x0040 << 16 | 40000);
    put32(body + 140 + 16, c->address);
    put32(body + 140 + 32, s->address);
    if (private)
        memcpy(body + 140 + 36, private, 8);
    datagram(talk, c, 0x10, mad);
}

void talk_accept(struct talk *talk, const uint8_t *private)
{
    const struct talk_end *c = &talk->client, *s = &talk->server;
    uint8_t mad[MAD] = {0}, *body = mad + 24;

    put32(put32(body, remote_id(talk)), local_id(talk));
    put32(body + 12, s->qpn << 8);
    put32(body + 20, c->psn << 8);
    if (private)
        memcpy(body + 36, private, 8);
    datagram(talk, s, 0x13, mad);
}

void talk_ready(struct talk *talk)
{
    uint8_t mad[MAD] = {0}, *body = mad + 24;

    put32(put32(body, local_id(talk)), remote_id(talk));
    datagram(talk, &talk->client, 0x14, mad);
}

void talk_connect(struct talk *talk, const uint8_t *private)
{
    talk_request(talk, private);
    talk_accept(talk, private);
    talk_ready(talk);
}

void talk_refuse(struct talk *talk)
{
    enum { INVALID_SERVICE_ID = 8 };
    uint8_t mad[MAD] = {0}, *body = mad + 24;

    talk_request(talk, NULL);
    put32(body + 4, local_id(talk));
    put16(body + 10, INVALID_SERVICE_ID);
    datagram(talk, &talk->server, 0x12, mad);
}

void talk_disconnect(struct talk *talk, const struct talk_end *from)
{
    bool client = from == &talk->client;
    const struct talk_end *to = other(talk, from);
    uint32_t own = client ? local_id(talk) : remote_id(talk);
    uint32_t others = client ? remote_id(talk) : local_id(talk);
    uint8_t mad[MAD] = {0}, *body = mad + 24;

    put32(put32(put32(body, own), others), to->qpn << 8);
    datagram(talk, from, 0x15, mad);
    memset(mad, 0, sizeof(mad));
    put32(put32(body, others), own);
    datagram(talk, to, 0x16, mad);
}

static uint32_t take_psn(struct talk_end *end)
{
    uint32_t psn = end->psn;

    end->psn = (psn + 1) & 0xffffff;
    return psn;
}

enum { POSITIVE = 0x1f000000, SEQUENCE_ERROR = 0x60000000 }; /* IBTA volume 1 section 9.7.5.1.2 */

static void aeth(struct talk_end *end, uint32_t syndrome, uint8_t out[4])
{
    put32(out, syndrome | (end->msn & 0xffffff));
}

void talk_answer(struct talk *talk, const struct talk_end *from, uint32_t syndrome, uint32_t psn)
{
    struct talk_end *end = other(talk, from);
    uint8_t extension[4];

    aeth(end, syndrome, extension);
    write_packet(talk->file, &(struct packet){.from = end,
                                              .to = from,
                                              .opcode = ACKNOWLEDGE,
                                              .qpn = from->qpn,
                                              .psn = psn & 0xffffff,
                                              .extension = extension,
                                              .extension_len = sizeof(extension)});
}

void talk_acknowledge(struct talk *talk, const struct talk_end *from)
{
    other(talk, from)->msn++;
    talk_answer(talk, from, POSITIVE, from->psn - 1);
}

void talk_ask_again(struct talk *talk, const struct talk_end *from, uint32_t psn)
{
    talk_answer(talk, from, SEQUENCE_ERROR, psn);
}

static void acknowledge(struct talk *talk, const struct talk_end *from)
{
    if (!talk->one_way)
        talk_acknowledge(talk, from);
}

void talk_send(struct talk *talk, struct talk_end *from, const void *data, uint32_t len)
{
    struct talk_end *to = other(talk, from);
    const uint8_t *p = data;

    for (uint32_t at = 0; at < len || at == 0; at += talk->mtu) {
        bool last = at + talk->mtu >= len;

        write_packet(talk->file, &(struct packet){.from = from,
                                                  .to = to,
                                                  .opcode = at == 0 ? last ? SEND_ONLY : SEND_FIRST
                                                            : last  ? SEND_LAST
                                                                    : SEND_MIDDLE,
                                                  .ack_request = last,
                                                  .qpn = to->qpn,
                                                  .psn = take_psn(from),
                                                  .data = p + at,
                                                  .len = last ? len - at : talk->mtu});
    }
    acknowledge(talk, from);
}

static uint8_t opcode_at(uint8_t first, uint32_t at, uint32_t mtu, uint32_t len)
{
    if (at > 0)
        return (uint8_t)(at + mtu < len ? first + 1 : first + 2);
    if (mtu < len)
        return first;
    return first == WRITE_FIRST ? WRITE_ONLY : RESPONSE_ONLY;
}

static const uint8_t *payload(void)
{
    static uint8_t bytes[4096];

    if (!bytes[1])
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)(i * 7);
    return bytes;
}

static void reth(uint8_t out[16], uint32_t rkey, uint64_t address, uint32_t len)
{
    put32(put32(put64(out, address), rkey), len);
}

void talk_write_short(struct talk *talk, struct talk_end *from, uint32_t rkey, uint64_t address,
                      uint32_t len)
{
    struct talk_end *to = other(talk, from);
    uint8_t extension[16];

    reth(extension, rkey, address, len);
    write_packet(talk->file, &(struct packet){.from = from,
                                              .to = to,
                                              .opcode = WRITE_ONLY,
                                              .ack_request = true,
                                              .qpn = to->qpn,
                                              .psn = take_psn(from),
                                              .extension = extension,
                                              .extension_len = sizeof(extension),
                                              .data = payload(),
                                              .len = len});
    acknowledge(talk, from);
}

void talk_write(struct talk *talk, struct talk_end *from, uint32_t rkey, uint64_t address,
                uint32_t len)
{
    struct talk_end *to = other(talk, from);
    uint8_t extension[16];

    reth(extension, rkey, address, len);
    for (uint32_t at = 0; at < len; at += talk->mtu)
        write_packet(talk->file,
                     &(struct packet){.from = from,
                                      .to = to,
                                      .opcode = opcode_at(WRITE_FIRST, at, talk->mtu, len),
                                      .ack_request = at + talk->mtu >= len,
                                      .qpn = to->qpn,
                                      .psn = take_psn(from),
                                      .extension = extension,
                                      .extension_len = at == 0 ? sizeof(extension) : 0,
                                      .data = payload(),
                                      .len = talk->mtu});
    acknowledge(talk, from);
}

void talk_read(struct talk *talk, struct talk_end *from, uint32_t rkey, uint64_t address,
               uint32_t len)
{
    struct talk_end *to = other(talk, from);
    uint8_t extension[16];

    reth(extension, rkey, address, len);
    write_packet(talk->file, &(struct packet){.from = from,
                                              .to = to,
                                              .opcode = READ_REQUEST,
                                              .ack_request = true,
                                              .qpn = to->qpn,
                                              .psn = from->psn,
                                              .extension = extension,
                                              .extension_len = sizeof(extension)});
    to->msn++;
    aeth(to, POSITIVE, extension);
    for (uint32_t at = 0; at < len; at += talk->mtu) {
        uint8_t opcode = opcode_at(RESPONSE_FIRST, at, talk->mtu, len);

        write_packet(talk->file,
                     &(struct packet){.from = to,
                                      .to = from,
                                      .opcode = opcode,
                                      .qpn = from->qpn,
                                      .psn = take_psn(from),
                                      .extension = extension,
                                      .extension_len = opcode == RESPONSE_MIDDLE ? 0 : 4,
                                      .data = payload(),
                                      .len = talk->mtu});
    }
}

void talk_bytes(struct talk_file *file, const void *data, uint32_t len)
{
    uint8_t head[PCAP_HEADER], *p = head;

    file->time_ns += file->step_ns;
    p = little32(p, (uint32_t)(file->time_ns / 1000000000));
    p = little32(p, (uint32_t)(file->time_ns % 1000000000));
    little32(little32(p, len), len);
    fwrite(head, 1, sizeof(head), file->out);
    fwrite(data, 1, len, file->out);
    file->bytes += PCAP_HEADER + len;
    file->packets++;
}

void talk_tcp(struct talk *talk, uint32_t at, const void *data, uint32_t len)
{
    struct talk_file *file = talk->file;
    uint32_t all = ETHERNET + IPV4 + 20 + len;
    uint8_t head[PCAP_HEADER + ETHERNET + IPV4 + 20], *p = head, *ip;

    file->time_ns += file->step_ns;
    p = little32(p, (uint32_t)(file->time_ns / 1000000000));
    p = little32(p, (uint32_t)(file->time_ns % 1000000000));
    p = little32(little32(p, all), all);
    p = put32(put16(p, 0x0200), talk->server.address);
    p = put32(put16(p, 0x0200), talk->client.address);
    p = ip = put16(p, 0x0800);
    p = put32(p, 0x45000000 | (all - ETHERNET));
    p = put32(put32(p, 0x4000), 64u << 24 | 6u << 16);
    p = put32(put32(p, talk->client.address), talk->server.address);
    put16(ip + 10, checksum(ip));
    p = put32(put16(put16(p, 40000), 20049), 1000 + at);
    p = put16(put32(p, 5000), 0x5010); /* 20 bytes of header; ACK */
    put32(put16(p, 0xffff), 0);
    fwrite(head, 1, sizeof(head), file->out);
    fwrite(data, 1, len, file->out);
    file->bytes += PCAP_HEADER + all;
    file->packets++;
}
