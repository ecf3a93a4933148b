/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_PACKET_NOTES_H
#define RPCRDMA_CLI_OUT_PACKET_NOTES_H

/*
 * What a pcapng file says of single packets, for views that come to show a message of one: of the
 * latest packets of which it says something. A message that waits for one before it longer than
 * that is shown without.
 */

#include <stddef.h>
#include <stdint.h>

enum packet_direction { PACKET_DIRECTION_UNKNOWN, PACKET_INBOUND, PACKET_OUTBOUND };

enum { PACKET_NOTES = 256, PACKET_NOTE_BYTES = 500 };

struct packet_note {
    uint64_t frame;
    uint32_t len;                    /* of the comment; 0: none */
    uint8_t direction;               /* enum packet_direction, at the interface that captured it */
    char comment[PACKET_NOTE_BYTES]; /* UTF-8 as the file has it; a longer one is cut, and ends in
                                        "..." */
};

struct packet_notes {
    uint64_t n; /* ever added */
    struct packet_note note[PACKET_NOTES];
};

/* In order of frames. */
void packet_notes_add(struct packet_notes *notes, uint64_t frame, uint8_t direction,
                      const char *comment, size_t len);

/* NULL: there is none; so where notes is NULL. */
const struct packet_note *packet_notes_find(const struct packet_notes *notes, uint64_t frame);

/* "inbound", "outbound". */
const char *packet_direction_name(uint8_t direction);

#endif
