/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ERF (Endace, "Extensible Record Format"): records, without anything before the first.
 *
 *     time stamp u64, little-endian: seconds, and 2^-32 of them
 *     type u8 (0x80: extension headers follow) | flags u8 | length of the record u16 | packets lost
 *     u16, or "color" | length on the wire u16 | extension headers, 8 bytes each | packet
 *
 * A record is a packet of link type ERF as pcap files have it: net/packet/ib.c takes its headers.
 */
#include <inttypes.h>

#include "net/packet/erf.h"
#include "source/formats/file.h"

enum {
    RECORD_HEADER = 16,
    LINK_ERF = 197,
    MORE = 0x80,
    TYPE_ETHERNET = 2,
    TYPE_LAST = 29,
    TYPE_PADDING = 48,
    LOOK = 3, /* records that must look like it */
};

static uint16_t be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static uint64_t ticks_of(const uint8_t *p)
{
    uint64_t ticks = 0;

    for (int i = 7; i >= 0; i--)
        ticks = ticks << 8 | p[i];
    return ticks;
}

/* Of types whose header has a count of losses, not a "color". */
static bool counts_losses(uint8_t type)
{
    return type == TYPE_ETHERNET || erf_payload(type) == ERF_INFINIBAND ||
           erf_payload(type) == ERF_IP;
}

/* The record's length on the wire, its headers counted as ERF's link type has them. */
static uint32_t wire_length(const uint8_t *p, uint32_t record)
{
    uint32_t bytes = RECORD_HEADER;
    bool more = p[8] & MORE;

    while (more && bytes + 8 <= record) {
        more = p[bytes] & MORE;
        bytes += 8;
    }
    if (erf_payload(p[8] & 0x7f) == ERF_ETHERNET)
        bytes += 2;
    return bytes + be16(p + 14);
}

static enum record next(struct file *file, struct source_packet *out)
{
    struct input *in = file->in;
    const uint8_t *p;

    for (;;) {
        enum input_status status = input_need(in, RECORD_HEADER);
        uint64_t at = input_offset(in);
        size_t there = in->end - in->pos;
        uint32_t record, len;
        uint8_t type;

        if (status == INPUT_AGAIN)
            return RECORD_AGAIN;
        if (status == INPUT_END)
            return there == 0 && !in->failed
                       ? RECORD_END
                       : file_cut(file, at, "ERF record", there, RECORD_HEADER);
        record = be16(in->data + in->pos + 10);
        if (record < RECORD_HEADER) {
            input_fail(in,
                       "byte %" PRIu64 ": the ERF record of packet %" PRIu64 " cannot have %" PRIu32
                       " bytes: damaged",
                       at, file->frame + 1, record);
            return RECORD_ERROR;
        }
        status = input_need(in, record);
        if (status == INPUT_AGAIN)
            return RECORD_AGAIN;
        p = in->data + in->pos;
        there = in->end - in->pos;
        type = p[8] & 0x7f;
        if (status == INPUT_OK && type == TYPE_PADDING) {
            in->pos += record;
            continue;
        }
        if (counts_losses(type))
            file_dropped(file, 0, be16(p + 12));
        len = wire_length(p, record < there ? record : (uint32_t)there);
        if (status == INPUT_END) {
            in->pos = in->end;
            file_packet(file, out, 0, file_time(file->interfaces, ticks_of(p)), p, (uint32_t)there,
                        len > record ? len : record);
            file_cut(file, at, "ERF record", there, record);
            return RECORD_PACKET;
        }
        in->pos += record;
        file_packet(file, out, 0, file_time(file->interfaces, ticks_of(p)), p, record, len);
        return RECORD_PACKET;
    }
}

/* There is no magic number: the first records have to look like it. Lengths lead from one to the
 * next, types are known, and time stamps within a day of each other. */
static bool looks_like(struct input *in)
{
    size_t at = 0;
    uint64_t before = 0;
    static const uint64_t day = 86400;

    for (int i = 0; i < LOOK; i++) {
        const uint8_t *p;
        uint64_t seconds;
        uint8_t type;

        if (input_need(in, at + RECORD_HEADER) != INPUT_OK)
            return i > 0 && in->end - in->pos == at && !in->failed; /* few records, and whole */
        p = in->data + in->pos + at;
        type = p[8] & 0x7f;
        seconds = ticks_of(p) >> 32;
        if (type == 0 || (type > TYPE_LAST && type != TYPE_PADDING) || be16(p + 10) < RECORD_HEADER)
            return false;
        if (i > 0 && seconds - before + day > 2 * day)
            return false;
        before = seconds;
        at += be16(p + 10);
    }
    return true;
}

bool erf_begin(struct file *file, bool *is)
{
    struct file_interface *interface;

    *is = looks_like(file->in);
    if (!*is)
        return false;
    interface = file_interface_add(file);
    if (!interface)
        return false;
    interface->linktype = LINK_ERF;
    interface->binary = true;
    interface->exponent = 32;
    file->next = next;
    return true;
}
