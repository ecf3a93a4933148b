/* SPDX-License-Identifier: BSD-2-Clause */
/* Times in which all slots of a session were in use (NFSv4.1). */
#include "report/collect/collect.h"

#include "common/times.h"

void report_note_full(struct report_tally *tally, const struct rpcrdma_transaction *t)
{
    struct report_full *full = &report_trouble(tally)->full;
    const struct rpcrdma_phases *phases = &t->phases;

    full->slots = t->slots;
    full->asked = t->slots_asked;
    full->times++;
    full->ns = time_plus(full->ns, t->slots_full_ns);
    if (t->slots_full_ns >= SECOND) {
        full->hung++;
        full->hung_ns = time_plus(full->hung_ns, t->slots_full_ns);
    } else if (t->slots_full_ns > full->longest_ns) {
        full->longest_ns = t->slots_full_ns;
        full->frame = t->call_frame;
    }
    if (!t->has_phases)
        return;
    full->way_ns = time_plus(full->way_ns, time_plus(phases->call_ns, phases->reply_ns));
    full->latency_ns = time_plus(full->latency_ns, t->latency_ns);
}
