/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostile.h"

#include <stdlib.h>
#include <string.h>

enum { RPC_MAX = 900, CREDITS = 64, SEGMENTS = 20, OPERATIONS = 60 };

static struct talk begin(struct talk_file *file, uint32_t number)
{
    return (struct talk){
        .file = file,
        .mtu = 1024,
        .client = {.address = 0x0b000000 + number, .qpn = 0x100 + number % 0xf00000, .psn = number},
        .server = {.address = 0x0a010001, .qpn = 0x100 + number % 0xf00000, .psn = 7},
    };
}

static uint8_t *zeros(uint8_t *p, size_t n)
{
    memset(p, 0, n);
    return p + n;
}

static uint8_t *header(uint8_t *p, uint32_t xid)
{
    return put32(put32(put32(put32(p, xid), 1), CREDITS), 0);
}

static uint8_t *call(uint8_t *p, uint32_t xid, uint32_t version, uint32_t procedure)
{
    p = put32(put32(put32(p, xid), 0), 2);
    p = put32(put32(put32(p, 100003), version), procedure);
    return zeros(p, 16); /* AUTH_NONE twice */
}

static void send_call(struct talk *talk, uint32_t xid)
{
    uint8_t buf[RPC_MAX], *p = call(zeros(header(buf, xid), 12), xid, 3, 0);

    talk_send(talk, &talk->client, buf, (uint32_t)(p - buf));
}

/* Every packet is of another connection: with its set-up, or without. */
static void make_connections(struct talk_file *file, uint64_t size, bool set_up)
{
    for (uint32_t i = 0; file->bytes < size; i++) {
        struct talk talk = begin(file, i);

        if (set_up)
            talk_connect(&talk, NULL);
        send_call(&talk, i);
    }
}

/* Calls that nobody answers. */
static void calls(struct talk_file *file, uint64_t size)
{
    struct talk talk = begin(file, 0);

    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++)
        send_call(&talk, i);
}

/* Calls of as many operations: none is like another. */
static void operations(struct talk_file *file, uint64_t size)
{
    struct talk talk = begin(file, 0);

    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[RPC_MAX], *p = call(zeros(header(buf, i), 12), i, 1000 + i / 1000, i % 1000);

        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
    }
}

/* Chunks whose segments lie over each other, each of 4 GB less one; all they claim is never sent,
 * but for a little, again and again. */
static void segments(struct talk_file *file, uint64_t size, uint32_t length)
{
    struct talk talk = begin(file, 0);

    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[RPC_MAX], *p = put32(header(buf, i), 0);

        p = put32(put32(p, 1), SEGMENTS);
        for (uint32_t k = 0; k < SEGMENTS; k++)
            p = put64(put32(put32(p, 1 + k % 3), length), k * 64);
        p = call(zeros(p, 8), i, 3, 6);
        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
        for (uint32_t k = 0; k < 3; k++)
            talk_write(&talk, &talk.server, 1 + k, k * 64, 1024);
    }
}

/* Calls of 100 segments, all of one handle, none over another. */
static void handles(struct talk_file *file, uint64_t size)
{
    enum { EACH = 100 };
    struct talk talk = begin(file, 0);
    uint64_t address = 0;

    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[RPC_MAX + EACH * 16], *p = put32(header(buf, i), 0);

        p = put32(put32(p, 1), EACH);
        for (uint32_t k = 0; k < EACH; k++, address += 8192)
            p = put64(put32(put32(p, 7), 4096), address);
        p = call(zeros(p, 8), i, 3, 6);
        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
        talk_write(&talk, &talk.server, 7, address - 8192 * (1 + i * UINT32_C(7919) % EACH), 1024);
    }
}

/* COMPOUNDs of as many operations as fit, all of which nest or want more. */
static void compounds(struct talk_file *file, uint64_t size)
{
    struct talk talk = begin(file, 0);

    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[RPC_MAX], *p = call(zeros(header(buf, i), 12), i, 4, 1);

        p = put32(put32(put32(p, 0), 2), UINT32_MAX);
        for (uint32_t k = 0; k < OPERATIONS; k++)
            p = put32(p, k % 2 ? 24 /* PUTROOTFH */ : 10 /* GETFH */);
        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
    }
}

