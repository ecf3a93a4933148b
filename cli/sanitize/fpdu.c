/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/fpdu.h"

#include <string.h>

#include "net/iwarp/rdmap.h"
#include "wire/cursor.h"

enum { LENGTH = 2, CONTROL = 4, CRC = 4, START = 20, TERMINATE_CONTROL = 4 };

void sanitize_fpdus_begin(struct sanitize_fpdus *fpdus)
{
    rpcrdma_crc_init(&fpdus->crc32c, RPCRDMA_CRC_CASTAGNOLI);
}

/* -- markers ----------------------------------------------------------------------------------- */

/* Where the first marker is in the unit, behind its end where there is none. */
static uint32_t first_marker(const struct sanitize_unit *u)
{
    return u->markers ? (u->marker_phase - u->seq) % RPCRDMA_MARKER_EVERY : UINT32_MAX;
}

/* How many bytes were captured from `at` to the marker at *next, which becomes the one behind. */
static uint32_t to_marker(const struct sanitize_unit *u, uint32_t at, uint32_t *next)
{
    uint32_t n = *next < u->caplen ? *next - at : u->caplen - at;

    *next = *next > UINT32_MAX - RPCRDMA_MARKER_EVERY ? UINT32_MAX : *next + RPCRDMA_MARKER_EVERY;
    return n;
}

/* Into the second copy; how many bytes are left. */
static uint32_t without_markers(const struct sanitize_packet *unit)
{
    const struct sanitize_unit *u = &unit->unit;
    const uint8_t *from = sanitize_unit_was(unit);
    uint8_t *to = sanitize_unit_is(unit);
    uint32_t out = 0, next = first_marker(u);

    for (uint32_t at = 0; at < u->caplen;) {
        uint32_t n = to_marker(u, at, &next);

        memcpy(to + out, from + at, n);
        out += n;
        at += n;
        at = u->caplen - at < RPCRDMA_MARKER_BYTES ? u->caplen : at + RPCRDMA_MARKER_BYTES;
    }
    memset(to + out, 0, u->caplen - out);
    return out;
}

/* RFC 5044 section 4.3: 16 bits that are zero, and how far back the FPDU began. What is wrong stays
 * wrong, in one way. */
static void marker(const struct sanitize_unit *u, uint32_t at, const uint8_t *was, uint8_t *is)
{
    uint32_t begin = first_marker(u) == 0 ? RPCRDMA_MARKER_BYTES : 0;
    uint32_t right = at == 0 ? 0 : at - begin;
    uint16_t wrong = right == UINT16_MAX ? 0 : UINT16_MAX;

    if (u->caplen - at < RPCRDMA_MARKER_BYTES) {
        memset(is, 0, u->caplen - at);
        return;
    }
    is[0] = 0;
    is[1] = rpcrdma_get_be16(was) != 0;
    if (rpcrdma_get_be16(was + 2) == right)
        memcpy(is + 2, was + 2, 2);
    else
        is[2] = is[3] = (uint8_t)wrong;
}

static void with_markers(struct sanitize_fpdus *fpdus, const struct sanitize_packet *unit)
{
    const struct sanitize_unit *u = &unit->unit;
    uint8_t *is = sanitize_unit_is(unit);
    uint32_t in = 0, next = first_marker(u);

    memcpy(fpdus->scratch, is, u->caplen);
    for (uint32_t at = 0; at < u->caplen;) {
        uint32_t n = to_marker(u, at, &next);

        memcpy(is + at, fpdus->scratch + in, n);
        in += n;
        at += n;
        if (at < u->caplen) {
            marker(u, at, sanitize_unit_was(unit) + at, is + at);
            at = u->caplen - at < RPCRDMA_MARKER_BYTES ? u->caplen : at + RPCRDMA_MARKER_BYTES;
        }
    }
}

/* -- headers ----------------------------------------------------------------------------------- */

/* Of n bytes at p, those from `from` to before `until`. */
static void zero(uint8_t *p, uint32_t n, uint32_t from, uint32_t until)
{
    if (until > n)
        until = n;
    if (from < until)
        memset(p + from, 0, until - from);
}

/* RFC 5040 section 4.8: a code; which of the headers of what was wrong are behind it, and these: a
 * DDP segment's length, its header, that of a Read Request. n bytes at p were captured. */
static void terminate(uint8_t *p, uint32_t n)
{
    enum { HAS_LENGTH = 0x80, HAS_DDP = 0x40, HAS_RDMAP = 0x20, SEGMENT_LENGTH = 2 };
    uint32_t known = TERMINATE_CONTROL;
    uint8_t *ddp = p + TERMINATE_CONTROL + SEGMENT_LENGTH;

    zero(p, n, 3, 4);
    if (n > 2)
        p[2] &= HAS_LENGTH | HAS_DDP | HAS_RDMAP;
    if (n >= TERMINATE_CONTROL + SEGMENT_LENGTH + 2 && p[2] & HAS_LENGTH && p[2] & HAS_DDP &&
        (ddp[0] & 0x3f) == 0x01 && (ddp[1] & 0xf0) == 0x40) {
        bool tagged = ddp[0] & 0x80, reads = !tagged && (ddp[1] & 0x0f) == RDMAP_READ_REQUEST;

        known += SEGMENT_LENGTH + (uint32_t)(tagged ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES);
        if (reads && p[2] & HAS_RDMAP)
            known += RDMAP_READ_REQUEST_BYTES;
        if (!tagged) /* a word that has a meaning only where an STag is invalidated */
            zero(ddp, n - TERMINATE_CONTROL - SEGMENT_LENGTH, 2, 6);
    }
    zero(p, n, known, n);
}

