/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets to messages. Input: Ethernet packets, each after three bytes: captured length (16 bits,
 * big-endian) and how many bytes more there were on the wire.
 */
#include "fuzz.h"
#include "mutate.h"
#include "watch.h"

const enum mutate_format mutate_format = MUTATE_RECORDS;

/* snaplen: bytes of each packet that are captured; 0: all that are there. */
static void run(struct fuzz_choices from, const struct watch_config *config, uint32_t snaplen,
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
        packet.caplen = snaplen > 0 && got > snaplen ? snaplen : (uint32_t)got;
        copy = fuzz_copy(bytes, packet.caplen); /* gone after the call: nothing may keep it */
        packet.data = copy;
        packet.time_ns = (int64_t)frame * 1000;
        watch_packet(watch, &packet);
        free(copy);
    }
    watch_end(watch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct watch whole, part;
    /* some with little memory, so that limits bite */
    const struct watch_config config = {
        .credits = true, .whole = true, .max_memory = size >= 3 && data[2] & 1 ? 300000 : 0};
    const struct fuzz_choices from = {data, size};

    run(from, &config, 0, &whole);
    if (size < 3 || whole.malformed > 0 || config.max_memory)
        return 0;
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
     */
    run(from, &config, 64 + (uint32_t)(size % 200), &part);
    if (part.inferred || part.dialects != whole.dialects)
        return 0;
    MUST(!part.malformed_net);
    for (size_t i = 0; i < WATCH_FRAMES; i++)
        MUST(!part.at[i].malformed || !whole.at[i].message ||
             part.at[i].dialects != whole.at[i].dialects);
    return 0;
}