/* Every Call is on a QP of its own, of the same two hosts, and only this direction is seen. */
static void one_way(struct talk_file *file, uint64_t size)
{
    for (uint32_t i = 0; file->bytes < size; i++) {
        struct talk talk = begin(file, i);

        talk.client.address = 0x0b000000;
        talk.one_way = true;
        send_call(&talk, i);
    }
}

/* Every second packet of a connection is missing, and many connections take turns. */
static void holes(struct talk_file *file, uint64_t size)
{
    uint32_t n = (uint32_t)(size / 3000) + 1; /* so that setting them up is a third of it */
    struct talk *talks = calloc(n, sizeof(*talks));

    if (!talks)
        abort();
    for (uint32_t i = 0; i < n; i++) {
        talks[i] = begin(file, i);
        talk_connect(&talks[i], NULL);
    }
    for (uint32_t i = 0; file->bytes < size; i++) {
        struct talk *talk = &talks[i % n];

        talk->client.psn = (talk->client.psn + 1) & 0xffffff;
        send_call(talk, i);
    }
    free(talks);
}

/* iWARP whose TCP never delivers its second segment: what follows waits for it. */
static void tcp(struct talk_file *file, uint64_t size)
{
    enum { MPA = 20, TALKS = 4000 };
    static const uint8_t request[MPA] = "MPA ID Req Frame\x40\x01\0";
    uint8_t data[1024];

    memset(data, 0, sizeof(data));
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint32_t round = i / TALKS;
        struct talk talk = begin(file, i % TALKS);

        if (round == 0)
            talk_tcp(&talk, 0, request, MPA);
        else /* 100: a hole before, and one between any two */
            talk_tcp(&talk, MPA + 100 + (round - 1) * 2048, data, sizeof(data));
    }
}

/* iWARP that is out of step: at two of three words an FPDU of 16 KB could begin, and none does. Or
 * its bytes come in such an order that few can be told to follow others. */
static void tcp_held(struct talk_file *file, uint64_t size, bool decoys)
{
    enum { MPA = 20, PIECE = 1404, PIECES = 8000 };
    static const uint8_t request[MPA] = "MPA ID Req Frame\x40\x01\0";
    uint8_t data[PIECE];

    for (uint32_t i = 0; i < PIECE; i += 4)
        put32(data + i, decoys && i % 12 ? 0x3f00c140 : 0);
    for (uint32_t number = 0; file->bytes < size; number++) {
        struct talk talk = begin(file, number);

        talk_tcp(&talk, 0, request, MPA);
        for (uint32_t i = 1; i < PIECES && file->bytes < size; i++) {
            uint32_t at = decoys ? i : i * UINT32_C(7919) % PIECES;

            talk_tcp(&talk, MPA + (at - decoys) * PIECE, data, decoys ? PIECE : 8);
        }
    }
}

static void connections(struct talk_file *file, uint64_t size)
{
    make_connections(file, size, true);
}

static void strangers(struct talk_file *file, uint64_t size)
{
    make_connections(file, size, false);
}

static void overlaps(struct talk_file *file, uint64_t size)
{
    segments(file, size, 4096);
}

static void claims(struct talk_file *file, uint64_t size)
{
    segments(file, size, UINT32_MAX);
}

static void decoys(struct talk_file *file, uint64_t size)
{
    tcp_held(file, size, true);
}

static void shuffled(struct talk_file *file, uint64_t size)
{
    tcp_held(file, size, false);
}

const struct bench_kind hostile_kinds[] = {
    {"connections", connections},
    {"strangers", strangers},
    {"calls", calls},
    {"operations", operations},
    {"overlaps", overlaps},
    {"claims", claims},
    {"handles", handles},
    {"compounds", compounds},
    {"holes", holes},
    {"oneway", one_way},
    {"tcp", tcp},
    {"decoys", decoys},
    {"shuffled", shuffled},
    {NULL, NULL},
};
