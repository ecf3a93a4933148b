/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/timing.h"

#include "store/store.h"

/*
 * A byte of length; three bytes, with a bit for each value that is not zero; then the flags and
 * those values, each in groups of seven bits with the lowest first, and the sign in the lowest of
 * all.
 */

#define VALUES(X)                                                                                  \
    X(latency_ns)                                                                                  \
    X(call_ns)                                                                                     \
    X(reply_ns)                                                                                    \
    X(client_ns)                                                                                   \
    X(call.frame)                                                                                  \
    X(reply.frame)                                                                                 \
    X(call.transmissions)                                                                          \
    X(reply.transmissions)                                                                         \
    X(server_waiting_ns)                                                                           \
    X(data_ns)                                                                                     \
    X(data_waiting_ns)                                                                             \
    X(data_peer_ns)                                                                                \
    X(data_network_ns)                                                                             \
    X(stalled_ns)                                                                                  \
    X(stalled_from)                                                                                \
    X(stalled_to)                                                                                  \
    X(stalled_by)                                                                                  \
    X(call.arrived)                                                                                \
    X(call.transit_ns)                                                                             \
    X(reply.arrived)                                                                               \
    X(reply.transit_ns)

enum {
#define ONE(name) 0,
    COUNT = sizeof((char[]){VALUES(ONE)}),
#undef ONE
    MASK = 3,
    HEADER = 1 + MASK,
    LONGEST = 10, /* a value; the flags are shorter */
    STATE_BITS = 2,
};

_Static_assert(COUNT <= 8 * MASK, "a bit for each");
_Static_assert(HEADER + (COUNT + 1) * LONGEST <= UINT8_MAX, "a byte of length");

#define FLAGS(X)                                                                                   \
    X(has_latency) X(has_phases) X(has_call) X(has_data) X(has_network) X(has_reply) X(exact)

static uint32_t flags_of(const struct timing *t)
{
    uint32_t flags = (uint32_t)t->call.state << STATE_BITS | t->reply.state;

#define ADD(name) flags = flags << 1 | t->name;
    FLAGS(ADD)
#undef ADD
    return flags;
}

static void set_flags(struct timing *t, uint32_t flags)
{
    unsigned bit = 0;

#define COUNT_ONE(name) bit++;
    FLAGS(COUNT_ONE)
#undef COUNT_ONE
    t->call.state = (uint8_t)(flags >> (bit + STATE_BITS));
    t->reply.state = flags >> bit & ((1 << STATE_BITS) - 1);
#define TAKE(name) t->name = flags >> --bit & 1;
    FLAGS(TAKE)
#undef TAKE
}

static uint8_t *put(uint8_t *to, int64_t value)
{
    uint64_t rest = (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);

    for (; rest > 0x7f; rest >>= 7)
        *to++ = (uint8_t)(rest | 0x80);
    *to++ = (uint8_t)rest;
    return to;
}

static const uint8_t *get(const uint8_t *from, int64_t *value)
{
    uint64_t rest = 0;
    unsigned shift = 0;

    do
        rest |= (uint64_t)(*from & 0x7f) << shift;
    while (shift += 7, *from++ & 0x80);
    *value = (int64_t)(rest >> 1) ^ -(int64_t)(rest & 1);
    return from;
}

const uint8_t *timing_keep(const struct timing *timing)
{
    uint8_t bytes[HEADER + (COUNT + 1) * LONGEST] = {0};
    uint8_t *end = put(bytes + HEADER, flags_of(timing)), *kept;
    unsigned n = 0;

#define PUT(name)                                                                                  \
    if (timing->name != 0) {                                                                       \
        bytes[1 + n / 8] |= (uint8_t)(1 << n % 8);                                                 \
        end = put(end, (int64_t)timing->name);                                                     \
    }                                                                                              \
    n++;
    VALUES(PUT)
#undef PUT
    bytes[0] = (uint8_t)(end - bytes);
    kept = store_new(bytes[0]);
    memcpy(kept, bytes, bytes[0]);
    return kept;
}

struct timing timing_read(const uint8_t *kept)
{
    struct timing timing = {0};
    int64_t value;
    const uint8_t *at = get(kept + HEADER, &value);
    unsigned n = 0;

    set_flags(&timing, (uint32_t)value);
#define GET(name)                                                                                  \
    if (kept[1 + n / 8] >> n % 8 & 1) {                                                            \
        at = get(at, &value);                                                                      \
        timing.name = (__typeof__(timing.name))value;                                              \
    }                                                                                              \
    n++;
    VALUES(GET)
#undef GET
    return timing;
}

void timing_free(const uint8_t *kept)
{
    if (kept)
        store_free((uint8_t *)(uintptr_t)kept, kept[0]);
}
