/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostile.h"

#include <stdlib.h>
#include <string.h>

/* What makes each packet ask for a walk over all that came before. */

enum { RPC_MAX = 900, CREDITS = 64, SEND_MAX = 1 << 20 };

static struct talk begin(struct talk_file *file)
{
    return (struct talk){.file = file,
                         .mtu = 4096,
                         .client = {.address = 0x0b000000, .qpn = 0x100},
                         .server = {.address = 0x0a010001, .qpn = 0x100, .psn = 7}};
}

static uint8_t *zeros(uint8_t *p, size_t n)
{
    memset(p, 0, n);
    return p + n;
}

static uint8_t *prefix(uint8_t *p, uint32_t xid, uint32_t version, uint32_t type)
{
    return put32(put32(put32(put32(p, xid), version), CREDITS), type);
}

static uint8_t *call(uint8_t *p, uint32_t xid, uint32_t procedure)
{
    p = put32(put32(put32(p, xid), 0), 2);
    p = put32(put32(put32(p, 100003), 3), procedure);
    return zeros(p, 16);
}

static uint8_t *reply(uint8_t *p, uint32_t xid)
{
    return zeros(put32(put32(p, xid), 1), 16);
}

/* Of each UDP datagram to RoCE's port the first fragment, and one from the middle. */
static void fragments(struct talk_file *file, uint64_t size)
{
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[100] = {0}, *p = put16(zeros(buf, 12), 0x0800);

        p = put32(put32(p, 0x45000000 | (20 + 40)), i << 16 | (i & 1 ? 0x2003 : 0x2000));
        p = put32(put32(put32(p, 64u << 24 | 17u << 16), 0x0b000000 + (i >> 1)), 0x0a010001);
        p = zeros(put32(put16(put16(p, 49152), 4791), 1000u << 16), 32);
        talk_bytes(file, buf, (uint32_t)(p - buf));
    }
}

/* draft-ietf-nfsv4-rpcrdma-version-two-07: CALL_MIDDLE 9, which says that more remains, always. */
static void continued(struct talk_file *file, uint64_t size)
{
    struct talk talk = begin(file);
    uint32_t left = UINT32_MAX;

    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[RPC_MAX], *p = prefix(buf, 1 + i / 100000, 2, 9);

        p = put32(p, left -= 44);
        p = i % 100000 == 0 ? zeros(call(p, 1 + i / 100000, 7), 4) : zeros(p, 44);
        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
    }
}

/* A Call offers as many segments as are taken, its Reply comes first, and what it waits for comes
 * in small pieces, the last segment first, or a byte of two in one segment. */
static void wait_for(struct talk_file *file, uint64_t size, bool pieces)
{
    enum { EACH = 4000, LENGTH = 8, PIECES = 64 << 10 };
    struct talk talk = begin(file);
    uint32_t n = pieces ? 1 : EACH, length = pieces ? PIECES : LENGTH;
    uint8_t *buf = malloc(SEND_MAX);

    if (!buf)
        abort();
    talk.one_way = true;
    talk_connect(&talk, NULL);
    for (uint32_t xid = 0; file->bytes < size; xid++) {
        for (int answer = 0; answer < 2; answer++) {
            uint8_t *p = put32(put32(put32(prefix(buf, xid, 1, 0), 0), 1), n);

            for (uint32_t k = 0; k < n; k++)
                p = put64(put32(put32(p, 1 + xid), length - (pieces && answer ? 1 : 0)),
                          (uint64_t)k * length);
            p = answer ? reply(zeros(p, 8), xid) : call(zeros(p, 8), xid, 6);
            talk_send(&talk, answer ? &talk.server : &talk.client, buf, (uint32_t)(p - buf));
        }
        for (uint32_t k = EACH; k-- > 0;)
            talk_write_short(&talk, &talk.server, 1 + xid, (uint64_t)k * (pieces ? 16 : LENGTH),
                             pieces ? 8 : LENGTH);
    }
    free(buf);
}

/* Replies with a Read list (RFC 5666's Read-Read model) wait for RDMA_DONE; meanwhile others talk.
 */
static void pulled(struct talk_file *file, uint64_t size)
{
    enum { HELD = 1000 };
    struct talk talk = begin(file);

    talk.one_way = true;
    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[RPC_MAX], *p = call(zeros(prefix(buf, i, 1, 0), 12), i, 0);

        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
        if (i >= HELD) {
            talk_write_short(&talk, &talk.server, 99, 0, 8);
            continue;
        }
        p = put32(put32(put32(put32(prefix(buf, i, 1, 0), 1), 64), 7), 4096);
        p = reply(zeros(put64(p, (uint64_t)i * 4096), 12), i);
        talk_send(&talk, &talk.server, buf, (uint32_t)(p - buf));
    }
}

