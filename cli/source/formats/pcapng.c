/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcapng (draft-ietf-opsawg-pcapng)
 *
 *     block: type u32, total length u32, body, total length u32
 *
 *     section, 0x0a0d0d0a: byte-order magic u32, major u16, minor u16, section length u64, options
 *
 *     interface, 1: link type u16, reserved u16, snaplen u32, options
 *
 *     packet, 2 (obsolete): interface u16, drops u16, time u32[2], captured u32, original u32,
 * bytes
 *
 *     simple, 3: original u32, bytes
 *
 *     names, 4: records of type u16, length u16, address, names; options
 *
 *     statistics, 5: interface u32, time u32[2], options
 *
 *     enhanced, 6: interface u32, time u32[2], captured u32, original u32, bytes, options
 *
 * A section has its own byte order and its own interfaces. Blocks of other types are skipped.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/hosts.h"
#include "source/formats/file.h"
#include "source/formats/pcapng_block.h"

enum {
    BLOCK_OVERHEAD = 12,
    /* the largest packet with more options than anybody writes; longer ones of other types are
     * stepped over without a look */
    BLOCK_MAX = SOURCE_MAX_PACKET + 1024 * 1024,

    NAME_IPV4 = 1,
    NAME_IPV6 = 2,

    OPTION_END = 0,
    OPTION_COMMENT = 1,
    OPTION_IF_NAME = 2,
    OPTION_IF_DESCRIPTION = 3,
    OPTION_IF_FILTER = 11,
    OPTION_IF_TSRESOL = 9,
    OPTION_IF_TSOFFSET = 14,
    OPTION_EPB_FLAGS = 2,
    OPTION_EPB_DROPCOUNT = 4,
    OPTION_ISB_STARTTIME = 2,
    OPTION_ISB_ENDTIME = 3,
    OPTION_ISB_IFRECV = 4,
    OPTION_ISB_IFDROP = 5,
    OPTION_ISB_OSDROP = 7,
};

#define BYTE_ORDER_MAGIC 0x1a2b3c4d

struct options {
    const uint8_t *p, *end;
};

/* The next option: true with its code, length and value. What runs over the end is no option. */
static bool option(const struct file *file, struct options *options, unsigned *code, size_t *len,
                   const uint8_t **value)
{
    size_t left = (size_t)(options->end - options->p), padded;

    if (left < 4)
        return false;
    *code = file_u16(file, options->p);
    *len = file_u16(file, options->p + 2);
    padded = (*len + 3) & ~(size_t)3;
    if (*code == OPTION_END || *len > left - 4)
        return false;
    *value = options->p + 4;
    options->p = padded > left - 4 ? options->end : options->p + 4 + padded;
    return true;
}

/* Where there is no next one: an option that runs over the end. */
static bool overrun(const struct file *file, const struct options *options)
{
    return options->end - options->p >= 4 && file_u16(file, options->p) != OPTION_END;
}

static enum record wrong(struct file *file, uint64_t at, const char *what, uint64_t number)
{
    input_fail(file->in, "byte %" PRIu64 ": %s %" PRIu64 ": damaged", at, what, number);
    return RECORD_ERROR;
}

static bool set_resolution(struct file *file, uint64_t at, struct file_interface *interface,
                           uint8_t tsresol)
{
    uint64_t ticks = 1;

    interface->binary = tsresol & 0x80;
    interface->exponent = tsresol & 0x7f;
    for (unsigned i = 0; i < interface->exponent; i++) {
        if (__builtin_mul_overflow(ticks, interface->binary ? 2u : 10u, &ticks)) {
            wrong(file, at, "time stamps cannot have the resolution", tsresol);
            return false;
        }
    }
    return true;
}

/* An interface block's option. */
static void keep_option(struct file *file, struct file_interface *interface, unsigned code,
                        const uint8_t *value, size_t n)
{
    switch (code) {
    case OPTION_IF_NAME:
        file_text_keep(file, interface, FILE_NAME, value, n);
        break;
    case OPTION_COMMENT:
        file_text_keep(file, interface, FILE_COMMENT, value, n);
        break;
    case OPTION_IF_DESCRIPTION:
        file_text_keep(file, interface, FILE_DESCRIPTION, value, n);
        break;
    case OPTION_IF_FILTER:
        if (n > 1 && value[0] == 0) /* in words, libpcap's */
            file_text_keep(file, interface, FILE_FILTER, value + 1, n - 1);
        break;
    default:
        break;
    }
}

