/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets to sanitized packets. Input as in pipeline.c: Ethernet packets, each after three bytes:
 * captured length (16 bits, big-endian) and how many bytes more there were on the wire.
 */
#include <glib.h>

#include "bound.h"
#include "common/complain.h"
#include "fuzz.h"
#include "mutate.h"
#include "sanitize/track.h"

const enum mutate_format mutate_format = MUTATE_RECORDS;

/* What track.c takes of the command. */
void complain(const char *format, ...)
{
    (void)format;
    MUST(false); /* there is memory */
}

size_t options_memory(const struct options *options, unsigned eighths)
{
    return (size_t)options->max_memory / 8 * eighths;
}

struct rpcrdma_flow_config options_flow(const struct options *options)
{
    return (struct rpcrdma_flow_config){.size = sizeof(struct rpcrdma_flow_config),
                                        .max_memory = options_memory(options, MEMORY_FLOW)};
}

struct run {
    struct sanitize_track track;
    const uint8_t *data[512];
    uint32_t caplen[512], len[512];
    uint64_t given, emitted, last;
};

static void as_before_of_roce(const struct run *run, const struct rpcrdma_packet *original,
                              const struct rpcrdma_packet *packet)
{
    struct sanitize_layout after = sanitize_layout(packet), before = sanitize_layout(original);
    const uint8_t *was = original->data + before.bth, *now = packet->data + after.bth;
    enum { RESERVED = 8 };

    MUST(before.bth == after.bth);
    MUST(sanitize_icrc_good(&run->track.headers, &before, original->data, original->caplen) ==
         sanitize_icrc_good(&run->track.headers, &after, packet->data, packet->caplen));
    MUST(memcmp(was, now, RESERVED) == 0 && memcmp(was + RESERVED + 1, now + RESERVED + 1, 3) == 0);
    MUST(was[RESERVED] == now[RESERVED] ||
         (now[RESERVED] == (was[RESERVED] | 1) &&
          !sanitize_icrc_good(&run->track.headers, &after, packet->data, packet->caplen)));
}

static bool sum_wrong(const struct sanitize_layout *layout, const struct rpcrdma_packet *packet)
{
    return sanitize_tcp_sum(layout, packet->data, packet->caplen) >= SANITIZE_SUM_NONE;
}

static void as_before_of_tcp(const struct rpcrdma_packet *original,
                             const struct rpcrdma_packet *packet)
{
    struct sanitize_layout after = sanitize_layout(packet), before = sanitize_layout(original);
    const uint8_t *was = original->data + before.tcp, *now = packet->data + after.tcp;
    enum { PORTS_SEQ = 8, FLAGS = 13 };

    MUST(before.tcp == after.tcp && before.payload == after.payload);
    MUST(memcmp(was, now, PORTS_SEQ) == 0 && memcmp(was + FLAGS, now + FLAGS, 3) == 0);
    MUST(sum_wrong(&before, original) == sum_wrong(&after, packet));
}

/* In order, as long as before, and its checksums as right as they were, or a reserved bit of the
 * BTH set for the damage; nobody's address is left. */
static void on_packet(void *context, uint32_t interface, const struct rpcrdma_packet *packet,
                      bool replayed)
{
    static const uint8_t none[6], broadcast[6] = {255, 255, 255, 255, 255, 255};
    struct run *run = context;
    struct sanitize_layout after = sanitize_layout(packet), before;
    struct rpcrdma_packet original = *packet;
    uint64_t i = packet->frame - 1;

    (void)interface;
    MUST(replayed == (packet->frame % 7 == 0));
    MUST(packet->frame > run->last && packet->frame <= run->given);
    run->last = packet->frame;
    run->emitted++;
    MUST(packet->caplen == run->caplen[i] && packet->len == run->len[i]);
    original.data = run->data[i];
    before = sanitize_layout(&original);
    MUST(before.drop == DROP_NOT && after.drop == DROP_NOT);
    MUST(before.end == after.end && sanitize_is_tcp(&before) == sanitize_is_tcp(&after));
    if (sanitize_is_tcp(&before))
        as_before_of_tcp(&original, packet);
    else
        as_before_of_roce(run, &original, packet);
    for (int mac = 0; mac < after.n_macs; mac++) {
        const uint8_t *old = original.data + before.mac[mac];

        MUST(memcmp(old, none, 6) == 0 || memcmp(old, broadcast, 6) == 0 ||
             memcmp(old, packet->data + after.mac[mac], 6) != 0);
    }
    for (uint32_t k = after.end; k < packet->caplen; k++)
        MUST(packet->data[k] == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run run;
    struct options options = {.max_memory = RPCRDMA_BOUND(8 << 20, 256 << 10)};
    struct fuzz_choices from = {data, size};
    uint64_t dropped = 0;

    /* some with little memory, so that limits bite */
    if (size >= 3 && data[2] & 1)
        options.max_memory = RPCRDMA_BOUND(300000, 60000);
    memset(&run, 0, sizeof(run));
    run.track.options = &options;
    run.track.emit = on_packet;
    run.track.context = &run;
    run.track.shift_s = size & 1;
    for (int i = 0; i < SANITIZE_USES; i++)
        run.track.key.use[i] = (struct siphash_key){{(uint64_t)i, 1}};
    MUST(sanitize_track_begin(&run.track));
    while (from.size >= 3 && run.given < 512) {
        uint32_t caplen = fuzz_u16(&from);
        uint8_t more = fuzz_u8(&from);
        struct rpcrdma_packet packet = {.linktype = 1, .frame = run.given + 1};
        size_t got;
        const uint8_t *bytes = fuzz_bytes(&from, caplen, &got);
        uint8_t *copy = fuzz_copy(bytes, got); /* gone after the call */

        packet.caplen = (uint32_t)got;
        packet.len = (uint32_t)got + more;
        packet.data = copy;
        packet.time_ns = (int64_t)packet.frame * 1000;
        run.data[run.given] = bytes;
        run.caplen[run.given] = packet.caplen;
        run.len[run.given++] = packet.len;
        MUST(sanitize_track_packet(&run.track, 0, &packet, packet.frame % 7 == 0));
        free(copy);
    }
    sanitize_track_end(&run.track);
    for (int i = 0; i < DROP_KINDS; i++)
        dropped += run.track.dropped[i];
    MUST(run.emitted + dropped == run.given); /* nothing is lost silently */
    sanitize_track_free(&run.track);
    return 0;
}
