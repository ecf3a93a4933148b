/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_IWARP_TCP_H
#define RPCRDMA_NET_IWARP_TCP_H

/*
 * iWARP: RDMAP (RFC 5040) on DDP (RFC 5041) on MPA (RFC 5044, RFC 6581) on TCP.
 *
 *   tcp.c           segments
 *   segment.c       which connection they are of
 *   tcp_table.c     the table of connections, and its memory
 *   tcp_checksum.c  whether a segment was damaged
 *   tcp_doubt.c     and of which segments that is looked at
 *   tcp_reset.c     whether a RST was taken
 *   tcp_options.c   what the receiver of bytes says of those that came twice
 *   tcp_bytes.c     where in TCP's bytes FPDUs are, for who asks
 *   tcp_late.c      an acknowledgement that is captured before what it acknowledges waits for it
 *   tcp_reorder.c   bytes of both directions in order
 *   tcp_hole.c      what is missing of them is waited for, then lost
 *   mpa.c           start-up frames, and FPDUs out of the bytes
 *   resync.c        finding the FPDUs again where the boundaries are not known
 *   ddp.c           one FPDU becomes one operation
 *
 * A connection is remembered when it shows an MPA Request or Reply, or a segment that begins with
 * what could be an FPDU; any other TCP costs a look at its first bytes. In order, bytes are read
 * where the packet lies. They are copied only where an FPDU spans segments, or waits for others.
 *
 * An operation bears frame and time of the packet with which the receiver had it: of an FPDU
 * behind a hole that is the packet that filled the hole. Where no packet of the capture did, it is
 * that which carried the FPDU's last byte, and what is lost bears the first packet behind the hole.
 * So in each direction they never go back; but what waited for a packet that was not captured is
 * older than what the other direction has given meanwhile.
 * What one direction has waits while the other is out of step and has something, too: so those of
 * both come in the order of the capture. It waits until it is RPCRDMA_HELD_MOST, or less where all
 * connections hold much; then the other gets in step at what is likely, or is waited for no more.
 * What was held until a connection begun in mid-stream was recognised bears its own packet's, and
 * can be older than operations of other connections that were given before it.
 */

#include <sys/queue.h>

#include "base/siphash.h"
#include "base/splay.h"
#include "bound.h"
#include "net/packet/layer.h"

enum rpcrdma_stream_phase {
    RPCRDMA_STREAM_START,   /* an MPA Request or Reply comes next */
    RPCRDMA_STREAM_FPDU,    /* in step: an FPDU comes next, or is partly there */
    RPCRDMA_STREAM_LOOKING, /* out of step */
};

/* Captured bytes that cannot be read yet. Ranges of a stream are sorted and do not overlap. */
struct rpcrdma_range {
    struct rpcrdma_range *after;
    struct splay_node node;
    struct rpcrdma_range *run; /* up to this one there is no hole: see rpcrdma_run_last */
    uint64_t place;            /* orders ranges of a stream as `seq` does, without wrapping */
    uint32_t seq, len, caplen;
    uint64_t arrival, frame;
    int64_t time_ns;
    bool segment; /* begins where a segment's payload did */
    uint8_t bytes[];
};

enum { RPCRDMA_CANDIDATES = 8 };

struct rpcrdma_stream { /* one direction */
    enum rpcrdma_stream_phase phase;
    uint32_t next; /* sequence number of the next byte to be read */
    uint32_t
        start;    /* of the first byte known: distinguishes a new connection from an old segment */
    uint32_t ack; /* the receiver has all bytes before it */
    uint64_t ack_arrival, ack_frame; /* of the latest that said so, or said it again */
    int64_t ack_time_ns;
    uint32_t fin; /* sequence number after the last byte */
    bool has_next, has_ack, has_fin, fin_given;
    bool fin_answers; /* it acknowledges the other's FIN, which was not captured by then */
    uint64_t fin_arrival, fin_frame;
    int64_t fin_time_ns;

    uint64_t arrival, frame; /* latest packet that contributed to what is being read */
    int64_t time_ns;

