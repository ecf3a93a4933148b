/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_SHOW_SHOW_H
#define RPCRDMA_CLI_REPORT_SHOW_SHOW_H

/* The report as text, JSON or HTML; and what these have in common: headline.c has the verdict and
 * where the time went, shown.c the rest. Texts are not escaped. */

#include "report/report.h"

void report_text(struct report *report, struct out *out);
void report_json(struct report *report, struct out *out);
void report_html(struct report *report, struct out *out);

/* The verdict's first sentence. */
void report_headline(const struct report *report, char *text, size_t size);
/* Whether it is in order up to its last packet only: what the server did then with Calls that it
 * has is not known. */
bool report_open_end(const struct report *report);
/* Of Calls that were under way; "": none. */
void report_under_way(const struct report *report, char text[REPORT_UNDER_WAY]);
/* What the phases of RPCs come to, data_waiting_ns being part of data_ns. 0: of no RPC it is known.
 */
double report_spent_ns(const struct report *report);
/* That in words, and which operation the most went to; "": it is not known. */
void report_time(const struct report *report, char text[REPORT_TIME]);

/* "call 0.1, server 1.2, ... ms; stalled ...": where the time of an RPC went; "": not known. */
void report_phases(const struct report_rpc *rpc, char *text, size_t size);
/* What a kernel's trace has of an RPC; NULL: nothing. */
const struct kernel_record *report_kernel(const struct report *report, unsigned source,
                                          const struct report_rpc *rpc);
/* At most `most` connections: those that causes name, with most trouble, then the busy ones; what
 * causes name stands first. *left_out: how many there are besides, looked at or not. The caller
 * frees the list. */
GList *report_telling(const struct report *report, guint most, guint *left_out);

/* What the capture lacks: each in words, "": nothing of it. */
enum {
    REPORT_LACKS_GAPS,
    REPORT_LACKS_STATUSES,
    REPORT_LACKS_ENCRYPTED,
    REPORT_LACKS_LOST,
    REPORT_LACKS_PAUSED,
    REPORT_LACKS_ONCE, /* what is there twice */
    N_REPORT_LACKS
};
void report_lack(const struct report *report, int which, char text[REPORT_LACK]);
/* Why not all of the input could be read: how many reasons are told. */
unsigned report_unread(const struct report *report);
const char *report_unread_text(const struct report *report, unsigned which);
/* How many there are besides: "and 4 more; see --json". */
uint64_t report_unread_more(const struct report *report, char *text, size_t size);
/* And that JSON has not, either. */
uint64_t report_problems_left_out(const struct report *report);
/* What was read and may be wrong; NULL: nothing else. */
const char *report_doubt(const struct report *report, unsigned which);
/* There are causes, and nothing was left without an answer for them. */
bool report_all_answered(const struct report *report);

#endif
