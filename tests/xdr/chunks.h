/* SPDX-License-Identifier: BSD-2-Clause */
/* The map of chunks, which every XDR has alike. C(name) gives a structure its version's name. */

static void map_segment(struct map *map, C(segment) * x, const struct rpcrdma_segment *s)
{
    SAME(map, x->rdma_handle, s->handle);
    SAME(map, x->rdma_length, s->length);
    SAME(map, x->rdma_offset, s->offset);
}

static void map_reads(struct map *map, C(read_list) * *x, const struct rpcrdma_read_list *list)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment s;

    while (rpcrdma_read_next(&it, &s)) {
        if (map->build)
            *x = map_memory(map, sizeof(**x));
        if (!*x) {
            map_differs(map, "read list: length", 0, list->count);
            return;
        }
        SAME(map, (*x)->rdma_entry.rdma_position, s.position);
        map_segment(map, &(*x)->rdma_entry.rdma_target, &s.segment);
        x = &(*x)->rdma_next;
    }
    if (map->build)
        *x = NULL;
    else if (*x)
        map_differs(map, "read list: more than", list->count, list->count);
}

static void map_chunk(struct map *map, C(write_chunk) * x, const struct rpcrdma_chunk *chunk)
{
    SAME(map, x->rdma_target.rdma_target_len, chunk->count);
    if (map->build)
        x->rdma_target.rdma_target_val =
            map_memory(map, chunk->count * sizeof(*x->rdma_target.rdma_target_val));
    for (uint32_t i = 0; !map->differs && i < chunk->count; i++) {
        struct rpcrdma_segment s = rpcrdma_chunk_segment(chunk, i);

        map_segment(map, &x->rdma_target.rdma_target_val[i], &s);
    }
}

static void map_writes(struct map *map, C(write_list) * *x, const struct rpcrdma_write_list *list)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(list);
    struct rpcrdma_chunk chunk;

    while (rpcrdma_write_next(&it, &chunk)) {
        if (map->build)
            *x = map_memory(map, sizeof(**x));
        if (!*x) {
            map_differs(map, "write list: length", 0, list->count);
            return;
        }
        map_chunk(map, &(*x)->rdma_entry, &chunk);
        x = &(*x)->rdma_next;
    }
    if (map->build)
        *x = NULL;
    else if (*x)
        map_differs(map, "write list: more than", list->count, list->count);
}

static void map_reply(struct map *map, C(write_chunk) * *x)
{
    if (map->build)
        *x = map->m->reply_present ? map_memory(map, sizeof(**x)) : NULL;
    if (!*x != !map->m->reply_present)
        map_differs(map, "reply chunk", *x != NULL, map->m->reply_present);
    else if (*x)
        map_chunk(map, *x, &map->m->reply);
}
