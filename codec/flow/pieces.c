/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/track.h"

enum { FIRST_SIZE = 16, WORD = 4 };

void track_pieces_reset(struct track_pieces *pieces)
{
    pieces->count = pieces->apart = 0;
    pieces->length = 0;
    pieces->failed = false;
}

void track_pieces_free(struct track *track, struct track_pieces *pieces)
{
    flow_release(&track->flow->memory, pieces->at, pieces->size * sizeof(*pieces->at));
    *pieces = (struct track_pieces){0};
}

static bool grow(struct track *track, struct track_pieces *pieces)
{
    size_t size = pieces->size ? pieces->size * 2 : FIRST_SIZE;
    struct rpcrdma_piece *bigger = flow_alloc(&track->flow->memory, size * sizeof(*bigger));

    if (!bigger)
        return false;
    if (pieces->count > 0)
        memcpy(bigger, pieces->at, pieces->count * sizeof(*bigger));
    flow_release(&track->flow->memory, pieces->at, pieces->size * sizeof(*bigger));
    pieces->at = bigger;
    pieces->size = size;
    return true;
}

void track_pieces_add(struct track *track, struct track_pieces *pieces, struct rpcrdma_piece piece)
{
    struct rpcrdma_piece *last =
        pieces->count > pieces->apart ? &pieces->at[pieces->count - 1] : NULL;

    if (piece.length == 0)
        return;
    pieces->length += piece.length;
    if (last && last->kind == piece.kind && last->length <= UINT32_MAX - piece.length &&
        (piece.data ? last->data && last->data + last->length == piece.data : !last->data)) {
        last->length += piece.length;
        return;
    }
    if (pieces->count == pieces->size && !grow(track, pieces)) {
        pieces->failed = true;
        return;
    }
    pieces->at[pieces->count++] = piece;
}

void track_pieces_fill(struct track *track, struct track_pieces *pieces,
                       enum rpcrdma_piece_kind kind, uint64_t length)
{
    while (length > 0) {
        uint32_t n = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;

        track_pieces_add(track, pieces, (struct rpcrdma_piece){.kind = kind, .length = n});
        length -= n;
    }
}

void track_pieces_parts(struct track *track, struct track_pieces *pieces,
                        const struct track_parts *parts)
{
    for (const struct track_part *p = parts->first; p; p = p->next) {
        if (p->at > pieces->length)
            track_pieces_fill(track, pieces, RPCRDMA_PIECE_LOST, p->at - pieces->length);
        track_pieces_add(track, pieces,
                         (struct rpcrdma_piece){RPCRDMA_PIECE_INLINE, p->caplen, p->data});
        track_pieces_fill(track, pieces, RPCRDMA_PIECE_CUT, p->len - p->caplen);
    }
}

void track_pieces_region(struct track *track, struct track_pieces *pieces,
                         const struct flow_region *region, uint32_t length)
{
    struct flow_extent run;
    uint32_t at = 0;
    bool seen;

    if (!region) {
        track_pieces_fill(track, pieces, RPCRDMA_PIECE_LOST, length);
        return;
    }
    while (flow_region_next(region, &at, length, &run, &seen)) {
        enum rpcrdma_piece_kind kind = RPCRDMA_PIECE_CHUNK;

        /* where nobody wants the bytes, that they passed is enough: a capture whose data items were
         * cut off says the same of its RPCs as the whole one */
        if (!seen)
            kind = RPCRDMA_PIECE_LOST;
        else if (!run.captured && region->keep)
            kind = region->dropped ? RPCRDMA_PIECE_DROPPED : RPCRDMA_PIECE_CUT;
        track_pieces_add(track, pieces, (struct rpcrdma_piece){kind, run.length, run.data});
    }
}

void track_pieces_chunk(struct track *track, struct track_pieces *pieces,
                        const struct track_offer *offer, const struct track_chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->count; i++) {
        const struct flow_region *region = &offer->regions[chunk->first + i];

        track_pieces_region(track, pieces, region, region->length);
    }
}

struct track_reader track_reader_begin(const struct track_pieces *from)
{
    return (struct track_reader){.from = from, .left = from->length};
}

void track_reader_move(struct track *track, struct track_reader *reader, struct track_pieces *to,
                       uint64_t length)
{
    if (length > reader->left)
        length = reader->left;
    reader->left -= length;
    while (length > 0 && reader->index < reader->from->count) {
        struct rpcrdma_piece piece = reader->from->at[reader->index];

        piece.length -= reader->used;
        if (piece.data)
            piece.data += reader->used;
        if (piece.length > length) {
            piece.length = (uint32_t)length;
            reader->used += piece.length;
        } else {
            reader->index++;
            reader->used = 0;
        }
        track_pieces_add(track, to, piece);
        length -= piece.length;
    }
}

const uint8_t *track_flatten(struct track *track, const struct track_pieces *pieces, size_t *caplen)
{
    size_t n = 0, runs = 0;

    while (runs < pieces->count && pieces->at[runs].data)
        n += pieces->at[runs++].length;
    *caplen = n;
    if (runs <= 1)
        return runs ? pieces->at[0].data : NULL;
    if (n > track->flat_size) {
        flow_release(&track->flow->memory, track->flat, track->flat_size);
        track->flat = flow_alloc(&track->flow->memory, n);
        track->flat_size = track->flat ? n : 0;
        if (!track->flat) {
            *caplen = pieces->at[0].length;
            return pieces->at[0].data;
        }
    }
    n = 0;
    for (size_t i = 0; i < runs; i++) {
        memcpy(track->flat + n, pieces->at[i].data, pieces->at[i].length);
        n += pieces->at[i].length;
    }
    return track->flat;
}
