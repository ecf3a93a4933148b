/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_FUZZ_MUTATE_H
#define RPCRDMA_TESTS_FUZZ_MUTATE_H

/*
 * Mutations that know what a packet is, so that what comes out gets past the first checks: lengths
 * and checksums are made right again, chunk lists stay chunk lists.
 *
 *   mutate.c          LLVMFuzzerCustomMutator; packets doubled, lost, moved, spliced
 *   mutate_packet.c   headers of RoCEv2 and TCP in a packet
 *   mutate_message.c  the RPC-over-RDMA message in a Send
 *   mutate_format.c   how a target's input holds packets
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MUTATE_PACKETS = 192, MUTATE_HEAD = 64, MUTATE_PACKET = 9000, MUTATE_SEGMENTS = 32 };

struct mutate_packet {
    uint8_t *data; /* in the list's arena, never changed in place: mutate_room() makes a new one */
    uint32_t caplen, more;
};

struct mutate_segment {
    uint32_t handle, length;
    uint64_t offset;
};

struct mutate_list {
    uint8_t head[MUTATE_HEAD]; /* what stands before the packets */
    size_t head_size;
    bool big_endian; /* of a capture file */
    struct mutate_packet packet[MUTATE_PACKETS];
    size_t n;
    /* what the messages offer: to be hit by a Write or a Read, or offered again */
    struct mutate_segment segment[MUTATE_SEGMENTS];
    size_t n_segments;
};

/* libFuzzer's, or replay.c's: mutates bytes without knowing what they are. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

uint32_t mutate_random(void);                   /* the same after the same seed */
static inline uint32_t mutate_below(uint32_t n) /* 0 to n - 1 */
{
    return mutate_random() % n;
}
uint32_t mutate_number(uint32_t was); /* near it, or one that is worth trying */
uint8_t *mutate_room(size_t n);       /* until the mutation is over; NULL: none left */

/* mutate_format.c; the target says which it has. False: it cannot be read. */
enum mutate_format { MUTATE_ONE, MUTATE_RECORDS, MUTATE_FILE };
extern const enum mutate_format mutate_format;
bool mutate_read(const uint8_t *data, size_t size, struct mutate_list *list);
size_t mutate_write(const struct mutate_list *list, uint8_t *data, size_t max);

/* mutate_packet.c */
void mutate_packet(struct mutate_list *list, struct mutate_packet *packet);
void mutate_collect(struct mutate_list *list); /* fills list->segment */
/* Gives `packet` the payload of `other`; false where either has none. */
bool mutate_splice(struct mutate_packet *packet, const struct mutate_packet *other);
/* Cuts a Send of one packet in two. */
bool mutate_split(struct mutate_packet *first, struct mutate_packet *second);

/* mutate_message.c: returns the size of what was made of it, at most max. */
size_t mutate_message(const struct mutate_list *list, const uint8_t *data, size_t size,
                      uint8_t *out, size_t max);

#endif
