/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "mutate.h"
#include "base/crc.h"
#include "net/packet/opcode.h"
#include "wire/cursor.h"
#include "wire/message.h"
#include "wire/writer.h"

enum {
    ETHERNET = 14,
    VLAN = 4,
    UDP = 8,
    UDP_ROCE = 4791,
    OPCODE_SEND_FIRST = 0,
    OPCODE_SEND_LAST = 2,
    OPCODE_SEND_ONLY = 4,
    OPCODE_RC_END = 24,
};

/* Where things are in an Ethernet frame with RoCEv2 or TCP: offsets of its bytes. */
struct place {
    uint32_t ip, transport; /* transport: UDP's or TCP's header */
    uint32_t payload, end;  /* behind all headers; without padding and ICRC */
    bool v6, tcp;
    uint8_t opcode;
};

static bool locate(const struct mutate_packet *packet, struct place *at)
{
    const uint8_t *p = packet->data;
    uint32_t n = packet->caplen, type, total;

    *at = (struct place){.ip = ETHERNET};
    if (n < ETHERNET + 20)
        return false;
    type = rpcrdma_get_be16(p + 12);
    while ((type == 0x8100 || type == 0x88a8) && at->ip + VLAN + 20 < n) {
        type = rpcrdma_get_be16(p + at->ip + 2);
        at->ip += VLAN;
    }
    if (type == 0x0800) {
        at->transport = at->ip + (p[at->ip] & 15) * 4u;
        at->tcp = p[at->ip + 9] == 6;
        total = rpcrdma_get_be16(p + at->ip + 2);
    } else if (type == 0x86dd && n >= at->ip + 40) {
        at->v6 = true;
        at->transport = at->ip + 40;
        at->tcp = p[at->ip + 6] == 6;
        total = 40u + rpcrdma_get_be16(p + at->ip + 4);
    } else {
        return false;
    }
    at->end = at->ip + total < n ? at->ip + total : n;
    if (at->tcp) {
        if (at->transport + 20 > at->end)
            return false;
        at->payload = at->transport + (p[at->transport + 12] >> 4) * 4u;
        return at->payload <= at->end;
    }
    if (at->transport + UDP + RPCRDMA_BTH_BYTES + RPCRDMA_ICRC_BYTES > at->end ||
        rpcrdma_get_be16(p + at->transport + 2) != UDP_ROCE)
        return false;
    at->opcode = p[at->transport + UDP];
    at->payload = at->transport + UDP + RPCRDMA_BTH_BYTES + rpcrdma_opcodes[at->opcode].bytes;
    at->end -= RPCRDMA_ICRC_BYTES;
    if (at->payload > at->end)
        return false;
    total = p[at->transport + UDP + 1] >> 4 & 3;
    at->end -= total <= at->end - at->payload ? total : 0;
    return true;
}

/* --- making it right again ---------------------------------------------------------------------
 */

/* IBTA 7.8.1, A17.3.3: what may change on the way counts as ones. */
static uint32_t icrc(const uint8_t *p, const struct place *at, uint32_t end)
{
    static struct rpcrdma_crc crc;
    uint8_t masked[MUTATE_PACKET];
    uint32_t n = end - at->ip, udp = at->transport - at->ip, bth = udp + UDP;

    if (crc.table[0][1] == 0)
        rpcrdma_crc_init(&crc, RPCRDMA_CRC_ETHERNET);
    memset(masked, 0xff, 8); /* in the LRH's place */
    memcpy(masked + 8, p + at->ip, n);
    if (at->v6) {
        masked[8] |= 0x0f;
        memset(masked + 9, 0xff, 3);
        masked[8 + 7] = 0xff;
    } else {
        masked[8 + 1] = masked[8 + 8] = masked[8 + 10] = masked[8 + 11] = 0xff;
    }
    masked[8 + udp + 6] = masked[8 + udp + 7] = masked[8 + bth + 4] = 0xff;
    return ~rpcrdma_crc_add(&crc, UINT32_MAX, masked, n + 8);
}

static void put16(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}

static void put_le32(uint8_t *p, uint32_t value)
{
    rpcrdma_put_be32(p, __builtin_bswap32(value));
}

/* The CRCs of FPDUs that begin with the segment and follow one another without markers. */
static void fix_fpdus(uint8_t *p, uint32_t n)
{
    static struct rpcrdma_crc crc;

    if (crc.table[0][1] == 0)
        rpcrdma_crc_init(&crc, RPCRDMA_CRC_CASTAGNOLI);
    while (n >= 6) {
        uint32_t body = (2u + rpcrdma_get_be16(p) + 3) / 4 * 4;

        if (body + 4 > n)
            return;
        put_le32(p + body, ~rpcrdma_crc_add(&crc, UINT32_MAX, p, body));
        p += body + 4;
        n -= body + 4;
    }
}

