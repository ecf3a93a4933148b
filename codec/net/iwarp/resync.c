/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/iwarp/rdmap.h"
#include "net/iwarp/tcp.h"

/*
 * Where FPDUs begin, when that is not known: the start of the connection was not captured, or bytes
 * were lost. Three plausible FPDUs in a row are taken as FPDUs; one suffices if its CRC is right
 * (which a wrong one does not disprove: CRCs may be off). Of a connection that is known to be MPA,
 * also one that begins where a TCP segment does and ends where one ends, as MPA senders do it.
 *
 * Where the start-up frames were not heard, markers are possible. FPDUs that fit together over 512
 * bytes have none; before that nothing is read, so that no marker is taken for payload.
 *
 * Bytes can be made to look like the beginning of a long FPDU at every fourth. So CRCs, and the
 * search for markers, are paid for with the bytes that came (stream.effort): where that is used up,
 * three in a row decide, and in step again is later.
 */

enum {
    UNCONFIRMED_MOST = RPCRDMA_BOUND(128 << 10, 1024),
    RUNS_JUDGED = 4,      /* what lies between holes */
    RANGE_EFFORT = 16,    /* what going on to another range takes, in bytes summed up, */
    MARKER_EFFORT = 4096, /* and looking for markers in an FPDU */
};

enum chain {
    CHAIN_NO,      /* something in it is no FPDU */
    CHAIN_PENDING, /* bytes are missing yet */
    CHAIN_ALIGNED, /* likewise, but all FPDUs end where a segment does */
    CHAIN_SURE,
};

static uint32_t range_end(const struct rpcrdma_range *r)
{
    return r->seq + r->len;
}

/* The first range that ends after seq, found from one before it. */
static struct rpcrdma_range *range_at(struct rpcrdma_stream *s, struct rpcrdma_range *from,
                                      uint32_t seq)
{
    for (int i = 0; from && i < 2; i++, from = from->after)
        if (rpcrdma_seq_diff(range_end(from), seq) > 0)
            return from;
    return from ? rpcrdma_range_at(s, seq) : NULL;
}

/* The captured bytes at seq, n of them if there are so many. Returns how many. *from: a range to
 * begin the search at, moved to where seq was found. */
static uint32_t peek(struct rpcrdma_stream *s, struct rpcrdma_range **from, uint32_t seq,
                     uint8_t *out, uint32_t n)
{
    uint32_t have = 0;
    struct rpcrdma_range *r = *from = range_at(s, *from, seq);

    for (; r && have < n && rpcrdma_seq_diff(r->seq, seq) <= 0; r = r->after) {
        uint32_t off = seq - r->seq, take = n - have;

        if (off >= r->caplen)
            break;
        if (take > r->caplen - off)
            take = r->caplen - off;
        memcpy(out + have, r->bytes + off, take);
        have += take;
        seq += take;
        if (off + take < r->len && have < n)
            break; /* the rest of the range was not captured */
    }
    return have;
}

/* As peek, without markers. */
static uint32_t peek_content(struct rpcrdma_tcp_connection *c, int end, struct rpcrdma_range **from,
                             uint32_t seq, uint8_t *out, uint32_t n)
{
    uint8_t raw[RPCRDMA_FPDU_HEADER + 8];
    uint32_t have, kept = 0, next;

    if (!rpcrdma_mpa_markers(c, end))
        return peek(&c->stream[end], from, seq, out, n);
    have = peek(&c->stream[end], from, seq, raw, n + 4);
    next = (c->stream[end].marker_phase - seq) % RPCRDMA_MARKER_EVERY;
    for (uint32_t i = 0; i < have && kept < n; i++)
        if (i < next || i >= next + 4)
            out[kept++] = raw[i];
    return kept;
}

/* True: it takes so much of what there is. */
static bool spend(struct rpcrdma_stream *s, uint32_t effort)
{
    if (s->effort < effort)
        return false;
    s->effort -= effort;
    return true;
}

static bool crc_right(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s, struct rpcrdma_range *r,
                      uint32_t seq, uint32_t size)
{
    uint32_t value = UINT32_C(0xffffffff), n = size - 4;
    uint8_t sum[4];

    /* nearly always some of it is still to come, or not there */
    if (!r || rpcrdma_seq_diff(r->seq, seq) > 0 ||
        rpcrdma_seq_diff(range_end(rpcrdma_run_last(r)), seq + size) < 0)
        return false;
    while (n > 0) {
        uint32_t off = seq - r->seq, take;

        if (off >= r->caplen)
            return false;
        take = r->caplen - off < n ? r->caplen - off : n;
        if (!spend(s, take + RANGE_EFFORT))
            return false;
        value = rpcrdma_crc_add(&tcp->crc32c, value, r->bytes + off, take);
        seq += take;
        n -= take;
        if (n > 0 && off + take < r->len)
            return false; /* the rest of the range was not captured */
        if (off + take == r->len)
            r = r->after;
    }
    value = ~value;
    return peek(s, &r, seq, sum, 4) == 4 &&
           (sum[0] | (uint32_t)sum[1] << 8 | (uint32_t)sum[2] << 16 | (uint32_t)sum[3] << 24) ==
               value;
}

