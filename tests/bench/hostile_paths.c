/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostile.h"

#include <string.h>

/* What is kept of paths: what was lost on them, asked for again, came twice, or moved. */

enum { SMALL = 64 /* bytes */, ADDRESSES = 250 };
#define SECOND INT64_C(1000000000)

static void get_attributes(struct talk *talk, uint32_t xid)
{
    uint8_t buf[128], *p = put32(put32(put32(put32(buf, xid), 1), 64), 0);

    memset(p, 0, sizeof(buf) - (size_t)(p - buf));
    p = put32(put32(put32(p + 12, xid), 0), 2);
    p = put32(put32(put32(p, 100003), 3), 1) + 16;
    talk_send(talk, &talk->client, buf, (uint32_t)(p - buf));
}

static void send_nothing(struct talk *talk)
{
    static const uint8_t zeros[SMALL];

    talk_send(talk, &talk->client, zeros, sizeof(zeros));
}

/* Attempts of which each message is repeated, as its answer is lost: the REQ, the REP, the RTU. */
static void repeated(struct talk_file *file, uint64_t size)
{
    enum { TIMES = 8 };

    for (uint32_t i = 0; file->bytes < size; i++) {
        struct talk talk = talk_between(file, i % ADDRESSES, 1, i);

        for (uint32_t k = 0; k < TIMES; k++, file->time_ns += SECOND)
            talk_request(&talk, NULL);
        for (uint32_t k = 0; k < TIMES && i % 3 > 0; k++, file->time_ns += SECOND)
            talk_accept(&talk, NULL);
        for (uint32_t k = 0; k < TIMES && i % 3 > 1; k++)
            talk_ready(&talk);
        get_attributes(&talk, i);
    }
}

/* Every second packet is missing. One of the other end asks for it, and for another long ago. */
static void asked(struct talk_file *file, uint64_t size)
{
    struct talk talk = talk_between(file, 0, 1, 0);

    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        talk.client.psn = (talk.client.psn + 1) & 0xffffff;
        send_nothing(&talk);
        talk_ask_again(&talk, &talk.client, talk.client.psn - 2);
        talk_ask_again(&talk, &talk.client, talk.client.psn - 2 - 2 * (i % 1000));
    }
}

/* What was sent comes again when much else came: some twice, some before its time. */
static void twice(struct talk_file *file, uint64_t size)
{
    enum { FAR = 5000 };
    struct talk talk = talk_between(file, 0, 1, 0);

    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        struct talk again = talk;

        send_nothing(&talk);
        again.client.psn = (talk.client.psn - (i * 7919) % FAR) & 0xffffff;
        send_nothing(&again);
        if (i % 64 == 0)
            talk_acknowledge(&talk, &talk.client);
    }
}

/* A client has a Call without a Reply on each connection, closes it, and sends it again on the
 * next, from another address and port. */
static void moved(struct talk_file *file, uint64_t size)
{
    enum { CALLS = 3 };

    for (uint32_t i = 0; file->bytes < size; i++) {
        struct talk talk = talk_between(file, i % 2 ? i % ADDRESSES : 0, 1, i);

        talk_connect(&talk, NULL);
        for (uint32_t k = 0; k < CALLS; k++)
            get_attributes(&talk, i + k);
        file->time_ns += SECOND;
        talk_acknowledge(&talk, &talk.client);
        if (i % 3 > 0)
            talk_disconnect(&talk, i % 3 > 1 ? &talk.client : &talk.server);
    }
}

const struct bench_kind hostile_paths_kinds[] = {
    {"repeated", repeated}, {"asked", asked}, {"twice", twice}, {"moved", moved}, {NULL, NULL},
};
