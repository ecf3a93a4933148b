/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CHECK_REPORT_H
#define RPCRDMA_CLI_CHECK_REPORT_H

/* What check writes at its end: a summary, or a report in a format that CI systems read. */

#include "check/check_options.h"
#include "check/tally.h"
#include "out/json_writer.h"
#include "out/view.h"

struct check_report {
    const struct check_options *options;
    const struct tally *tally;
    const struct options *input; /* files or devices */
    const GPtrArray *problems;   /* why not all of it could be read: texts */
    bool nothing;                /* it could, and there is no RPC-over-RDMA: a problem, too */
    struct out *out;
    const struct view_clock *clock;
};

static inline guint check_report_inputs(const struct check_report *report)
{
    return report->input->n_files + report->input->n_devices;
}

void check_summary_text(const struct check_report *report);
void check_summary_json(const struct check_report *report);

void check_junit(const struct check_report *report);
void check_sarif(const struct check_report *report);
void check_tap(const struct check_report *report);

/* Of the rules that are looked for, once per name: is it one; has it a finding that makes check
 * fail? */
bool check_report_has(const struct check_report *report, enum rpcrdma_rule_id id);
bool check_report_fails(const struct check_report *report, enum rpcrdma_rule_id id);

#endif
