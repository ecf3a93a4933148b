/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets to messages. Input: Ethernet packets, each after three bytes: captured length (16 bits,
 * big-endian) and how many bytes more there were on the wire.
 */
#include "fuzz.h"
#include "mutate.h"
#include "watch.h"

const enum mutate_format mutate_format = MUTATE_RECORDS;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* some with little memory, so that limits bite */
    const struct watch_config config = {
        .credits = true, .whole = true, .max_memory = size >= 3 && data[2] & 1 ? 300000 : 0};
    struct fuzz_choices from = {data, size};
    struct watch watch;
    uint64_t frame = 0;

    watch_begin(&watch, &config);
    while (from.size >= 3) {
        uint32_t caplen = fuzz_u16(&from);
        uint8_t more = fuzz_u8(&from), *copy;
        struct rpcrdma_packet packet = {.linktype = 1, .frame = ++frame};
        size_t got;
        const uint8_t *bytes = fuzz_bytes(&from, caplen, &got);

        copy = fuzz_copy(bytes, got); /* gone after the call: nothing may keep it */
        packet.data = copy;
        packet.caplen = (uint32_t)got;
        packet.len = packet.caplen + more;
        packet.time_ns = (int64_t)frame * 1000;
        watch_packet(&watch, &packet);
        free(copy);
    }
    watch_end(&watch);
    return 0;
}
