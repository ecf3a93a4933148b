/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/kernel.h"

#include <stdio.h>

static const struct kernel_phase phases[KERNEL_SIDES][KERNEL_PHASES] = {
    [KERNEL_CLIENT] =
        {
            {"prepare", {JSON_KEY_prepare_ns}, KERNEL_BEGUN, KERNEL_STARTED, KERNEL_BEGUN},
            {"slot", {JSON_KEY_slot_ns}, KERNEL_STARTED, KERNEL_SLOT, KERNEL_STARTED},
            {"queue", {JSON_KEY_queue_ns}, KERNEL_SLOT, KERNEL_REGISTERING, KERNEL_SLOT},
            {"registration",
             {JSON_KEY_registration_ns},
             KERNEL_REGISTERING,
             KERNEL_POSTED,
             KERNEL_MARSHALLED},
            {"completion", {JSON_KEY_completion_ns}, KERNEL_REPLIED, KERNEL_DONE, KERNEL_REPLIED},
        },
    [KERNEL_SERVER] =
        {
            {"thread", {JSON_KEY_thread_ns}, KERNEL_RECEIVED, KERNEL_TAKEN, KERNEL_RECEIVED},
            {"read", {JSON_KEY_read_ns}, KERNEL_TAKEN, KERNEL_PROCESSED, KERNEL_TAKEN},
            {"execute", {JSON_KEY_execute_ns}, KERNEL_PROCESSED, KERNEL_EXECUTED, KERNEL_PROCESSED},
            {"answer", {JSON_KEY_answer_ns}, KERNEL_EXECUTED, KERNEL_ANSWERED, KERNEL_EXECUTED},
        },
};

const struct kernel_phase *kernel_phases(enum kernel_side side)
{
    return phases[side];
}

const char *kernel_side_name(enum kernel_side side)
{
    return side == KERNEL_CLIENT ? "client" : "server";
}

bool kernel_phase_ns(const struct kernel_record *record, unsigned phase, int64_t *ns)
{
    const struct kernel_phase *p = &phases[record->side][phase];
    int64_t from = record->at[p->from], to = record->at[p->to];

    if (!p->name)
        return false;
    if (from == KERNEL_NO_TIME)
        from = record->at[p->or_from];
    /* a Call without chunks registers nothing: it waits until it is marshalled */
    if (record->side == KERNEL_CLIENT && p->to == KERNEL_REGISTERING && to == KERNEL_NO_TIME)
        to = record->at[KERNEL_MARSHALLED];
    if (from == KERNEL_NO_TIME || to == KERNEL_NO_TIME || to < from)
        return false;
    *ns = to - from;
    return true;
}

void kernel_phases_text(const struct kernel_record *record, char *text, size_t size)
{
    size_t n = 0;

    *text = '\0';
    for (unsigned i = 0; i < KERNEL_PHASES; i++) {
        int64_t ns;

        if (!kernel_phase_ns(record, i, &ns) || n >= size)
            continue;
        n += (size_t)snprintf(text + n, size - n, "%s%s %.3f", n > 0 ? ", " : "",
                              phases[record->side][i].name, (double)ns / 1e6);
    }
    if (n > 0 && n < size)
        snprintf(text + n, size - n, " ms");
}
