/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets to messages. Input: Ethernet packets, each after three bytes: captured length (16 bits,
 * big-endian) and how many bytes more there were on the wire.
 */
#include "fuzz.h"
#include "mutate.h"
#include "watch.h"

const enum mutate_format mutate_format = MUTATE_RECORDS;

/* What of each packet is captured: so many bytes, and so many of its last are not. */
struct cut {
    uint32_t snaplen, lost;
};

static void run(struct fuzz_choices from, const struct watch_config *config, struct cut cut,
                struct watch *watch)
{
    uint64_t frame = 0;

    watch_begin(watch, config);
    while (from.size >= 3) {
        uint32_t caplen = fuzz_u16(&from);
        uint8_t more = fuzz_u8(&from), *copy;
        struct rpcrdma_packet packet = {.linktype = 1, .frame = ++frame};
        size_t got;
        const uint8_t *bytes = fuzz_bytes(&from, caplen, &got);

        packet.len = (uint32_t)got + more;
        packet.caplen = got > cut.snaplen ? cut.snaplen : (uint32_t)got;
        packet.caplen -= packet.caplen > cut.lost ? cut.lost : packet.caplen;
        copy = fuzz_copy(bytes, packet.caplen); /* gone after the call: nothing may keep it */
        packet.data = copy;
        packet.time_ns = (int64_t)frame * 1000;
        watch_packet(watch, &packet);
        free(copy);
    }
    watch_end(watch);
}

/*
 * What is well formed is so with less of it captured; unless it is not taken for the same,
 * because what told it from something else is gone. That can be
 * - that it is a message, and of which connection,
 * - where FPDUs begin in a TCP stream whose start was not captured, or which has holes:
 * segments that contradict each other (other bytes at the same place) are read from another one
 * on,
 * - the dialect of version 2: of messages that no dialect explains all, the first one of which
 *   enough was captured chooses, and it is another's turn to be malformed; or one is of another
 *   connection, which has another dialect.
 * A Read Response is as long as was asked for, too. `start`: of each packet that is captured; else
 * which of two start-up frames at one place is read depends on which of them is cut.
 */
static void compare(const struct watch *whole, const struct watch *part, bool start)
{
    if (part->inferred || part->dialects != whole->dialects)
        return;
    MUST(!part->malformed_net || !start);
    MUST(!part->read_long || whole->read_long);
    for (size_t i = 0; i < WATCH_FRAMES; i++)
        MUST(!part->at[i].malformed || !whole->at[i].message ||
             part->at[i].dialects != whole->at[i].dialects);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct watch whole, part;
    /* some with little memory, so that limits bite */
    const struct watch_config config = {
        .credits = true, .whole = true, .max_memory = size >= 3 && data[2] & 1 ? 300000 : 0};
    const struct fuzz_choices from = {data, size};
    /* a snap length; or what is shorter than most headers, of packets that are known by the others:
     * of a Read Request there is not much more than its header */
    const struct cut cuts[] = {{64 + (uint32_t)(size % 200), 0},
                               {UINT32_MAX, 1 + (uint32_t)(size % 32)}};

    run(from, &config, (struct cut){UINT32_MAX, 0}, &whole);
    if (size < 3 || whole.malformed > 0 || config.max_memory)
        return 0;
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        run(from, &config, cuts[i], &part);
        compare(&whole, &part, i == 0);
    }
    return 0;
}
