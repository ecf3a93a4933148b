/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/packet_notes.h"

#include <string.h>

void packet_notes_add(struct packet_notes *notes, uint64_t frame, uint8_t direction,
                      const char *comment, size_t len)
{
    struct packet_note *note = &notes->note[notes->n++ % PACKET_NOTES];

    note->frame = frame;
    note->direction = direction;
    note->len = (uint32_t)(len < PACKET_NOTE_BYTES ? len : PACKET_NOTE_BYTES);
    if (len > 0)
        memcpy(note->comment, comment, note->len);
    if (len > PACKET_NOTE_BYTES)
        memcpy(note->comment + PACKET_NOTE_BYTES - 3, "...", 3);
}

const struct packet_note *packet_notes_find(const struct packet_notes *notes, uint64_t frame)
{
    uint64_t n = notes ? notes->n : 0;

    for (uint64_t back = 1; back <= n && back <= PACKET_NOTES; back++) {
        const struct packet_note *note = &notes->note[(n - back) % PACKET_NOTES];

        if (note->frame <= frame)
            return note->frame == frame ? note : NULL;
    }
    return NULL;
}

const char *packet_direction_name(uint8_t direction)
{
    return direction == PACKET_INBOUND ? "inbound" : "outbound";
}
