/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rpc/assemble.h"

#include "wireshark/prefs.h"

/*
 * The bytes of an RPC message, for the dissector "rpc". A data item whose bytes are not known is
 * zeros of its length, so that what stands behind it can be read; handover.c takes those zeros out
 * of what is shown. Other than that a message ends where the first byte is missing.
 */

/* Of the messages of a frame: more than NFS moves at once. Headers of 100 bytes may say that there
 * are 4 GiB, all of which Wireshark would copy. */
enum { BLANK_MOST = 16 << 20 };

static uint32_t blank_left;

void rpc_frame(void)
{
    blank_left = BLANK_MOST;
}

static bool may_be_blank(uint64_t n)
{
    if (n > blank_left)
        return false;
    blank_left -= (uint32_t)n;
    return true;
}

uint64_t rpc_limit(void)
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

static void open_bytes(struct rpc_bytes *out, tvbuff_t *raw, packet_info *pinfo,
                       const uint8_t *data, uint32_t caplen, uint32_t length)
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
    open_bytes(out, raw, pinfo, data, have, whole->length);
    return true;
}

static uint64_t blank_bytes(const struct whole *whole)
{
    uint64_t n = whole->length;

    for (uint32_t i = 0; i < whole->n_runs; i++)
        n -= whole->runs[i].length;
    return n;
}

static bool open_whole(struct rpc_bytes *out, const struct message_note *message_note,
                       tvbuff_t *raw, packet_info *pinfo)
{
    const struct whole *whole = message_note->extra->whole;
    uint32_t at = 0;
    uint8_t *data;

    if (whole->n_runs == 1 && whole->runs[0].at == 0 && whole->runs[0].data) {
        open_bytes(out, raw, pinfo, whole->runs[0].data, whole->runs[0].length, whole->length);
        return true;
    }
    /* what is missing is data items only where nothing else can be */
    if (!message_note->begins_rpc || message_note->place.caplen < message_note->place.len ||
        whole->length > rpc_limit() || !may_be_blank(blank_bytes(whole)))
        return open_beginning(out, whole, raw, pinfo);
    data = wmem_alloc0(pinfo->pool, MAX(whole->length, 1));
    for (uint32_t i = 0; i < whole->n_runs; i++) {
        add_blank(out, pinfo, at, whole->runs[i].at);
        copy_run(data, &whole->runs[i]);
        at = whole->runs[i].at + whole->runs[i].length;
    }
    add_blank(out, pinfo, at, whole->length);
    open_bytes(out, raw, pinfo, data, whole->length, whole->length);
    return true;
}

/* Up to the first byte that is to come. */
static uint32_t beginning_of(const struct partial *partial)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < partial->n_parts && partial->parts[i].at == at; i++)
        at += partial->parts[i].length;
    return at;
}

static uint64_t bytes_to_come(const struct partial *partial)
{
    uint64_t n = partial->length;

    for (uint32_t i = 0; i < partial->n_parts; i++)
        n -= partial->parts[i].length;
    return n;
}

/* What the message has, and blanks where its chunks go; the beginning where what stands behind the
 * first of them is not known. */
static bool open_partial(struct rpc_bytes *out, const struct message_note *message_note,
                         const struct rpcrdma_message *m, tvbuff_t *raw, packet_info *pinfo)
{
    const struct partial *partial = message_note->extra->partial;
    const bool beginning = partial->unplaced ||
                           message_note->place.caplen < message_note->place.len ||
                           partial->length > rpc_limit() || !may_be_blank(bytes_to_come(partial));
    const uint32_t end = beginning ? beginning_of(partial) : partial->length;
    const uint8_t *base = m->base;
    uint32_t at = 0;
    uint8_t *data;

    if (end == 0)
        return false;
    data = wmem_alloc0(pinfo->pool, end);
    for (uint32_t i = 0; i < partial->n_parts; i++) {
        const struct partial_part *part = &partial->parts[i];

        if (part->at >= end || part->length > end - part->at)
            break;
        if (part->off > 0 && (part->off > m->caplen || part->length > m->caplen - part->off))
            return false; /* not the message that it was made of */
        add_blank(out, pinfo, at, part->at);
        if (part->off > 0)
            memcpy(data + part->at, base + part->off, part->length);
        at = part->at + part->length;
    }
    if (!beginning) {
        add_blank(out, pinfo, at, end);
        at = end;
        out->later = true;
    }
    open_bytes(out, raw, pinfo, data, at, partial->length);
    return true;
}

bool rpc_open(struct rpc_bytes *out, const struct message_note *message_note,
              const struct rpcrdma_message *m, tvbuff_t *raw, tvbuff_t *tvb, packet_info *pinfo)
{
    *out = (struct rpc_bytes){0};
    if (note_extra(message_note)->whole)
        return message_note->extra->whole->n_runs > 0 && open_whole(out, message_note, raw, pinfo);
    if (!m || !message_note->has_rpc)
        return false;
    if (!message_note->reduced) {
        out->tvb = tvb_new_subset_length_caplen(tvb, (int)m->payload.off, (int)m->payload.caplen,
                                                (int)m->payload.len);
        return true;
    }
    return message_note->extra && message_note->extra->partial &&
           open_partial(out, message_note, m, raw, pinfo);
}