/* The packet with other extension headers (`ext`, which end with the old payload) and payload. */
static bool rebuild(struct mutate_packet *packet, const struct place *at, uint32_t headers,
                    const uint8_t *payload, size_t n)
{
    uint32_t pad = at->tcp ? 0 : -(uint32_t)n & 3,
             size = headers + (uint32_t)n + pad + (at->tcp ? 0 : RPCRDMA_ICRC_BYTES);
    uint8_t *p;

    if (size > MUTATE_PACKET - 64 || !(p = mutate_room(size)))
        return false;
    memcpy(p, packet->data, headers < packet->caplen ? headers : packet->caplen);
    if (n)
        memcpy(p + headers, payload, n);
    if (at->v6)
        put16(p + at->ip + 4, size - at->ip - 40);
    else
        put16(p + at->ip + 2, size - at->ip);
    if (at->tcp) {
        if (mutate_below(4))
            fix_fpdus(p + headers, (uint32_t)n);
    } else {
        memset(p + headers + n, 0, pad);
        put16(p + at->transport + 4, size - at->transport);
        p[at->transport + UDP + 1] = (uint8_t)((p[at->transport + UDP + 1] & ~0x30u) | pad << 4);
        put_le32(p + size - 4, icrc(p, at, size - 4));
        if (mutate_below(32) == 0)
            p[size - 1] ^= 1;
    }
    *packet = (struct mutate_packet){.data = p, .caplen = size};
    return true;
}

/* --- RoCEv2 ------------------------------------------------------------------------------------
 */

static uint8_t *private_copy(struct mutate_packet *packet)
{
    uint8_t *p = mutate_room(packet->caplen);

    if (p) {
        memcpy(p, packet->data, packet->caplen);
        packet->data = p;
    }
    return p;
}

static const struct mutate_packet *any(const struct mutate_list *list)
{
    return &list->packet[mutate_below((uint32_t)list->n)];
}

/* The opcode alone, or with the extension headers that it has. */
static void change_opcode(struct mutate_packet *packet, const struct place *at, uint8_t *bth)
{
    uint8_t payload[MUTATE_PACKET], extension[64] = {0};
    uint32_t n = at->end - at->payload, was = at->payload - (at->transport + UDP) - 12, now;

    bth[0] = (uint8_t)mutate_below(OPCODE_RC_END);
    if (mutate_below(3) == 0)
        return;
    now = rpcrdma_opcodes[bth[0]].bytes;
    memcpy(extension, packet->data + at->payload - was, was < now ? was : now);
    memcpy(payload, packet->data + at->payload, n);
    if (rebuild(packet, at, at->payload - was + now, payload, n)) {
        memcpy(packet->data + at->payload - was, extension, now);
        put_le32(packet->data + packet->caplen - 4, icrc(packet->data, at, packet->caplen - 4));
    }
}

/* RETH: aims at what a message offered. */
static void aim(const struct mutate_list *list, uint8_t *reth)
{
    const struct mutate_segment *s;

    if (list->n_segments == 0)
        return;
    s = &list->segment[mutate_below((uint32_t)list->n_segments)];
    rpcrdma_put_be32(reth, (uint32_t)(s->offset >> 32));
    rpcrdma_put_be32(reth + 4, (uint32_t)s->offset);
    rpcrdma_put_be32(reth + 8, s->handle);
    rpcrdma_put_be32(reth + 12, mutate_below(2) ? s->length : mutate_number(s->length));
}

static void change_bth(const struct mutate_list *list, struct mutate_packet *packet,
                       struct place *at)
{
    uint8_t *bth = packet->data + at->transport + UDP;
    const struct mutate_packet *other = any(list);
    struct place there;
    uint32_t psn;

    switch (mutate_below(6)) {
    case 0:
        change_opcode(packet, at, bth);
        return;
    case 1:
        psn = mutate_number(rpcrdma_get_be32(bth + 8)) & 0xffffff;
        rpcrdma_put_be32(bth + 8, (bth[8] & 0x80u) << 24 | psn);
        break;
    case 2: /* the place in the sequence, or the queue pair, that another has */
        if (locate(other, &there) && !there.tcp)
            memcpy(bth + 8, other->data + there.transport + UDP + 8, 4);
        break;
    case 3:
        if (locate(other, &there) && !there.tcp)
            memcpy(bth + 5, other->data + there.transport + UDP + 5, 3);
        break;
    case 4:
        bth[5 + mutate_below(3)] ^= (uint8_t)(1u << mutate_below(8));
        break;
    case 5:
        if (at->payload - (at->transport + UDP) >= 28)
            aim(list, bth + 12);
        else if (at->payload - (at->transport + UDP) >= 16) /* AETH, IETH, immediate */
            rpcrdma_put_be32(bth + 12, mutate_number(rpcrdma_get_be32(bth + 12)));
        break;
    }
    put_le32(packet->data + packet->caplen - 4, icrc(packet->data, at, packet->caplen - 4));
}

static void turn_around(uint8_t *p, const struct place *at)
{
    uint32_t n = at->v6 ? 16 : 4, src = at->ip + (at->v6 ? 8 : 12);
    uint8_t address[16];

    memcpy(address, p + src, n);
    memcpy(p + src, p + src + n, n);
    memcpy(p + src + n, address, n);
}

