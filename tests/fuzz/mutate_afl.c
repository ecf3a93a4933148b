/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AFL++'s interface to the mutations of capture files (AFL_CUSTOM_MUTATOR_LIBRARY): the same bytes
 * as capture.c's without the choice before them.
 */
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

const enum mutate_format mutate_format = MUTATE_FILE;

struct afl {
    uint8_t *bytes; /* the choice, then the file */
    size_t room;
};

void *afl_custom_init(void *afl, unsigned seed);
size_t afl_custom_fuzz(struct afl *mine, uint8_t *data, size_t size, uint8_t **out,
                       const uint8_t *add, size_t add_size, size_t max);
void afl_custom_deinit(struct afl *mine);

void *afl_custom_init(void *afl, unsigned seed)
{
    (void)afl;
    srand(seed);
    return calloc(1, sizeof(struct afl));
}

size_t afl_custom_fuzz(struct afl *mine, uint8_t *data, size_t size, uint8_t **out,
                       const uint8_t *add, size_t add_size, size_t max)
{
    (void)add;
    (void)add_size;
    if (mine->room < max + 1) {
        free(mine->bytes);
        mine->bytes = malloc(max + 1);
        mine->room = mine->bytes ? max + 1 : 0;
    }
    *out = data;
    if (!mine->bytes || size > max)
        return size;
    mine->bytes[0] = 0;
    memcpy(mine->bytes + 1, data, size);
    size = LLVMFuzzerCustomMutator(mine->bytes, size + 1, max + 1, (unsigned)rand());
    *out = mine->bytes + 1;
    return size > 0 ? size - 1 : 0;
}

void afl_custom_deinit(struct afl *mine)
{
    free(mine->bytes);
    free(mine);
}
