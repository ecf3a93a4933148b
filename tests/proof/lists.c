/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The iterators, over lists that stand in any bytes: PROOF_LIST says which. A list's size is what
 * its block has; what else it says (the counts) may be anything, so that nothing is taken from a
 * decoder but that the bytes it calls the list's are within the message, which within.c shows.
 */
#include "proof.h"
#include "wire/chunk.h"
#include "wire/message.h"
#include "wire/property.h"

static void segments(const struct rpcrdma_chunk *chunk)
{
    //@ split chunk->count;
    for (uint32_t i = 0; i < chunk->count; i++)
        rpcrdma_chunk_segment(chunk, i);
    rpcrdma_chunk_length(chunk);
}

static void chunk(const uint8_t *data, size_t size)
{
    struct rpcrdma_chunk chunk = {
        .wire = data, .count = (uint32_t)(size / RPCRDMA_SEGMENT_SIZE), .declared = any_word()};

    segments(&chunk);
}

/* One step of an iterator in any state makes any number of steps from the first. */
static void read_list(const uint8_t *data, size_t size)
{
    struct rpcrdma_read_iter it = {
        .list = {.wire = data,
                 .count = (uint32_t)(size / (4 + RPCRDMA_READ_SEGMENT_SIZE)),
                 .off = any_word()},
        .index = any_word(),
        .off = any_word()};
    struct rpcrdma_read_segment segment;

    rpcrdma_read_next(&it, &segment);
}

static void write_step(const uint8_t *data, size_t size, uint32_t pos)
{
    struct rpcrdma_write_iter it = {
        .list = {.wire = data, .size = (uint32_t)size, .count = any_word(), .off = any_word()},
        .index = any_word(),
        .pos = pos};
    struct rpcrdma_chunk chunk;

    if (rpcrdma_write_next(&it, &chunk))
        segments(&chunk);
}

static void write_list(const uint8_t *data, size_t size)
{
    //@ loop unroll 100000;
    for (uint32_t pos = 0; pos < size; pos += 8) /* a head has 8, a segment 16 */
        write_step(data, size, pos);
    write_step(data, size, Frama_C_unsigned_int_interval((uint32_t)size, UINT32_MAX));
}

static void property_step(const uint8_t *data, size_t size, uint32_t pos)
{
    struct rpcrdma_property_iter it = {.set = {.wire = {.data = data,
                                                        .len = (uint32_t)size,
                                                        .caplen = (uint32_t)size,
                                                        .off = any_word()},
                                               .count = any_word()},
                                       .dialect = rpcrdma_dialect(RPCRDMA_V1),
                                       .xchar = maybe(),
                                       .index = any_word(),
                                       .pos = pos};
    struct rpcrdma_property property;
    uint8_t last;

    if (rpcrdma_property_next(&it, &property) && property.data.caplen > 0)
        last = property.data.data[property.data.caplen - 1];
}

static void properties(const uint8_t *data, size_t size)
{
    //@ loop unroll 100000;
    for (uint32_t pos = 0; pos < size; pos += 4)
        property_step(data, size, pos);
    property_step(data, size, Frama_C_unsigned_int_interval((uint32_t)size, UINT32_MAX));
}

static void words(const uint8_t *data, size_t size)
{
    struct rpcrdma_words words = {.wire = data, .count = (uint32_t)(size / 4)};

    //@ loop unroll 100000;
    for (uint32_t i = 0; i < words.count; i++) {
        rpcrdma_words_get(&words, i);
        rpcrdma_subset_has(&words, Frama_C_unsigned_int_interval(i * 32, i * 32 + 31));
    }
    rpcrdma_subset_has(&words, Frama_C_unsigned_int_interval(words.count * 32, UINT32_MAX));
}

int main(void)
{
    //@ loop unroll 100000;
    for (size_t size = PROOF_FIRST; size <= PROOF_LAST; size++) {
        uint8_t *data = any_bytes(size);

        PROOF_LIST(data, size);
        free(data);
    }
    return 0;
}
