/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed/keep.h"

/* Packets that were sent before, or late: flow/ -> the store, with links both ways. */

static struct repeats *of_frame(uint32_t frame)
{
    struct frame_more *more = store_more(frame);

    if (!more->repeats)
        more->repeats = store_new(sizeof(*more->repeats));
    return more->repeats;
}

void keep_repeated(void *context, const struct rpcrdma_repeated *repeated)
{
    uint32_t frame = (uint32_t)repeated->frame, original = (uint32_t)repeated->original_frame;
    struct repeats *repeats = of_frame(frame), *first;

    (void)context;
    repeats->set = true;
    repeats->repeat = (uint8_t)repeated->repeat;
    repeats->original = original;
    if (original == 0 || original == frame)
        return;
    first = of_frame(original);
    of_frame(first->last != 0 ? first->last : original)->again = frame;
    first->last = frame;
}