/* Read lists of one message each: half of it a Position-Zero Read chunk, and the other half chunks
 * of which each begins at another place of that. */
static void positions(struct talk_file *file, uint64_t size)
{
    struct talk talk = begin(file);
    uint8_t *buf = malloc(SEND_MAX);
    uint64_t most = size < SEND_MAX ? size : SEND_MAX;
    uint32_t n = (uint32_t)((most - 1024) / 24 / 2);

    if (!buf)
        abort();
    talk_connect(&talk, NULL);
    for (uint32_t xid = 0; file->bytes < size; xid++) {
        uint8_t *p = prefix(buf, xid, 1, 0);

        for (uint32_t k = 0; k < 2 * n; k++) {
            p = put32(put32(p, 1), k < n ? 0 : n * 8 + (k - n) * 8);
            p = put64(put32(put32(p, 7), 4), (uint64_t)k * 8192);
        }
        p = call(zeros(p, 12), xid, 7);
        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
    }
    free(buf);
}

/* Replies of thousands of READs, each with a Write chunk of its own that has its padding, too: a
 * finding each. */
static void items(struct talk_file *file, uint64_t size)
{
    enum { READS = 4000, OP_READ = 25, MOST = 64 + READS * 40 };
    struct talk talk = begin(file);
    uint8_t *buf = malloc(MOST);

    if (!buf)
        abort();
    talk_connect(&talk, NULL);
    for (uint32_t xid = 0; file->bytes < size; xid++) {
        uint8_t *p = put32(put32(put32(zeros(prefix(buf, xid, 1, 0), 12), xid), 0), 2);

        p = zeros(put32(put32(put32(p, 100003), 4), 1), 16 + 12); /* a COMPOUND of nothing */
        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
        p = put32(prefix(buf, xid, 1, 0), 0);
        for (uint32_t k = 0; k < READS; k++)
            p = put64(put32(put32(put32(put32(p, 1), 1), 7), 4), (uint64_t)k * 16);
        p = put32(zeros(reply(zeros(p, 8), xid), 8), READS);
        for (uint32_t k = 0; k < READS; k++)
            p = put32(put32(put32(put32(p, OP_READ), 0), 1), 3);
        talk_send(&talk, &talk.server, buf, (uint32_t)(p - buf));
    }
    free(buf);
}

/* RPCs of which each is slower than all before. */
static void slower(struct talk_file *file, uint64_t size)
{
    struct talk talk = begin(file);

    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[RPC_MAX], *p = call(zeros(prefix(buf, i, 1, 0), 12), i, 0);

        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
        file->time_ns += i * 10;
        p = reply(zeros(prefix(buf, i, 1, 0), 12), i);
        talk_send(&talk, &talk.server, buf, (uint32_t)(p - buf));
    }
}

/* RPCs of thousands of procedures, whose latencies are of every order of magnitude. */
static void spread(struct talk_file *file, uint64_t size)
{
    enum { PROCEDURES = 8192, ORDERS = 40 };
    struct talk talk = begin(file);

    talk.one_way = true;
    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[RPC_MAX], *p = call(zeros(prefix(buf, i, 1, 0), 12), i, 1000 + i % PROCEDURES);

        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
        file->time_ns += INT64_C(1) << i % ORDERS;
        p = reply(zeros(prefix(buf, i, 1, 0), 12), i);
        talk_send(&talk, &talk.server, buf, (uint32_t)(p - buf));
    }
}

/* Every Send is sixty thousand packets ahead of the one before. */
static void jumps(struct talk_file *file, uint64_t size)
{
    struct talk talk = begin(file);

    talk.one_way = true;
    talk_connect(&talk, NULL);
    for (uint32_t i = 0; file->bytes < size; i++) {
        uint8_t buf[RPC_MAX], *p = call(zeros(prefix(buf, i, 1, 0), 12), i, 0);

        talk_send(&talk, &talk.client, buf, (uint32_t)(p - buf));
        talk.client.psn = (talk.client.psn + 60000) & 0xffffff;
    }
}

static void waiting(struct talk_file *file, uint64_t size)
{
    wait_for(file, size, false);
}

static void pieces(struct talk_file *file, uint64_t size)
{
    wait_for(file, size, true);
}

const struct bench_kind hostile_work_kinds[] = {
    {"fragments", fragments}, {"continued", continued}, {"waiting", waiting}, {"pieces", pieces},
    {"pulled", pulled},       {"positions", positions}, {"items", items},     {"slower", slower},
    {"spread", spread},       {"jumps", jumps},         {NULL, NULL},
};
