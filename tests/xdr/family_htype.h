/* SPDX-License-Identifier: BSD-2-Clause */
/* ietf-03 on: a prefix, then the structure its type has. */
#define C(name) rpcrdma2_##name
#define U rpcrdma2_hdr_error_u
#define JUDGE_ERROR rpcrdma2_hdr_error
#define JUDGE_ERR_VERS RDMA2_ERR_VERS
#define JUDGE_CLOSED_ERRORS false

typedef struct {
    rpcrdma2_hdr_prefix prefix;
    union {
        rpcrdma2_hdr_error error;
        rpcrdma2_hdr_connprop connprop;
        rpcrdma2_hdr_call_external call_external;
        rpcrdma2_hdr_call_middle call_middle;
        rpcrdma2_hdr_call_inline call_inline;
        rpcrdma2_hdr_reply_external reply_external;
        rpcrdma2_hdr_reply_middle reply_middle;
        rpcrdma2_hdr_reply_inline reply_inline;
    } body;
} judge_header;

#include "chunks.h"
#include "errors.h"

static bool_t judge_code(XDR *xdrs, judge_header *x)
{
    if (!xdr_rpcrdma2_hdr_prefix(xdrs, &x->prefix))
        return FALSE;
    switch (x->prefix.rdma_start.rdma_htype) {
    case RDMA2_ERROR:
        return xdr_rpcrdma2_hdr_error(xdrs, &x->body.error);
    case RDMA2_GRANT: /* nothing follows the prefix */
        return TRUE;
    case RDMA2_CONNPROP_MIDDLE:
    case RDMA2_CONNPROP_FINAL:
        return xdr_rpcrdma2_hdr_connprop(xdrs, &x->body.connprop);
    case RDMA2_CALL_EXTERNAL:
        return xdr_rpcrdma2_hdr_call_external(xdrs, &x->body.call_external);
    case RDMA2_CALL_MIDDLE:
        return xdr_rpcrdma2_hdr_call_middle(xdrs, &x->body.call_middle);
    case RDMA2_CALL_INLINE:
        return xdr_rpcrdma2_hdr_call_inline(xdrs, &x->body.call_inline);
    case RDMA2_REPLY_EXTERNAL:
        return xdr_rpcrdma2_hdr_reply_external(xdrs, &x->body.reply_external);
    case RDMA2_REPLY_MIDDLE:
        return xdr_rpcrdma2_hdr_reply_middle(xdrs, &x->body.reply_middle);
    case RDMA2_REPLY_INLINE:
        return xdr_rpcrdma2_hdr_reply_inline(xdrs, &x->body.reply_inline);
    default:
        return FALSE;
    }
}

static bool judge_has_first_word(uint32_t type)
{
    return type == RDMA2_CALL_MIDDLE || type == RDMA2_CALL_INLINE || type == RDMA2_REPLY_MIDDLE ||
           type == RDMA2_REPLY_INLINE;
}

static void map_body(struct map *map, judge_header *x)
{
    const struct rpcrdma_message *m = map->m;

    switch (x->prefix.rdma_start.rdma_htype) {
    case RDMA2_ERROR:
        map_error(map, &x->body.error);
        break;
    case RDMA2_CONNPROP_MIDDLE:
    case RDMA2_CONNPROP_FINAL:
        MAP_SET(map, x->body.connprop.rdma_props.rpcrdma2_propset_len,
                x->body.connprop.rdma_props.rpcrdma2_propset_val, rdma_which, rdma_data,
                &m->properties, false);
        break;
    case RDMA2_CALL_EXTERNAL:
        SAME(map, x->body.call_external.rdma_inv_handle, m->inv_handle);
        map_reads(map, &x->body.call_external.rdma_call, &m->call);
        map_reads(map, &x->body.call_external.rdma_reads, &m->read);
        map_writes(map, &x->body.call_external.rdma_provisional_writes, &m->write);
        map_reply(map, &x->body.call_external.rdma_provisional_reply);
        break;
    case RDMA2_CALL_MIDDLE:
        SAME(map, x->body.call_middle.rdma_remaining, m->remaining);
        SAME(map, x->body.call_middle.rdma_rpc_first_word, map_first_word(m));
        break;
    case RDMA2_CALL_INLINE:
        SAME(map, x->body.call_inline.rdma_inv_handle, m->inv_handle);
        map_reads(map, &x->body.call_inline.rdma_reads, &m->read);
        map_writes(map, &x->body.call_inline.rdma_provisional_writes, &m->write);
        map_reply(map, &x->body.call_inline.rdma_provisional_reply);
        SAME(map, x->body.call_inline.rdma_rpc_first_word, map_first_word(m));
        break;
    case RDMA2_REPLY_EXTERNAL:
        map_writes(map, &x->body.reply_external.rdma_writes, &m->write);
        map_reply(map, &x->body.reply_external.rdma_reply);
        break;
    case RDMA2_REPLY_MIDDLE:
        SAME(map, x->body.reply_middle.rdma_remaining, m->remaining);
        SAME(map, x->body.reply_middle.rdma_rpc_first_word, map_first_word(m));
        break;
    case RDMA2_REPLY_INLINE:
        map_writes(map, &x->body.reply_inline.rdma_writes, &m->write);
        SAME(map, x->body.reply_inline.rdma_rpc_first_word, map_first_word(m));
        break;
    default:
        break;
    }
}

static void map_header(struct map *map, judge_header *x)
{
    SAME(map, x->prefix.rdma_start.rdma_xid, map->m->xid);
    SAME(map, x->prefix.rdma_start.rdma_vers, map->m->version);
    SAME(map, x->prefix.rdma_start.rdma_credit, map->m->credits);
    SAME(map, x->prefix.rdma_start.rdma_htype, map->m->type);
    if (!map->differs)
        map_body(map, x);
}