/* Whether this direction has markers is known: its receiver said so, or its FPDUs showed it. */
static bool markers_known(const struct rpcrdma_tcp_connection *c, int end)
{
    return c->stream[end].has_phase ||
           (c->stream[1 - end].mpa_seen && !c->stream[1 - end].mpa_marker);
}

struct trial {
    unsigned count;   /* how many plausible headers were seen */
    uint32_t missing; /* CHAIN_PENDING, CHAIN_ALIGNED: bytes are, from here on */
};

/* Follows FPDUs from seq on. */
static enum chain follow(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                         struct rpcrdma_range *from, uint32_t seq, struct trial *trial)
{
    struct rpcrdma_stream *s = &c->stream[end];
    uint32_t begin = seq;
    bool aligned = true, known = markers_known(c, end), enough = false;

    trial->count = 0;
    for (;;) {
        uint8_t header[RPCRDMA_FPDU_HEADER];
        uint32_t have = peek_content(c, end, &from, seq, header, sizeof(header)), size;

        trial->missing = seq + have;
        if (have == 0) /* FPDUs end here: at the end of a range, or where nothing is known */
            return trial->count > 0 && aligned ? CHAIN_ALIGNED : CHAIN_PENDING;
        switch (rpcrdma_ddp_plausible(header, have)) {
        case RPCRDMA_PLAUSIBLE_NO:
            return CHAIN_NO;
        case RPCRDMA_PLAUSIBLE_MAYBE:
            return CHAIN_PENDING;
        case RPCRDMA_PLAUSIBLE_YES:
            break;
        }
        enough |= ++trial->count >= RPCRDMA_IN_A_ROW;
        size = rpcrdma_mpa_size(c, end, seq, rpcrdma_get_be16(header));
        if (enough && (known || seq - begin >= RPCRDMA_MARKER_EVERY))
            return CHAIN_SURE;
        enough = enough || crc_right(tcp, s, from, seq, size);
        seq += size;
        if (enough && known)
            return CHAIN_SURE;
        /* does a range end there? (Cut packets end there too, on the wire.) */
        from = range_at(s, from, seq - 1);
        aligned = from && range_end(from) == seq;
    }
}

/*
 * FPDUs that do not fit together can have markers in them, where nobody heard the start-up frames.
 * A marker inside of an FPDU shows how far back the FPDU began: 32 bits that are right nowhere
 * else. True: markers were found; sizes follow them from now on.
 */
static bool find_markers(struct rpcrdma_tcp_connection *c, int end, struct rpcrdma_range *from,
                         uint32_t seq)
{
    struct rpcrdma_stream *s = &c->stream[end];
    uint8_t header[RPCRDMA_FPDU_HEADER], marker[4];

    if (markers_known(c, end))
        return false;
    for (unsigned i = 0; i < RPCRDMA_IN_A_ROW; i++) {
        uint32_t size;

        if (rpcrdma_ddp_plausible(header, peek(s, &from, seq, header, sizeof(header))) !=
            RPCRDMA_PLAUSIBLE_YES)
            return false;
        size = rpcrdma_mpa_size(c, end, seq, rpcrdma_get_be16(header));
        for (uint32_t at = 4; at < size && at < RPCRDMA_MARKER_EVERY; at += 4) {
            struct rpcrdma_range *there = from;

            if (peek(s, &there, seq + at, marker, 4) == 4 && rpcrdma_get_be32(marker) == at) {
                s->has_phase = true;
                s->marker_phase = seq + at;
                c->stream[1 - end].mpa_marker = true;
                return true;
            }
        }
        seq += size;
    }
    return false;
}

/* As follow; if need be with markers, which then are known. */
static enum chain follow_anyway(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                                struct rpcrdma_range *from, uint32_t seq, struct trial *trial)
{
    enum chain chain = follow(tcp, c, end, from, seq, trial);
    bool announced = c->stream[1 - end].mpa_marker;

    if (chain != CHAIN_NO || trial->count == 0)
        return chain;
    if (!markers_known(c, end) && !spend(&c->stream[end], MARKER_EFFORT))
        return CHAIN_PENDING; /* when more has come */
    if (!find_markers(c, end, from, seq))
        return chain;
    chain = follow(tcp, c, end, from, seq, trial);
    if (chain == CHAIN_SURE)
        return chain;
    c->stream[end].has_phase = false; /* to be tried again when there is more to see */
    c->stream[1 - end].mpa_marker = announced;
    return chain == CHAIN_NO ? CHAIN_NO : CHAIN_PENDING;
}

