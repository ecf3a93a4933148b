/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cel-00 to cel-04: a union picked by rdma_proc. JUDGE_DRAFT is the draft's number: cel-00 has no
 * direction words and other identifiers, cel-02 brings the handle, cel-03 the properties.
 */
#define C(name) rpcrdma2_##name
#define U rpcrdma2_error_u
#define JUDGE_ERROR rpcrdma2_error
#define JUDGE_CLOSED_ERRORS true
#if JUDGE_DRAFT == 0
#define JUDGE_ERR_VERS RDMA_ERR_VERS
#define NAMED(name) RDMA_##name
#else
#define JUDGE_ERR_VERS RDMA2_ERR_VERS
#define NAMED(name) RDMA2_##name
#endif
#define BODY(x) ((x)->rdma_body.rpcrdma2_body_u)

typedef rpcrdma2_xprt_hdr judge_header;

#include "chunks.h"
#include "errors.h"

static bool_t judge_code(XDR *xdrs, judge_header *x)
{
    return xdr_rpcrdma2_xprt_hdr(xdrs, x);
}

static bool judge_has_first_word(uint32_t type)
{
    (void)type;
    return false;
}

static void map_lists(struct map *map, rpcrdma2_chunk_lists *x)
{
#if JUDGE_DRAFT >= 1
    SAME(map, x->rdma_direction, map->m->direction);
#endif
#if JUDGE_DRAFT >= 2
    SAME(map, x->rdma_inv_handle, map->m->inv_handle);
#endif
    map_reads(map, &x->rdma_reads, &map->m->read);
    map_writes(map, &x->rdma_writes, &map->m->write);
    map_reply(map, &x->rdma_reply);
}

static void map_optional(struct map *map, rpcrdma2_optional *x)
{
    const struct rpcrdma_span *info = &map->m->optional.info;

#if JUDGE_DRAFT >= 1
    SAME(map, x->rdma_optdir, map->m->optional.direction);
#endif
    SAME(map, x->rdma_opttype, map->m->optional.type);
    map_bytes(map, &x->rdma_optinfo.rdma_optinfo_len, &x->rdma_optinfo.rdma_optinfo_val, info->data,
              info->len);
}

#if JUDGE_DRAFT >= 3
#define MAP_PROPERTIES(map, x, set)                                                                \
    MAP_SET(map, (x).rpcrdma2_propset_len, (x).rpcrdma2_propset_val, rdma_which, rdma_data, set,   \
            false)
#define MAP_SUBSET(map, x, words)                                                                  \
    map_words(map, &(x).rpcrdma2_propsubset_len, &(x).rpcrdma2_propsubset_val, words)

static void map_properties(struct map *map, judge_header *x)
{
    switch (x->rdma_body.rdma_proc) {
    case RDMA2_CONNPROP:
        MAP_PROPERTIES(map, BODY(x).rdma_connprop.rdma_start, &map->m->properties);
        MAP_SUBSET(map, BODY(x).rdma_connprop.rdma_nochg, &map->m->nochg);
        break;
    case RDMA2_REQPROP:
        MAP_PROPERTIES(map, BODY(x).rdma_reqprop.rdma_want, &map->m->want);
        break;
    case RDMA2_RESPROP:
        MAP_SUBSET(map, BODY(x).rdma_resprop.rdma_done, &map->m->done);
        MAP_SUBSET(map, BODY(x).rdma_resprop.rdma_rejected, &map->m->rejected);
        MAP_PROPERTIES(map, BODY(x).rdma_resprop.rdma_other, &map->m->other);
        break;
    case RDMA2_UPDPROP:
        MAP_PROPERTIES(map, BODY(x).rdma_updprop.rdma_now, &map->m->now);
        break;
    default:
        break;
    }
}
#else
static void map_properties(struct map *map, judge_header *x)
{
    (void)map;
    (void)x;
}
#endif

static void map_header(struct map *map, judge_header *x)
{
    SAME(map, x->rdma_xid, map->m->xid);
    SAME(map, x->rdma_vers, map->m->version);
    SAME(map, x->rdma_credit, map->m->credits);
    SAME(map, x->rdma_body.rdma_proc, map->m->type);
    if (map->differs)
        return;
    switch (x->rdma_body.rdma_proc) {
    case NAMED(MSG):
    case NAMED(NOMSG):
        map_lists(map, &BODY(x).rdma_chunks);
        break;
    case NAMED(ERROR):
        map_error(map, &BODY(x).rdma_error);
        break;
    case NAMED(OPTIONAL):
        map_optional(map, &BODY(x).rdma_optional);
        break;
    default:
        map_properties(map, x);
    }
}
