/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/formats/pcapng_writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/interrupt.h"
#include "source/formats/pcapng_block.h"
#include "source/source.h"

/* draft-ietf-opsawg-pcapng, section 3 and 4 */
enum {
    MAGIC = 0x1a2b3c4d,

    OPTION_END = 0,
    OPTION_COMMENT = 1,
    OPTION_SHB_USERAPPL = 4,
    OPTION_IF_NAME = 2,
    OPTION_IF_DESCRIPTION = 3,
    OPTION_IF_TSRESOL = 9,
    OPTION_IF_FILTER = 11,
    OPTION_IF_TSOFFSET = 14,
    OPTION_ISB_STARTTIME = 2,
    OPTION_ISB_ENDTIME = 3,
    OPTION_ISB_IFRECV = 4,
    OPTION_ISB_IFDROP = 5,
    OPTION_ISB_OSDROP = 7,
    OPTION_ISB_USRDELIV = 8,

    NANOSECONDS = 9, /* if_tsresol: 10^-9 s */
    SECOND = 1000000000,
    OPTION_MAX = 4096,           /* of a text: nobody writes longer ones */
    HEADER_MAX = 8 * OPTION_MAX, /* a block without its packet */
    ROOM = PCAPNG_BUFFER + HEADER_MAX + SOURCE_MAX_PACKET,
};

static void u32(struct pcapng_writer *writer, uint32_t v)
{
    memcpy(writer->buffer + writer->n, &v, sizeof(v));
    writer->n += sizeof(v);
}

static void u16(struct pcapng_writer *writer, unsigned v)
{
    uint16_t half = (uint16_t)v;

    memcpy(writer->buffer + writer->n, &half, sizeof(half));
    writer->n += sizeof(half);
}

static void bytes(struct pcapng_writer *writer, const void *p, size_t n)
{
    static const uint8_t zero[3];
    size_t pad = -n & 3;

    if (n > 0)
        memcpy(writer->buffer + writer->n, p, n);
    memcpy(writer->buffer + writer->n + n, zero, pad);
    writer->n += n + pad;
}

static void option(struct pcapng_writer *writer, unsigned code, const void *p, size_t n)
{
    if (n > OPTION_MAX)
        n = OPTION_MAX;
    u16(writer, code);
    u16(writer, (unsigned)n);
    bytes(writer, p, n);
}

static void text(struct pcapng_writer *writer, unsigned code, const char *value)
{
    if (value && *value)
        option(writer, code, value, strlen(value));
}

static void number(struct pcapng_writer *writer, unsigned code, bool known, uint64_t value)
{
    if (known)
        option(writer, code, &value, sizeof(value));
}

/* Begins a block; returns where. Room is there: every block's end flushes a full buffer. */
static size_t begin(struct pcapng_writer *writer, uint32_t type)
{
    size_t at = writer->n;

    u32(writer, type);
    u32(writer, 0);
    return at;
}

static void end(struct pcapng_writer *writer, size_t at)
{
    uint32_t length = (uint32_t)(writer->n - at + sizeof(uint32_t));

    u32(writer, length);
    memcpy(writer->buffer + at + sizeof(uint32_t), &length, sizeof(length));
    if (writer->error != 0) {
        writer->n = at;
        return;
    }
    writer->written += length;
    if (writer->n >= PCAPNG_BUFFER)
        pcapng_writer_flush(writer);
}

static void end_options(struct pcapng_writer *writer, size_t at)
{
    u32(writer, OPTION_END);
    end(writer, at);
}

static void section(struct pcapng_writer *writer, const char *application, const char *comment)
{
    size_t at = begin(writer, BLOCK_SECTION);

    u32(writer, MAGIC);
    u16(writer, 1);
    u16(writer, 0);
    u32(writer, UINT32_MAX); /* section length: not known */
    u32(writer, UINT32_MAX);
    text(writer, OPTION_COMMENT, comment);
    text(writer, OPTION_SHB_USERAPPL, application);
    if (application)
        u32(writer, OPTION_END);
    end(writer, at);
}

bool pcapng_writer_open(struct pcapng_writer *writer, int fd, const char *comment)
{
    *writer = (struct pcapng_writer){.fd = fd, .buffer = malloc(ROOM)};
    if (!writer->buffer)
        return false;
    section(writer, "rpcrdma", comment);
    return true;
}

void pcapng_writer_gather(struct pcapng_writer *writer, uint8_t *buffer)
{
    *writer = (struct pcapng_writer){.fd = -1, .buffer = buffer};
    section(writer, NULL, NULL);
}

void pcapng_writer_again(struct pcapng_writer *writer, int fd, const char *comment)
{
    writer->fd = fd;
    writer->n = 0;
    writer->written = 0;
    writer->interfaces = 0;
    section(writer, "rpcrdma", comment);
}