    struct rpcrdma_range *held, *held_last;
    struct splay_node *by_place; /* the same */
    uint32_t held_bytes, n_held;
    uint32_t effort; /* that looking for FPDUs may still take: see resync.c */

    /* an FPDU or start-up frame of which only the beginning is there */
    uint8_t *partial;
    uint32_t partial_room; /* allocated */
    uint32_t partial_have; /* captured, without a hole */
    uint32_t partial_seen; /* on the wire */
    uint32_t partial_size; /* of the whole; 0: not known yet */
    bool partial_lost;     /* a part of it was in packets that are not in the capture */

    bool mpa_seen, mpa_marker, mpa_crc; /* what this direction's start-up frame said */
    bool has_phase;                     /* marker_phase is known, so FPDUs are at + 4 n */
    uint8_t unproven;      /* in step by inference: so many FPDUs must fit until it is sure */
    bool fell_out;         /* where its FPDUs begin was known before */
    bool out_by_cut;       /* before that, out of step because packets were cut */
    uint32_t marker_phase; /* sequence number where the first FPDU began */
    bool tagged_open[2];   /* a Write, a Read Response had no last segment yet, perhaps */

    uint8_t doubts;   /* how often it was checked of late, and right: see tcp_doubt.c */
    uint32_t largest; /* FPDU that went on behind its segment: likewise */
    uint32_t longest; /* FPDU that was read */

    bool send_known; /* the next two are what a Send's segment must have */
    uint32_t send_msn, send_offset;

    /* looking for an FPDU */
    uint32_t scanned; /* everything before was tried */
    struct {
        uint32_t seq, missing;       /* where bytes are */
        bool segment;                /* begins where a segment did */
    } candidate[RPCRDMA_CANDIDATES]; /* an FPDU could begin there, if what is missing fits */
    unsigned n_candidates;
    bool dropped_candidates; /* some gave way to others: what is missing will not come */
    bool impatient;          /* the other direction does not wait for it any more */
};

/* RFC 5044 section 4.1: length, ULPDU, padding, CRC; without markers. */
static inline uint32_t rpcrdma_fpdu_bytes(uint32_t ulpdu)
{
    return (2 + ulpdu + 3) / 4 * 4 + 4;
}

struct rpcrdma_tcp_piece { /* bytes on their way into a stream */
    uint32_t seq, len, caplen;
    const uint8_t *bytes;
    bool segment;
    bool lost; /* of packets that are not in the capture: without bytes */
};

enum { TCP_FIN = 0x01, TCP_SYN = 0x02, TCP_RST = 0x04, TCP_ACK = 0x10 };

struct rpcrdma_tcp_taken { /* what a segment says to its connection */
    uint32_t ack;
    uint8_t flags;
    struct rpcrdma_tcp_piece piece;
};

TAILQ_HEAD(rpcrdma_late_list, rpcrdma_late);

struct rpcrdma_tcp_connection {
    struct rpcrdma_tcp_connection *chain;       /* in its hash bucket */
    TAILQ_ENTRY(rpcrdma_tcp_connection) by_use; /* in its list */
    uint64_t hash;
    uint64_t key[2][2];                /* the addresses, to be found by */
    struct rpcrdma_address address[2]; /* stream i is sent by end i */
    uint16_t port[2];
    bool confirmed;     /* it is MPA: start-up frame seen, or FPDUs in a row */
    bool closed;        /* reset, or no MPA after all: what still comes is not read */
    bool holding;       /* which list it is in */
    bool lacks_request; /* of end 1: begun by the Reply, and `late` may wait for it */
    bool vain;          /* the next two are of bytes waited for in vain */
    uint8_t vain_end;
    bool old_reset; /* a RST that may have come too late to be taken, see tcp_reset.c; the end that
                     * sent it, its sequence number, frame and time */
    uint8_t old_reset_end;
    uint8_t in_vain; /* how often `late` waited since something came late */
    uint32_t vain_seq;
    uint32_t old_reset_seq;
    uint64_t old_reset_frame;
    int64_t old_reset_ns;
    int32_t patience_ns;                 /* how long those of `late` may wait */
    struct rpcrdma_late_list late;       /* captured, and not taken: see tcp_late.c */
    struct rpcrdma_late_list late_of[2]; /* with bytes, of each end */
    uint32_t n_late;                     /* how many are */
    uint32_t late_looks;                 /* at so many of them may be looked */
    int late_lacks;                      /* whose bytes they wait for; -1: is to be found out */
    size_t late_bytes;                   /* which they take */
    struct rpcrdma_stream stream[2];
};

