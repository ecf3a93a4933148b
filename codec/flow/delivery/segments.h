/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_SEGMENTS_H
#define RPCRDMA_FLOW_DELIVERY_SEGMENTS_H

/* TCP: what segments.c asks the other files. */

#include "flow/delivery/state.h"

/* silence.c: what was sent towards this end is retransmitted, or it sends something (false: when
 * the sender's timer should have ended once more); `back`: what it sent. */
void delivery_segment_again(struct flow_memory *memory, struct flow_delivery *d,
                            struct flow_delivery *back, const struct rpcrdma_tcp_segment *segment);
bool delivery_segment_heard(struct flow_delivery *d, int64_t time_ns);
void delivery_heard_late(struct rare *rare, uint64_t first_frame);
/* A segment without data that may probe; one that does; and its receiver sends. */
void delivery_probe(struct flow_memory *memory, struct flow_delivery *d,
                    const struct rpcrdma_tcp_segment *segment);
void delivery_probed(struct flow_memory *memory, struct flow_delivery *d, int64_t time_ns);
void delivery_probe_answered(struct flow_delivery *d, int64_t time_ns);
/* late_ack.c: an acknowledgement by itself, before it is taken; its sender's last data passed at
 * heard_ns. */
void delivery_acked_at_last(struct flow_memory *memory, struct flow_delivery *back,
                            const struct rpcrdma_tcp_segment *segment, uint64_t through,
                            int64_t heard_ns);
/* restart.c: this segment brings bytes that had not passed, before it is taken. */
void delivery_segment_new(struct flow_memory *memory, struct flow_delivery *d,
                          const struct flow_delivery *back,
                          const struct rpcrdma_tcp_segment *segment);
/* unacked.c: a timer ended; what had come to its sender long before (`back`) it does not
 * acknowledge. Later it does: rare->unacked is not 0. */
void delivery_note_unacked(struct rare *rare, const struct flow_delivery *back,
                           const struct rpcrdma_tcp_segment *segment);
void delivery_note_acked_late(struct rare *rare, const struct flow_delivery *back);
/* So much new data follows, and its receiver has sent nothing since: rare->again_size is not 0.
 */
void delivery_segment_goes_on(struct flow_delivery *d, uint64_t bytes);
/* restart.c: it has new data, at progress_ns: its timestamp is kept. */
void delivery_segment_stamped(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment);
/* Its IP ID is the first: those behind it are counted from here on. */
void delivery_segment_counted(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment);
/* ... or the next one behind that, rare->away.alone; or what was missing, at `first`. */
void delivery_segment_follows(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment);
void delivery_segment_fills(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment,
                            uint64_t first);
/* blocks.c: what was sent has arrived in parts. */
void delivery_segment_arrived(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment,
                              uint64_t through);

/* dsack.c: a timer ended, and [first, end) comes again; it is acknowledged; ... */
void delivery_segment_timed_out(struct flow_delivery *d, uint64_t first, uint64_t end, int64_t now);
void delivery_needless_answered(struct rare *rare, uint64_t through, int64_t time_ns);
/* ... by a segment long after the last copy; or with a D-SACK, before it is taken. */
void delivery_answered_unheard(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment,
                               uint64_t through);
void delivery_arrived_twice(struct flow_delivery *d, const struct rpcrdma_tcp_segment *segment);

/* twice.c: bytes [first, end) were there already as they came again, as their receiver says. */
void twice_said(struct flow_delivery *d, uint64_t first, uint64_t end);
/* Its receiver may say so next, of what the latest answer acknowledged. */
static inline bool twice_open(const struct flow_delivery *d)
{
    return d->rare && d->rare->again_answered.open;
}

/* apart.c: such a one passed so long before. */
void delivery_known_apart(struct rare *rare, int64_t ns);
/* It was captured before, at another place, whose clock is another one. */
bool delivery_apart(struct flow_memory *memory, struct flow_delivery *d, const struct recent *now,
                    uint64_t at);

#endif
