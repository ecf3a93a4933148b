/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/siphash.h"

#include <stdatomic.h>
#include <sys/random.h>
#include <time.h>

enum { NOT_MADE, IS_BEING_MADE, IS_MADE };

static struct siphash_key own;
static atomic_int state;

static void make(struct siphash_key *key)
{
#ifdef RPCRDMA_FUZZ
    *key = (struct siphash_key){{1, 2}}; /* the same input takes the same way */
#else
    if (getrandom(key, sizeof(*key), GRND_NONBLOCK) == (ssize_t)sizeof(*key))
        return;
    /* just after the machine was switched on: better than one key for everyone */
    key->k[0] = (uint64_t)time(NULL) * UINT64_C(0x9e3779b97f4a7c15);
    key->k[1] = (uint64_t)(uintptr_t)key ^ (uint64_t)clock();
#endif
}

struct siphash_key siphash_key(void)
{
    int before = NOT_MADE;

    if (atomic_load_explicit(&state, memory_order_acquire) == IS_MADE)
        return own;
    if (atomic_compare_exchange_strong(&state, &before, IS_BEING_MADE)) {
        make(&own);
        atomic_store_explicit(&state, IS_MADE, memory_order_release);
    }
    while (atomic_load_explicit(&state, memory_order_acquire) != IS_MADE)
        ; /* another thread is at it */
    return own;
}

void siphash_set_key(struct siphash_key key)
{
    own = key;
    atomic_store_explicit(&state, IS_MADE, memory_order_release);
}
