/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of a trace that are about one RPC. */
#include "kernel/kernel_state.h"

#include <string.h>

enum { MOVED = 32 }; /* chunks of an RPC that the server moves at a time */

/* Behind the task and the XID, which are the RPC's. */
static const char *without_names(const char *text)
{
    static const char *const names[] = {"task:", "xid=0x"};

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_has_prefix(text, names[i])) {
            text += strcspn(text, " ");
            text += strspn(text, " ");
        }
    return text;
}

/* Chunks that the server moves for the RPC: their completions name it by number only. */
struct moved {
    uint64_t completions[MOVED];
    unsigned n;
};

static bool is_moved(struct moved *moved, const struct kernel_record *record,
                     const struct kernel_line *line)
{
    bool concerns = kernel_records_concerns(record, line);
    uint64_t completion;

    if (!g_str_has_prefix(line->event, "svcrdma_") || !kernel_completion(line, &completion))
        return concerns;
    if (concerns && g_str_has_prefix(line->event, "svcrdma_post_") &&
        g_str_has_suffix(line->event, "_chunk") && moved->n < MOVED)
        moved->completions[moved->n++] = completion;
    if (strcmp(line->event, "svcrdma_wc_read") != 0 && strcmp(line->event, "svcrdma_wc_write") != 0)
        return concerns;
    for (unsigned i = 0; i < moved->n; i++)
        if (moved->completions[i] == completion) {
            moved->completions[i] = moved->completions[--moved->n];
            return true;
        }
    return false;
}

void kernel_lines(const struct kernel *kernel, unsigned i, const struct kernel_record *record,
                  kernel_line_fn *each, void *context)
{
    struct kernel_trace *source = &kernel->sources[i];
    int64_t first = KERNEL_NO_TIME, last = KERNEL_NO_TIME;
    struct moved moved = {0};
    char buffer[KERNEL_LINE];
    struct kernel_line line;

    for (unsigned p = 0; p < KERNEL_POINTS; p++) {
        if (record->at[p] == KERNEL_NO_TIME)
            continue;
        if (first == KERNEL_NO_TIME || record->at[p] < first)
            first = record->at[p];
        last = MAX(last, record->at[p]);
    }
    rewind(source->file);
    while (kernel_next_line(source, buffer, &line))
        if (line.time_ns >= first && line.time_ns <= last && is_moved(&moved, record, &line))
            each(context, kernel_clock_capture(&source->pub.clock, line.time_ns), line.event,
                 without_names(line.arguments));
}
