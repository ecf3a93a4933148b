/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostile.h"

#include <string.h>

/* What makes report look for causes: connections that fail in many ways beside those that go on,
 * one that has all troubles, what ICMP and ARP say, and TCP's selective acknowledgements. */

enum { RPC_MAX = 256, CLIENTS = 7, SERVERS = 2, WAYS = 10 };
enum { NOT_READY = 0x2c000000, REMOTE_ACCESS = 0x62000000 }; /* IBTA volume 1 section 9.7.5.1.2 */
#define SECOND INT64_C(1000000000)

static void send_words(struct talk *talk, struct talk_end *from, uint32_t xid, bool call)
{
    uint8_t buf[RPC_MAX], *p = put32(put32(put32(put32(buf, xid), 1), 64), 0);

    memset(p, 0, sizeof(buf) - (size_t)(p - buf));
    p = put32(put32(p + 12, xid), call ? 0 : 1);
    p = call ? put32(put32(put32(put32(p, 2), 100003), 3), 1) + 16 : p + 100;
    talk_send(talk, from, buf, (uint32_t)(p - buf));
}

static void get(struct talk *talk, uint32_t xid)
{
    send_words(talk, &talk->client, xid, true);
}

static void got(struct talk *talk, uint32_t xid)
{
    talk_acknowledge(talk, &talk->client);
    send_words(talk, &talk->server, xid, false);
    talk_acknowledge(talk, &talk->server);
}

/* The last request comes again and again. */
static void again(struct talk *talk, uint32_t xid, uint32_t times, int64_t every_ns)
{
    for (; times > 0; times--, talk->file->time_ns += every_ns) {
        talk->client.psn--;
        get(talk, xid);
    }
}

/* One of the ways in which a connection with Calls under way has trouble. */
static void trouble(struct talk *talk, uint32_t way, uint32_t xid)
{
    struct talk_file *file = talk->file;

    get(talk, xid);
    switch (way) {
    case 0: /* nothing answers any more */
        again(talk, xid, 7, SECOND / 4);
        break;
    case 1: /* the server has it, and does not answer */
        talk_acknowledge(talk, &talk->client);
        file->time_ns += 2 * SECOND;
        break;
    case 2:
        talk_answer(talk, &talk->client, REMOTE_ACCESS, talk->client.psn - 1);
        break;
    case 3:
        talk_answer(talk, &talk->client, NOT_READY, talk->client.psn - 1);
        again(talk, xid, 2, SECOND / 100);
        got(talk, xid);
        break;
    case 4: /* it stood still */
        again(talk, xid, 3, SECOND);
        got(talk, xid);
        break;
    case 5: /* a packet is lost */
        talk->client.psn++;
        get(talk, xid + 1);
        talk_ask_again(talk, &talk->client, talk->client.psn - 2);
        talk->client.psn -= 2;
        get(talk, xid);
        get(talk, xid + 1);
        got(talk, xid);
        break;
    case 6: /* slow */
        file->time_ns += SECOND;
        got(talk, xid);
        break;
    default:
        got(talk, xid);
    }
}

/* Few hosts have very many connections, one second one in, each of which fails in its way. */
static void mixed(struct talk_file *file, uint64_t size)
{
    struct talk healthy = talk_between(file, 0, 0, 0xffff00);

    talk_connect(&healthy, NULL);
    for (uint32_t i = 0, xid = 1; file->bytes < size; i++, xid += 4) {
        uint32_t way = i % WAYS;
        struct talk talk = talk_between(file, i % CLIENTS, i % SERVERS, i);

        if (way == 8) {
            talk_refuse(&talk);
            continue;
        }
        talk_connect(&talk, NULL);
        if (i % 3 == 0)
            get(&talk, xid - 4); /* again, on a new connection */
        trouble(&talk, way, xid);
        get(&healthy, xid + 2);
        got(&healthy, xid + 2);
        if (i % 4 > 1)
            talk_disconnect(&talk, i % 4 > 2 ? &talk.client : &talk.server);
        file->time_ns += SECOND / 50;
    }
}

/* Two servers hang that each client has mounted once: their adapters acknowledge, and nothing is
 * answered. */
static void hung(struct talk_file *file, uint64_t size)
{
    struct talk last;

    for (uint32_t i = 0; file->bytes < size; i++, file->time_ns += SECOND / 1000) {
        struct talk talk = talk_between(file, i, i % SERVERS, i);

        talk_connect(&talk, NULL);
        get(&talk, 2 * i);
        got(&talk, 2 * i);
        get(&talk, 2 * i + 1);
        talk_acknowledge(&talk, &talk.client);
    }
    file->time_ns += 60 * SECOND;
    last = talk_between(file, 0, 0, 0xffff00);
    talk_connect(&last, NULL);
}

/* One connection has all troubles that it survives, for days. */
static void troubles(struct talk_file *file, uint64_t size)
{
    struct talk talk = talk_between(file, 0, 1, 0);

    talk_connect(&talk, NULL);
    for (uint32_t i = 0, xid = 1; file->bytes < size; i++, xid += 4) {
        trouble(&talk, 3 + i % 5, xid);
        if (i % 16 == 15)
            get(&talk, xid + 3); /* no Reply */
        file->time_ns += i % 64 ? SECOND / 50 : 600 * SECOND;
    }
}

