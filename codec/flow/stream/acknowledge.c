/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/stream/stream_state.h"

bool flow_stream_missing(const struct flow_direction *dir)
{
    const struct stream *s = stream_of_const(dir);

    return s->started && s->has_acked && !s->resync && rpcrdma_psn_diff(s->acked, s->next) >= 0;
}

void flow_stream_first_acknowledged(struct flow_direction *dir)
{
    struct stream *s = stream_of(dir);

    s->from_first = s->started && !s->fresh;
}

bool flow_stream_from_first(const struct flow_direction *dir)
{
    return stream_of_const(dir)->from_first;
}

bool flow_stream_moves_data(const struct flow_direction *dir)
{
    return stream_of_const(dir)->moves_data;
}

bool flow_stream_acknowledged(struct flow_streams *streams, struct flow_direction *dir,
                              uint32_t psn, bool newest)
{
    enum { OUT_OF_ORDER = 64 }; /* Acks, or less, that a capture shows in another order */
    struct stream *s = stream_of(dir);
    int32_t by = rpcrdma_psn_diff(psn, s->acked);

    if (!s->started)
        return false;
    /* a receiver takes nothing back: the one before was of what had not been sent */
    if (!s->has_acked || by > 0 || (newest && by < -OUT_OF_ORDER)) {
        s->acked = psn & 0xffffff;
        s->has_acked = true;
    }
    if (stream_first_waiting(s))
        stream_gap_evident(streams, s);
    return true;
}
