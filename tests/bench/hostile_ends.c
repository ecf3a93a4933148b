/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostile.h"

#include <string.h>

/* What is kept of hosts, of their connections one after the other, and of what they have names for.
 */

enum { RPC_MAX = 900, CREDITS = 64, VERSION_3 = 3, VERSION_4 = 4 };
enum { GETATTR = 1, REMOVE = 12, RENAME = 14, LINK = 15, COMPOUND = 1 };
enum { OP_CREATE_SESSION = 43, OP_SEQUENCE = 53 };
#define SECOND INT64_C(1000000000)

static uint8_t *zeros(uint8_t *p, size_t n)
{
    memset(p, 0, n);
    return p + n;
}

static uint8_t *header(uint8_t *p, uint32_t xid)
{
    return zeros(put32(put32(put32(put32(p, xid), 1), CREDITS), 0), 12);
}

static uint8_t *call(uint8_t *p, uint32_t xid, uint32_t version, uint32_t procedure)
{
    p = put32(put32(put32(header(p, xid), xid), 0), 2);
    p = put32(put32(put32(p, 100003), version), procedure);
    return zeros(p, 16);
}

static void send_call(struct talk *talk, const uint8_t *buf, const uint8_t *end)
{
    talk_send(talk, &talk->client, buf, (uint32_t)(end - buf));
}

/* `more`: words of zero after the RPC's status. */
static void send_reply(struct talk *talk, uint32_t xid, uint32_t more)
{
    uint8_t buf[RPC_MAX], *p = zeros(put32(put32(header(buf, xid), xid), 1), 16);

    p = zeros(p, (size_t)4 * more);
    talk_send(talk, &talk->server, buf, (uint32_t)(p - buf));
}

static uint8_t *handle(uint8_t *p, uint32_t number)
{
    return put32(put32(put32(p, 8), 0xfe), number);
}

static void getattr(struct talk *talk, uint32_t xid)
{
    uint8_t buf[RPC_MAX], *p = handle(call(buf, xid, VERSION_3, GETATTR), 7);

    send_call(talk, buf, p);
    send_reply(talk, xid, 22);
}

/* Packets of which each is in a VLAN of its own, and comes again in another one, as if a router had
 * sent it on. */
static void vlans(struct talk_file *file, uint64_t size)
{
    enum { EACH = 200 }; /* of the same two addresses */
    uint32_t tags = 0;

    for (uint32_t i = 0; file->bytes < size; i++) {
        struct talk talk = talk_between(file, i / EACH, 1, 0);
        uint8_t buf[RPC_MAX], *p = handle(call(buf, i, VERSION_3, GETATTR), 7);

        for (int again = 0; again < 2; again++) {
            talk.client.psn = i;
            do
                file->vlans = ++tags & 0xffffff;
            while ((tags & 0xfff) == 0 || tags >> 12 == 0);
            send_call(&talk, buf, p);
        }
    }
}

static uint8_t *compound(uint8_t *p, uint32_t xid, uint32_t operation)
{
    p = put32(put32(call(p, xid, VERSION_4, COMPOUND), 0), 1); /* no tag, version 4.1 */
    return put32(put32(p, 1), operation);
}

static uint8_t *session(uint8_t *p, uint32_t number)
{
    return put64(put64(p, UINT64_C(0x5e55105e55100000)), number);
}

static uint8_t *channels(uint8_t *p)
{
    for (int i = 0; i < 2; i++)
        p = put32(put32(put32(put32(put32(put32(put32(p, 0), 65536), 65536), 4096), 8), 64), 0);
    return p;
}

static uint8_t *compound_reply(uint8_t *p, uint32_t xid, uint32_t operation)
{
    p = zeros(put32(put32(header(p, xid), xid), 1), 16);
    return put32(put32(put32(zeros(p, 8), 1), operation), 0); /* status, no tag, one result */
}

static void create_session(struct talk *talk, uint32_t xid, uint32_t number)
{
    uint8_t buf[RPC_MAX], *p = compound(buf, xid, OP_CREATE_SESSION);

    p = channels(put32(put32(put64(p, number), 1), 0));
    send_call(talk, buf, put32(put32(put32(p, 0x40000000), 1), 0));
    p = session(compound_reply(buf, xid, OP_CREATE_SESSION), number);
    p = channels(put32(put32(p, 1), 0));
    talk_send(talk, &talk->server, buf, (uint32_t)(p - buf));
}

static void sequence(struct talk *talk, uint32_t xid, uint32_t number)
{
    uint8_t buf[RPC_MAX], *p = session(compound(buf, xid, OP_SEQUENCE), number);

    send_call(talk, buf, put32(put32(put32(put32(p, 1), 0), 0), 0));
    p = session(compound_reply(buf, xid, OP_SEQUENCE), number);
    p = put32(put32(put32(put32(put32(p, 1), 0), 63), 63), 0);
    talk_send(talk, &talk->server, buf, (uint32_t)(p - buf));
}

