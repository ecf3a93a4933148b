/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcap (draft-ietf-opsawg-pcap)
 *
 *     file    magic u32, major u16, minor u16, reserved u32[2], snaplen u32, link type u32
 *     packet  seconds u32, micro- or nanoseconds u32, captured u32, original u32, bytes; in Alexey
 *             Kuznetzov's modification before the bytes: interface u32, protocol u16, type u8, 0
 *
 * all in the byte order of the machine that wrote it, which the magic number gives.
 */
#include <inttypes.h>

#include "source/formats/file.h"

enum { FILE_HEADER = 24, PACKET_HEADER = 16, PACKET_HEADER_MODIFIED = 24, LINK_ETHERNET = 1 };

static uint32_t per_second(const struct file_interface *interface)
{
    return interface->exponent == 6 ? 1000000 : 1000000000;
}

/* Nearly each time of nanoseconds is none of microseconds: the first packet tells. */
static void look_at_first(struct file *file, uint32_t fraction)
{
    struct file_interface *interface = file->interfaces;

    if (file->frame > 0 || interface->exponent != 6 || fraction < 1000000 || fraction >= 1000000000)
        return;
    interface->exponent = 9;
    file->said_micro = true;
}

static enum record next(struct file *file, struct source_packet *out)
{
    struct input *in = file->in;
    struct file_interface *interface = file->interfaces;
    const uint32_t header = file->packet_header;
    enum input_status status = input_need(in, header);
    uint64_t at = input_offset(in);
    uint32_t seconds, fraction, caplen, len;
    size_t there;
    int64_t time_ns;
    const uint8_t *p;

    if (status == INPUT_AGAIN)
        return RECORD_AGAIN;
    there = in->end - in->pos;
    if (status == INPUT_END)
        return there == 0 && !in->failed ? RECORD_END
                                         : file_cut(file, at, "packet header", there, header);
    p = in->data + in->pos;
    seconds = file_u32(file, p);
    fraction = file_u32(file, p + 4);
    caplen = file_u32(file, p + 8);
    len = file_u32(file, p + 12);
    if (file->lengths_swapped && caplen > len) {
        uint32_t t = caplen;

        caplen = len;
        len = t;
    }
    if (caplen > SOURCE_MAX_PACKET) {
        input_fail(in,
                   "byte %" PRIu64 ": packet %" PRIu64 " cannot have %" PRIu32 " bytes: damaged",
                   at, file->frame + 1, caplen);
        return RECORD_ERROR;
    }
    status = input_need(in, header + caplen);
    if (status == INPUT_AGAIN)
        return RECORD_AGAIN;
    there = in->end - in->pos - header;
    p = in->data + in->pos + header;
    look_at_first(file, fraction);
    if (fraction >= per_second(interface))
        file_wrong_time(file);
    time_ns =
        (int64_t)seconds * 1000000000 + (int64_t)fraction * (interface->exponent == 6 ? 1000 : 1);
    if (status == INPUT_END) {
        file_packet(file, out, 0, time_ns, p, (uint32_t)there, len > caplen ? len : caplen);
        in->pos = in->end;
        file_cut(file, at, "packet", there, caplen);
        return RECORD_PACKET;
    }
    in->pos += header + caplen;
    file_ahead(in->data, in->pos, in->end, header + caplen);
    file_packet(file, out, 0, time_ns, p, caplen, len);
    return RECORD_PACKET;
}

/* For `bytes` of packets, from in->pos on, as many of those that will be read. */
static inline void say_soon(struct file *file, size_t bytes)
{
    const struct input *in = file->in;

    if (!in->soon)
        return;
    file->source.soon = in->soon + in->pos;
    file->source.soon_bytes = bytes;
}

