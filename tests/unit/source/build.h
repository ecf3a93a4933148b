/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TEST_BUILD_H
#define RPCRDMA_TEST_BUILD_H

/* Capture files made by hand, in either byte order, in memory. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct build {
    uint8_t bytes[1 << 16];
    size_t n;
    bool big;     /* big-endian */
    size_t block; /* where the open pcapng block began */
    /* where each packet's record ends, and where its bytes begin: what a cut must not lose */
    size_t packet_end[64], packet_data[64];
    size_t packets;
    /* places where the file may end without being cut */
    size_t whole[128];
    size_t n_whole;
};

void put_u16(struct build *b, uint16_t v);
void put_u32(struct build *b, uint32_t v);
void put_u64(struct build *b, uint64_t v);
void put_bytes(struct build *b, const void *p, size_t n);

void pcap_header(struct build *b, uint32_t magic, uint32_t snaplen, uint32_t linktype);
/* A packet of caplen bytes: fill, fill + 1, ... */
void pcap_packet(struct build *b, uint32_t seconds, uint32_t fraction, uint32_t caplen,
                 uint32_t len, uint8_t fill);

void block_begin(struct build *b, uint32_t type);
void block_end(struct build *b);
void option(struct build *b, uint16_t code, const void *value, uint16_t n);
void option_u64(struct build *b, uint16_t code, uint64_t value);
void pattern(struct build *b, uint32_t n, uint8_t fill);

void section(struct build *b);
void interface(struct build *b, uint16_t linktype, uint32_t snaplen, int tsresol, int64_t offset);
void enhanced(struct build *b, uint32_t id, uint64_t ticks, uint32_t caplen, uint32_t len,
              uint8_t fill);

#endif