/* Each address of a server takes the session of the next one. Then the first two are asked in turn.
 */
static void trunks(struct talk_file *file, uint64_t size)
{
    struct talk first[2];
    uint32_t xid = 1;

    for (uint32_t i = 0; file->bytes < size / 2; i++) {
        struct talk talk = talk_between(file, 0, i, i),
                    next = talk_between(file, 0, i + 1, 0x10000 + i);

        talk_connect(&talk, NULL);
        create_session(&next, xid++, i);
        sequence(&talk, xid++, i);
        if (i < 2)
            first[i] = talk;
    }
    while (file->bytes < size)
        for (int i = 0; i < 2; i++)
            getattr(&first[i], xid++);
}

/* Every connection has a session, and is closed. */
static void sessions(struct talk_file *file, uint64_t size)
{
    for (uint32_t i = 0; file->bytes < size; i++) {
        struct talk talk = talk_between(file, 0, 1, i);

        talk_connect(&talk, NULL);
        create_session(&talk, 1, i);
        talk_disconnect(&talk, &talk.client);
    }
}

static uint8_t *name(uint8_t *p, uint32_t number)
{
    p = put32(p, 8);
    for (int shift = 28; shift >= 0; shift -= 4)
        *p++ = (uint8_t)("abcdefghijklmnop"[number >> shift & 15]);
    return p;
}

/* Files get names, have them changed, and lose them, each more often than names are kept. */
static void links(struct talk_file *file, uint64_t size)
{
    enum { NAMES = 1000 };
    struct talk talk = talk_between(file, 0, 1, 0);
    uint32_t xid = 1;

    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[RPC_MAX], *p = handle(call(buf, xid, VERSION_3, LINK), 100 + i / NAMES);

        send_call(&talk, buf, name(handle(p, 1 + i % 2), i));
        send_reply(&talk, xid++, 4);
        p = name(handle(call(buf, xid, VERSION_3, RENAME), 1 + i % 2), i);
        send_call(&talk, buf, name(handle(p, 2 - i % 2), i / 2));
        send_reply(&talk, xid++, 7);
        if (i % 3 == 0) {
            p = handle(call(buf, xid, VERSION_3, REMOVE), 2 - i % 2);
            send_call(&talk, buf, name(p, i / 2));
            send_reply(&talk, xid++, 4);
        }
    }
}

/* Attempts that are refused: every second one of another client. */
static void refused(struct talk_file *file, uint64_t size)
{
    for (uint32_t i = 0; file->bytes < size; i++) {
        struct talk talk = talk_between(file, i % 2 ? 0 : i, 1, i);

        talk_refuse(&talk);
        file->time_ns += SECOND / 10;
    }
}

/* A server closes one connection after the other, in the middle of what its client asks for; the
 * client is back at once, or seconds later, and goes on. Every second time it is another client. */
static void closed(struct talk_file *file, uint64_t size)
{
    uint32_t xid = 1;

    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[RPC_MAX], *p;

        for (uint32_t k = 0; k < 3; k++) {
            struct talk talk = talk_between(file, i % 2 ? 0 : i, 1, 3 * i + k);

            talk_connect(&talk, NULL);
            if (k > 0)
                getattr(&talk, xid - 1); /* again */
            getattr(&talk, xid++);
            p = handle(call(buf, xid++, VERSION_3, GETATTR), 7);
            send_call(&talk, buf, p);
            talk_disconnect(&talk, &talk.server);
            file->time_ns += k > 0 ? 3 * SECOND : SECOND / 10;
        }
    }
}

/* Of many connections each sends its last packet again and again, until all its answers come at
 * once. */
static void stalled(struct talk_file *file, uint64_t size)
{
    enum { TIMES = 20 };

    for (uint32_t i = 0; file->bytes < size; i++) {
        struct talk talk = talk_between(file, i % 7, 1, i);
        uint8_t buf[RPC_MAX], *p = handle(call(buf, i, VERSION_3, GETATTR), 7);

        talk_connect(&talk, NULL);
        for (uint32_t k = 0; k < TIMES; k++, file->time_ns += SECOND / 2) {
            talk.client.psn = 0;
            send_call(&talk, buf, p);
        }
        for (uint32_t k = 0; k < TIMES && i % 3 > 0; k++)
            talk_acknowledge(&talk, &talk.client);
    }
}

const struct bench_kind hostile_ends_kinds[] = {
    {"vlans", vlans},     {"trunks", trunks}, {"sessions", sessions}, {"links", links},
    {"refused", refused}, {"closed", closed}, {"stalled", stalled},   {NULL, NULL},
};
