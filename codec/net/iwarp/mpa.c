/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/iwarp/rdmap.h"
#include "net/iwarp/tcp.h"

#include <stdlib.h>

/*
 * MPA (RFC 5044):
 *
 *   start-up  key 16 | M C R S rsvd(4) | revision 1 | private data length 2 | private data
 *             (S, revision 2: RFC 6581; the private data begins with IRD and ORD, 2 bytes each)
 *   FPDU      ULPDU length 2 | ULPDU | pad to 4 | CRC32C 4
 *   marker    reserved 2 | bytes back to the FPDU's length field 2; every 512 bytes of TCP from
 *             where the first FPDU began, inside of FPDUs and not counted in their length
 */

enum {
    START_BYTES = 20,
    PRIVATE_MOST = 512, /* section 7.1 */
    FLAG_MARKERS = 0x80,
    FLAG_CRC = 0x40,
    FLAG_REJECT = 0x20,
    FLAG_ENHANCED = 0x10,
    SCRATCH_BYTES = 2 + 65535 + 3 + 4, /* content of the greatest FPDU */
};

static bool is_key(const uint8_t *bytes, size_t caplen, const char *key)
{
    return memcmp(bytes, key, caplen < 16 ? caplen : 16) == 0;
}

bool rpcrdma_mpa_is_request(const uint8_t *bytes, size_t caplen)
{
    return caplen >= 16 && is_key(bytes, caplen, "MPA ID Req Frame");
}

bool rpcrdma_mpa_is_reply(const uint8_t *bytes, size_t caplen)
{
    return caplen >= 16 && is_key(bytes, caplen, "MPA ID Rep Frame");
}

/* The receiver says whether it wants markers (section 7.1). */
bool rpcrdma_mpa_markers(const struct rpcrdma_tcp_connection *c, int end)
{
    return c->stream[end].has_phase && c->stream[1 - end].mpa_marker;
}

/* Bytes from seq to the next marker; 0: it stands here. */
static uint32_t to_marker(const struct rpcrdma_stream *s, uint32_t seq)
{
    return (s->marker_phase - seq) % RPCRDMA_MARKER_EVERY;
}

uint32_t rpcrdma_mpa_size(const struct rpcrdma_tcp_connection *c, int end, uint32_t seq,
                          uint32_t ulpdu)
{
    uint32_t content = rpcrdma_fpdu_bytes(ulpdu), before;

    if (!rpcrdma_mpa_markers(c, end))
        return content;
    before = to_marker(&c->stream[end], seq);
    if (content <= before)
        return content;
    return content + RPCRDMA_MARKER_BYTES * (1 + (content - before - 1) /
                                                     (RPCRDMA_MARKER_EVERY - RPCRDMA_MARKER_BYTES));
}

/* --- findings ----------------------------------------------------------------------------------
 */

/* `cut`: of packets that are there, and were cut by the capture. */
static void lost(struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c, int end,
                 uint32_t len, bool cut)
{
    const struct rpcrdma_stream *s = &c->stream[end];
    struct rpcrdma_op op;

    rpcrdma_ddp_op(c, end, RPCRDMA_OP_LOST, &op);
    op.seq = s->next;
    op.len = len;
    if (cut)
        op.flags |= RPCRDMA_OP_TRUNCATED;
    else if (rpcrdma_stream_unseen(c, end))
        op.flags |= RPCRDMA_OP_UNSEEN;
    tcp->net->sink.op(tcp->net->sink.context, &op);
}

void rpcrdma_mpa_lost(struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c, int end,
                      uint32_t len)
{
    lost(tcp, c, end, len, false);
}

void rpcrdma_mpa_cut(struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c, int end,
                     uint32_t len)
{
    lost(tcp, c, end, len, true);
}

static void partial_done(struct rpcrdma_stream *s)
{
    s->partial_have = s->partial_seen = s->partial_size = 0; /* the room stays for the next */
    s->partial_lost = false;
}

/* The boundaries of FPDUs are not known from `next` on. */
static void fall_out(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                     uint32_t len, bool cut)
{
    struct rpcrdma_stream *s = &c->stream[end];

    lost(tcp, c, end, len, cut);
    if (cut)
        rpcrdma_tcp_finding(tcp, s, RPCRDMA_RULE_TRUNCATED, "where the next FPDU begins", 0, 0);
    else if (!rpcrdma_stream_unseen(c, end))
        rpcrdma_tcp_finding(tcp, s, RPCRDMA_RULE_MPA_SYNC, NULL, s->next, 0);
    s->out_by_cut = cut;
    s->fell_out = true;
    s->phase = RPCRDMA_STREAM_LOOKING;
    partial_done(s);
    s->tagged_open[0] = s->tagged_open[1] = true;
    s->send_known = false;
    s->scanned = s->next;
    s->n_candidates = 0;
    s->dropped_candidates = false;
    s->impatient = false;
}

