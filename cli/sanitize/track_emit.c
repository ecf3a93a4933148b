/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets of a track that are passed: what is left of their payload, their headers. */
#include "sanitize/track.h"

#include <string.h>

#include "sanitize/direction.h"
#include "sanitize/iwarp.h"

enum { BTH = 12, DETH = 8, ICRC = 4 };

bool sanitize_track_ready(void *context, struct sanitize_packet *p)
{
    struct sanitize_track *track = context;

    if (p->drop != DROP_NOT || p->unit.is_one)
        return true;
    if (sanitize_is_tcp(&p->layout))
        return sanitize_iwarp_ready(track, p);
    if (p->direction && !sanitize_track_is_ours(track, p->direction)) {
        if (sanitize_track_is_undecided(track, p->direction))
            return false;
        p->drop = DROP_FOREIGN;
        return true;
    }
    return p->state != PAYLOAD_UNKNOWN;
}

/* A datagram of the CM, or a packet that has 16 bytes of nothing (annex A17.9.3). */
static void without_payload(struct sanitize_track *track, struct sanitize_packet *p)
{
    uint8_t *data = (uint8_t *)(uintptr_t)p->packet.data;
    size_t end = p->packet.caplen < p->layout.end - ICRC ? p->packet.caplen : p->layout.end - ICRC;
    size_t at = p->layout.bth + BTH;

    if (p->is_cm) {
        at += DETH;
        if (at > end || !sanitize_cm(&track->headers, data + at, end - at))
            p->drop = DROP_TRANSPORT;
    } else if (p->kind == RPCRDMA_OP_CONGESTION && at < end) {
        memset(data + at, 0, end - at);
    }
}

static void emit_roce(struct sanitize_track *track, struct sanitize_packet *p)
{
    uint8_t *data = (uint8_t *)(uintptr_t)p->packet.data;

    if (p->direction && !sanitize_track_is_ours(track, p->direction))
        p->drop = DROP_FOREIGN;
    if (p->drop == DROP_NOT)
        without_payload(track, p);
    if (p->drop != DROP_NOT)
        return;
    track->ours += p->direction != NULL;
    sanitize_track_look_back(track, p); /* what it repeats waited, too */
    if (p->state == PAYLOAD_UNKNOWN) {
        track->unplaced++;
        p->state = PAYLOAD_ZERO;
    }
    if (p->state == PAYLOAD_ZERO)
        memset(sanitize_track_payload(p), 0, p->n);
    sanitize_headers(&track->headers, &p->layout, data, p->packet.caplen, sanitize_icrc_of(p));
}

void sanitize_track_emit(void *context, struct sanitize_packet *p)
{
    struct sanitize_track *track = context;
    struct rpcrdma_packet out;

    if (p->unit.is_one)
        return;
    if (p->drop == DROP_NOT)
        (sanitize_is_tcp(&p->layout) ? sanitize_iwarp_emit : emit_roce)(track, p);
    if (p->drop != DROP_NOT) {
        track->dropped[p->drop]++;
        return;
    }
    out = p->packet;
    out.frame = p->frame;
    out.time_ns += track->shift_s * INT64_C(1000000000);
    track->emit(track->context, p->interface, &out, p->replayed);
}

void sanitize_track_forget(void *context, const struct sanitize_packet *p)
{
    (void)context;
    if (p->unit.is_one)
        sanitize_stream_forget(&p->direction->stream, p->packet.frame);
}
