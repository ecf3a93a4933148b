/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "message.h"

#include "wire/chunk.h"

/*
 * The bytes of an RPC message, for the dissector "rpc". A data item whose bytes are not known is
 * zeros of its length, so that what stands behind it can be read; handover.c takes those zeros out
 * of what is shown. Other than that a message ends where the first byte is missing.
 */

static uint64_t limit(void)
{
    return (uint64_t)settings.memory_mib << 20;
}

static void add_blank(struct rpc_bytes *out, packet_info *pinfo, uint32_t from, uint32_t to)
{
    if (from == to)
        return;
    out->blanks =
        wmem_realloc(pinfo->pool, out->blanks, (out->n_blanks + 1) * sizeof(struct blank));
    out->blanks[out->n_blanks++] = (struct blank){from, to};
}

static void open_tvb(struct rpc_bytes *out, tvbuff_t *raw, packet_info *pinfo, const uint8_t *data,
                     uint32_t caplen, uint32_t length)
{
    out->tvb = tvb_new_child_real_data(raw, data, caplen, (int)MIN(length, INT_MAX));
    add_new_data_source(pinfo, out->tvb,
                        out->n_blanks > 0 ? "RPC message, data items blank" : "RPC message");
}

static void copy_run(uint8_t *to, const struct run *run)
{
    if (run->data)
        memcpy(to + run->at, run->data, run->length);
    else
        memset(to + run->at, 0, run->length);
}

/* From its beginning to the first byte that is missing. */
static bool open_beginning(struct rpc_bytes *out, const struct whole *whole, tvbuff_t *raw,
                           packet_info *pinfo)
{
    uint32_t have = 0;
    uint8_t *data;

    for (uint32_t i = 0; i < whole->n_runs && whole->runs[i].at == have; i++)
        have += whole->runs[i].length;
    if (have == 0)
        return false;
    data = wmem_alloc(pinfo->pool, have);
    for (uint32_t i = 0; i < whole->n_runs && whole->runs[i].at < have; i++)
        copy_run(data, &whole->runs[i]);
    open_tvb(out, raw, pinfo, data, have, whole->length);
    return true;
}

static bool open_whole(struct rpc_bytes *out, const struct told *told, tvbuff_t *raw,
                       packet_info *pinfo)
{
    const struct whole *whole = told->whole;
    uint32_t at = 0;
    uint8_t *data;

    if (whole->n_runs == 1 && whole->runs[0].at == 0 && whole->runs[0].data) {
        open_tvb(out, raw, pinfo, whole->runs[0].data, whole->runs[0].length, whole->length);
        return true;
    }
    /* what is missing is data items only where nothing else can be */
    if (!told->begins_rpc || told->place.caplen < told->place.len || whole->length > limit())
        return open_beginning(out, whole, raw, pinfo);
    data = wmem_alloc0(pinfo->pool, MAX(whole->length, 1));
    for (uint32_t i = 0; i < whole->n_runs; i++) {
        add_blank(out, pinfo, at, whole->runs[i].at);
        copy_run(data, &whole->runs[i]);
        at = whole->runs[i].at + whole->runs[i].length;
    }
    add_blank(out, pinfo, at, whole->length);
    open_tvb(out, raw, pinfo, data, whole->length, whole->length);
    return true;
}

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

/* A Call whose data items the Responder has yet to read. They go where the read list says, each
 * padded to a multiple of four (RFC 8166 section 3.4.5). */
static bool open_call(struct rpc_bytes *out, const struct rpcrdma_message *m, tvbuff_t *raw,
                      packet_info *pinfo)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(&m->read);
    uint64_t total = m->payload.len;
    struct rpcrdma_read_segment segment;
    uint32_t used = 0, at = 0, position = 0;
    bool pad_inline = pads_inline(m);
    uint8_t *data;

    while (rpcrdma_read_next(&it, &segment))
        total += segment.segment.length + 3;
    if (m->payload.caplen < m->payload.len || total > limit() || total > INT_MAX)
        return false;
    data = wmem_alloc0(pinfo->pool, total);
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
        add_blank(out, pinfo, at, at + segment.segment.length);
        at += segment.segment.length;
    }
    at = padded(at, pad_inline);
    memcpy(data + at, m->payload.data + used, m->payload.len - used);
    at += m->payload.len - used;
    out->later = true;
    open_tvb(out, raw, pinfo, data, at, at);
    return true;
}

bool rpc_open(struct rpc_bytes *out, const struct told *told, const struct rpcrdma_message *m,
              tvbuff_t *raw, tvbuff_t *tvb, packet_info *pinfo)
{
    *out = (struct rpc_bytes){0};
    if (told->whole)
        return told->whole->n_runs > 0 && open_whole(out, told, raw, pinfo);
    if (!m || !told->has_rpc)
        return false;
    if (!told->reduced) {
        out->tvb = tvb_new_subset_length_caplen(tvb, (int)m->payload.off, (int)m->payload.caplen,
                                                (int)m->payload.len);
        return true;
    }
    return told->begins_rpc && told->direction == RPCRDMA_DIRECTION_CALL &&
           m->kind != RPCRDMA_KIND_MSGP && m->status == RPCRDMA_OK && open_call(out, m, raw, pinfo);
}
