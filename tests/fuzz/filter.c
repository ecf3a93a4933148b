/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --where: an expression, and values to hold it against. Input: which records it is about, the
 * expression up to a NUL, then values: which of the expression's fields, which kind of value, the
 * value.
 */
#include <glib.h>

#include "filter/filter.h"
#include "fuzz.h"

static const enum rpcrdma_record_id *records_of(unsigned choice)
{
    switch (choice % 4) {
    case 0:
        return filter_of_messages;
    case 1:
        return filter_of_rpcs;
    case 2:
        return filter_of_extracts;
    default:
        return filter_of_triggers;
    }
}

/* What is wrong is named, at a place in the text, and on one line. */
static struct filter *compile(const char *text, const enum rpcrdma_record_id *records)
{
    struct filter_error error = {0};
    struct filter *filter = filter_new(text, records, &error);

    if (!filter) {
        MUST(error.text[0] && memchr(error.text, '\0', sizeof(error.text)));
        MUST(!strchr(error.text, '\n'));
        MUST(error.at <= strlen(text)); /* behind its end where something is missing */
        MUST(error.length == 1 || error.length <= strlen(text) - error.at);
    }
    return filter;
}

static void give_address(struct filter *filter, enum rpcrdma_field_id field,
                         struct fuzz_choices *from)
{
    struct rpcrdma_address address = {.family = fuzz_u8(from) % 2 ? RPCRDMA_ADDRESS_IPV4
                                                                  : RPCRDMA_ADDRESS_IPV6};

    for (size_t i = 0; i < (address.family == RPCRDMA_ADDRESS_IPV4 ? 4 : 16); i++)
        address.bytes[i] = fuzz_u8(from);
    filter_address(filter, field, &address);
}

static void give_value(struct filter *filter, enum rpcrdma_field_id field,
                       struct fuzz_choices *from)
{
    const uint8_t *data;
    uint8_t *bytes;
    char *text;
    size_t n;

    switch (fuzz_u8(from) % 6) {
    case 0:
        filter_number(filter, field, fuzz_u8(from), NULL);
        break;
    case 1:
        filter_number(filter, field, (uint64_t)fuzz_u32(from) << 32 | fuzz_u32(from), "RDMA_MSG");
        break;
    case 2:
        filter_signed(filter, field, (int32_t)fuzz_u32(from));
        break;
    case 3:
        data = fuzz_bytes(from, fuzz_u8(from), &n);
        bytes = fuzz_copy(data, n);
        filter_bytes(filter, field, bytes, n);
        free(bytes);
        break;
    case 4:
        data = fuzz_bytes(from, fuzz_u8(from), &n);
        text = g_strndup((const char *)data, n);
        filter_text(filter, field, text);
        g_free(text);
        break;
    default:
        give_address(filter, field, from);
    }
}

/* The same to all three. */
static void give(struct filter *const filters[3], struct fuzz_choices *from)
{
    enum rpcrdma_field_id needed[FILTER_FIELDS];
    unsigned n = 0;

    for (int id = 0; id < RPCRDMA_FIELD_COUNT; id++)
        if (filter_needs(filters[0], (enum rpcrdma_field_id)id)) {
            MUST(n < FILTER_FIELDS);
            needed[n++] = (enum rpcrdma_field_id)id;
        }
    for (unsigned values = 0; n > 0 && from->size > 0 && values < 200; values++) {
        enum rpcrdma_field_id field = needed[fuzz_u8(from) % n];
        struct fuzz_choices before = *from;

        for (int i = 2; i >= 0; i--) {
            *from = before;
            if (filters[i]) /* the first always is */
                give_value(filters[i], field, from);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_choices from = {data, size};
    const enum rpcrdma_record_id *records = records_of(fuzz_u8(&from));
    const uint8_t *end = from.size > 0 ? memchr(from.data, '\0', from.size) : NULL;
    size_t n, length = end ? (size_t)(end - from.data) : from.size;
    const uint8_t *expression = fuzz_bytes(&from, length, &n);
    char *text = g_strndup((const char *)expression, n);
    char *not_so = g_strdup_printf("!(%s)", text),
         *both = g_strdup_printf("(%s) && (%s)", text, text);
    struct filter *filters[3] = {compile(text, records)};

    fuzz_u8(&from);
    if (filters[0]) {
        /* NULL where this makes it too deep or too long */
        filters[1] = compile(not_so, records);
        filters[2] = compile(both, records);
        for (int object = 0; object < 2; object++) {
            for (int i = 0; i < 3; i++)
                if (filters[i])
                    filter_begin(filters[i]);
            if (object == 0) /* the second has no value at all */
                give(filters, &from);
            MUST(!filters[1] || filter_match(filters[1]) != filter_match(filters[0]));
            MUST(!filters[2] || filter_match(filters[2]) == filter_match(filters[0]));
        }
    }
    for (int i = 0; i < 3; i++)
        filter_free(filters[i]);
    g_free(text);
    g_free(not_so);
    g_free(both);
    return 0;
}