TAILQ_HEAD(rpcrdma_tcp_list, rpcrdma_tcp_connection); /* the least recently used first */

struct rpcrdma_tcp {
    struct rpcrdma_net *net;
    struct siphash_key key; /* of the hash */
    struct rpcrdma_tcp_connection **bucket;
    size_t n_buckets, n_connections;
    struct rpcrdma_tcp_list holding_nothing, holding;
    uint64_t memory, max_memory; /* bytes allocated for connections and what they hold */
    uint64_t arrival;            /* of segments, counted */
    uint64_t frame;              /* the packet at hand */
    int64_t time_ns;
    uint64_t back_frame; /* the latest whose time is before that of the one before; 0: none */
    uint8_t *scratch;    /* an FPDU freed of its markers */
    bool making_room;
    uint32_t n_samples, samples_left,
        samples_step; /* segments to the next that is checked: tcp_doubt.c */
    struct rpcrdma_crc crc32c;
};

/* tcp_table.c */
bool rpcrdma_tcp_init(struct rpcrdma_net *net, uint64_t max_memory);
void rpcrdma_tcp_free(struct rpcrdma_tcp *tcp);
void rpcrdma_tcp_end(struct rpcrdma_tcp *tcp); /* gives out what can be, forgets all connections */
/* Accounts for n bytes and gets them; when too much is held, what has waited longest is given up.
 * NULL: there is no memory; `connection` is never the one that loses what it holds. */
void *rpcrdma_tcp_alloc(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *connection,
                        size_t n);
void rpcrdma_tcp_release(struct rpcrdma_tcp *tcp, void *memory, size_t n);
/* Into the table, by c->hash: the one used last. */
void rpcrdma_tcp_add(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c);
/* It is the one used last, and may hold more or less than before. */
void rpcrdma_tcp_used(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c);
/* Out of the table; frees it, with what it holds. */
void rpcrdma_tcp_forget(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c);

/* tcp.c */
void rpcrdma_tcp_finding(struct rpcrdma_tcp *tcp, const struct rpcrdma_stream *s,
                         enum rpcrdma_rule_id rule, const char *what, uint64_t arg0, uint64_t arg1);

/* tcp_checksum.c: whether a TCP header and what follows it, n bytes, were damaged on the way (see
 * damage.h), or the IPv4 header before, if `both` or where TCP's checksum cannot be known, as not
 * all was captured. One that is left to the adapter is right. */
bool rpcrdma_tcp_damaged(const struct rpcrdma_layer *l, const uint8_t *header, size_t n, bool both);

/* tcp_doubt.c: whether the checksum of this segment, which is in hand, is worth looking at.
 * `disagrees`: its length in the IP header is not that of its frame. */
bool rpcrdma_tcp_to_check(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                          const struct rpcrdma_tcp_taken *t, bool disagrees);

/* tcp_reset.c: a RST of this end, at that sequence number. */
void rpcrdma_tcp_reset(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                       uint32_t seq);
/* What an end says of what it has: a RST that is behind that was not taken. */
void rpcrdma_tcp_reset_acked(struct rpcrdma_tcp_connection *c);
/* Nothing more comes: it was taken, as nothing says otherwise. */
void rpcrdma_tcp_reset_end(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c);

/* tcp.c: a segment of this end, and what follows of it. */
void rpcrdma_tcp_take(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                      const struct rpcrdma_tcp_taken *t);

/* Puts a connection of which segments were taken where it belongs, or forgets it. */
void rpcrdma_tcp_settle(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c);

