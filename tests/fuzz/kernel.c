/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kernel's trace as text to what it says of each RPC. Input: how much memory there is, then
 * lines. What a line is cut into is in it, an RPC is found by its XID, and times and numbers are
 * those of lines.
 */
#include "fuzz.h"
#include "kernel/records.h"

enum { LINES = 512, LOOKED_AT = 8 };

static char *next(const uint8_t **data, const uint8_t *end)
{
    const uint8_t *eol = memchr(*data, '\n', (size_t)(end - *data));
    size_t n = (size_t)((eol ? eol : end) - *data);
    char *line = malloc(n + 1);

    MUST(line);
    memcpy(line, *data, n);
    line[n] = '\0';
    *data += n + (eol ? 1 : 0);
    return line;
}

static void must_be_within(const struct kernel_line *line, const char *text, size_t size)
{
    uint64_t value;

    MUST(line->event > text && line->event < text + size && *line->event != '\0');
    MUST(line->arguments >= line->event + strlen(line->event));
    MUST(line->arguments <= text + size && line->time_ns >= 0);
    if (kernel_argument(line, "xid=0x", 16, &value))
        MUST(strstr(line->arguments, "xid=0x"));
    if (kernel_completion(line, &value))
        MUST(strstr(line->arguments, "cid="));
}

static void must_be_found(const struct kernel_records *records)
{
    for (guint i = 0; i < records->all->len; i++) {
        const struct kernel_record *record = &g_array_index(records->all, struct kernel_record, i);
        const struct kernel_record *other = kernel_records_find(records, record->xid);
        guint steps = 0;

        for (int point = 0; point < KERNEL_POINTS; point++)
            MUST(record->at[point] == KERNEL_NO_TIME || record->at[point] >= 0);
        if (!record->named)
            continue;
        MUST(other); /* itself, but where too many have its XID */
        for (; other && other != record; other = kernel_records_next(records, other)) {
            MUST(other->xid == record->xid && other->named);
            MUST(steps++ < records->all->len);
        }
        MUST(other || records->too_many_alike > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_choices from = {data, size};
    size_t memory = (size_t)1 << (8 + fuzz_u8(&from) % 12);
    const uint8_t *at = from.data, *end = from.data + from.size;
    struct kernel_records records;
    uint64_t events = 0;

    kernel_records_init(&records, memory);
    for (unsigned i = 0; at < end && i < LINES; i++) {
        char *text = next(&at, end);
        size_t n = strlen(text);
        struct kernel_line line;

        if (kernel_line_parse(text, &line)) {
            must_be_within(&line, text, n + 1);
            kernel_records_line(&records, &line);
            events++;
        } else {
            kernel_line_lost(text);
        }
        MUST(records.events == events && records.all->len <= records.most);
        free(text);
    }
    kernel_records_end(&records);
    must_be_found(&records);
    at = from.data;
    for (unsigned i = 0; at < end && i < LINES; i++) {
        char *text = next(&at, end);
        struct kernel_line line;

        if (kernel_line_parse(text, &line))
            for (guint k = 0; k < records.all->len && k < LOOKED_AT; k++)
                kernel_records_concerns(&g_array_index(records.all, struct kernel_record, k),
                                        &line);
        free(text);
    }
    kernel_records_free(&records);
    return 0;
}