/* --- FPDUs -------------------------------------------------------------------------------------
 */

/* Markers checked and taken out, into tcp->scratch. *left: how many bytes are left of caplen.
 * False: a marker disproves that an FPDU begins here. */
static bool strip(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s, uint32_t seq,
                  const uint8_t *fpdu, uint32_t caplen, uint32_t *left)
{
    uint32_t in = 0, out = 0, next = to_marker(s, seq),
             begin = next == 0 ? RPCRDMA_MARKER_BYTES : 0;

    while (in < caplen) {
        uint32_t n = next - in;

        if (n > caplen - in)
            n = caplen - in;
        memcpy(tcp->scratch + out, fpdu + in, n);
        in += n;
        out += n;
        if (in == next && caplen - in >= RPCRDMA_MARKER_BYTES) {
            uint32_t pointer = rpcrdma_get_be16(fpdu + in + 2);
            /* a marker in front of the length field belongs to what follows and points nowhere */
            uint32_t right = in == 0 ? 0 : in - begin;

            if (pointer != right || rpcrdma_get_be16(fpdu + in) != 0) {
                if (s->unproven > 0)
                    return false;
                rpcrdma_tcp_finding(tcp, s, RPCRDMA_RULE_MPA_MARKER, NULL, seq + in, pointer);
            }
        }
        if (in == next) {
            in = caplen - in < RPCRDMA_MARKER_BYTES ? caplen : in + RPCRDMA_MARKER_BYTES;
            next += RPCRDMA_MARKER_EVERY;
        }
    }
    *left = out;
    return true;
}

static void check_crc(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                      uint32_t seq, const uint8_t *fpdu, uint32_t size)
{
    const uint8_t *sum = fpdu + size - 4;
    uint32_t value = ~rpcrdma_crc_add(&tcp->crc32c, UINT32_C(0xffffffff), fpdu, size - 4);

    if ((sum[0] | (uint32_t)sum[1] << 8 | (uint32_t)sum[2] << 16 | (uint32_t)sum[3] << 24) == value)
        return;
    tcp->net->stats.bad_icrc++;
    rpcrdma_tcp_finding(tcp, &c->stream[end], RPCRDMA_RULE_MPA_CRC, NULL, seq, 0);
}

/* What is no FPDU is malformed, unless it only disproves that one begins here, or the receiver's
 * start-up frame, which was not captured, may have asked for markers. */
static void tell_bad(struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c, int end,
                     const uint8_t *fpdu, size_t caplen)
{
    const struct rpcrdma_stream *s = &c->stream[end];
    uint32_t least = caplen < 2 ? 0 : rpcrdma_ddp_header_bytes(fpdu, caplen);

    if (s->unproven > 0 || (s->mpa_seen && !c->stream[1 - end].mpa_seen))
        return;
    if (least > 0 && rpcrdma_get_be16(fpdu) < least)
        rpcrdma_tcp_finding(tcp, s, RPCRDMA_RULE_MPA_LENGTH, NULL, rpcrdma_get_be16(fpdu), least);
    else
        rpcrdma_tcp_finding(tcp, s, RPCRDMA_RULE_MALFORMED, "FPDU", 0, 0);
}

/* An FPDU of which all that will come is there. False: it is none. */
static bool give(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end, uint32_t seq,
                 const uint8_t *fpdu, uint32_t caplen, uint32_t size)
{
    struct rpcrdma_stream *s = &c->stream[end];
    const uint8_t *content = fpdu;
    uint32_t captured = caplen, length;
    enum rpcrdma_plausible plausible;
    struct rpcrdma_tcp_piece unit = {.seq = seq, .len = size, .caplen = caplen, .bytes = fpdu};

    if (rpcrdma_mpa_markers(c, end)) {
        if (!tcp->scratch)
            tcp->scratch = malloc(SCRATCH_BYTES);
        if (!tcp->scratch)
            rpcrdma_net_fail(tcp->net);
        captured = 0;
        if (tcp->scratch && !strip(tcp, s, seq, fpdu, caplen, &captured))
            return false;
        content = tcp->scratch;
    }
    if (captured < 2) { /* cut, or nothing is reported of it: there is no memory */
        rpcrdma_tcp_tell_unit(tcp, c, end, RPCRDMA_TCP_BYTES_FPDU, &unit);
        rpcrdma_ddp(tcp, c, end, &(struct rpcrdma_ulpdu){seq, size, content, 0, size});
        return true;
    }
    plausible = rpcrdma_ddp_plausible(content, captured);
    if (plausible == RPCRDMA_PLAUSIBLE_NO) {
        tell_bad(tcp, c, end, content, captured);
        return false;
    }
    if (s->unproven > 0 && plausible == RPCRDMA_PLAUSIBLE_YES)
        s->unproven--;
    if (size > s->longest)
        s->longest = size;
    /* CRCs are used if either side asks for them (section 7.1). Both must have been heard. */
    if (tcp->net->check_crc && c->stream[0].mpa_seen && c->stream[1].mpa_seen &&
        (c->stream[0].mpa_crc || c->stream[1].mpa_crc) && caplen == size)
        check_crc(tcp, c, end, seq, fpdu, size);
    rpcrdma_tcp_tell_unit(tcp, c, end, RPCRDMA_TCP_BYTES_FPDU, &unit);
    length = rpcrdma_get_be16(content);
    captured -= 2;
    rpcrdma_ddp(tcp, c, end,
                &(struct rpcrdma_ulpdu){seq, size, content + 2,
                                        captured < length ? captured : length, length});
    return true;
}

