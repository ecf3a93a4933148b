/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostile.h"

#include <stdlib.h>
#include <string.h>

/* What commands keep of their own, besides what flow/ does: tables, lists and queues. */

enum { RPC_MAX = 900, CREDITS = 64, PIECE = 8, MSEC_NS = 1000000 };

static uint8_t *zeros(uint8_t *p, size_t n)
{
    memset(p, 0, n);
    return p + n;
}

static uint8_t *header(uint8_t *p, uint32_t xid, uint32_t credits)
{
    return put32(put32(put32(put32(p, xid), 1), credits), 0);
}

static uint8_t *call(uint8_t *p, uint32_t xid, uint32_t procedure)
{
    p = put32(put32(put32(p, xid), 0), 2);
    p = put32(put32(put32(p, 100003), 3), procedure);
    return zeros(p, 16);
}

static void send_call(struct talk *talk, uint32_t xid, uint32_t credits)
{
    uint8_t buf[RPC_MAX], *p = call(zeros(header(buf, xid, credits), 12), xid, 0);

    talk_send(talk, &talk->client, buf, (uint32_t)(p - buf));
}

static void send_reply(struct talk *talk, uint32_t xid, uint32_t credits)
{
    uint8_t buf[RPC_MAX], *p = zeros(header(buf, xid, credits), 12);

    p = zeros(put32(put32(p, xid), 1), 16);
    talk_send(talk, &talk->server, buf, (uint32_t)(p - buf));
}

/* Packets of one QP that all have one PSN, and each something else in them. */
static void again(struct talk_file *file, uint64_t size)
{
    struct talk talk = talk_between(file, 0, 1, 0);

    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        talk.client.psn = 0;
        send_call(&talk, i, CREDITS);
    }
}

/* A Call offers a Reply chunk of 4 GB, which is written in small pieces and never answered. */
static void answers(struct talk_file *file, uint64_t size)
{
    struct talk talk = talk_between(file, 0, 1, 0);
    uint8_t buf[RPC_MAX], *p = zeros(header(buf, 1, CREDITS), 8);

    p = put64(put32(put32(put32(put32(p, 1), 1), 7), UINT32_MAX), 0);
    p = call(p, 1, 6);
    talk_connect(&talk, NULL);
    talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
    for (uint32_t i = 0; file->bytes < size; i++)
        talk_write_short(&talk, &talk.server, 7, (uint64_t)i * PIECE, PIECE);
}

/* Connections that stay at their limit of one Call, and then packets ten milliseconds apart. */
static void limits(struct talk_file *file, uint64_t size)
{
    uint32_t n = 0;

    for (; file->bytes < size / 2; n++) {
        struct talk talk = talk_between(file, n, 1, n);

        talk_connect(&talk, NULL);
        send_call(&talk, 1, 1);
        send_reply(&talk, 1, 1);
        send_call(&talk, 2, 1);
    }
    file->step_ns = 10 * MSEC_NS;
    for (struct talk talk = talk_between(file, n, 1, n); file->bytes < size;)
        talk_write_short(&talk, &talk.server, 7, 0, PIECE);
}

static uint32_t inverse(uint32_t odd)
{
    uint32_t x = odd;

    for (int i = 0; i < 5; i++)
        x *= 2 - odd * x;
    return x;
}

