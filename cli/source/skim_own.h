/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_SKIM_OWN_H
#define RPCRDMA_CLI_SOURCE_SKIM_OWN_H

/* What skim.c, who copies when it is needed, and skim_ahead.c, the thread, share. */

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "source/file.h"

enum {
    SKIM_WINDOW = 2 * 1024 * 1024, /* where two threads look their page tables are not the same */
    SKIM_LEAD = 2,                 /* windows that the thread is ahead, at most */
    SKIM_RECORD = 16,
    SKIM_HEADERS = 96, /* the record's, and all of a Write's or a response's */
    SKIM_AHEAD = 8,    /* packets that are asked for, as file_ahead() does */
    SKIM_PARTS = SKIM_LEAD + 1,
    SKIM_PART = 512 * 1024, /* bytes of one */
};

/*
 * What the thread copied of a window's records, in their order: of each what is kept, and
 * SKIM_HEADERS bytes at least. That of window w is parts[w % SKIM_PARTS].
 */
struct skim_part {
    uint8_t *bytes;
    uint64_t window;
    uint64_t first, end; /* places in the file: of its first record, and behind its last */
    size_t n;            /* bytes up to there */
    bool over;           /* no more will come: the next record is in another window */
    bool taken;          /* the caller goes on by itself, the thread leaves */
};

struct skim {
    int fd;
    bool swapped;
    uint64_t size;      /* of the file, at least */
    uint8_t *map;       /* all of the file; those pages alone that are in hand take memory */
    uint64_t window;    /* where the caller looks */
    uint64_t populated; /* the last window that is, where there is no thread */
    uint64_t gone;      /* windows before it are let go of, or are just being */
    uint64_t done;      /* where the last call ended */
    uint64_t pos, next; /* the record in hand, and the one behind it */
    uint64_t keep;      /* up to there it is copied */
    uint8_t *head;      /* where its headers are: in the caller's buffer, or these: */
    uint8_t own[SKIM_HEADERS];
    const uint8_t *from; /* where it is in a part; NULL: it is in the mapping */
    int64_t worth;       /* bytes left out less those copied, at most NOT_WORTH */
    struct {
        uint64_t bytes;           /* that were copied and read, both */
        int64_t copy_ns, read_ns; /* of this thread */
    } trial;
    bool whole; /* all is copied, slot by slot */
    bool dense; /* records are, in the slot before: so many headers are worth two threads */
    uint64_t page;
    struct {
        struct skim_part *part; /* of this window; NULL: none, or no more of it */
        const uint8_t *next;    /* in it: the record at this place: */
        uint64_t place, end;    /* as much of it as was seen */
        bool begun, used;       /* there was a part; a record of it was */
    } given;
    bool threaded, divides; /* as the thread was told last */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t moved; /* what is below did, or window */
    pthread_cond_t came;  /* the thread did: for tests */
    bool waits;           /* the thread does, for the caller to move */
    bool stop, divided;   /* the thread copies, too */
    bool astray;          /* what it copied is of no use: it guesses again */
    unsigned wrong;       /* guesses in sequence that were */
    uint32_t seconds;     /* the time of a record that the caller had */
    struct skim_part parts[SKIM_PARTS];
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

/* What is kept of a record, by its first SKIM_HEADERS bytes. */
static inline uint32_t skim_kept(const uint8_t *record, uint32_t caplen)
{
    return caplen > SKIM_HEADERS && skim_is_bulk(record + SKIM_RECORD, caplen)
               ? SKIM_HEADERS
               : SKIM_RECORD + caplen;
}

/* The bytes of a part that it takes. */
static inline size_t skim_room(uint32_t kept)
{
    return kept > SKIM_HEADERS ? kept : SKIM_HEADERS;
}

/* Asks for the record that is expected some packets behind this one. */
static inline void skim_ask(const uint8_t *record, uint32_t caplen)
{
    size_t ahead = SKIM_AHEAD * (size_t)(SKIM_RECORD + caplen);

    __builtin_prefetch(record + ahead);
    __builtin_prefetch(record + ahead + 64);
}

/* Calls `work` with the signal of a file that is cut ending it. False also where it came. */
bool skim_guarded(struct skim *skim, bool (*work)(struct skim *skim, void *argument),
                  void *argument);

/* Fills the page tables of a window; frees those of windows. */
bool skim_populate(const struct skim *skim, uint64_t window);
void skim_let_go(const struct skim *skim, uint64_t from, uint64_t to);

/* Where there is a processor for it, and ends it. */
void skim_thread_begin(struct skim *skim);
void skim_thread_end(struct skim *skim);

/* The caller comes to that window. */
void skim_thread_move(struct skim *skim, uint64_t window);

/* The thread copies from now on, too, or does not. */
void skim_thread_divide(struct skim *skim, bool divides);

/* What is left of skim->given is seen; false: there is no more, the caller goes on by itself. */
bool skim_thread_more(struct skim *skim);

#endif
