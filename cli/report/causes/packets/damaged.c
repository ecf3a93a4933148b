/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets whose checksums are wrong: the way changes bits. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

/* What it cost is in what was lost: the receiver drops these. */
void causes_of_damage(struct report *r)
{
    uint64_t icrc = r->rules[RPCRDMA_RULE_ICRC_DAMAGED];
    uint64_t n = icrc + r->rules[RPCRDMA_RULE_TCP_DAMAGED];
    struct report_cause *cause;

    if (n == 0)
        return;
    cause = report_cause_add(r, CAUSE_DAMAGED, CONFIDENCE_HIGH);
    cause->frame = r->rule_frame[icrc > 0 ? RPCRDMA_RULE_ICRC_DAMAGED : RPCRDMA_RULE_TCP_DAMAGED];
    snprintf(cause->text, sizeof(cause->text),
             "%" PRIu64 " packet%s damaged on the way: %s, and those of other packets of %s are "
             "right. %s: a cable, a switch's port or an adapter changes bits.",
             n, n == 1 ? " was" : "s were",
             n == 1 ? "its checksum is wrong" : "their checksums are wrong",
             n == 1 ? "its sender" : "their senders",
             n == 1 ? "Its receiver dropped it" : "Their receivers dropped them");
    if (!r->all_checked)
        snprintf(cause->against, sizeof(cause->against),
                 "only packets that do not fit in were looked at, and there may be more: "
                 "--check-icrc looks at all");
}
