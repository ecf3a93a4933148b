/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_DECODE_MESSAGE_SUMMARY_H
#define RPCRDMA_CLI_DECODE_MESSAGE_SUMMARY_H

/* Messages summed up per connection, type and procedure: inline against chunks, segments, sizes,
 * invalidation. Bounded: what is beyond MESSAGE_SUMMARY_MOST rows is one, "(others)". */

#include "flow/flow.h"
#include "out/out.h"

enum { MESSAGE_SUMMARY_MOST = 4096 };

struct message_summary;

struct message_summary *message_summary_new(void);
void message_summary_free(struct message_summary *summary);
void message_summary_add(struct message_summary *summary,
                         const struct rpcrdma_flow_message *message);
void message_summary_text(struct message_summary *summary, struct out *out);
void message_summary_json(struct message_summary *summary, struct out *out);

#endif