/* Adds to the partial FPDU; what follows a hole is counted and not kept. */
static void keep(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                 const struct rpcrdma_tcp_piece *piece, uint32_t n)
{
    struct rpcrdma_stream *s = &c->stream[end];
    uint32_t caplen = piece->caplen < n ? piece->caplen : n;

    if (s->partial_have == s->partial_seen && caplen > 0) {
        if (s->partial_have + caplen > s->partial_room) {
            uint32_t room = s->partial_size > 0 ? s->partial_size : START_BYTES + PRIVATE_MOST;
            uint8_t *more = rpcrdma_tcp_alloc(tcp, c, room);

            if (more) {
                if (s->partial_have > 0)
                    memcpy(more, s->partial, s->partial_have);
                rpcrdma_tcp_release(tcp, s->partial, s->partial_room);
                s->partial = more;
                s->partial_room = room;
            } else {
                caplen = 0; /* as if it had not been captured */
            }
        }
        if (caplen > 0)
            memcpy(s->partial + s->partial_have, piece->bytes, caplen);
        s->partial_have += caplen;
    }
    s->partial_seen += n;
    s->partial_lost |= piece->lost;
}

/* What was taken for an FPDU is none. Where packets were cut that is why it was taken for one. */
static uint32_t no_fpdu(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                        uint32_t used)
{
    fall_out(tcp, c, end, used, c->stream[end].unproven > 0 && c->stream[end].out_by_cut);
    return used;
}

static uint32_t read_fpdu(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                          const struct rpcrdma_tcp_piece *piece)
{
    struct rpcrdma_stream *s = &c->stream[end];
    uint32_t begin = s->next - s->partial_seen, n;
    bool markers = rpcrdma_mpa_markers(c, end);
    uint32_t length_end = 2 + (markers && to_marker(s, begin) == 0 ? RPCRDMA_MARKER_BYTES : 0);

    if (s->partial_seen == 0 && piece->caplen >= length_end) {
        uint32_t size =
            rpcrdma_mpa_size(c, end, begin, rpcrdma_get_be16(piece->bytes + length_end - 2));

        if (!markers &&
            rpcrdma_ddp_plausible(piece->bytes, piece->caplen) == RPCRDMA_PLAUSIBLE_NO) {
            tell_bad(tcp, c, end, piece->bytes, piece->caplen);
            return no_fpdu(tcp, c, end, 0);
        }
        if (size <= piece->len) {
            uint32_t caplen = piece->caplen < size ? piece->caplen : size;

            return give(tcp, c, end, begin, piece->bytes, caplen, size) ? size
                                                                        : no_fpdu(tcp, c, end, 0);
        }
        s->partial_size = size;
    }
    n = (s->partial_size > 0 ? s->partial_size : length_end) - s->partial_seen;
    if (n > piece->len)
        n = piece->len;
    keep(tcp, c, end, piece, n);
    if (s->partial_size == 0 && s->partial_seen == length_end) {
        if (s->partial_have < length_end) { /* how long it is was not captured */
            fall_out(tcp, c, end, piece->len, !s->partial_lost);
            return piece->len;
        }
        s->partial_size =
            rpcrdma_mpa_size(c, end, begin, rpcrdma_get_be16(s->partial + length_end - 2));
    } else if (s->partial_seen == s->partial_size) {
        if (!give(tcp, c, end, begin, s->partial, s->partial_have, s->partial_size))
            return no_fpdu(tcp, c, end, n);
        partial_done(s);
    }
    return n;
}

