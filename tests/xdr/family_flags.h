/* SPDX-License-Identifier: BSD-2-Clause */
/* cel-08 to ietf-02: a prefix with a flags word, then the structure its type has. */
#define C(name) rpcrdma2_##name
#define U rpcrdma2_error_u
#define JUDGE_ERROR rpcrdma2_error
#define JUDGE_ERR_VERS RDMA2_ERR_VERS
#define JUDGE_CLOSED_ERRORS false

typedef struct {
    rpcrdma2_hdr_prefix prefix;
    union {
        rpcrdma2_msg msg;
        rpcrdma2_nomsg nomsg;
        rpcrdma2_error error;
        rpcrdma2_connprop connprop;
    } body;
} judge_header;

#include "chunks.h"
#include "errors.h"

static bool_t judge_code(XDR *xdrs, judge_header *x)
{
    if (!xdr_rpcrdma2_hdr_prefix(xdrs, &x->prefix))
        return FALSE;
    switch (x->prefix.rdma_start.rdma_htype) {
    case RDMA2_MSG:
        return xdr_rpcrdma2_msg(xdrs, &x->body.msg);
    case RDMA2_NOMSG:
        return xdr_rpcrdma2_nomsg(xdrs, &x->body.nomsg);
    case RDMA2_ERROR:
        return xdr_rpcrdma2_error(xdrs, &x->body.error);
    case RDMA2_CONNPROP:
        return xdr_rpcrdma2_connprop(xdrs, &x->body.connprop);
#ifdef RDMA2_GRANT
    case RDMA2_GRANT: /* nothing follows the prefix */
        return TRUE;
#endif
    default:
        return FALSE;
    }
}

static bool judge_has_first_word(uint32_t type)
{
    return type == RDMA2_MSG;
}

static void map_lists(struct map *map, rpcrdma2_chunk_lists *x)
{
    SAME(map, x->rdma_inv_handle, map->m->inv_handle);
    map_reads(map, &x->rdma_reads, &map->m->read);
    map_writes(map, &x->rdma_writes, &map->m->write);
    map_reply(map, &x->rdma_reply);
}

static void map_header(struct map *map, judge_header *x)
{
    SAME(map, x->prefix.rdma_start.rdma_xid, map->m->xid);
    SAME(map, x->prefix.rdma_start.rdma_vers, map->m->version);
    SAME(map, x->prefix.rdma_start.rdma_credit, map->m->credits);
    SAME(map, x->prefix.rdma_start.rdma_htype, map->m->type);
    SAME(map, x->prefix.rdma_flags, map->m->flags);
    if (map->differs)
        return;
    switch (x->prefix.rdma_start.rdma_htype) {
    case RDMA2_MSG:
        map_lists(map, &x->body.msg.rdma_chunks);
        SAME(map, x->body.msg.rdma_rpc_first_word, map_first_word(map->m));
        break;
    case RDMA2_NOMSG:
        map_lists(map, &x->body.nomsg.rdma_chunks);
        break;
    case RDMA2_ERROR:
        map_error(map, &x->body.error);
        break;
    case RDMA2_CONNPROP:
        MAP_SET(map, x->body.connprop.rdma_props.rpcrdma2_propset_len,
                x->body.connprop.rdma_props.rpcrdma2_propset_val, rdma_which, rdma_data,
                &map->m->properties, false);
        break;
    default:
        break;
    }
}