static bool read_interface(struct file *file, uint64_t at, const uint8_t *body, size_t len)
{
    struct options options = {body + 8, body + len};
    struct file_interface *interface;
    const uint8_t *value;
    unsigned code;
    size_t n;

    if (len < 8) {
        wrong(file, at, "an interface block cannot have the body length", len);
        return false;
    }
    interface = file_interface_add(file);
    if (!interface)
        return false;
    interface->linktype = file_u16(file, body);
    interface->snaplen = file_u32(file, body + 4);
    if (!set_resolution(file, at, interface, 6))
        return false;
    while (option(file, &options, &code, &n, &value)) {
        if (code == OPTION_IF_TSRESOL && n >= 1 && !set_resolution(file, at, interface, value[0]))
            return false;
        if (code == OPTION_IF_TSOFFSET && n >= 8)
            interface->offset_s = (int64_t)file_u64(file, value);
        keep_option(file, interface, code, value, n);
    }
    if (overrun(file, &options)) { /* the resolution of all times may come behind it */
        wrong(file, at, "an interface block cannot have an option of the length",
              file_u16(file, options.p + 2));
        return false;
    }
    return true;
}

/* Of a time in an option; 0: of a writer that does not know it. */
static bool option_time(const struct file *file, const struct file_interface *interface,
                        const uint8_t *value, int64_t *ns)
{
    uint64_t ticks = (uint64_t)file_u32(file, value) << 32 | file_u32(file, value + 4);

    *ns = file_time(interface, ticks);
    return ticks != 0;
}

static void ends(struct file *file, int64_t ns)
{
    if (!file->end_known || ns > file->end_ns)
        file->end_ns = ns;
    file->end_known = true;
}

static bool read_statistics(struct file *file, uint64_t at, const uint8_t *body, size_t len)
{
    struct options options = {body + 12, body + len};
    struct file_interface *interface;
    uint64_t if_dropped = 0, os_dropped = 0, *counter;
    int64_t end_ns;
    bool dropped_known = false;
    const uint8_t *value;
    unsigned code;
    size_t n;

    if (len < 12) {
        wrong(file, at, "a statistics block cannot have the body length", len);
        return false;
    }
    if (file_u32(file, body) >= file->n_interfaces - file->section_first) {
        wrong(file, at, "statistics of the undescribed interface", file_u32(file, body));
        return false;
    }
    interface = &file->interfaces[file->section_first + file_u32(file, body)];
    file_text_forget(interface, FILE_COUNTS_COMMENT);
    interface->since_known = false;
    while (option(file, &options, &code, &n, &value)) {
        counter = code == OPTION_ISB_IFRECV   ? &interface->received
                  : code == OPTION_ISB_IFDROP ? &if_dropped
                  : code == OPTION_ISB_OSDROP ? &os_dropped
                                              : NULL;
        if (code == OPTION_COMMENT)
            file_text_keep(file, interface, FILE_COUNTS_COMMENT, value, n);
        if (code == OPTION_ISB_STARTTIME && n >= 8)
            interface->since_known = option_time(file, interface, value, &interface->since_ns);
        if (code == OPTION_ISB_ENDTIME && n >= 8 && option_time(file, interface, value, &end_ns))
            ends(file, end_ns);
        if (!counter || n < 8)
            continue;
        *counter = file_u64(file, value);
        if (code == OPTION_ISB_IFRECV)
            interface->received_known = true;
        else
            dropped_known = true;
    }
    if (dropped_known) { /* else what a block before said stays */
        interface->dropped_known = true;
        interface->dropped = source_sum(if_dropped, os_dropped);
    }
    return true;
}

/* Records of an address and its names, each with its NUL; their form is that of options. One that
 * runs over the end is none, nor is what follows it. */
static void read_names(const struct file *file, const uint8_t *body, size_t len)
{
    struct options records = {body, body + len};
    const uint8_t *value, *end;
    unsigned type;
    size_t n, bytes;

    while (option(file, &records, &type, &n, &value)) {
        struct rpcrdma_address address = {0};

        bytes = type == NAME_IPV4 ? 4 : type == NAME_IPV6 ? 16 : n;
        if (n <= bytes)
            continue;
        address.family = type == NAME_IPV4 ? RPCRDMA_ADDRESS_IPV4 : RPCRDMA_ADDRESS_IPV6;
        memcpy(address.bytes, value, bytes);
        end = memchr(value + bytes, 0, n - bytes);
        hosts_learn(&address, (const char *)value + bytes,
                    end ? (size_t)(end - value) - bytes : n - bytes);
    }
}

/* A section header of which at least 12 bytes are at hand. */
static bool read_section(struct file *file, uint64_t at, const uint8_t *p)
{
    file->swapped = false;
    if (file_u32(file, p + 8) != BYTE_ORDER_MAGIC) {
        file->swapped = true;
        if (file_u32(file, p + 8) != BYTE_ORDER_MAGIC) {
            wrong(file, at, "no byte order is", file_u32(file, p + 8));
            return false;
        }
    }
    file->section_first = file->n_interfaces;
    return true;
}