/* --- start-up ----------------------------------------------------------------------------------
 */

static void start_frame(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                        uint32_t begin, const uint8_t *frame, uint32_t caplen, uint32_t size)
{
    struct rpcrdma_stream *s = &c->stream[end];
    struct rpcrdma_op_connect connect = {0};
    uint32_t header = START_BYTES;
    bool request = is_key(frame, caplen, "MPA ID Req Frame");
    struct rpcrdma_tcp_piece unit = {.seq = begin, .len = size, .caplen = caplen, .bytes = frame};
    struct rpcrdma_op op;

    rpcrdma_ddp_op(c, end,
                   request                   ? RPCRDMA_OP_CONNECT
                   : frame[16] & FLAG_REJECT ? RPCRDMA_OP_REJECT
                                             : RPCRDMA_OP_ACCEPT,
                   &op);
    op.seq = begin;
    if (tcp->net->replays)
        op.flags |= RPCRDMA_OP_REPLAYED;
    s->mpa_seen = true;
    s->mpa_marker = frame[16] & FLAG_MARKERS;
    s->mpa_crc = frame[16] & FLAG_CRC;
    if (frame[17] >= 2 && frame[16] & FLAG_ENHANCED && size >= header + 4)
        header += 4;
    connect.port = request ? op.dst_port : op.src_port;
    connect.private_len = size - header;
    if (caplen > header) {
        connect.private_caplen = caplen - header;
        connect.private_data = frame + header;
    }
    if (connect.private_caplen < connect.private_len)
        op.flags |= RPCRDMA_OP_TRUNCATED;
    op.connect = &connect;
    rpcrdma_tcp_tell_unit(tcp, c, end, RPCRDMA_TCP_BYTES_START, &unit);
    s->phase = RPCRDMA_STREAM_FPDU;
    s->has_phase = true;
    s->marker_phase = begin + size;
    tcp->net->sink.op(tcp->net->sink.context, &op);
}

static uint32_t read_start(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                           const struct rpcrdma_tcp_piece *piece)
{
    struct rpcrdma_stream *s = &c->stream[end];
    uint32_t begin = s->next - s->partial_seen, private_data, n;
    const uint8_t *frame;

    n = (s->partial_size > 0 ? s->partial_size : START_BYTES) - s->partial_seen;
    if (n > piece->len)
        n = piece->len;
    keep(tcp, c, end, piece, n);
    frame = s->partial;
    if (s->partial_have > 0 && !is_key(frame, s->partial_have, "MPA ID Req Frame") &&
        !is_key(frame, s->partial_have, "MPA ID Rep Frame")) {
        c->confirmed = false; /* the peer does not speak MPA */
        c->closed = true;
        return n;
    }
    if (s->partial_size == 0 && s->partial_seen == START_BYTES) {
        if (s->partial_have < START_BYTES) {
            fall_out(tcp, c, end, piece->len, !s->partial_lost);
            return piece->len;
        }
        private_data = rpcrdma_get_be16(frame + 18);
        if (private_data > PRIVATE_MOST) {
            rpcrdma_tcp_finding(tcp, s, RPCRDMA_RULE_MALFORMED, "MPA private data length", 0, 0);
            c->confirmed = false;
            c->closed = true;
            return n;
        }
        s->partial_size = START_BYTES + private_data;
    }
    if (s->partial_seen == s->partial_size) {
        start_frame(tcp, c, end, begin, frame, s->partial_have, s->partial_size);
        partial_done(s);
    }
    return n;
}

uint32_t rpcrdma_mpa_read(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                          const struct rpcrdma_tcp_piece *piece)
{
    struct rpcrdma_stream *s = &c->stream[end];
    struct rpcrdma_tcp_piece rest = *piece;

    while (rest.len > 0 && s->phase != RPCRDMA_STREAM_LOOKING && !c->closed) {
        uint32_t used = s->phase == RPCRDMA_STREAM_START ? read_start(tcp, c, end, &rest)
                                                         : read_fpdu(tcp, c, end, &rest);

        s->next += used;
        s->scanned = s->next + (used == 0); /* what was wrong here is not tried again */
        rest.len -= used;
        if (used < rest.caplen) {
            rest.bytes += used;
            rest.caplen -= used;
        } else {
            rest.caplen = 0;
        }
    }
    return piece->len - rest.len;
}

void rpcrdma_mpa_ends(struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c, int end)
{
    const struct rpcrdma_stream *s = &c->stream[end];

    if (s->partial_seen > 0)
        rpcrdma_tcp_finding(tcp, s, RPCRDMA_RULE_MPA_CUT, NULL, s->partial_seen, s->partial_size);
}