/* In line, for each byte order by itself. */
static inline __attribute__((always_inline)) size_t
at_hand_in_order(struct file *file, struct source_packet *packets, size_t max, bool swapped)
{
    struct input *in = file->in;
    const struct file_interface *interface = file->interfaces;
    const size_t header = file->packet_header, end = in->end;
    const uint32_t most = per_second(interface), unit = interface->exponent == 6 ? 1000 : 1;
    const uint32_t linktype = interface->linktype;
    const uint8_t *data = in->data;
    uint64_t frame = file->frame;
    size_t n = 0, pos = in->pos;
    int64_t latest_ns = INT64_MIN;
    bool in_order = true;

    /* what each packet changes stays in registers */
    for (; n < max && end - pos >= header; n++) {
        const uint8_t *p = data + pos;
        uint32_t caplen = file_word(p + 8, swapped), fraction = file_word(p + 4, swapped);
        size_t size = header + caplen;
        int64_t time_ns = (int64_t)file_word(p, swapped) * 1000000000 + (int64_t)fraction * unit;

        if (caplen > SOURCE_MAX_PACKET || size > end - pos)
            break;
        if (fraction >= most) {
            file->frame = frame;
            file_wrong_time(file);
        }
        in_order &= time_ns >= latest_ns;
        latest_ns = time_ns;
        pos += size;
        if (!in->soon)
            file_ahead(data, pos, end, size);
        file_packet_as(&packets[n], ++frame, 0, linktype, time_ns, p + header, caplen,
                       file_word(p + 12, swapped));
    }
    file->in_order = in_order;
    if (n > 0) {
        file->last_time_ns = latest_ns;
        say_soon(file, pos - in->pos);
    }
    in->pos = pos;
    file->frame = frame;
    return n;
}

/*
 * Packets that are at hand whole, as most are: where the first is not, or is damaged, `next` says
 * what it is. The window does not move.
 */
static size_t at_hand(struct file *file, struct source_packet *packets, size_t max)
{
    const struct input *in = file->in;

    if (file->lengths_swapped)
        return 0;
    if (file->frame == 0 && in->end - in->pos >= file->packet_header)
        look_at_first(file, file_u32(file, in->data + in->pos + 4));
    return file->swapped ? at_hand_in_order(file, packets, max, true)
                         : at_hand_in_order(file, packets, max, false);
}

/* Which pcap this is: nanoseconds or not, and in whose byte order. */
static bool magic(struct file *file, const uint8_t *p, unsigned *exponent, const char **foreign)
{
    *foreign = NULL;
    file->packet_header = PACKET_HEADER;
    for (int swapped = 0; swapped <= 1; swapped++) {
        file->swapped = swapped;
        switch (file_u32(file, p)) {
        case 0xa1b2c3d4:
            *exponent = 6;
            return true;
        case 0xa1b23c4d:
            *exponent = 9;
            return true;
        case 0xa1b2cd34:
            *exponent = 6;
            file->packet_header = PACKET_HEADER_MODIFIED;
            return true;
        case 0xa1b234cd:
            *foreign = "Navtel's pcap";
            return true;
        case 0x1c0001ac:
        case 0x1c0001ab:
            *foreign = "IXIA's pcap";
            return true;
        default:
            break;
        }
    }
    return false;
}

bool pcap_begin(struct file *file)
{
    struct input *in = file->in;
    struct file_interface *interface;
    unsigned exponent = 6, major, minor;
    const char *foreign;
    const uint8_t *p = in->data + in->pos;

    if (!magic(file, p, &exponent, &foreign))
        return false;
    if (foreign) {
        input_fail(in,
                   "byte %" PRIu64 ": this is %s, which is not read here; "
                   "convert it: editcap -F pcapng",
                   input_offset(in), foreign);
        return false;
    }
    if (input_need(in, FILE_HEADER) != INPUT_OK) {
        file_cut(file, input_offset(in), "file header", in->end - in->pos, FILE_HEADER);
        return false;
    }
    p = in->data + in->pos;
    major = file_u16(file, p + 4);
    minor = file_u16(file, p + 6);
    if (major != 2) {
        input_fail(in, "byte %" PRIu64 ": pcap version %u.%u is not known", input_offset(in) + 4,
                   major, minor);
        return false;
    }
    file->lengths_swapped = minor <= 3;
    interface = file_interface_add(file);
    if (!interface)
        return false;
    interface->snaplen = file_u32(file, p + 16);
    /* the bits above say whether there is a frame check sequence at each packet's end (draft
     * section 4) */
    interface->linktype = file_u32(file, p + 20) & 0x03ffffff;
    interface->exponent = (uint8_t)exponent;
    in->pos += FILE_HEADER;
    if (file->headers_only && in->feed->skim && !file->lengths_swapped &&
        file->packet_header == PACKET_HEADER && interface->linktype == LINK_ETHERNET)
        in->feed->skim(in->feed, input_offset(in), false, file->swapped);
    file->next = next;
    file->at_hand = at_hand;
    return true;
}