/* Of an enhanced packet block. */
static void read_packet_options(struct file *file, struct source_packet *out, size_t interface,
                                const uint8_t *begin, const uint8_t *end)
{
    struct options options = {begin, end};
    const uint8_t *value;
    unsigned code;
    size_t n;

    while (option(file, &options, &code, &n, &value)) {
        out->replayed |= code == OPTION_COMMENT && n == strlen(SOURCE_REPLAYED) &&
                         memcmp(value, SOURCE_REPLAYED, n) == 0;
        if (code == OPTION_COMMENT && !out->replayed && out->comment_len == 0) {
            out->comment = (const char *)value;
            out->comment_len = (uint32_t)n;
        }
        if (code == OPTION_EPB_FLAGS && n >= 4)
            out->direction = file_u32(file, value) % 4 % 3; /* 3: not allowed */
        if (code == OPTION_EPB_DROPCOUNT && n >= 8)
            file_dropped(file, interface, file_u64(file, value));
    }
    file->comments += out->comment_len > 0;
}

/* A packet block whose body of `len` bytes begins at `body`, `there` of them at hand. */
static enum record read_packet(struct file *file, struct source_packet *out, uint32_t type,
                               uint64_t at, const uint8_t *body, size_t len, size_t there)
{
    size_t fixed = type == BLOCK_SIMPLE ? 4 : 20, room, id = 0;
    uint32_t caplen, original;
    const struct file_interface *interface;
    int64_t time_ns = file->last_time_ns;

    if (len < fixed)
        return wrong(file, at, "a packet block cannot have the body length", len);
    if (there < fixed)
        return file_cut(file, at, "packet block", there + 8, len + BLOCK_OVERHEAD);
    room = len - fixed;
    if (type == BLOCK_PACKET)
        id = file_u16(file, body);
    else if (type == BLOCK_ENHANCED)
        id = file_u32(file, body);
    if (id >= file->n_interfaces - file->section_first)
        return wrong(file, at, "a packet of the undescribed interface", id);
    interface = &file->interfaces[file->section_first + id];
    if (type == BLOCK_SIMPLE) {
        caplen = original = file_u32(file, body);
        if (interface->snaplen > 0 && caplen > interface->snaplen)
            caplen = interface->snaplen;
        if (caplen > room)
            caplen = (uint32_t)room;
        file->untimed++;
    } else {
        time_ns = file_packet_time(
            file, interface, (uint64_t)file_u32(file, body + 4) << 32 | file_u32(file, body + 8));
        caplen = file_u32(file, body + 12);
        original = file_u32(file, body + 16);
    }
    if (caplen > room || caplen > SOURCE_MAX_PACKET)
        return wrong(file, at, "a packet here cannot have the captured length", caplen);
    if (caplen > there - fixed) {
        file_packet(file, out, file->section_first + id, time_ns, body + fixed,
                    (uint32_t)(there - fixed), original > caplen ? original : caplen);
        file_cut(file, at, "packet block", there + 8, len + BLOCK_OVERHEAD);
        return RECORD_PACKET;
    }
    file_packet(file, out, file->section_first + id, time_ns, body + fixed, caplen, original);
    if (type == BLOCK_PACKET && file_u16(file, body + 2) != 0xffff)
        file_dropped(file, file->section_first + id, file_u16(file, body + 2));
    if (type == BLOCK_ENHANCED && there == len) {
        size_t used = fixed + ((caplen + 3) & ~(size_t)3);

        read_packet_options(file, out, file->section_first + id, body + (used < len ? used : len),
                            body + len);
    }
    return RECORD_PACKET;
}

static bool is_packet(uint32_t type)
{
    return type == BLOCK_ENHANCED || type == BLOCK_SIMPLE || type == BLOCK_PACKET;
}

static bool is_read(uint32_t type)
{
    return is_packet(type) || type == BLOCK_INTERFACE || type == BLOCK_STATISTICS ||
           type == BLOCK_SECTION || type == BLOCK_NAMES;
}

/* A block that is not read. */
static enum record skip_block(struct file *file, uint64_t at, uint32_t total)
{
    struct input *in = file->in;

    /* a pinned window stays where it is: try again when it may move */
    if (in->pinned && total > in->end - in->pos)
        return RECORD_AGAIN;
    if (input_skip(in, total) != INPUT_OK)
        return file_cut(file, at, "block", input_offset(in) - at, total);
    file->other_blocks++;
    return RECORD_PACKET;
}

/* A block of packets, of which `there` bytes are at hand: all, or all that there will be. */
static enum record packet_block(struct file *file, struct source_packet *out, uint32_t type,
                                uint64_t at, const uint8_t *p, uint32_t total, size_t there)
{
    size_t body = total - BLOCK_OVERHEAD;
    bool whole = there >= total;
    enum record record =
        read_packet(file, out, type, at, p + 8, body, there - 8 < body ? there - 8 : body);

    if (record == RECORD_PACKET && !whole)
        file_cut(file, at, "packet block", there, total);
    file->in->pos += whole ? total : there;
    return record;
}

