/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "mutate.h"
#include "wire/cursor.h"
#include "wire/writer.h"

enum { PCAP_HEADER = 24, PCAP_RECORD = 16, OPTIONS = 1 };

static bool add(struct mutate_list *list, const uint8_t *data, size_t caplen, uint32_t more)
{
    uint8_t *room;

    if (list->n == MUTATE_PACKETS || caplen > MUTATE_PACKET || !(room = mutate_room(caplen)))
        return false;
    if (caplen)
        memcpy(room, data, caplen);
    list->packet[list->n++] =
        (struct mutate_packet){.data = room, .caplen = (uint32_t)caplen, .more = more};
    return true;
}

static uint32_t get32(const struct mutate_list *list, const uint8_t *p)
{
    return list->big_endian
               ? rpcrdma_get_be32(p)
               : (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put32(const struct mutate_list *list, uint8_t *p, uint32_t value)
{
    rpcrdma_put_be32(p, list->big_endian ? value : __builtin_bswap32(value));
}

/* One packet after two bytes (packet.c); packets, each after three (pipeline.c). */
static bool read_one(const uint8_t *data, size_t size, struct mutate_list *list)
{
    return add(list, data, size, 0);
}

static bool read_records(const uint8_t *data, size_t size, struct mutate_list *list)
{
    while (size >= 3) {
        size_t caplen = rpcrdma_get_be16(data);

        if (caplen > size - 3)
            caplen = size - 3;
        if (!add(list, data + 3, caplen, data[2]))
            break;
        data += 3 + caplen;
        size -= 3 + caplen;
    }
    return true;
}

/* Classic pcap only (capture.c): the blocks of pcapng are left to who knows nothing of them. */
static bool read_file(const uint8_t *data, size_t size, struct mutate_list *list)
{
    uint32_t magic = rpcrdma_get_be32(list->head + OPTIONS);

    list->big_endian = magic == 0xa1b2c3d4 || magic == 0xa1b23c4d;
    if (!list->big_endian && magic != 0xd4c3b2a1 && magic != 0x4d3cb2a1)
        return false;
    while (size >= PCAP_RECORD) {
        uint32_t caplen = get32(list, data + 8), len = get32(list, data + 12);

        if (caplen > size - PCAP_RECORD)
            return list->n > 0;
        if (!add(list, data + PCAP_RECORD, caplen, len > caplen ? len - caplen : 0))
            break;
        data += PCAP_RECORD + caplen;
        size -= PCAP_RECORD + caplen;
    }
    return true;
}

static size_t head_size(void)
{
    return mutate_format == MUTATE_ONE    ? 2
           : mutate_format == MUTATE_FILE ? OPTIONS + PCAP_HEADER
                                          : 0;
}

bool mutate_read(const uint8_t *data, size_t size, struct mutate_list *list)
{
    list->head_size = head_size();
    if (size < list->head_size)
        return false;
    memcpy(list->head, data, list->head_size);
    data += list->head_size;
    size -= list->head_size;
    if (mutate_format == MUTATE_ONE)
        return read_one(data, size, list);
    return mutate_format == MUTATE_FILE ? read_file(data, size, list)
                                        : read_records(data, size, list);
}

static size_t write_head(const struct mutate_list *list, size_t i, uint8_t *p)
{
    const struct mutate_packet *packet = &list->packet[i];

    switch (mutate_format) {
    case MUTATE_ONE:
        return 0;
    case MUTATE_RECORDS:
        p[0] = (uint8_t)(packet->caplen >> 8);
        p[1] = (uint8_t)packet->caplen;
        p[2] = (uint8_t)(packet->more < 255 ? packet->more : 255);
        return 3;
    case MUTATE_FILE:
        put32(list, p, (uint32_t)i / 50);
        put32(list, p + 4, (uint32_t)i % 50 * 20000);
        put32(list, p + 8, packet->caplen);
        put32(list, p + 12, packet->caplen + packet->more);
        return PCAP_RECORD;
    }
    return 0;
}

size_t mutate_write(const struct mutate_list *list, uint8_t *data, size_t max)
{
    size_t size = list->head_size, n;
    uint8_t head[PCAP_RECORD];

    if (size > max)
        return 0;
    memcpy(data, list->head, size);
    if (mutate_format == MUTATE_ONE && list->n > 0)
        data[1] = (uint8_t)(list->packet[0].more < 255 ? list->packet[0].more : 255);
    for (size_t i = 0; i < list->n && !(mutate_format == MUTATE_ONE && i > 0); i++) {
        n = write_head(list, i, head);
        if (n + list->packet[i].caplen > max - size)
            break;
        memcpy(data + size, head, n);
        memcpy(data + size + n, list->packet[i].data, list->packet[i].caplen);
        size += n + list->packet[i].caplen;
    }
    return size;
}
