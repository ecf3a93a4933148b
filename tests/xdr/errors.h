/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map of an error. JUDGE_ERRORS says which arms the union of the XDR has beside ERR_VERS:
 * 0 none, 1 CANT_REPLY (cel-02), 2 REPLY_RESOURCE of two words (cel-03), 3 those from cel-04 on.
 * U is the union's member, VERS the name of the first code.
 */
static void map_error(struct map *map, JUDGE_ERROR *x)
{
    const struct rpcrdma_error *e = &map->m->error;

    SAME(map, x->rdma_err, e->code);
    if (map->differs)
        return;
    switch (x->rdma_err) {
    case JUDGE_ERR_VERS:
        SAME(map, x->U.rdma_vrange.rdma_vers_low, e->low);
        SAME(map, x->U.rdma_vrange.rdma_vers_high, e->high);
        break;
#if JUDGE_ERRORS == 1
    case RDMA2_ERR_CANT_REPLY:
        SAME(map, x->U.rdma_reply.rdma_processed, e->processed);
        SAME(map, x->U.rdma_reply.rdma_segment_index, e->segment_index);
        SAME(map, x->U.rdma_reply.rdma_length_needed, e->length_needed);
        break;
#elif JUDGE_ERRORS == 2
    case RDMA2_ERR_REPLY_RESOURCE:
        SAME(map, x->U.rdma_reply.rdma_segment_index, e->segment_index);
        SAME(map, x->U.rdma_reply.rdma_length_needed, e->length_needed);
        break;
#elif JUDGE_ERRORS == 3
    case RDMA2_ERR_READ_CHUNKS:
    case RDMA2_ERR_WRITE_CHUNKS:
        SAME(map, x->U.rdma_max_chunks, e->max);
        break;
    case RDMA2_ERR_SEGMENTS:
        SAME(map, x->U.rdma_max_segments, e->max);
        break;
    case RDMA2_ERR_WRITE_RESOURCE:
        SAME(map, x->U.rdma_writeres.rdma_chunk_index, e->chunk_index);
        SAME(map, x->U.rdma_writeres.rdma_length_needed, e->length_needed);
        break;
    case RDMA2_ERR_REPLY_RESOURCE:
        SAME(map, x->U.rdma_length_needed, e->length_needed);
        break;
#endif
    default:
        break;
    }
}