static void get_in_step(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                        uint32_t seq, enum chain chain, bool last)
{
    struct rpcrdma_stream *s = &c->stream[end];

    rpcrdma_stream_skip(tcp, c, end, seq, last);
    if (!s->has_phase && !c->stream[1 - end].mpa_marker) {
        s->has_phase = true; /* later FPDUs are at multiples of 4 from here */
        s->marker_phase = seq;
    }
    s->phase = RPCRDMA_STREAM_FPDU;
    s->dropped_candidates = false;
    s->unproven = chain == CHAIN_SURE ? 0 : RPCRDMA_IN_A_ROW;
    s->n_candidates = 0;
    s->impatient = false;
    s->tagged_open[0] = s->tagged_open[1] = true; /* what went before is not known */
}

static bool good_enough(enum chain chain, bool segment)
{
    return chain == CHAIN_SURE || (chain == CHAIN_ALIGNED && segment);
}

/* Whether bytes before this range will still come. An Ack captured before the range may have
 * overtaken them as well. */
static bool hole_open(const struct rpcrdma_stream *s, const struct rpcrdma_range *r)
{
    return !s->has_ack || rpcrdma_seq_diff(s->ack, r->seq) < 0 || s->ack_arrival < r->arrival;
}

static void look_anew(struct rpcrdma_stream *s)
{
    s->scanned = s->next;
    s->n_candidates = 0;
    s->dropped_candidates = false;
}

/* What is missing at seq will not come: it is in a hole, or was cut by the capture. */
static bool waits_in_vain(struct rpcrdma_stream *s, uint32_t seq)
{
    const struct rpcrdma_range *r = rpcrdma_range_at(s, seq);

    if (!r)
        return false;
    return rpcrdma_seq_diff(r->seq, seq) > 0 ? !hole_open(s, r) : seq - r->seq >= r->caplen;
}

/* Where there is no room, in the place of one that waits in vain. */
static void add_candidate(struct rpcrdma_stream *s, uint32_t seq, uint32_t missing, bool segment)
{
    if (s->n_candidates == RPCRDMA_CANDIDATES) {
        unsigned i = spend(s, RPCRDMA_CANDIDATES * RANGE_EFFORT) ? 0 : RPCRDMA_CANDIDATES;

        while (i < RPCRDMA_CANDIDATES && !waits_in_vain(s, s->candidate[i].missing))
            i++;
        if (i == RPCRDMA_CANDIDATES)
            return;
        memmove(&s->candidate[i], &s->candidate[i + 1],
                (RPCRDMA_CANDIDATES - 1 - i) * sizeof(s->candidate[0]));
        s->n_candidates--;
        s->dropped_candidates = true;
    }
    s->candidate[s->n_candidates].seq = seq;
    s->candidate[s->n_candidates].missing = missing;
    s->candidate[s->n_candidates++].segment = segment;
}

/* FPDUs that show that there are no markers. With that known, less shows those before. */
static void found(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end, uint32_t seq,
                  enum chain chain, bool last)
{
    struct rpcrdma_stream *s = &c->stream[end];

    if (chain != CHAIN_SURE || markers_known(c, end) || c->stream[1 - end].mpa_marker ||
        seq == s->next) {
        get_in_step(tcp, c, end, seq, chain, last);
        return;
    }
    s->has_phase = true;
    s->marker_phase = seq;
    look_anew(s);
    rpcrdma_stream_look(tcp, c, end, last);
}

/* Where an FPDU may begin, as was seen before: more may follow by now. True: one does. */
static bool look_at_candidates(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                               bool last)
{
    struct rpcrdma_stream *s = &c->stream[end];
    bool known = markers_known(c, end);
    unsigned kept = 0;
    struct trial trial;

    for (unsigned i = 0; i < s->n_candidates; i++) {
        uint32_t seq = s->candidate[i].seq;
        struct rpcrdma_range *from;
        enum chain chain;

        if (rpcrdma_seq_diff(seq, s->next) < 0)
            continue;
        from = rpcrdma_range_at(s, seq);
        chain = s->candidate[i].segment ? follow_anyway(tcp, c, end, from, seq, &trial)
                                        : follow(tcp, c, end, from, seq, &trial);
        if (good_enough(chain, (s->candidate[i].segment && known) || last)) {
            found(tcp, c, end, seq, chain, last);
            return true;
        }
        s->candidate[i].missing = trial.missing;
        if (chain != CHAIN_NO)
            s->candidate[kept++] = s->candidate[i];
    }
    s->n_candidates = kept;
    return false;
}

