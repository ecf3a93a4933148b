/* SPDX-License-Identifier: BSD-2-Clause */
/* Input: an opttype; the optinfo of an RDMA2_OPTIONAL message in the dialect that carries xchar. */
#include "wire/xchar.h"
#include "fuzz.h"
#include "wire/dialect.h"
#include "wire/property.h"

enum { MAX = 4096 };

static void walk(const struct rpcrdma_propset *set, const struct rpcrdma_message *message)
{
    struct rpcrdma_property_iter it = rpcrdma_property_begin(set, message->dialect, true);
    struct rpcrdma_property property;
    uint32_t n = 0;
    unsigned sum = 0;

    while (rpcrdma_property_next(&it, &property)) {
        MUST(property.data.off <= message->caplen);
        MUST(property.data.caplen <= message->caplen - property.data.off);
        for (uint32_t i = 0; i < property.data.caplen; i++)
            sum += property.data.data[i];
        n++;
    }
    MUST(n == set->count && sum <= message->caplen * 255);
}

static void walk_subset(const struct rpcrdma_words *subset)
{
    uint32_t set = 0, bits = 0;

    for (uint32_t i = 0; i < subset->count * 32; i++)
        set += rpcrdma_subset_has(subset, i);
    for (uint32_t i = 0; i < subset->count; i++)
        for (uint32_t word = rpcrdma_words_get(subset, i); word; word &= word - 1)
            bits++;
    MUST(set == bits && !rpcrdma_subset_has(subset, UINT32_MAX));
}

static void walk_all(const struct rpcrdma_xchar *xchar, const struct rpcrdma_message *message)
{
    walk(&xchar->start, message);
    walk(&xchar->want, message);
    walk(&xchar->now, message);
    walk_subset(&xchar->nochg);
    walk_subset(&xchar->done);
    walk_subset(&xchar->rej);
    walk_subset(&xchar->pend);
}

static void round_trip(const struct rpcrdma_xchar *xchar, const struct rpcrdma_span *info)
{
    static uint8_t again[MAX];
    size_t written;

    MUST(rpcrdma_xchar_encode(xchar, again, sizeof(again), &written) == RPCRDMA_OK);
    MUST(written <= info->len && (xchar->trailing || written == info->len));
    MUST(memcmp(again, info->data, written) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[MAX];
    const struct rpcrdma_dialect *dialect = rpcrdma_dialect(RPCRDMA_CEL_01);
    struct rpcrdma_message message = {.dialect = dialect, .version = 2, .type = 5}, part;
    struct rpcrdma_xchar whole, less;
    size_t len;
    uint8_t *copy;

    if (size < 1 || size > MAX - 64)
        return 0;
    message.optional.type = data[0] % 6;
    message.optional.info.data = data + 1;
    message.optional.info.caplen = message.optional.info.len = (uint32_t)size - 1;
    MUST(rpcrdma_message_encode(&message, bytes, sizeof(bytes), &len) == RPCRDMA_OK);
    copy = fuzz_copy(bytes, len);
    MUST(rpcrdma_message_decode(dialect, copy, len, len, &message) == RPCRDMA_OK);
    MUST(message.optional.info.len == size - 1);
    if (rpcrdma_xchar_decode(&message, &whole)) {
        MUST(whole.status != RPCRDMA_TRUNCATED);
        MUST(whole.status == RPCRDMA_OK || (whole.what && whole.error_off <= len));
        walk_all(&whole, &message);
        if (whole.status == RPCRDMA_OK && !whole.noncanonical)
            round_trip(&whole, &message.optional.info);
        for (size_t n = 0; fuzz_cut(&n, len);) {
            uint8_t *cut = fuzz_copy(bytes, n);

            rpcrdma_message_decode(dialect, cut, n, len, &part);
            if (rpcrdma_xchar_decode(&part, &less)) {
                MUST_FOLLOW(&whole, &less);
                MUST((less.present & ~whole.present) == 0);
                walk_all(&less, &part);
            }
            free(cut);
        }
    } else {
        MUST(!rpcrdma_xchar_name(data[0] % 6));
    }
    free(copy);
    return 0;
}
