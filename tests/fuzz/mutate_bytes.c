/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer's mutator of mere bytes, for who runs the targets or their mutators without it. */
#include <string.h>

#include "mutate.h"

static uint64_t state = 0x9e3779b97f4a7c15;

static uint32_t next_random(void) /* xorshift64* */
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * UINT64_C(2685821657736338717)) >> 32);
}

/* Without growing: `max` is there because libFuzzer's has it. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    static const uint32_t interesting[] = {0, 1, 2, 4, 0x7fffffff, 0x80000000, 0xffffffff, 0x10};
    uint32_t changes = 1 + next_random() % 4;

    while (changes-- > 0 && size > 0) {
        size_t at = next_random() % size;
        uint32_t word = interesting[next_random() % 8];

        switch (next_random() % 5) {
        case 0:
            data[at] ^= (uint8_t)(1u << next_random() % 8);
            break;
        case 1:
            data[at] = (uint8_t)next_random();
            break;
        case 2: /* a word, where words are */
            at &= ~(size_t)3;
            for (size_t i = 0; i < 4 && at + i < size; i++)
                data[at + i] = (uint8_t)(word >> (24 - 8 * i));
            break;
        case 3: /* some bytes are gone */
            if (size - at > 4) {
                memmove(data + at, data + at + 4, size - at - 4);
                size -= 4;
            }
            break;
        case 4:
            size = at;
            break;
        }
    }
    return size < max ? size : max;
}
