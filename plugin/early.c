/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "message.h"

#include "upper/binding.h"
#include "wire/chunk.h"

/*
 * The bytes of an RPC message whose chunks are not known yet, at the first visit of its frame: the
 * Responder has yet to read them; or they are held back with what else is behind a gap.
 */

/* Padding is inline when the inline part has a length that no XDR stream has (RFC 5666 left open
 * where it goes), as flow/ takes it. */
static bool pads_inline(const struct rpcrdma_message *m)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(&m->read);
    struct rpcrdma_read_segment segment;
    uint32_t position = 0, length = 0;

    if (m->payload.len % 4 == 0)
        return false;
    while (rpcrdma_read_next(&it, &segment)) {
        if (segment.position != position && length % 4 != 0)
            return true;
        length = (segment.position == position ? length : 0) + segment.segment.length;
        position = segment.position;
    }
    return length % 4 != 0;
}

static uint32_t padded(uint32_t at, bool pad_inline)
{
    return pad_inline ? at : (at + 3) & ~3u;
}

/* Not all of the inline part was captured: its beginning, up to the first chunk. */
static bool open_cut(struct rpc_bytes *out, const struct rpcrdma_message *m, uint32_t first,
                     uint64_t total, tvbuff_t *raw, packet_info *pinfo)
{
    uint32_t have = MIN(m->payload.caplen, first);

    if (have == 0)
        return false;
    rpc_open_tvb(out, raw, pinfo, wmem_memdup(pinfo->pool, m->payload.data, have), have,
                 (uint32_t)total);
    return true;
}

/* A Call whose data items the Responder has yet to read. They go where the read list says, each
 * padded to a multiple of four (RFC 8166 section 3.4.5). */
bool rpc_open_call(struct rpc_bytes *out, const struct rpcrdma_message *m, tvbuff_t *raw,
                   packet_info *pinfo)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(&m->read);
    uint64_t total = m->payload.len;
    struct rpcrdma_read_segment segment;
    uint32_t used = 0, at = 0, position = 0, first = UINT32_MAX;
    bool pad_inline = pads_inline(m);
    uint8_t *data;

    while (rpcrdma_read_next(&it, &segment)) {
        total += segment.segment.length;
        first = MIN(first, segment.position);
    }
    if (total > rpc_limit() || total > INT_MAX)
        return false;
    if (m->payload.caplen < m->payload.len)
        return open_cut(out, m, first, total, raw, pinfo);
    data = wmem_alloc0(pinfo->pool, total + 3 * (uint64_t)m->read.count);
    it = rpcrdma_read_begin(&m->read);
    while (rpcrdma_read_next(&it, &segment)) {
        if (segment.position != position) { /* else it goes on with the same chunk */
            at = padded(at, pad_inline);
            if (segment.position < at || segment.position - at > m->payload.len - used)
                return false;
            memcpy(data + at, m->payload.data + used, segment.position - at);
            used += segment.position - at;
            at = position = segment.position;
        }
        rpc_add_blank(out, pinfo, at, at + segment.segment.length);
        at += segment.segment.length;
    }
    at = padded(at, pad_inline);
    memcpy(data + at, m->payload.data + used, m->payload.len - used);
    at += m->payload.len - used;
    out->later = true;
    rpc_open_tvb(out, raw, pinfo, data, at, at);
    return true;
}

/* Where the chunks of a Reply belong its upper-layer binding tells (RFC 8166 section 6). */
static bool place(const struct told *told, const struct rpcrdma_message *m, uint32_t *lengths,
                  struct rpcrdma_insertion *places)
{
    struct rpcrdma_reduction reduction = {.chunks = lengths};
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->write);
    struct rpcrdma_rpc reply, call = {.present = RPCRDMA_RPC_HAS_PROGRAM | RPCRDMA_RPC_HAS_TYPE,
                                      .program = told->sort->program,
                                      .version = told->sort->version,
                                      .procedure = told->sort->procedure,
                                      .gss_service = told->sort->gss_service};
    struct rpcrdma_chunk chunk;

    while (rpcrdma_write_next(&it, &chunk))
        lengths[reduction.n_chunks++] = (uint32_t)MIN(rpcrdma_chunk_length(&chunk), UINT32_MAX);
    rpcrdma_rpc_decode(m->payload.data, m->payload.caplen, m->payload.len, &reply);
    return rpcrdma_binding_place(&reply, told->sort->has_call ? &call : NULL, told->sort->reverse,
                                 m->payload.data, m->payload.caplen, m->payload.len, &reduction,
                                 places) == RPCRDMA_BINDING_FITS;
}

/* A Reply whose data items were written, but not told yet. */
bool rpc_open_reply(struct rpc_bytes *out, const struct told *told, const struct rpcrdma_message *m,
                    tvbuff_t *raw, packet_info *pinfo)
{
    struct rpcrdma_insertion *places;
    uint32_t *lengths, used = 0, at = 0;
    uint64_t total = m->payload.len;
    uint8_t *data;
    bool placed;

    if (m->read.count > 0 || m->payload.len == 0)
        return false;
    lengths = wmem_alloc_array(pinfo->pool, uint32_t, MAX(m->write.count, 1));
    places = wmem_alloc_array(pinfo->pool, struct rpcrdma_insertion, MAX(m->write.count, 1));
    placed = place(told, m, lengths, places);
    for (uint32_t i = 0; i < m->write.count; i++)
        total += placed ? (uint64_t)places[i].length + 3 : lengths[i];
    if (total > rpc_limit() || total > INT_MAX)
        return false;
    if (!placed || m->payload.caplen < m->payload.len)
        return open_cut(out, m, UINT32_MAX, total, raw, pinfo);
    data = wmem_alloc0(pinfo->pool, total);
    for (uint32_t i = 0; i < m->write.count; i++) {
        if (!places[i].placed || places[i].offset < used || places[i].offset > m->payload.len)
            continue;
        memcpy(data + at, m->payload.data + used, places[i].offset - used);
        at += places[i].offset - used;
        used = places[i].offset;
        rpc_add_blank(out, pinfo, at, at + places[i].length);
        at = padded(at + places[i].length, places[i].pad_inline);
    }
    memcpy(data + at, m->payload.data + used, m->payload.len - used);
    at += m->payload.len - used;
    out->later = true;
    rpc_open_tvb(out, raw, pinfo, data, at, at);
    return true;
}