static void change_payload(const struct mutate_list *list, struct mutate_packet *packet,
                           const struct place *at)
{
    uint8_t payload[MUTATE_PACKET];
    uint32_t n = at->end - at->payload;
    size_t size;

    if (!at->tcp && n >= 16 && mutate_below(4)) {
        size = mutate_message(list, packet->data + at->payload, n, payload, 4200);
    } else {
        memcpy(payload, packet->data + at->payload, n);
        size = LLVMFuzzerMutate(payload, n, n + 64 < 4200 ? n + 64 : n);
    }
    rebuild(packet, at, at->payload, payload, size);
}

static void change_tcp(struct mutate_packet *packet, const struct place *at)
{
    uint8_t *p = packet->data + at->transport;
    uint32_t n = at->end - at->payload;

    switch (mutate_below(5)) {
    case 0:
        rpcrdma_put_be32(p + 4, mutate_number(rpcrdma_get_be32(p + 4)));
        break;
    case 1: /* some bytes earlier, some later */
        rpcrdma_put_be32(p + 4, rpcrdma_get_be32(p + 4) + mutate_below(2 * n + 1) - n);
        break;
    case 2:
        p[13] ^= (uint8_t)(1u << mutate_below(5));
        break;
    case 3:
        rpcrdma_put_be32(p + 8, mutate_number(rpcrdma_get_be32(p + 8)));
        break;
    case 4:
        turn_around(packet->data, at);
        memcpy(p, p + 2, 2);
        break;
    }
}

void mutate_packet(struct mutate_list *list, struct mutate_packet *packet)
{
    struct place at;
    uint8_t *p = private_copy(packet);

    if (!p)
        return;
    if (!locate(packet, &at)) {
        packet->caplen = (uint32_t)LLVMFuzzerMutate(p, packet->caplen, packet->caplen);
        return;
    }
    if (mutate_below(2))
        change_payload(list, packet, &at);
    else if (at.tcp)
        change_tcp(packet, &at);
    else if (mutate_below(8) == 0)
        turn_around(p, &at);
    else
        change_bth(list, packet, &at);
}

bool mutate_splice(struct mutate_packet *packet, const struct mutate_packet *other)
{
    struct place at, there;

    return locate(packet, &at) && locate(other, &there) && at.tcp == there.tcp &&
           rebuild(packet, &at, at.payload, other->data + there.payload, there.end - there.payload);
}

bool mutate_split(struct mutate_packet *first, struct mutate_packet *second)
{
    struct place at;
    uint8_t *bth;
    uint32_t n, cut, psn;

    if (!locate(first, &at) || at.end - at.payload < 8)
        return false;
    n = at.end - at.payload;
    cut = mutate_below(n / 4) * 4;
    *second = *first;
    if (!private_copy(first) || !private_copy(second))
        return false;
    if (at.tcp) {
        bth = second->data + at.transport;
        rpcrdma_put_be32(bth + 4, rpcrdma_get_be32(bth + 4) + cut);
    } else if (at.opcode == OPCODE_SEND_ONLY) {
        first->data[at.transport + UDP] = OPCODE_SEND_FIRST;
        bth = second->data + at.transport + UDP;
        bth[0] = OPCODE_SEND_LAST;
        psn = (rpcrdma_get_be32(bth + 8) + 1) & 0xffffff;
        rpcrdma_put_be32(bth + 8, (bth[8] & 0x80u) << 24 | psn);
    } else {
        return false;
    }
    return rebuild(first, &at, at.payload, first->data + at.payload, cut) &&
           rebuild(second, &at, at.payload, second->data + at.payload + cut, n - cut);
}

/* --- what messages offer -----------------------------------------------------------------------
 */

static void collect(struct mutate_list *list, const struct rpcrdma_segment *segment)
{
    if (list->n_segments < MUTATE_SEGMENTS)
        list->segment[list->n_segments++] = (struct mutate_segment){
            .handle = segment->handle, .length = segment->length, .offset = segment->offset};
}

static void collect_chunk(struct mutate_list *list, const struct rpcrdma_chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct rpcrdma_segment segment = rpcrdma_chunk_segment(chunk, i);

        collect(list, &segment);
    }
}

void mutate_collect(struct mutate_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        struct rpcrdma_message m;
        struct rpcrdma_read_segment one;
        struct rpcrdma_write_iter it;
        struct rpcrdma_read_iter reads;
        struct rpcrdma_chunk chunk;
        struct place at;

        if (!locate(&list->packet[i], &at) || at.tcp || at.opcode > OPCODE_SEND_ONLY)
            continue;
        rpcrdma_message_decode(NULL, list->packet[i].data + at.payload, at.end - at.payload,
                               at.end - at.payload, &m);
        reads = rpcrdma_read_begin(&m.read);
        while (rpcrdma_read_next(&reads, &one))
            collect(list, &one.segment);
        it = rpcrdma_write_begin(&m.write);
        while (rpcrdma_write_next(&it, &chunk))
            collect_chunk(list, &chunk);
        collect_chunk(list, &m.reply);
    }
}