/* tcp_bytes.c: for the sink's `bytes`, if it has one. `unit`: a start-up frame or an FPDU. */
void rpcrdma_tcp_tell_segment(const struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c,
                              int end, const struct rpcrdma_tcp_piece *piece, bool begins);
void rpcrdma_tcp_tell_unit(const struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c,
                           int end, enum rpcrdma_tcp_bytes_kind kind,
                           const struct rpcrdma_tcp_piece *unit);
void rpcrdma_tcp_tell_none(const struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c);

/* tcp_late.c */
/* Takes a segment of a connection that is not closed, now or when what it acknowledges was. */
void rpcrdma_late_take(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                       const struct rpcrdma_tcp_taken *t);
/* Takes all that wait: nothing more will come. */
void rpcrdma_late_end(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c);
/* Takes what has waited too long on connections on which nothing has come since. */
void rpcrdma_late_overdue(struct rpcrdma_tcp *tcp);
/* For a connection that is not read any more. */
void rpcrdma_late_clear(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c);

/* tcp_reorder.c */
enum { RPCRDMA_HELD_MOST = RPCRDMA_BOUND(16 << 20, 2048) }; /* more than any window in use */
/* Takes the bytes of a segment, and gives out all that can be. */
void rpcrdma_stream_segment(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                            const struct rpcrdma_tcp_piece *piece);
/* tcp_options.c. What the n bytes of options of this acknowledgement say of what arrived (SACK):
 * its `twice`, `twice_end`, `arrived` and `n_arrived`; and of its sender's clock, before that:
 * `has_stamp` and `stamp`. They stay as they are without. */
void rpcrdma_tcp_blocks(const uint8_t *options, size_t n, struct rpcrdma_tcp_segment *segment);

/* tcp_reorder.c. Gives out all that can be; `last`: nothing more will come, so holes stay holes. */
void rpcrdma_stream_advance(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, bool last);
/* Frees what is held; what had begun counts as not captured from then on. */
void rpcrdma_stream_give_up(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s);
/* For a stream that is not read any more. */
void rpcrdma_stream_clear(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s);
/* The first range that ends after seq; NULL: none does. */
struct rpcrdma_range *rpcrdma_range_at(struct rpcrdma_stream *s, uint32_t seq);
/* The last range before a hole. */
struct rpcrdma_range *rpcrdma_run_last(struct rpcrdma_range *r);
/* Forgets what is held before seq. */
void rpcrdma_stream_drop(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s, uint32_t seq);

/* tcp_hole.c */
/* A packet contributed to what is read. */
void rpcrdma_stream_arrived(struct rpcrdma_stream *s, uint64_t arrival, uint64_t frame,
                            int64_t time_ns);
/* Where the bytes end that a receiver who sends `ack` has, from `next` to what is held. */
uint32_t rpcrdma_stream_acknowledged(const struct rpcrdma_stream *s, uint32_t ack);
/* A receiver who sends `ack` has a FIN, too, which was not captured by now: RFC 9293 section 3.4.
 */
bool rpcrdma_stream_fin_missing(const struct rpcrdma_stream *s, uint32_t ack);
/* Nothing that this end sent was captured so far: whatever it sends acknowledges the other's. What
 * is missing of it is no loss of the capture, which has one direction. */
static inline bool rpcrdma_stream_unseen(const struct rpcrdma_tcp_connection *c, int end)
{
    const struct rpcrdma_stream *other = &c->stream[1 - end];

    return other->has_next && !other->has_ack;
}
/* Bytes up to `stop` that nobody will show us. What is not read of them, out of step, is lost all
 * the same. */
void rpcrdma_stream_lose(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                         uint32_t stop);
/* Those up to what the receiver has, or (`last`) to what comes next. False: there are none. */
bool rpcrdma_stream_read_hole(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                              bool last);
/* Out of step when nothing more will come, likewise; but not for an Ack beyond any window. */
bool rpcrdma_stream_lose_next(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                              bool last);
/* Of what waited together: bytes that the receiver has and nobody will show us, where what follows
 * them was captured before this range of the other direction. */