/* The payload, which n bytes of were captured. */
static enum sanitize_payload what_is_known(uint8_t opcode, uint8_t *p, uint32_t n)
{
    if (n == 0)
        return PAYLOAD_NONE;
    switch (opcode) {
    case RDMAP_WRITE:
    case RDMAP_READ_RESPONSE:
    case RDMAP_SEND:
    case RDMAP_SEND_INVALIDATE:
    case RDMAP_SEND_SE:
    case RDMAP_SEND_SE_INVALIDATE:
        return PAYLOAD_UNKNOWN;
    case RDMAP_READ_REQUEST: /* STags, offsets and a length: section 4.4 */
        return PAYLOAD_DONE;
    case RDMAP_TERMINATE:
        terminate(p, n);
        return PAYLOAD_DONE;
    default: /* of immediate data and atomic operations there are none in RPC-over-RDMA */
        return PAYLOAD_ZERO;
    }
}

static void copy(struct sanitize_packet *unit, const struct rpcrdma_tcp_bytes *told)
{
    unit->unit = (struct sanitize_unit){.is_one = true,
                                        .markers = told->markers,
                                        .marker_phase = told->marker_phase,
                                        .seq = told->seq,
                                        .size = told->len,
                                        .caplen = told->caplen};
}

void sanitize_fpdu(struct sanitize_packet *unit, const struct rpcrdma_tcp_bytes *told)
{
    uint32_t n, length, header;
    uint8_t *p, opcode;

    copy(unit, told);
    p = sanitize_unit_is(unit);
    n = without_markers(unit);
    if (n < CONTROL) { /* the length at most */
        zero(p, n, LENGTH, n);
        return;
    }
    length = rpcrdma_get_be16(p);
    opcode = p[3] & 0x0f;
    header = LENGTH + (p[2] & 0x80 ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES);
    if (!(p[2] & 0x80) && opcode != RDMAP_SEND_INVALIDATE && opcode != RDMAP_SEND_SE_INVALIDATE)
        zero(p, n, CONTROL, CONTROL + 4);
    zero(p, n, LENGTH + length, n); /* padding, CRC */
    if (n <= header || LENGTH + length <= header)
        return;
    unit->payload = unit->unit.caplen + header;
    unit->len = LENGTH + length - header;
    unit->n = n - header < unit->len ? n - header : unit->len;
    unit->state = what_is_known(opcode, p + header, unit->n);
}

/* -- CRC --------------------------------------------------------------------------------------- */

static uint32_t crc_of(const struct sanitize_fpdus *fpdus, const uint8_t *p, uint32_t size)
{
    return ~rpcrdma_crc_add(&fpdus->crc32c, UINT32_MAX, p, size - CRC);
}

/* What is right stays right, what is wrong wrong, and where there is none there is none. */
void sanitize_fpdu_finish(struct sanitize_fpdus *fpdus, struct sanitize_packet *unit)
{
    const struct sanitize_unit *u = &unit->unit;
    const uint8_t *was = sanitize_unit_was(unit);
    uint8_t *is = sanitize_unit_is(unit);
    uint32_t before, value;

    unit->unit.finished = true;
    if (u->markers)
        with_markers(fpdus, unit);
    if (u->caplen < u->size || u->size < CRC)
        return; /* of what was cut nobody can compute it */
    before = rpcrdma_crc_le32(was + u->size - CRC);
    if (before == 0)
        return;
    value = crc_of(fpdus, is, u->size);
    if (before != crc_of(fpdus, was, u->size))
        value = value == UINT32_MAX ? 1 : ~value;
    for (int i = 0; i < CRC; i++)
        is[u->size - CRC + (uint32_t)i] = (uint8_t)(value >> 8 * i);
}

/* -- start-up frames --------------------------------------------------------------------------- */

/* RFC 5044 section 7.1: key, flags, revision, length; RFC 6581 section 4: IRD and ORD. */
void sanitize_start_frame(struct sanitize_packet *unit, const struct rpcrdma_tcp_bytes *told)
{
    enum { FLAGS = 16, REVISION = 17, DEFINED = 0xf0, ENHANCED = 0x10, IRD_ORD = 4 };
    const struct sanitize_unit *u = &unit->unit;
    uint32_t header = START;
    uint8_t *p;

    copy(unit, told);
    p = sanitize_unit_is(unit);
    memcpy(p, sanitize_unit_was(unit), u->caplen);
    unit->unit.finished = true;
    unit->state = PAYLOAD_DONE;
    if (u->caplen > FLAGS)
        p[FLAGS] &= DEFINED;
    if (u->caplen < START)
        return;
    if (p[REVISION] >= 2 && p[FLAGS] & ENHANCED && u->size >= START + IRD_ORD)
        header += IRD_ORD;
    if (u->caplen > header)
        sanitize_private_data(p + header, u->caplen - header, u->size - header);
}