/* From s->scanned to the end of the range. False: no further, one begins there or its rest is to
 * come. */
static bool scan(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                 struct rpcrdma_range *r, bool last)
{
    struct rpcrdma_stream *s = &c->stream[end];
    /* FPDUs are multiples of 4 bytes long */
    uint32_t step = s->has_phase ? 4 : 1;
    uint32_t seq = s->scanned + (s->has_phase ? (s->marker_phase - s->scanned) % 4 : 0);
    bool known = markers_known(c, end);
    struct trial trial;

    for (; rpcrdma_seq_diff(seq, r->seq + r->caplen) < 0; seq += step) {
        const uint8_t *p = r->bytes + (seq - r->seq);
        bool whole = r->seq + r->caplen - seq >= 4, segment = r->segment && seq == r->seq;
        uint8_t header[RPCRDMA_FPDU_HEADER];
        struct rpcrdma_range *from = r;
        enum chain chain;

        /* nearly every position ends here */
        if (whole && !rpcrdma_mpa_markers(c, end) &&
            ((p[2] & 0x3f) != 0x01 || (p[3] & 0xf0) != 0x40))
            continue;
        if (peek_content(c, end, &from, seq, header, sizeof(header)) < 16 && !last &&
            r->caplen == r->len && !r->after) {
            s->scanned = seq; /* wait for the rest of it */
            return false;
        }
        chain = segment ? follow_anyway(tcp, c, end, r, seq, &trial)
                        : follow(tcp, c, end, r, seq, &trial);
        if (good_enough(chain, (segment && known) || last) && trial.count > 0) {
            found(tcp, c, end, seq, chain, last);
            return false;
        }
        /* cut packets show no second header: the one at the segment's start is taken */
        if (chain != CHAIN_NO && trial.count > 0 && segment && known && r->caplen < r->len) {
            get_in_step(tcp, c, end, seq, chain, last);
            return false;
        }
        if (chain != CHAIN_NO)
            add_candidate(s, seq, trial.missing, segment);
    }
    s->scanned = range_end(r);
    return true;
}

void rpcrdma_stream_look(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                         bool last)
{
    struct rpcrdma_stream *s = &c->stream[end];

    if (last && s->dropped_candidates)
        look_anew(s);
    if (look_at_candidates(tcp, c, end, last))
        return;
    if (rpcrdma_seq_diff(s->scanned, s->next) < 0)
        s->scanned = s->next;
    for (struct rpcrdma_range *r = rpcrdma_range_at(s, s->scanned); r; r = r->after) {
        if (rpcrdma_seq_diff(range_end(r), s->scanned) <= 0)
            continue;
        if (rpcrdma_seq_diff(s->scanned, r->seq) < 0) {
            if (s->fell_out && s->has_ack && !last && hole_open(s, r))
                return; /* an Ack will tell, or what was sent again fills it */
            s->scanned = r->seq;
        }
        if (!scan(tcp, c, end, r, last))
            return;
        if (r->after && r->after->seq != s->scanned && !last && hole_open(s, r->after))
            return;
    }
}

/* What shows that a connection begun in mid-stream is MPA. */
struct evidence {
    bool anchored, sure;
    unsigned total; /* FPDUs */
};

/* Of one direction: where it begins, and behind the first holes, as what fills those may have been
 * captured by nobody. False: it is no MPA. */
static bool gather(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                   struct evidence *e)
{
    struct rpcrdma_stream *s = &c->stream[end];
    struct rpcrdma_range *r = s->held;

    for (unsigned i = 0; r && i < RUNS_JUDGED; i++, r = rpcrdma_run_last(r)->after) {
        struct trial trial;
        enum chain chain;

        if (!r->segment)
            continue;
        chain = follow_anyway(tcp, c, end, r, i == 0 ? s->next : r->seq, &trial);
        if (chain == CHAIN_NO && (trial.count == 0 || i > 0))
            continue; /* it began inside of an FPDU, perhaps */
        if (chain == CHAIN_NO)
            return false;
        e->anchored = true;
        e->total += trial.count;
        e->sure |= chain == CHAIN_SURE;
    }
    return true;
}

bool rpcrdma_stream_judge(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    struct evidence e = {0};

    for (int end = 0; end < 2; end++)
        if (!gather(tcp, c, end, &e))
            return false;
    if (!e.anchored)
        return false;
    if (!e.sure && e.total < RPCRDMA_IN_A_ROW)
        return c->stream[0].held_bytes + c->stream[1].held_bytes <= UNCONFIRMED_MOST;
    c->confirmed = true;
    return true;
}