bool rpcrdma_stream_lose_before(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                                const struct rpcrdma_range *other);
/* Out of step: goes on at seq. What is not there is lost, if it is acknowledged or nothing more
 * will come (`last`). */
void rpcrdma_stream_skip(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                         uint32_t seq, bool last);

/* mpa.c */
/* Reads from the front of a piece that is next in order. Returns how many bytes it used: all, or
 * less when it fell out of step, or when the connection turned out to be no MPA (closed). */
uint32_t rpcrdma_mpa_read(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                          const struct rpcrdma_tcp_piece *piece);
/* Bytes from `next` on that were not captured, and are not to be read. */
void rpcrdma_mpa_lost(struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c, int end,
                      uint32_t len);
/* The same of bytes whose packets are there, and were cut. */
void rpcrdma_mpa_cut(struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c, int end,
                     uint32_t len);
/* The stream ends: says so if that is inside of an FPDU. */
void rpcrdma_mpa_ends(struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c, int end);
bool rpcrdma_mpa_is_request(const uint8_t *bytes, size_t caplen);
bool rpcrdma_mpa_is_reply(const uint8_t *bytes, size_t caplen);
bool rpcrdma_mpa_markers(const struct rpcrdma_tcp_connection *c, int end);
/* Bytes of TCP that an FPDU with this ULPDU length takes at seq: pad, CRC and markers included. */
uint32_t rpcrdma_mpa_size(const struct rpcrdma_tcp_connection *c, int end, uint32_t seq,
                          uint32_t ulpdu);

/* resync.c */
/* For every byte that is held, so many may be summed up on the trial that an FPDU begins somewhere;
 * what was not used is kept, up to a bound. */
enum { RPCRDMA_EFFORT = 32, RPCRDMA_EFFORT_FIRST = 16 << 10, RPCRDMA_EFFORT_MOST = 1 << 20 };
enum { RPCRDMA_IN_A_ROW = 3 }; /* FPDUs that show where FPDUs begin */
/* Looks for an FPDU among what is held, and gets in step at the first. */
void rpcrdma_stream_look(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                         bool last);
/* Whether a connection begun in mid-stream is MPA. False: it is not, forget it. */
bool rpcrdma_stream_judge(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c);

/* ddp.c */
enum rpcrdma_plausible { RPCRDMA_PLAUSIBLE_NO, RPCRDMA_PLAUSIBLE_MAYBE, RPCRDMA_PLAUSIBLE_YES };
enum { RPCRDMA_FPDU_HEADER = 20 }; /* the length field, and an untagged header of DDP */
/* Whether an FPDU can begin with these bytes (its length field first). MAYBE: too few of them. */
enum rpcrdma_plausible rpcrdma_ddp_plausible(const uint8_t *fpdu, size_t caplen);
/* The least ULPDU for what an FPDU (its length field captured) says it is; 0: it says nothing that
 * is known. */
uint32_t rpcrdma_ddp_header_bytes(const uint8_t *fpdu, size_t caplen);
/* What an FPDU carries, without its length field, markers and CRC (RFC 5044 section 4). */
struct rpcrdma_ulpdu {
    uint32_t seq, size;  /* of the FPDU: where it begins, and the bytes of TCP that it takes */
    const uint8_t *data; /* caplen bytes of len */
    uint32_t caplen, len;
};
/* That it is, as operations. */
void rpcrdma_ddp(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                 const struct rpcrdma_ulpdu *ulpdu);
/* An operation of this direction with all that does not depend on its kind. */
void rpcrdma_ddp_op(const struct rpcrdma_tcp_connection *c, int end, enum rpcrdma_op_kind kind,
                    struct rpcrdma_op *op);

/* The greatest window (RFC 7323 section 2.3). With bytes further ahead, those that are held would
 * not be in one order. */
#define RPCRDMA_WINDOW_MOST (INT32_C(1) << 30)

static inline int32_t rpcrdma_seq_diff(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b);
}

/* tcp.c: a packet whose cursor is at the TCP header */
enum rpcrdma_verdict rpcrdma_layer_tcp(struct rpcrdma_layer *l);

#endif
