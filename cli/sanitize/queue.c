/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/queue.h"

#include <stdlib.h>
#include <string.h>

#include "bound.h"
#include "common/keyed_hash.h"
#include "source/source.h"

enum { BYTES_PER_PACKET = 512 }; /* a quarter of the memory is for the packets' structs, about */

static guint hash_of(gconstpointer key)
{
    return keyed_hash_numbers(*(const uint64_t *)key, 0);
}

static gboolean equal(gconstpointer a, gconstpointer b)
{
    return *(const uint64_t *)a == *(const uint64_t *)b;
}

bool sanitize_queue_begin(struct sanitize_queue *queue, size_t memory)
{
    /* fuzzers: room for 64 KiB, which is the longest packet of theirs */
    const size_t least = RPCRDMA_BOUND((size_t)SOURCE_MAX_PACKET * 4, (size_t)96 << 10);

    memory = MAX(memory, least);
    queue->n_packets = memory / BYTES_PER_PACKET / 2;
    queue->n_bytes = memory - queue->n_packets * sizeof(struct sanitize_packet);
    queue->packets = calloc(queue->n_packets, sizeof(*queue->packets));
    queue->bytes = malloc(queue->n_bytes);
    queue->oldest = queue->first = queue->next = 1;
    queue->places = g_hash_table_new(hash_of, equal);
    queue->chunks = g_hash_table_new(hash_of, equal);
    queue->pieces = g_hash_table_new(hash_of, equal);
    return queue->packets && queue->bytes;
}

void sanitize_queue_free(struct sanitize_queue *queue)
{
    if (!queue->places)
        return;
    free(queue->packets);
    free(queue->bytes);
    g_hash_table_destroy(queue->places);
    g_hash_table_destroy(queue->chunks);
    g_hash_table_destroy(queue->pieces);
}

struct sanitize_packet *sanitize_queue_at(const struct sanitize_queue *queue, uint64_t frame)
{
    return frame >= queue->oldest && frame < queue->next ? &queue->packets[frame % queue->n_packets]
                                                         : NULL;
}

/* The oldest makes room. */
static void forget(struct sanitize_queue *queue)
{
    struct sanitize_packet *one = sanitize_queue_at(queue, queue->oldest);

    if (queue->oldest == queue->first) {
        queue->emit(queue->context, one);
        queue->first++;
    }
    if (one->place && g_hash_table_lookup(queue->places, &one->place) == one)
        g_hash_table_remove(queue->places, &one->place);
    if (one->chunk && g_hash_table_lookup(queue->chunks, &one->chunk) == one)
        g_hash_table_remove(queue->chunks, &one->chunk);
    if (one->piece && g_hash_table_lookup(queue->pieces, &one->piece) == one)
        g_hash_table_remove(queue->pieces, &one->piece);
    if (queue->forget)
        queue->forget(queue->context, one);
    queue->oldest++;
}

/* With room for n bytes. */
static struct sanitize_packet *add_last(struct sanitize_queue *queue, size_t n)
{
    uint64_t start = queue->end;
    struct sanitize_packet *one;

    if (queue->n_bytes - start % queue->n_bytes < n) /* in one piece */
        start += queue->n_bytes - start % queue->n_bytes;
    while (queue->oldest < queue->next &&
           (queue->next - queue->oldest == queue->n_packets ||
            start + n - sanitize_queue_at(queue, queue->oldest)->start > queue->n_bytes))
        forget(queue);
    one = &queue->packets[queue->next % queue->n_packets];
    *one = (struct sanitize_packet){.start = start};
    one->packet.frame = queue->next++;
    one->packet.data = queue->bytes + start % queue->n_bytes;
    queue->end = start + n;
    return one;
}

static void put(const struct sanitize_packet *one, const uint8_t *data, size_t n)
{
    if (n > 0)
        memcpy((uint8_t *)(uintptr_t)one->packet.data, data, n);
}

struct sanitize_packet *sanitize_queue_add(struct sanitize_queue *queue,
                                           const struct rpcrdma_packet *packet)
{
    struct sanitize_packet *one = add_last(queue, packet->caplen);
    struct rpcrdma_packet in_ring = *packet;

    in_ring.frame = one->packet.frame;
    in_ring.data = one->packet.data;
    one->frame = packet->frame;
    one->packet = in_ring;
    put(one, packet->data, packet->caplen);
    return one;
}

struct sanitize_packet *sanitize_queue_add_unit(struct sanitize_queue *queue, const uint8_t *bytes,
                                                uint32_t n)
{
    struct sanitize_packet *one;

    if (n > SANITIZE_UNIT_MOST || (size_t)n * 2 > queue->n_bytes)
        return NULL;
    one = add_last(queue, (size_t)n * 2);
    put(one, bytes, n);
    return one;
}

/* The frame of the one before it, 0: none. `name` is the packet's own. */
static uint64_t add(GHashTable *table, uint64_t *name, struct sanitize_packet *packet)
{
    const struct sanitize_packet *before = g_hash_table_lookup(table, name);

    g_hash_table_replace(table, name, packet);
    return before ? before->packet.frame : 0;
}

void sanitize_queue_place(struct sanitize_queue *queue, struct sanitize_packet *packet,
                          uint64_t place)
{
    packet->place = place;
    packet->older_place = add(queue->places, &packet->place, packet);
}

void sanitize_queue_chunk(struct sanitize_queue *queue, struct sanitize_packet *packet,
                          uint64_t chunk, uint64_t piece)
{
    if (packet->chunk) /* it moves one thing */
        return;
    packet->chunk = chunk;
    packet->piece = piece;
    packet->older_chunk = add(queue->chunks, &packet->chunk, packet);
    packet->older_piece = add(queue->pieces, &packet->piece, packet);
}

void sanitize_queue_chunk_done(struct sanitize_queue *queue, uint64_t chunk)
{
    g_hash_table_remove(queue->chunks, &chunk);
}

struct sanitize_packet *sanitize_queue_find_place(const struct sanitize_queue *queue,
                                                  uint64_t place)
{
    return g_hash_table_lookup(queue->places, &place);
}

struct sanitize_packet *sanitize_queue_find_chunk(const struct sanitize_queue *queue,
                                                  uint64_t chunk)
{
    return g_hash_table_lookup(queue->chunks, &chunk);
}

enum sanitize_icrc sanitize_icrc_of(const struct sanitize_packet *packet)
{
    if (!packet->bad_icrc)
        return SANITIZE_ICRC_RIGHT;
    return packet->direction && packet->direction->good_icrcs > 0 ? SANITIZE_ICRC_DAMAGED
                                                                  : SANITIZE_ICRC_WRONG;
}

static bool damaged(const struct sanitize_packet *packet)
{
    return packet && sanitize_icrc_of(packet) == SANITIZE_ICRC_DAMAGED;
}

bool sanitize_queue_damaged(const struct sanitize_queue *queue,
                            const struct sanitize_packet *packet)
{
    return damaged(packet) || damaged(sanitize_queue_at(queue, packet->older_place)) ||
           damaged(sanitize_queue_at(queue, packet->older_piece));
}

void sanitize_queue_go_on(struct sanitize_queue *queue, bool all)
{
    while (queue->first < queue->next) {
        struct sanitize_packet *one = sanitize_queue_at(queue, queue->first);

        if (!all && !queue->ready(queue->context, one))
            return;
        queue->emit(queue->context, one);
        queue->first++;
    }
}
