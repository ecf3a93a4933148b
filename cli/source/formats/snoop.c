/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snoop (RFC 1761)
 *
 *     file    "snoop", three zero bytes, version u32, data link type u32
 *     packet  original length u32, captured u32, length of the record u32, packets lost so far u32,
 *             seconds u32, microseconds u32, bytes, padding
 *
 * all big-endian.
 */
#include <inttypes.h>
#include <string.h>

#include "source/formats/file.h"

enum { FILE_HEADER = 16, PACKET_HEADER = 24, LINK_ETHERNET = 1, MICROSECONDS = 1000000 };
enum { DATALINK_802_3 = 0, DATALINK_ETHERNET = 4 };

static enum record next(struct file *file, struct source_packet *out)
{
    struct input *in = file->in;
    enum input_status status = input_need(in, PACKET_HEADER);
    uint64_t at = input_offset(in);
    uint32_t caplen, len, record;
    int64_t time_ns;
    const uint8_t *p;
    size_t there;

    if (status == INPUT_AGAIN)
        return RECORD_AGAIN;
    there = in->end - in->pos;
    if (status == INPUT_END)
        return there == 0 && !in->failed
                   ? RECORD_END
                   : file_cut(file, at, "packet header", there, PACKET_HEADER);
    p = in->data + in->pos;
    len = file_u32(file, p);
    caplen = file_u32(file, p + 4);
    record = file_u32(file, p + 8);
    if (caplen > SOURCE_MAX_PACKET || record < PACKET_HEADER || caplen > record - PACKET_HEADER ||
        record - PACKET_HEADER - caplen > SOURCE_MAX_PACKET) {
        input_fail(in,
                   "byte %" PRIu64 ": packet %" PRIu64 " cannot have %" PRIu32
                   " bytes in a record of %" PRIu32 ": damaged",
                   at, file->frame + 1, caplen, record);
        return RECORD_ERROR;
    }
    status = input_need(in, record);
    if (status == INPUT_AGAIN)
        return RECORD_AGAIN;
    p = in->data + in->pos;
    there = in->end - in->pos;
    file->interfaces[0].dropped_inline = file_u32(file, p + 12); /* so far */
    file->interfaces[0].inline_known = true;
    if (file_u32(file, p + 20) >= MICROSECONDS)
        file_wrong_time(file);
    time_ns = (int64_t)file_u32(file, p + 16) * 1000000000 + (int64_t)file_u32(file, p + 20) * 1000;
    if (status == INPUT_END && there - PACKET_HEADER < caplen) {
        file_packet(file, out, 0, time_ns, p + PACKET_HEADER, (uint32_t)(there - PACKET_HEADER),
                    len > caplen ? len : caplen);
        in->pos = in->end;
        file_cut(file, at, "packet", there - PACKET_HEADER, caplen);
        return RECORD_PACKET;
    }
    in->pos += status == INPUT_END ? there : record; /* the last one's padding may be missing */
    file_packet(file, out, 0, time_ns, p + PACKET_HEADER, caplen, len);
    return RECORD_PACKET;
}

bool snoop_begin(struct file *file)
{
    static const uint32_t one = 1;
    struct file_interface *interface;
    struct input *in = file->in;
    uint32_t version, link;

    if (input_need(in, FILE_HEADER) != INPUT_OK) {
        file_cut(file, input_offset(in), "file header", in->end - in->pos, FILE_HEADER);
        return false;
    }
    file->swapped = *(const uint8_t *)&one == 1; /* as seen from here */
    version = file_u32(file, in->data + in->pos + 8);
    link = file_u32(file, in->data + in->pos + 12);
    if (version != 2 || (link != DATALINK_ETHERNET && link != DATALINK_802_3)) {
        input_fail(in,
                   "byte %" PRIu64 ": snoop version %" PRIu32 ", data link type %" PRIu32
                   " is not known",
                   input_offset(in) + 8, version, link);
        return false;
    }
    interface = file_interface_add(file);
    if (!interface)
        return false;
    interface->linktype = LINK_ETHERNET;
    interface->exponent = 6;
    in->pos += FILE_HEADER;
    file->next = next;
    return true;
}
