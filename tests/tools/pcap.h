/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_TOOLS_PCAP_H
#define RPCRDMA_TESTS_TOOLS_PCAP_H

/*
 * Classic capture files, whole in memory, for test programs. A reader of its own, so that a mistake
 * of the command's reader cannot hide one of net/.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pcap_file {
    uint8_t *bytes;
    size_t size, at;
    bool swapped, nanoseconds;
    uint32_t linktype;
};

struct pcap_record {
    int64_t time_ns;
    uint32_t caplen, len;
    const uint8_t *data;
};

static inline uint32_t pcap_u32(const struct pcap_file *f, size_t at)
{
    const uint8_t *p = f->bytes + at;

    return f->swapped ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
                      : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static inline bool pcap_open(struct pcap_file *f, const char *path)
{
    FILE *in = fopen(path, "rb");
    long size;
    uint32_t magic;

    memset(f, 0, sizeof(*f));
    if (!in)
        return false;
    if (fseek(in, 0, SEEK_END) != 0 || (size = ftell(in)) < 24 || fseek(in, 0, SEEK_SET) != 0) {
        fclose(in);
        return false;
    }
    f->size = (size_t)size;
    f->bytes = malloc(f->size);
    if (!f->bytes || fread(f->bytes, 1, f->size, in) != f->size) {
        fclose(in);
        return false;
    }
    fclose(in);
    magic = pcap_u32(f, 0);
    if (magic != 0xa1b2c3d4 && magic != 0xa1b23c4d) {
        f->swapped = true;
        magic = pcap_u32(f, 0);
    }
    f->nanoseconds = magic == 0xa1b23c4d;
    f->linktype = pcap_u32(f, 20) & 0xffff;
    f->at = 24;
    return magic == 0xa1b2c3d4 || magic == 0xa1b23c4d;
}

static inline bool pcap_next(struct pcap_file *f, struct pcap_record *r)
{
    if (f->size - f->at < 16)
        return false;
    r->time_ns = pcap_u32(f, f->at) * INT64_C(1000000000) +
                 (int64_t)pcap_u32(f, f->at + 4) * (f->nanoseconds ? 1 : 1000);
    r->caplen = pcap_u32(f, f->at + 8);
    r->len = pcap_u32(f, f->at + 12);
    r->data = f->bytes + f->at + 16;
    if (r->caplen > f->size - f->at - 16 || r->caplen > r->len)
        return false;
    f->at += 16 + r->caplen;
    return true;
}

static inline void pcap_put_u32(FILE *out, uint32_t value)
{
    const uint8_t b[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                          (uint8_t)(value >> 24)};

    fwrite(b, 1, sizeof(b), out);
}

/* Little-endian, nanoseconds. */
static inline void pcap_write_header(FILE *out, uint32_t linktype)
{
    pcap_put_u32(out, 0xa1b23c4d);
    pcap_put_u32(out, 2 | 4u << 16);
    pcap_put_u32(out, 0);
    pcap_put_u32(out, 0);
    pcap_put_u32(out, 262144);
    pcap_put_u32(out, linktype);
}

static inline void pcap_write(FILE *out, int64_t time_ns, const void *data, uint32_t caplen,
                              uint32_t len)
{
    pcap_put_u32(out, (uint32_t)(time_ns / 1000000000));
    pcap_put_u32(out, (uint32_t)(time_ns % 1000000000));
    pcap_put_u32(out, caplen);
    pcap_put_u32(out, len);
    fwrite(data, 1, caplen, out);
}

static inline void pcap_close(struct pcap_file *f)
{
    free(f->bytes);
    f->bytes = NULL;
}

#endif
