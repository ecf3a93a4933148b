/* SPDX-License-Identifier: BSD-2-Clause */
#include "build.h"

#include <assert.h>
#include <string.h>

void put_bytes(struct build *b, const void *p, size_t n)
{
    assert(n <= sizeof(b->bytes) - b->n);
    memcpy(b->bytes + b->n, p, n);
    b->n += n;
}

static void put(struct build *b, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)(v >> 8 * (b->big ? n - 1 - i : i));

        put_bytes(b, &byte, 1);
    }
}

void put_u16(struct build *b, uint16_t v)
{
    put(b, v, 2);
}

void put_u32(struct build *b, uint32_t v)
{
    put(b, v, 4);
}

void put_u64(struct build *b, uint64_t v)
{
    put(b, v, 8);
}

void pattern(struct build *b, uint32_t n, uint8_t fill)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)(fill + i);

        put_bytes(b, &byte, 1);
    }
}

static void whole(struct build *b)
{
    assert(b->n_whole < sizeof(b->whole) / sizeof(b->whole[0]));
    b->whole[b->n_whole++] = b->n;
}

void pcap_header(struct build *b, uint32_t magic, uint32_t snaplen, uint32_t linktype)
{
    put_u32(b, magic);
    put_u16(b, 2);
    put_u16(b, 4);
    put_u64(b, 0);
    put_u32(b, snaplen);
    put_u32(b, linktype);
    whole(b);
}

void pcap_packet(struct build *b, uint32_t seconds, uint32_t fraction, uint32_t caplen,
                 uint32_t len, uint8_t fill)
{
    put_u32(b, seconds);
    put_u32(b, fraction);
    put_u32(b, caplen);
    put_u32(b, len);
    b->packet_data[b->packets] = b->n;
    pattern(b, caplen, fill);
    b->packet_end[b->packets++] = b->n;
    whole(b);
}

void block_begin(struct build *b, uint32_t type)
{
    b->block = b->n;
    put_u32(b, type);
    put_u32(b, 0);
}

void block_end(struct build *b)
{
    size_t end;

    while (b->n % 4 != 0)
        put_bytes(b, "", 1);
    end = b->n;
    b->n = b->block + 4;
    put_u32(b, (uint32_t)(end + 4 - b->block));
    b->n = end;
    put_u32(b, (uint32_t)(end + 4 - b->block));
    whole(b);
}

void option(struct build *b, uint16_t code, const void *value, uint16_t n)
{
    put_u16(b, code);
    put_u16(b, n);
    put_bytes(b, value, n);
    while (b->n % 4 != 0)
        put_bytes(b, "", 1);
}

void option_u64(struct build *b, uint16_t code, uint64_t value)
{
    put_u16(b, code);
    put_u16(b, 8);
    put_u64(b, value);
}

void section(struct build *b)
{
    block_begin(b, 0x0a0d0d0a);
    put_u32(b, 0x1a2b3c4d);
    put_u16(b, 1);
    put_u16(b, 0);
    put_u64(b, UINT64_MAX);
    option(b, 4, "a test", 6);
    put_u32(b, 0);
    block_end(b);
}

void interface(struct build *b, uint16_t linktype, uint32_t snaplen, int tsresol, int64_t offset)
{
    uint8_t resolution = (uint8_t)tsresol;

    block_begin(b, 1);
    put_u16(b, linktype);
    put_u16(b, 0);
    put_u32(b, snaplen);
    option(b, 2, "eth7", 4);
    if (tsresol >= 0)
        option(b, 9, &resolution, 1);
    if (offset != 0)
        option_u64(b, 14, (uint64_t)offset);
    put_u32(b, 0);
    block_end(b);
}

void enhanced(struct build *b, uint32_t id, uint64_t ticks, uint32_t caplen, uint32_t len,
              uint8_t fill)
{
    block_begin(b, 6);
    put_u32(b, id);
    put_u32(b, (uint32_t)(ticks >> 32));
    put_u32(b, (uint32_t)ticks);
    put_u32(b, caplen);
    put_u32(b, len);
    b->packet_data[b->packets] = b->n;
    pattern(b, caplen, fill);
    block_end(b);
    b->packet_end[b->packets++] = b->n;
}