/* One without packets, which is at hand. */
static enum record other_block(struct file *file, uint32_t type, uint64_t at, const uint8_t *p,
                               uint32_t total)
{
    if (type == BLOCK_SECTION && file_u16(file, p + 12) != 1)
        return wrong(file, at + 12, "pcapng has no known version", file_u16(file, p + 12));
    if ((type == BLOCK_INTERFACE && !read_interface(file, at, p + 8, total - BLOCK_OVERHEAD)) ||
        (type == BLOCK_STATISTICS && !read_statistics(file, at, p + 8, total - BLOCK_OVERHEAD)))
        return RECORD_ERROR;
    if (type == BLOCK_NAMES) {
        read_names(file, p + 8, total - BLOCK_OVERHEAD);
        file->other_blocks++; /* it is not copied */
    }
    file->in->pos += total;
    return RECORD_PACKET;
}

/* One block. RECORD_PACKET is also the answer for a block without a packet: see next(). */
static enum record block(struct file *file, struct source_packet *out, bool *packet)
{
    struct input *in = file->in;
    enum input_status status = input_need(in, BLOCK_OVERHEAD);
    uint64_t at = input_offset(in);
    size_t there = in->end - in->pos;
    uint32_t type, total;
    const uint8_t *p = in->data + in->pos;
    enum record record;

    *packet = false;
    if (status == INPUT_AGAIN)
        return RECORD_AGAIN;
    if (status == INPUT_END)
        return there == 0 && !in->failed ? RECORD_END
                                         : file_cut(file, at, "block", there, BLOCK_OVERHEAD);
    type = file_u32(file, p); /* the section's reads the same in both byte orders */
    if (type == BLOCK_SECTION && !read_section(file, at, p))
        return RECORD_ERROR;
    total = file_u32(file, p + 4);
    if (total < (type == BLOCK_SECTION ? 28 : BLOCK_OVERHEAD) || total % 4 != 0)
        return wrong(file, at, "a block cannot have the length", total);
    if (is_packet(type) && total > BLOCK_MAX)
        return wrong(file, at, "a packet block cannot have the length", total);
    if (!is_read(type) || total > BLOCK_MAX)
        return skip_block(file, at, total);
    status = input_need(in, total);
    if (status == INPUT_AGAIN)
        return RECORD_AGAIN;
    p = in->data + in->pos;
    there = in->end - in->pos;
    if (status == INPUT_OK && file_u32(file, p + total - 4) != total)
        return wrong(file, at + total - 4, "the block's two lengths differ: 2nd is",
                     file_u32(file, p + total - 4));
    if (is_packet(type)) {
        record = packet_block(file, out, type, at, p, total, there);
        *packet = record == RECORD_PACKET;
        return record;
    }
    return status == INPUT_END ? file_cut(file, at, "block", there, total)
                               : other_block(file, type, at, p, total);
}

static enum record next(struct file *file, struct source_packet *out)
{
    enum record record;
    bool packet;

    do {
        record = block(file, out, &packet);
    } while (record == RECORD_PACKET && !packet && (!file->eager || file->in->pos < file->in->end));
    return record == RECORD_PACKET && !packet ? RECORD_AGAIN : record;
}

/* Programs that resolve names as they go (tshark -W n) write them last: of a file whose end can be
 * read, they are known from the beginning on. */
static void names_at_end(struct file *file)
{
    enum { END = 65536 };
    const struct feed *feed = file->in->feed;
    uint64_t unused, size;
    uint8_t *end;
    size_t n;

    input_progress(file->in, &unused, &size);
    n = size < END ? (size_t)size : END;
    end = feed->read_at && n > 0 ? malloc(n) : NULL;
    if (end && feed->read_at(feed, end, n, size - n) == (ssize_t)n) {
        while (n >= BLOCK_OVERHEAD) {
            uint32_t total = file_u32(file, end + n - 4), type;

            if (total < BLOCK_OVERHEAD || total % 4 != 0 || total > n ||
                file_u32(file, end + n - total + 4) != total)
                break;
            type = file_u32(file, end + n - total);
            if (type == BLOCK_NAMES)
                read_names(file, end + n - total + 8, total - BLOCK_OVERHEAD);
            else if (type != BLOCK_STATISTICS)
                break;
            n -= total;
        }
    }
    free(end);
}

bool pcapng_begin(struct file *file)
{
    struct source_packet unused;
    bool packet;

    file->next = next;
    if (block(file, &unused, &packet) != RECORD_PACKET)
        return false;
    names_at_end(file);
    if (file->headers_only && file->in->feed->skim)
        file->in->feed->skim(file->in->feed, input_offset(file->in), true, file->swapped);
    return true;
}
