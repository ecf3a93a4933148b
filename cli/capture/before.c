/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/before.h"

#include <stdlib.h>
#include <string.h>

#include "common/times.h"

/* Records lie one after the other, each in one piece; where one does not fit before the end of the
 * bytes it goes to their beginning. */
struct record {
    struct rpcrdma_packet packet; /* data: follows */
    uint32_t interface;
};

static size_t record_size(uint32_t caplen)
{
    size_t align = _Alignof(struct record);

    return (sizeof(struct record) + caplen + align - 1) / align * align;
}

bool capture_before_new(struct capture_before *before, size_t size, int64_t span_ns)
{
    *before = (struct capture_before){.bytes = malloc(size), .size = size, .span_ns = span_ns};
    return before->bytes != NULL;
}

void capture_before_free(struct capture_before *before)
{
    free(before->bytes);
    before->bytes = NULL;
}

static struct record record_at(const struct capture_before *before, size_t at)
{
    struct record record;

    memcpy(&record, before->bytes + at, sizeof(record));
    record.packet.data = before->bytes + at + sizeof(record);
    return record;
}

static size_t after(const struct capture_before *before, size_t at, const struct record *record)
{
    at += record_size(record->packet.caplen);
    return before->next <= before->oldest && at == before->wrap ? 0 : at;
}

static void drop_oldest(struct capture_before *before)
{
    struct record record = record_at(before, before->oldest);
    size_t at = after(before, before->oldest, &record);

    before->oldest = at;
    if (--before->packets == 0)
        before->oldest = before->next = 0;
}

/* Where `n` bytes are free; false where they are not. */
static bool place(struct capture_before *before, size_t n)
{
    if (before->packets == 0)
        return n <= before->size;
    if (before->next > before->oldest) {
        if (before->size - before->next >= n)
            return true;
        if (before->oldest < n)
            return false;
        before->wrap = before->next;
        before->next = 0;
        return true;
    }
    return before->oldest - before->next >= n;
}

void capture_before_add(struct capture_before *before, uint32_t interface,
                        const struct rpcrdma_packet *packet)
{
    struct record record = {.packet = *packet, .interface = interface};
    size_t n = record_size(packet->caplen);

    while (before->packets > 0) {
        struct record oldest = record_at(before, before->oldest);

        if (time_less(packet->time_ns, oldest.packet.time_ns) <= before->span_ns)
            break;
        drop_oldest(before);
    }
    if (n > before->size) {
        before->short_of_room = true;
        before->displaced_ns = packet->time_ns;
        return;
    }
    while (!place(before, n)) {
        before->short_of_room = true;
        before->displaced_ns = record_at(before, before->oldest).packet.time_ns;
        drop_oldest(before);
    }
    record.packet.data = NULL;
    memcpy(before->bytes + before->next, &record, sizeof(record));
    if (packet->caplen > 0)
        memcpy(before->bytes + before->next + sizeof(record), packet->data, packet->caplen);
    before->next += n;
    before->packets++;
}

void capture_before_each(const struct capture_before *before, int64_t from_ns,
                         void (*each)(void *context, uint32_t interface,
                                      const struct rpcrdma_packet *packet, bool last),
                         void *context)
{
    size_t at = before->oldest;

    for (uint64_t left = before->packets; left > 0; left--) {
        struct record record = record_at(before, at);

        if (record.packet.time_ns >= from_ns || left == 1)
            each(context, record.interface, &record.packet, left == 1);
        at = after(before, at, &record);
    }
}

struct first {
    uint64_t frame;
};

static void on_first(void *context, uint32_t interface, const struct rpcrdma_packet *packet,
                     bool last)
{
    struct first *first = context;

    (void)interface;
    (void)last;
    if (packet->frame < first->frame)
        first->frame = packet->frame;
}

uint64_t capture_before_first(const struct capture_before *before, int64_t from_ns)
{
    struct first first = {UINT64_MAX};

    capture_before_each(before, from_ns, on_first, &first);
    return first.frame;
}

bool capture_before_lacks(const struct capture_before *before, int64_t from_ns)
{
    return before->short_of_room && before->displaced_ns >= from_ns;
}
