/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_BYTES_SKIM_OWN_H
#define RPCRDMA_CLI_SOURCE_BYTES_SKIM_OWN_H

/* What skim.c, which copies, skim_ahead.c, the thread, and skim_trial.c share. */

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "source/bytes/strides.h"
#include "source/formats/file.h"
#include "source/formats/pcapng_block.h"

enum {
    SKIM_WINDOW = 2 * 1024 * 1024, /* pages are let go of by so many bytes: a large page, if any */
    SKIM_RECORD = 16,              /* the header of a record of pcap */
    SKIM_BLOCK = 28,               /* and of a packet's block of pcapng */
    SKIM_MIDDLE = 56,              /* headers of a packet in the middle of a transfer */
    SKIM_HEADERS = 80,             /* of any Write's or response's packet */
    SKIM_SHORT = SKIM_RECORD + SKIM_MIDDLE,
    SKIM_FIRST = SKIM_BLOCK + SKIM_MIDDLE, /* bytes that a record is told by, at most */
    SKIM_MOST = SKIM_BLOCK + SKIM_HEADERS,
};

struct skim {
    int fd;
    bool swapped;
    bool blocks;   /* of pcapng */
    uint64_t size; /* of the file, at least */
    uint8_t *map;  /* all of the file; those pages alone that are in hand take memory */
    uint64_t gone; /* pages before it are let go of, or are just being; a window begins there */
    uint64_t done; /* where the last call ended */
    uint64_t pos, next; /* the record in hand, and the one behind it */
    uint64_t keep;      /* up to there it is copied, */
    uint64_t rest;      /* and from here on: a block's options, and its length again */
    uint8_t *head;      /* where its headers are: in the caller's buffer, or these: */
    uint8_t own[SKIM_FIRST];
    int64_t worth;    /* bytes left out less those copied, at most NOT_WORTH */
    uint64_t given;   /* bytes, */
    uint64_t records; /* and of so many records */
    bool decided;     /* whether to go on */
    bool even;        /* mapping takes what reading does */
    bool whole;       /* all is copied, slot by slot */
    uint64_t touched; /* up to there, then, where there is no thread */
    uint64_t page;
    struct strides strides;
    bool threaded;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t moved; /* what is below did */
    uint64_t reached;     /* where the caller is */
    uint64_t enough;      /* once it is behind that the thread has to go on */
    bool stop;
};

/* A packet of an RDMA Write, or of a Read response, of RoCEv2 over IPv4 without options, and with
 * nothing behind it but a frame check sequence: switches write times there. */
static inline bool skim_is_bulk(const uint8_t *p, uint32_t caplen)
{
    enum { ETHERNET = 14, UDP = 34, BTH = 42, BEHIND_MOST = 8 };
    enum { WRITE_FIRST = 6, RESPONSE_FIRST = 13, RESPONSE_LAST = 16, RESERVED = 12 };
    uint32_t ip = (uint32_t)p[16] << 8 | p[17], udp = (uint32_t)p[38] << 8 | p[39];
    uint8_t opcode;

    if (p[12] != 8 || p[13] != 0 || p[ETHERNET] != 0x45 || p[23] != 17 || p[20] & 0x3f ||
        p[21] != 0 || p[UDP + 2] != 4791 >> 8 || p[UDP + 3] != (4791 & 0xff))
        return false;
    opcode = p[BTH];
    return (p[BTH + 1] & 0x0f) == 0 && opcode >= WRITE_FIRST && opcode <= RESPONSE_LAST &&
           opcode != RESERVED && ip == udp + 20 && ETHERNET + ip + BEHIND_MOST >= caplen;
}

/* What is kept of a packet's bytes; all of them, where no payload is left out. */
static inline uint32_t skim_kept(const uint8_t *packet, uint32_t caplen)
{
    enum { OPCODE = 42, WRITE_MIDDLE = 7, RESPONSE_MIDDLE = 14 };

    if (caplen <= SKIM_HEADERS || !skim_is_bulk(packet, caplen))
        return caplen;
    return packet[OPCODE] == WRITE_MIDDLE || packet[OPCODE] == RESPONSE_MIDDLE ? SKIM_MIDDLE
                                                                               : SKIM_HEADERS;
}

/* A record of a file: its bytes, the first ones that are kept, and so are the last ones. */
struct skim_record {
    uint32_t size, kept, rest;
};

/* Of pcap, by its first SKIM_SHORT bytes. False: it is none. */
static inline bool skim_record(const uint8_t *p, bool swapped, struct skim_record *record)
{
    uint32_t caplen = file_word(p + 8, swapped);

    if (caplen > SOURCE_MAX_PACKET)
        return false;
    record->size = SKIM_RECORD + caplen;
    record->kept = SKIM_RECORD + skim_kept(p + SKIM_RECORD, caplen);
    record->rest = 0;
    return true;
}

/* Of pcapng, by its first SKIM_FIRST bytes. False: it is none, or a section's, whose byte order may
 * be the other one, or an interface's that is no Ethernet. */
static inline bool skim_block(const uint8_t *p, bool swapped, struct skim_record *record)
{
    enum { LEAST = 12, PACKET_LEAST = SKIM_BLOCK + 4, ETHERNET = 1 };
    uint32_t type = file_word(p, swapped), size = file_word(p + 4, swapped), caplen, padded;

    if (type == BLOCK_SECTION || size < LEAST || size % 4 != 0 || size > 2 * SOURCE_MAX_PACKET ||
        (type == BLOCK_INTERFACE && file_half(p + 8, swapped) != ETHERNET))
        return false;
    record->size = record->kept = size;
    record->rest = 0;
    if (type != BLOCK_ENHANCED || size < PACKET_LEAST)
        return true;
    caplen = file_word(p + 20, swapped);
    if (caplen > size - PACKET_LEAST)
        return true;
    padded = (caplen + 3) / 4 * 4;
    record->kept = SKIM_BLOCK + skim_kept(p + SKIM_BLOCK, caplen);
    if (record->kept < SKIM_BLOCK + caplen)
        record->rest = size - SKIM_BLOCK - padded;
    else
        record->kept = size;
    return true;
}

/* Asks for the record that is expected some packets behind this one, which is at `place`. */
static inline void skim_ask(struct strides *strides, const uint8_t *record, uint64_t place,
                            uint32_t size)
{
    size_t ahead = strides_next(strides, place, size);

    __builtin_prefetch(record + ahead);
    __builtin_prefetch(record + ahead + 64);
}

/* Calls `work` with the signal of a file that is cut ending it. False also where it came. */
bool skim_guarded(struct skim *skim, bool (*work)(struct skim *skim, void *argument),
                  void *argument);

static inline uint64_t skim_window_of(uint64_t place)
{
    return place / SKIM_WINDOW * SKIM_WINDOW;
}

/* Maps in what is between two places; lets go of it. The first has to be guarded. */
void skim_touch(const struct skim *skim, uint64_t from, uint64_t to);
void skim_let_go(const struct skim *skim, uint64_t from, uint64_t to);

/* What mapping takes, for each byte that reading takes: less; less than twice as much, which is as
 * good for who leaves nothing out; more, or nobody knows, as the file is not in memory. */
enum skim_gain { SKIM_GAINS, SKIM_EVEN, SKIM_DEAR };

enum skim_gain skim_try(struct skim *skim);

/* Where there is a processor for it, and ends it. */
void skim_thread_begin(struct skim *skim);
void skim_thread_end(struct skim *skim);

/* The caller has come to that place. */
void skim_thread_reach(struct skim *skim, uint64_t place);

#endif
