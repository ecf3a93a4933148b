/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_LIFE_H
#define RPCRDMA_FLOW_LIFE_H

/* How a connection began and how it ended, as far as the capture shows it. */

#include <stdbool.h>
#include <stdint.h>

#include "../export.h"

RPCRDMA_BEGIN_DECLS

/* What ended it. */
enum rpcrdma_ended {
    RPCRDMA_ENDED_NOT,          /* nothing in the capture */
    RPCRDMA_ENDED_REJECTED,     /* CM REJ; MPA Reply with the R bit */
    RPCRDMA_ENDED_DISCONNECTED, /* CM DREQ */
    RPCRDMA_ENDED_CLOSED,       /* TCP FIN */
    RPCRDMA_ENDED_RESET,        /* TCP RST */
    RPCRDMA_ENDED_TERMINATED,   /* RDMAP Terminate */
    RPCRDMA_ENDED_REFUSED,      /* TCP RST in answer to the SYN: it never began */
    RPCRDMA_ENDED_COUNT         /* how many there are */
};

/* What an end retransmitted again and again at the end of the connection, and the other never
 * answered; and when that other was heard last. */
struct rpcrdma_silence {
    uint32_t transmissions; /* of the oldest of it; 0: nothing, or the answers were not captured */
    uint32_t in_vain;       /* of these, since the other's latest answer that acknowledged more */
    bool probes; /* of TCP's, whether the other is there: it had been sent nothing else */
    bool asked; /* or: a Nak asked for what is unanswered, or for what was before it, and it was not
                 * sent again */
    int64_t since_ns; /* when it was sent first, or asked for; 0: neither */
    int64_t heard_ns; /* of the other: its latest request, or answer that acknowledged more; 0:
                       * none; known where nothing is unanswered, too */
    int64_t once_ns;  /* when the oldest of what is neither answered, refused nor sent again was
                       * sent; 0: nothing. Of TCP, data that waits for its Ack */
    int64_t naked_ns; /* of transmissions, RoCE and InfiniBand: the other's latest Nak of a
                       * sequence; 0: the latest is of another kind, or there is none */
};

struct rpcrdma_life {
    uint32_t
        requests; /* how often the REQ, or a SYN that nothing answered, was sent; 0: not seen */
    enum rpcrdma_ended ended;
    int ended_by;            /* the end that sent it; -1: not known */
    uint16_t reject_reason;  /* CM REJ */
    bool has_pending;        /* Calls were followed (sink.transaction) */
    bool has_xid;            /* first_xid, last_xid are set */
    uint32_t pending;        /* Calls without Reply when it ended */
    uint32_t first_xid;      /* of the client's first Call, */
    uint32_t last_xid;       /* and of its latest, sent at last_call_ns */
    uint32_t unheard;        /* of `requests`: sent again after a REP, before any RTU */
    uint32_t accepted_again; /* how often the REP was sent again behind an RTU, which the server
                              * had not got, up to ... */
    bool has_down, has_mac;
    bool looked_back; /* for `previous`, at its set-up: it was known for RPC-over-RDMA then */
    bool replaced; /* its QP number or ports were used for another connection: it was over by then,
                    * though nothing that was captured ended it */
    bool given_up; /* a DREQ ended it, whose sender had sent something again and had no answer: what
                    * the other one answers behind it does not change that end's silence[] */
    int64_t accepted_again_ns; /* ... the last of these, in this frame: */
    uint64_t accepted_again_frame;
    uint64_t established_frame; /* REP, then RTU; MPA Reply. 0: not seen */
    int64_t established_ns;
    /* iWARP: the SYN-ACK behind which the first MPA Request came, and when that passed; frame 0:
     * not both were seen */
    uint64_t opened_frame;
    int64_t opened_ns, asked_ns;
    uint64_t ended_frame;
    int64_t ended_ns;
    /* TCP: the end in whose name the RST came went on to send: another one had sent that, such as a
     * firewall. 0: it did not */
    uint64_t denied_frame;
    struct rpcrdma_silence silence[2]; /* of what was sent towards each end, when it ended */
    int64_t last_call_ns;
    /* The connection between the same two hosts and to the same port that this one takes the place
     * of; 0: none. From the last that reached an end of that one to the set-up of this one, or to
     * its first Call where none of its set-up was captured. */
    uint32_t previous;
    uint32_t next;                  /* and the one that took the place of this one */
    int64_t down_since_ns, down_ns; /* has_down */
    uint8_t mac[6]; /* has_mac: where the client sent its REQ: the server's, or a router's */
};

/* Nothing accepted the connection, or the client asked again and again though a REP was sent.
 * `established`: its RTU was seen. */
static inline bool rpcrdma_life_unheard(const struct rpcrdma_life *life, bool established)
{
    return life->established_frame == 0 || (life->unheard > 0 && !established);
}

/* Clients count XIDs, in their own byte order. By how many one is after another. */
static inline uint32_t rpcrdma_xids_between(uint32_t from, uint32_t to)
{
    uint32_t little = (to >> 24 | (to >> 8 & 0xff00) | (to & 0xff00) << 8 | to << 24) -
                      (from >> 24 | (from >> 8 & 0xff00) | (from & 0xff00) << 8 | from << 24);

    return to - from < little ? to - from : little;
}

/* They do so across the connections of one mount, and begin elsewhere with the next one. Some Calls
 * were perhaps not captured, or not sent. */
static inline bool rpcrdma_xids_go_on(uint32_t from, uint32_t to)
{
    return rpcrdma_xids_between(from, to) <= 1024;
}

/* "invalid service ID" of 8: IBTA volume 1 section 12.6.7.2; NULL: no reason has this number. */
RPCRDMA_API const char *rpcrdma_reject_reason(uint16_t reason);

RPCRDMA_END_DECLS

#endif
