/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/iwarp/tcp.h"

/*
 * A segment of which a bit changed on its way is dropped by its receiver. Were it taken, all behind
 * it could be read wrongly. To check every segment would take longer than all the rest: so those
 * are that do not fit in where they stand, those that begin with a message and are short (one that
 * is read wrongly looks like its sender's error), and a few others, which show whether their
 * sender's checksums are right in this capture.
 */

enum {
    SAMPLES_FIRST = 32,  /* all of so many, */
    STEPS_MOST = 4096,   /* then fewer and fewer */
    CREDIT_MOST = 64,    /* a stream whose segments do not fit, and are right, */
    CREDIT_OF_DOUBT = 4, /* is checked as often as four of its segments fitted */
    FPDU_BEGINS = 4,     /* bytes that may show that it is none */
    SHORT = 512,         /* bytes */
    DDP_TAGGED = 0x80,
};

/* Where what is known of the stream ends. */
static uint32_t known_end(const struct rpcrdma_stream *s)
{
    const struct rpcrdma_range *last = s->held_last;

    return last && rpcrdma_seq_diff(last->seq + last->len, s->next) > 0 ? last->seq + last->len
                                                                        : s->next;
}

/* From where an FPDU begins to the end of what was captured: one is none, or goes on behind its
 * segment, as none so long did before. */
static bool fpdus_doubtful(struct rpcrdma_stream *s, const struct rpcrdma_tcp_piece *piece)
{
    uint32_t off = s->partial_size - s->partial_seen; /* both 0: one begins here */

    while (off < piece->caplen && piece->caplen - off >= FPDU_BEGINS) {
        const uint8_t *fpdu = piece->bytes + off;
        uint32_t size = rpcrdma_fpdu_bytes(rpcrdma_get_be16(fpdu));

        if (rpcrdma_ddp_plausible(fpdu, piece->caplen - off) == RPCRDMA_PLAUSIBLE_NO)
            return true;
        if (size > piece->len - off && size > s->largest) {
            s->largest = size;
            return true;
        }
        off += size;
    }
    return false;
}

/* A Send, or a request for data, rather than data. */
static bool short_message(const struct rpcrdma_stream *s, const struct rpcrdma_tcp_piece *piece)
{
    return piece->len <= SHORT && piece->caplen >= FPDU_BEGINS && s->phase == RPCRDMA_STREAM_FPDU &&
           s->partial_size == 0 && s->partial_seen == 0 && !(piece->bytes[2] & DDP_TAGGED);
}

static bool doubtful(struct rpcrdma_tcp_connection *c, int end, const struct rpcrdma_tcp_taken *t,
                     bool disagrees)
{
    struct rpcrdma_stream *s = &c->stream[end];
    const struct rpcrdma_stream *other = &c->stream[1 - end];

    if ((t->flags & (TCP_SYN | TCP_FIN | TCP_RST | TCP_ACK)) != TCP_ACK || disagrees)
        return true;
    if (other->has_next && rpcrdma_seq_diff(t->ack, known_end(other)) > 0)
        return true;
    if (t->piece.len == 0 || !s->has_next)
        return false;
    if (s->phase == RPCRDMA_STREAM_START || t->piece.seq != known_end(s))
        return true;
    return s->phase == RPCRDMA_STREAM_FPDU && !s->held && s->unproven == 0 &&
           (s->partial_size > 0 || s->partial_seen == 0) && !rpcrdma_mpa_markers(c, end) &&
           fpdus_doubtful(s, &t->piece);
}

/* Whether it is one that shows what its sender's checksums are. */
static bool sampled(struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_piece *piece)
{
    if (piece->caplen < piece->len)
        return false;
    if (tcp->samples_left > 0) {
        tcp->samples_left--;
        return false;
    }
    if (tcp->n_samples < SAMPLES_FIRST)
        tcp->n_samples++;
    else
        tcp->samples_left = tcp->samples_step =
            tcp->samples_step < STEPS_MOST ? tcp->samples_step * 2 + 1 : STEPS_MOST;
    return true;
}

bool rpcrdma_tcp_to_check(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                          const struct rpcrdma_tcp_taken *t, bool disagrees)
{
    struct rpcrdma_stream *s = &c->stream[end];

    if (c->closed)
        return false;
    if (!doubtful(c, end, t, disagrees)) {
        if (s->doubts > 0)
            s->doubts--;
        return sampled(tcp, &t->piece) || short_message(s, &t->piece);
    }
    if (s->doubts + CREDIT_OF_DOUBT > CREDIT_MOST)
        return false;
    s->doubts += CREDIT_OF_DOUBT;
    return true;
}
