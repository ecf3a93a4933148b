/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/stream.h"

#define APART (UINT64_C(1) << 33)
#define REORDERED (UINT64_C(1) << 30) /* no window is larger: RFC 7323 section 2.3 */

void sanitize_stream_free(struct sanitize_stream *stream)
{
    if (stream->units)
        g_array_free(stream->units, TRUE);
    stream->units = NULL;
}

void sanitize_stream_begins(struct sanitize_stream *stream)
{
    stream->known = false;
}

static uint64_t place_of(const struct sanitize_stream *stream, uint32_t seq)
{
    return stream->last + (uint64_t)(int64_t)(int32_t)(seq - (uint32_t)stream->last);
}

uint64_t sanitize_stream_place(struct sanitize_stream *stream, uint32_t seq)
{
    stream->over = false;
    if (!stream->known) {
        stream->known = true;
        stream->last = ((stream->told + APART) & ~(uint64_t)UINT32_MAX) + APART + seq;
        stream->told = stream->last - REORDERED;
    }
    return place_of(stream, seq);
}

void sanitize_stream_tell(struct sanitize_stream *stream, uint32_t seq, uint32_t len,
                          uint64_t number)
{
    struct sanitize_stream_unit unit = {sanitize_stream_place(stream, seq), len, number};

    if (unit.at + len <= stream->told && number == 0)
        return;
    if (unit.at < stream->told && number != 0) /* they come in order */
        unit.at += UINT64_C(1) << 32;
    stream->last = stream->told = unit.at + len;
    if (number == 0)
        return;
    if (!stream->units)
        stream->units = g_array_new(FALSE, FALSE, sizeof(unit));
    g_array_append_val(stream->units, unit);
}

void sanitize_stream_forget(struct sanitize_stream *stream, uint64_t number)
{
    GArray *units = stream->units;

    if (!units || stream->first == units->len ||
        g_array_index(units, struct sanitize_stream_unit, stream->first).number != number)
        return;
    stream->first++;
    if (stream->first == units->len) {
        sanitize_stream_free(stream);
        stream->first = 0;
    } else if (stream->first > units->len / 2) {
        g_array_remove_range(units, 0, stream->first);
        stream->first = 0;
    }
}

const struct sanitize_stream_unit *sanitize_stream_at(const struct sanitize_stream *stream,
                                                      uint64_t at, uint64_t *next)
{
    guint low = stream->first, high = stream->units ? stream->units->len : low;
    const struct sanitize_stream_unit *unit;

    while (low < high) { /* the first that begins behind it */
        guint middle = low + (high - low) / 2;

        if (g_array_index(stream->units, struct sanitize_stream_unit, middle).at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    *next = stream->units && low < stream->units->len
                ? g_array_index(stream->units, struct sanitize_stream_unit, low).at
                : UINT64_MAX;
    if (low == stream->first)
        return NULL;
    unit = &g_array_index(stream->units, struct sanitize_stream_unit, low - 1);
    return at - unit->at < unit->size ? unit : NULL;
}
