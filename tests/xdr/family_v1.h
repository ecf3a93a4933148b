/* SPDX-License-Identifier: BSD-2-Clause */
/* Version 1, RFC 8166 section 4.1: a union picked by rdma_proc. */
#define C(name) rpcrdma1_##name
#define U rpcrdma1_error_u
#define JUDGE_ERROR rpcrdma1_error
#define JUDGE_ERR_VERS ERR_VERS
#define JUDGE_CLOSED_ERRORS true

typedef rpcrdma1_xprt_hdr judge_header;

#include "chunks.h"
#include "errors.h"

static bool_t judge_code(XDR *xdrs, judge_header *x)
{
    return xdr_rpcrdma1_xprt_hdr(xdrs, x);
}

static bool judge_has_first_word(uint32_t type)
{
    (void)type;
    return false;
}

static void map_lists(struct map *map, rpcrdma1_chunk_lists *x)
{
    map_reads(map, &x->rdma_reads, &map->m->read);
    map_writes(map, &x->rdma_writes, &map->m->write);
    map_reply(map, &x->rdma_reply);
}

static void map_header(struct map *map, judge_header *x)
{
    SAME(map, x->rdma_xid, map->m->xid);
    SAME(map, x->rdma_vers, map->m->version);
    SAME(map, x->rdma_credit, map->m->credits);
    SAME(map, x->rdma_body.rdma_proc, map->m->type);
    if (map->differs)
        return;
    switch (x->rdma_body.rdma_proc) {
    case RDMA_MSG:
    case RDMA_NOMSG:
        map_lists(map, &x->rdma_body.rpcrdma1_body_u.rdma_chunks);
        break;
    case RDMA_MSGP:
        SAME(map, x->rdma_body.rpcrdma1_body_u.rdma_msgp.rdma_align, map->m->align);
        SAME(map, x->rdma_body.rpcrdma1_body_u.rdma_msgp.rdma_thresh, map->m->thresh);
        map_lists(map, &x->rdma_body.rpcrdma1_body_u.rdma_msgp.rdma_chunks);
        break;
    case RDMA_DONE:
        break;
    case RDMA_ERROR:
        map_error(map, &x->rdma_body.rpcrdma1_body_u.rdma_error);
        break;
    }
}
