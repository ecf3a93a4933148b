/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/stream/stream_state.h"

/* The PSN with which the requests of a direction begin: its set-up says it, or an Ack lets it be
 * presumed. */

void flow_stream_start(struct flow_direction *dir, uint32_t psn)
{
    struct stream *s = stream_of(dir);

    s->next = psn & 0xffffff;
    s->started = true;
    s->fresh = true;
    s->presumed = false;
}

bool flow_stream_begins(const struct flow_direction *dir, uint32_t first, uint32_t *psn)
{
    const struct stream *s = stream_of_const(dir);

    *psn = s->presumed ? stream_presumed(s, first) : s->next;
    return s->started && s->fresh;
}

bool flow_stream_expects(const struct flow_direction *dir, uint32_t *psn)
{
    const struct stream *s = stream_of_const(dir);

    *psn = s->next;
    return s->started && !s->fresh;
}

void flow_stream_presume(struct flow_direction *dir, uint32_t first, uint32_t acked)
{
    struct stream *s = stream_of(dir);

    flow_stream_start(dir, first);
    s->presumed = s->has_acked = true;
    s->acked = acked & 0xffffff;
}

/* All before it has to be acknowledged: an Ack of another connection seldom is of the one before.
 */
uint32_t stream_presumed(const struct stream *s, uint32_t first)
{
    enum { FEW_MISSING = 64 };
    int32_t missing = s->presumed ? rpcrdma_psn_diff(first, s->next) : 0;

    return missing > 0 && missing <= FEW_MISSING && rpcrdma_psn_diff(s->acked, first) >= -1
               ? s->next
               : first;
}
