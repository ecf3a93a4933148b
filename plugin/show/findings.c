/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/show.h"

#include <epan/column-utils.h>

#include "finding.h"

/* Findings, each with its expert item: of a message, and of the frame. */

/* What was cut off by the capture is in many. */
void mention_finding(packet_info *pinfo, const struct rpcrdma_rule *rule)
{
    if (rule->id != RPCRDMA_RULE_TRUNCATED && rule->id != RPCRDMA_RULE_RPC_CUT)
        col_append_fstr(pinfo->cinfo, COL_INFO, " [%s]", rule->name);
}

void put_finding(packet_info *pinfo, proto_tree *tree, tvbuff_t *tvb,
                 const struct rpcrdma_finding *finding)
{
    const struct rpcrdma_rule *rule = rpcrdma_rule(finding->rule);
    int off = 0, captured = (int)tvb_captured_length(tvb);
    char text[512];
    proto_item *item;
    proto_tree *sub;

    rpcrdma_finding_text(finding, text, sizeof(text));
    if (finding->offset > 0)
        off = (int)MIN(finding->offset, captured);
    item = proto_tree_add_item(tree, record_hf(RPCRDMA_RECORD_FINDING), tvb, off, 0, ENC_NA);
    proto_item_set_generated(item);
    proto_item_set_text(item, "%s", text);
    sub = proto_item_add_subtree(item, record_ett(RPCRDMA_RECORD_FINDING));
    proto_tree_add_string(sub, field_hf(RPCRDMA_FIELD_FINDING_SEVERITY), tvb, off, 0,
                          rpcrdma_severity_name(rule->severity));
    proto_tree_add_string(sub, field_hf(RPCRDMA_FIELD_FINDING_RULE), tvb, off, 0, rule->name);
    if (rule->section)
        proto_tree_add_string(sub, field_hf(RPCRDMA_FIELD_FINDING_SECTION), tvb, off, 0,
                              rule->section);
    if (finding->offset >= 0)
        proto_tree_add_uint64(sub, field_hf(RPCRDMA_FIELD_FINDING_OFFSET), tvb, off, 0,
                              (uint64_t)finding->offset);
    proto_tree_add_string(sub, field_hf(RPCRDMA_FIELD_FINDING_TEXT), tvb, off, 0, text);
    field_expert(pinfo, item, finding, text);
}

void show_findings(const struct frame_note *note, tvbuff_t *raw, packet_info *pinfo,
                   proto_tree *tree)
{
    const struct found *found = note_more(note)->findings;
    enum rpcrdma_rule_id last = RPCRDMA_RULE_COUNT;
    proto_item *item;
    proto_tree *sub;

    if (!found)
        return;
    item =
        proto_tree_add_protocol_format(tree, proto_rpcrdma, raw, 0, 0, "RPC-over-RDMA, findings");
    sub = proto_item_add_subtree(item, record_ett(RPCRDMA_RECORD_FINDINGS));
    for (; found; found = found->next) {
        if (found->has_xid)
            proto_item_set_generated(
                proto_tree_add_uint(sub, field_hf(RPCRDMA_FIELD_RPCS_XID), raw, 0, 0, found->xid));
        put_finding(pinfo, sub, raw, &found->finding);
        if (found->finding.rule != last) /* an RPC with many gaps has one for each */
            mention_finding(pinfo, rpcrdma_rule(found->finding.rule));
        last = found->finding.rule;
    }
}
