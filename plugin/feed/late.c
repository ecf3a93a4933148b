/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed/late.h"

#include <string.h>

/* Bytes of them: a tree may have a million items, and lists make five of 16 bytes. */
enum { LATE_BYTES = 1 << 20 };

/* The latest frames that Wireshark's own dissector took, which shows its fields of them. */
enum { CLAIMED = 4096 };
static uint32_t claimed[CLAIMED];

static struct late late;

void late_file(void)
{
    late_clear();
    memset(claimed, 0, sizeof(claimed));
}

void late_claimed(uint32_t frame)
{
    claimed[frame % CLAIMED] = frame;
}

bool late_was_claimed(uint32_t frame)
{
    return claimed[frame % CLAIMED] == frame;
}

void late_clear(void)
{
    late.n = late.left_out = 0;
    late.bytes = 0;
}

void late_add(const struct message_note *message_note)
{
    late.bytes += message_note->place.caplen;
    if (late.n == LATE || (late.n > 0 && late.bytes > LATE_BYTES)) {
        late.left_out++;
        return;
    }
    late.messages[late.n++] = message_note;
}

const struct late *late_messages(void)
{
    return &late;
}
