/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_FORMATS_PCAPNG_WRITER_H
#define RPCRDMA_CLI_SOURCE_FORMATS_PCAPNG_WRITER_H

/*
 * Writes pcapng: a section, interfaces with nanoseconds, packets, statistics. Blocks gather in a
 * buffer; a failed write is remembered, the file cut back to its last whole block, and everything
 * after it dropped.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net.h"

enum { PCAPNG_BUFFER = 1024 * 1024 };

struct pcapng_writer {
    uint8_t *buffer;
    size_t n; /* bytes waiting */
    int fd;
    int error;        /* errno of the first failed write; 0: none */
    uint64_t written; /* bytes, those that wait included; of a failed write, what arrived whole */
    uint64_t packets; /* the same of packets, of all files */
    uint32_t interfaces; /* the same of interfaces, of this file */
    bool patient;        /* its reader takes everything in the end (interrupt.h) */
    bool swallowed;      /* of a failed write something arrived that could not be taken back */
};

/* What is known of an interface. Strings may be NULL. */
struct pcapng_interface {
    uint32_t linktype, snaplen;
    const char *name, *description, *filter;
    const char *comment; /* the clock */
    bool early;          /* its times may be before 1970 */
};

/* Counts; what is not known is left out of the block. */
struct pcapng_statistics {
    bool received_known, interface_dropped_known, dropped_known, delivered_known;
    uint64_t received, interface_dropped, dropped, delivered;
    bool since_known;
    int64_t since_ns; /* that they are counted from; else the beginning of the capture */
    bool end_known;
    int64_t end_ns;      /* until when packets were awaited */
    const char *comment; /* NULL: none */
};

/* Begins a file on fd, which stays the caller's. comment may be NULL. False when memory is short.
 */
bool pcapng_writer_open(struct pcapng_writer *writer, int fd, const char *comment);

/* No file: blocks gather in the caller's buffer. The caller takes n bytes of them and sets n to 0,
 * before they are PCAPNG_BUFFER. The section has no options. */
void pcapng_writer_gather(struct pcapng_writer *writer, uint8_t *buffer);

/* Another file, in the same way: the one before was flushed. */
void pcapng_writer_again(struct pcapng_writer *writer, int fd, const char *comment);

/* Interfaces are numbered from 0 in the order of these calls. */
void pcapng_write_interface(struct pcapng_writer *writer, const struct pcapng_interface *one);

/* caplen at most SOURCE_MAX_PACKET; comment: NULL, or of the packet; `early`: the interface is. */
void pcapng_write_packet(struct pcapng_writer *writer, uint32_t interface, bool early,
                         const struct rpcrdma_packet *packet, const char *comment);

void pcapng_write_statistics(struct pcapng_writer *writer, uint32_t interface, bool early,
                             int64_t time_ns, const struct pcapng_statistics *counts);

/* Writes what waits. False when that failed, now or before. */
bool pcapng_writer_flush(struct pcapng_writer *writer);

/* Flushes and frees. Returns the errno of the first failed write, or 0. */
int pcapng_writer_close(struct pcapng_writer *writer);

#endif