/* The IPv4 header of `len` bytes behind it. */
static uint8_t *ip_header(uint8_t *p, uint32_t protocol, uint32_t len, uint32_t from, uint32_t to)
{
    p = put32(p, 0x45000000 | (20 + len));
    p = put32(put32(p, 0), 64u << 24 | protocol << 16);
    return put32(put32(p, from), to);
}

static uint8_t *ethernet(uint8_t *p, uint32_t type)
{
    memset(p, 2, 12);
    return put16(p + 12, type);
}

/* What was sent to that server, or to another port of it, was not delivered, says one of many. */
static void not_delivered(struct talk_file *file, uint32_t i, uint32_t client, uint32_t server)
{
    enum { QUOTED = 20 + 8, ICMP = 8 + QUOTED, TCP = 6, UDP = 17 };
    uint8_t frame[128], *p = ethernet(frame, 0x0800);

    p = ip_header(p, 1, ICMP, 0x0c000000 + i, 0x0b000000 + client);
    p = put32(put32(p, (3u << 8 | i % 16) << 16), i % 4 == 1 ? i & 0xffff : 0);
    p = ip_header(p, i % 2 ? UDP : TCP, 8, 0x0b000000 + client, 0x0a010000 + server);
    p = put32(put32(p, 49152u << 16 | (i % 2 ? 4791 : i & 0xffff)), 0);
    talk_bytes(file, frame, (uint32_t)(p - frame));
}

/* Connections are tried in vain, and ICMP says much of that, and of others. */
static void quoted(struct talk_file *file, uint64_t size)
{
    for (uint32_t i = 0; file->bytes < size; i++) {
        struct talk talk = talk_between(file, i, 1, i);

        for (uint32_t k = 0; k < 3; k++, file->time_ns += SECOND / 2) {
            talk_request(&talk, NULL);
            not_delivered(file, 7 * i + k, i, 1);
            not_delivered(file, 7 * i + k, i + 1, k);
        }
    }
}

static void arp(struct talk_file *file, uint32_t operation, uint32_t by, uint32_t of)
{
    uint8_t frame[64], *p = ethernet(frame, 0x0806);

    p = put16(put16(put32(p, 1u << 16 | 0x0800), 6u << 8 | 4), operation);
    memset(p, 0, 20);
    put32(p + 6, by);
    p = put32(p + 16, of);
    talk_bytes(file, frame, (uint32_t)(p - frame));
}

/* Hosts ask for more addresses than are kept, some of them answered, and connections wait. */
static void neighbours(struct talk_file *file, uint64_t size)
{
    for (uint32_t i = 0, xid = 1; file->bytes < size; i++, xid += 4) {
        struct talk talk = talk_between(file, i % 250, 1, i);

        talk_connect(&talk, NULL);
        for (uint32_t k = 0; k < 40; k++)
            arp(file, 1 + k % 4 / 3, 0x0b000000 + (i + k) % 250, 0x0a010000 + k * i % 7);
        trouble(&talk, 4 * (i % 2), xid);
    }
}

/* An acknowledgement by the server, with four blocks of what came behind a hole. */
static void selective(struct talk *talk, uint32_t acked, uint32_t first, uint32_t apart)
{
    enum { BLOCKS = 4, OPTIONS = 4 + 8 * BLOCKS, TCP = 20 + OPTIONS, ACK = 0x10, SACK = 5 };
    uint8_t frame[128], *p = ethernet(frame, 0x0800);

    p = ip_header(p, 6, TCP, talk->server.address, talk->client.address);
    p = put32(put32(put32(p, 20049u << 16 | 40000), 5000), 1000 + acked);
    p = put32(put32(p, ((uint32_t)TCP / 4 << 12 | ACK) << 16 | 0xffff), 0);
    p = put32(p, 0x01010000 | SACK << 8 | (2 + 8 * BLOCKS));
    for (uint32_t k = 0; k < BLOCKS; k++, first += apart)
        p = put32(put32(p, 1000 + first), 1000 + first + apart / 2);
    talk_bytes(talk->file, frame, (uint32_t)(p - frame));
}

/* TCP of which acknowledgements say that every second segment is lost, in other blocks each time;
 * some come again, and one in thousands is acknowledged. */
static void sacks(struct talk_file *file, uint64_t size)
{
    enum { MPA = 20, LENGTH = 64, AT_ONCE = 16, HELD = 4096 };
    static const uint8_t request[MPA] = "MPA ID Req Frame\x40\x01\0", data[LENGTH];
    struct talk talk = talk_between(file, 0, 1, 0);

    talk_tcp(&talk, 0, request, MPA);
    selective(&talk, MPA, MPA, 0);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint32_t at = MPA + i * LENGTH, back = i * 7919 % HELD;

        talk_tcp(&talk, at, data, LENGTH);
        selective(&talk, MPA + (i - i % HELD) * LENGTH, at - (i * 31 % AT_ONCE) * LENGTH,
                  (1 + i % 3) * LENGTH);
        if (i % 4 == 0 && back < i)
            talk_tcp(&talk, at - back * LENGTH, data, LENGTH);
    }
}

const struct bench_kind hostile_causes_kinds[] = {
    {"mixed", mixed},           {"hung", hung},   {"troubles", troubles}, {"quoted", quoted},
    {"neighbours", neighbours}, {"sacks", sacks}, {NULL, NULL},
};
