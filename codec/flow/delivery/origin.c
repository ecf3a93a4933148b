/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/transmission.h"

/*
 * A host counts the IP IDs of what it sends, or leaves them the same: RFC 6864. Where it counts,
 * the ID tells a packet that is sent again (a new one) from one that is there twice (the same) or
 * comes late (an older one). Where it does not, time does.
 */

_Static_assert(RECENT == 1 << (32 - 26), "slot takes the high bits");

static struct recent *slot(struct flow_delivery *d, uint32_t seq)
{
    return &d->recent[seq * UINT32_C(2654435761) >> 26];
}

static bool useful(const struct flow_delivery *d)
{
    return d->id_known && !d->id_useless;
}

bool origin_twice(struct flow_delivery *d, uint8_t kind, uint32_t seq, uint16_t id, int64_t time_ns,
                  uint32_t digest, uint64_t frame)
{
    struct recent *r = slot(d, seq);
    bool same = r->set && r->seq == seq && r->kind == kind;

    if (same && digest != r->digest && digest != 0 && r->digest != 0 && d->path.different++ == 0)
        d->path.different_frame = frame;
    if (same && !useful(d)) {
        same = !d->naked && time_ns - r->time_ns < SOON_NS && r->id == id;
    } else if (same) {
        same = r->id == id;
    } else if (d->id_known && id == d->id) {
        d->id_useless = true; /* another packet, the same ID */
    }
    if (same) {
        d->path.duplicated++;
        return true;
    }
    *r = (struct recent){seq, id, kind, true, digest, time_ns};
    return false;
}

enum origin origin_behind(const struct flow_delivery *d, uint16_t id, bool fills, int64_t found_ns,
                          int64_t time_ns)
{
    bool older = useful(d) && (int16_t)(uint16_t)(id - d->id) < 0;

    if (!fills)
        return ORIGIN_AGAIN;
    if (useful(d))
        return older ? ORIGIN_LATE : ORIGIN_AGAIN;
    return !d->naked && time_ns - found_ns < SOON_NS ? ORIGIN_LATE : ORIGIN_AGAIN;
}

void origin_note(struct flow_delivery *d, uint16_t id)
{
    if (id == 0)
        return; /* not counted, or IPv6, which has none */
    if (!d->id_known || (int16_t)(uint16_t)(id - d->id) > 0)
        d->id = id;
    d->id_known = true;
}