static int by_number(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* RPCs at milliseconds whose numbers, times Knuth's constant, leave one remainder in a table of
 * GLib's of 4096 places. */
static void moments(struct talk_file *file, uint64_t size)
{
    enum { NUMBERS = 4000, PRIME = 4093, GLIB = 11 };
    const uint32_t knuth = UINT32_C(2654435761);
    uint32_t *at = malloc(NUMBERS * sizeof(*at)), xid = 0;
    struct talk talk = talk_between(file, 0, 1, 0);
    int64_t start;

    if (!at)
        abort();
    for (uint32_t i = 0; i < NUMBERS; i++)
        at[i] = i * PRIME * inverse(GLIB * knuth);
    qsort(at, NUMBERS, sizeof(*at), by_number);
    talk_connect(&talk, NULL);
    start = file->time_ns;
    while (file->bytes < size)
        for (uint32_t i = 0; i < NUMBERS && file->bytes < size; i++) {
            file->time_ns = start + at[i] * INT64_C(1000000);
            send_call(&talk, ++xid, CREDITS);
            send_reply(&talk, xid, CREDITS);
        }
    free(at);
}

/* -- pcapng: names of addresses --------------------------------------------------------------- */

static void little(struct talk_file *file, uint64_t v, int n)
{
    for (; n > 0; n--, v >>= 8, file->bytes++)
        fputc((int)(v & 0xff), file->out);
}

static uint32_t fnv(uint32_t hash, uint32_t address)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        hash = (hash ^ (address >> shift & 0xff)) * UINT32_C(16777619);
    return hash ^ hash >> 15;
}

/* As many addresses as have names, all of one place in a table of 8192 by FNV-1a; and Calls from
 * them. */
static void hosts(struct talk_file *file, uint64_t size)
{
    enum { HOSTS = 4096, PLACES = 8192, NAME = 8, RECORD = 4 + 4 + NAME };
    static uint32_t address[HOSTS];
    uint32_t n = 0, block = 12 + HOSTS * RECORD + 4;

    for (uint32_t a = 0x0b000000; n < HOSTS; a++)
        if (fnv(UINT32_C(2166136261), a) % PLACES == 0)
            address[n++] = a;
    rewind(file->out);
    file->bytes = 0;
    little(file, 0x0a0d0d0a, 4), little(file, 28, 4), little(file, 0x1a2b3c4d, 4);
    little(file, 1, 4), little(file, UINT64_MAX, 8), little(file, 28, 4);
    little(file, 1, 4), little(file, 20, 4), little(file, 1, 4), little(file, 0, 4);
    little(file, 20, 4);
    little(file, 4, 4), little(file, block, 4);
    for (n = 0; n < HOSTS; n++) {
        uint8_t wire[4];

        put32(wire, address[n]);
        little(file, 1, 2), little(file, 4 + NAME, 2);
        file->bytes += fwrite(wire, 1, 4, file->out);
        file->bytes += (uint64_t)fprintf(file->out, "h%06x", n);
        little(file, 0, 1);
    }
    little(file, 0, 4), little(file, block, 4);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t data[200], *p = data, *rpc, *ip;
        uint32_t udp, length;

        p = ip = put16(zeros(p, 12), 0x0800);
        p = zeros(p, 20);
        p = zeros(p, 8);
        p = put32(put32(put32(p, 0x0440ffff), 0x11), i); /* Send Only */
        rpc = zeros(header(p, i, CREDITS), 12);
        p = zeros(call(rpc, i, 0), 4);
        udp = (uint32_t)(p - ip) - 20;
        put32(put32(ip, 0x45000000 | (20 + udp)), 0x4000);
        put32(put32(put32(ip + 8, 64u << 24 | 17u << 16), address[HOSTS - 1 - i % 64]), 0x0a010001);
        put32(put16(put16(ip + 20, 49152), 4791), udp << 16);
        length = (uint32_t)(p - data);
        little(file, 6, 4), little(file, 32 + (length + 3) / 4 * 4, 4), little(file, 0, 4);
        little(file, 0, 4), little(file, i, 4), little(file, length, 4), little(file, length, 4);
        file->bytes += fwrite(data, 1, length, file->out);
        little(file, 0, (int)(-length & 3));
        little(file, 32 + (length + 3) / 4 * 4, 4);
        file->packets++;
    }
}

const struct bench_kind hostile_tables_kinds[] = {
    {"again", again},     {"answers", answers}, {"limits", limits},
    {"moments", moments}, {"hosts", hosts},     {NULL, NULL},
};