void pcapng_write_interface(struct pcapng_writer *writer, const struct pcapng_interface *one)
{
    static const uint8_t resolution = NANOSECONDS;
    size_t at = begin(writer, BLOCK_INTERFACE);
    char filter[OPTION_MAX];

    u16(writer, one->linktype);
    u16(writer, 0);
    u32(writer, one->snaplen);
    text(writer, OPTION_COMMENT, one->comment);
    text(writer, OPTION_IF_NAME, one->name);
    text(writer, OPTION_IF_DESCRIPTION, one->description);
    option(writer, OPTION_IF_TSRESOL, &resolution, sizeof(resolution));
    if (one->filter && *one->filter) {
        size_t n = strnlen(one->filter, sizeof(filter) - 1);

        filter[0] = 0; /* a filter string of libpcap follows */
        memcpy(filter + 1, one->filter, n);
        option(writer, OPTION_IF_FILTER, filter, n + 1);
    }
    if (one->early) {
        static const int64_t offset = -SOURCE_TIME_MAX / SECOND;

        option(writer, OPTION_IF_TSOFFSET, &offset, sizeof(offset));
    }
    writer->interfaces += writer->error == 0;
    end_options(writer, at);
}

/* Time since the epoch, which has no sign, or since if_tsoffset, in units of if_tsresol; the high
 * half first. */
static void put_time(struct pcapng_writer *writer, bool early, int64_t time_ns)
{
    int64_t since = source_time(time_ns) + (early ? SOURCE_TIME_MAX : 0);
    uint64_t ticks = since < 0 ? 0 : (uint64_t)since;

    u32(writer, (uint32_t)(ticks >> 32));
    u32(writer, (uint32_t)ticks);
}

void pcapng_write_packet(struct pcapng_writer *writer, uint32_t interface, bool early,
                         const struct rpcrdma_packet *packet, const char *comment)
{
    size_t at = begin(writer, BLOCK_ENHANCED);

    assert(packet->caplen <= SOURCE_MAX_PACKET);
    u32(writer, interface);
    put_time(writer, early, packet->time_ns);
    u32(writer, packet->caplen);
    u32(writer, packet->len);
    bytes(writer, packet->data, packet->caplen);
    if (comment) {
        text(writer, OPTION_COMMENT, comment);
        u32(writer, OPTION_END);
    }
    writer->packets += writer->error == 0;
    end(writer, at);
}

static void time_option(struct pcapng_writer *writer, unsigned code, bool early, int64_t time_ns)
{
    u16(writer, code);
    u16(writer, sizeof(uint64_t));
    put_time(writer, early, time_ns);
}

void pcapng_write_statistics(struct pcapng_writer *writer, uint32_t interface, bool early,
                             int64_t time_ns, const struct pcapng_statistics *counts)
{
    size_t at = begin(writer, BLOCK_STATISTICS);

    u32(writer, interface);
    put_time(writer, early, time_ns);
    text(writer, OPTION_COMMENT, counts->comment);
    if (counts->since_known)
        time_option(writer, OPTION_ISB_STARTTIME, early, counts->since_ns);
    if (counts->end_known)
        time_option(writer, OPTION_ISB_ENDTIME, early, counts->end_ns);
    number(writer, OPTION_ISB_IFRECV, counts->received_known, counts->received);
    number(writer, OPTION_ISB_IFDROP, counts->interface_dropped_known, counts->interface_dropped);
    number(writer, OPTION_ISB_OSDROP, counts->dropped_known, counts->dropped);
    number(writer, OPTION_ISB_USRDELIV, counts->delivered_known, counts->delivered);
    end_options(writer, at);
}

/* `done` of the bytes that waited arrived: takes back the beginning of a block among them. */
static void take_back(struct pcapng_writer *writer, size_t done)
{
    size_t whole = 0;
    off_t at;

    for (size_t block = 0; block < writer->n;) {
        uint32_t head[2]; /* type, length */

        memcpy(head, writer->buffer + block, sizeof(head));
        block += head[1];
        if (block <= done) {
            whole = block;
            continue;
        }
        writer->packets -= head[0] == BLOCK_ENHANCED;
        writer->interfaces -= head[0] == BLOCK_INTERFACE;
    }
    writer->written -= writer->n - whole;
    if (whole == done)
        return;
    at = lseek(writer->fd, 0, SEEK_CUR);
    if (at < (off_t)(done - whole) || ftruncate(writer->fd, at - (off_t)(done - whole)) != 0 ||
        lseek(writer->fd, at - (off_t)(done - whole), SEEK_SET) < 0)
        writer->swallowed = true;
}

bool pcapng_writer_flush(struct pcapng_writer *writer)
{
    size_t done = 0;

    if (writer->error == 0) {
        writer->error =
            interrupt_write(writer->fd, writer->buffer, writer->n, &done, writer->patient);
        if (writer->error != 0)
            take_back(writer, done);
    }
    writer->n = 0;
    return writer->error == 0;
}

int pcapng_writer_close(struct pcapng_writer *writer)
{
    pcapng_writer_flush(writer);
    free(writer->buffer);
    writer->buffer = NULL;
    return writer->error;
}
