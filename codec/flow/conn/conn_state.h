/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CONN_CONN_STATE_H
#define RPCRDMA_FLOW_CONN_CONN_STATE_H

/*
 * What the stage of connections keeps; for the files of this folder only.
 *
 *   stage.c       the stage from its beginning to its end, and what others may know
 *   conn.c        connections from their beginning to their end
 *   setup.c       CM messages
 *   comm_id.c     which connection they are about
 *   setup_tcp.c   MPA frames, TCP's beginning and end
 *   syn.c         what TCP was asked for and did not answer
 *   classify.c    is this Send RPC-over-RDMA?
 *   event.c       what an event shows of its connection
 *   pairing.c     which two directions are one connection
 *   merge.c       two connections that turn out to be one
 *   admission.c   events that wait while their connection is undecided
 *   held.c        who holds back the oldest, and about whom time decides
 *   properties.c  transport properties, thresholds, private data
 *   hosts.c       those between the same two hosts
 *   lru.c         which connection goes when memory is short
 */

#include <string.h>
#include <sys/queue.h>

#include "base/chain.h"
#include "base/heap.h"
#include "base/siphash.h"
#include "flow/conn/conn.h"
#include "wire/hot.h"

enum {
    CONN_ADMISSION_EVENTS = RPCRDMA_BOUND(512, 6), /* per undecided connection */
    CONN_ADMISSION_BYTES = RPCRDMA_BOUND(1 << 20, 8192),
    CONN_AWAITING = 1 << 14, /* requests and XIDs that await an answer */
    CONN_SYNS = 16, /* SYNs that do, and TCP connections that await MPA's Request; the latest */
};

enum conn_class {
    CONN_UNCLASSIFIED,
    CONN_UNLIKELY, /* was so for long, or sent something else: only its Sends are looked at */
    CONN_RPCRDMA,
    CONN_FOREIGN, /* its CM exchange names a service that has no port */
};

/* Of a connection that keeps something back, or did: see held.c. */
struct conn_holding {
    struct flow_conn *conn;
    struct heap_node held; /* in conns->held, by the oldest frame that it holds back */
    struct heap_node due;  /* in conns->due, by when it is to be looked at for that */
    int64_t checked_ns;    /* when it was; INT64_MIN: never */
    uint32_t count, bytes; /* of conn->admission, */
    int64_t since_ns;      /* which was empty before */
};

/* Of a connection that was disconnected, or turned out to be another one. */
struct conn_ended {
    struct flow_conn *conn;
    uint64_t closed_frame; /* where pub.closed, as all of these */
    int64_t closed_time_ns;
    uint64_t quiet_frame; /* its last packet, when that was looked at last; 0: it was not */
    int64_t quiet_ns;     /* nothing came since then */
    TAILQ_ENTRY(conn_ended) by_end;
    struct flow_conn *merged_into; /* NULL: into none. Else its time is over */
    SLIST_ENTRY(conn_ended) next_merged;
    bool merged_swapped;
};

struct flow_conn {
    struct rpcrdma_connection pub; /* end[i] receives dir[i] */

    /* what each packet looks at; behind the struct is more of that: flow_conn_above */
    struct flow_direction *dir[2];
    uint64_t id; /* never used again */
    void *slot[FLOW_SLOTS];
    uint32_t waiting; /* FLOW_WAIT_ */
    enum conn_class class;
    TAILQ_HEAD(conn_admission, flow_kept) admission; /* in order */

    TAILQ_ENTRY(flow_conn) by_age;
    struct chain hosts;   /* in conns->hosts, once it has a number */
    struct heap_node lru; /* in conns->lru, by a frame not after pub.last_frame: see lru.c */
    uint64_t counted_key;
    bool counted;         /* in conns->unpaired */
    bool half_open;       /* in conns->half_open */
    bool by_cm;           /* its set-up was seen: the REQ, MPA's Request */
    bool by_syn;          /* a repeated SYN is all there is */
    bool unread;          /* a message was cut before what it is about could be read */
    bool accepted;        /* and the answer to it, */
    uint8_t accepted_tap; /* at this place of capture */
    bool replayed;        /* both long before what comes next in the capture */
    bool registered;      /* in conns->cm, under end 0's address, end 1's and comm_id[0] */
    bool has_comm_id[2];
    bool has_start_psn[2];
    bool fin[2];           /* iWARP: the stream towards this end was closed */
    uint8_t announced[2];  /* FLOW_ANNOUNCES_ */
    uint32_t comm_id[2];   /* by end; end 0 opened */
    uint32_t start_psn[2]; /* of the stream towards each end, from the CM exchange */
    uint32_t path_mtu;     /* of the REQ; 0: not known */
    uint32_t rival_ms; /* so long after its first packet a stream may be of another half open one */
    struct conn_holding *holding; /* NULL: it never did. Owned */

    uint64_t set_up_frame[2]; /* where pub.has_private_data */
    struct conn_ended *ended; /* NULL: it goes on. Owned */
    /* What the answers of one end tell of what was sent to it, where none of that was captured, so
     * that dir has one. NULL: there were none. Owned */
    struct flow_delivery *unseen;
};

/* A bounded table for inference: entries are overwritten, never searched for. */
struct conn_awaiting {
    uint64_t key;
    uint64_t id; /* of the direction */
    uint32_t handle;
    uint32_t kind;
    int64_t time_ns;
};

/* A SYN towards a service, or the answer to one. */
struct conn_syn {
    struct flow_path path;
    uint32_t seq;
    uint64_t first_frame;
    int64_t first_ns, last_ns;
};

struct conn_syns {
    struct conn_syn syn[CONN_SYNS]; /* an unused one has first_frame 0 */
    uint32_t n;
};

struct flow_conns {
    struct flow_context *context;
    struct flow_streams *streams;
    uint16_t *ports;
    size_t n_ports, above;
    const struct rpcrdma_dialect *dialect;
    bool messages_only;

    struct flow_table cm;       /* (opener, acceptor, opener's comm id) -> connection */
    struct flow_table unpaired; /* (addresses) -> classified directions without peer, a count */
    struct flow_table
        half_open;           /* (opener, acceptor) -> connection of which one end's QP is known */
    struct flow_table hosts; /* (addresses) -> the newest connection that has a number */
    struct siphash_key hosts_key;
    struct conn_awaiting *awaiting;

    TAILQ_HEAD(conn_list, flow_conn) all; /* the oldest first */
    struct heap_node *lru;                /* the one that was silent longest */
    TAILQ_HEAD(, conn_ended) closed;      /* likewise, by their end */
    SLIST_HEAD(, conn_ended) merged;      /* to be finished */
    struct heap_node *held, *due;         /* those that hold something back: see held.c */
    int64_t next_check_ns;                /* of those */
    uint32_t numbers, n_conns, n_closed;
    struct conn_syns syns;   /* not answered */
    struct conn_syns opened; /* the answers, by the path of the SYN: no MPA Request followed yet */
    bool lacked_memory;
};

/* The direction opposite to this one, NULL where it is not known. */
static inline struct flow_direction *conn_peer(const struct flow_direction *dir)
{
    return dir->conn ? dir->conn->dir[1 - dir->index] : NULL;
}

/* conn.c */
struct flow_conn *conn_new(struct flow_conns *conns, uint8_t carrier);
void conn_attach(struct flow_conns *conns, struct flow_conn *conn, int end,
                 struct flow_direction *dir);
/* Takes what answers of this end told while the direction towards it was not known. NULL is fine.
 */
void conn_take_unseen(struct flow_conns *conns, struct flow_conn *conn, int end,
                      struct flow_delivery *unseen);
void conn_set_class(struct flow_conn *conn, enum conn_class class);
/* NULL: no memory, which ends the run. */
struct conn_ended *conn_ended_of(struct flow_conns *conns, struct flow_conn *conn);
/* Takes it as RPC-over-RDMA. */
void conn_accept(struct flow_conns *conns, struct flow_conn *conn);
/* It was disconnected; it stays for what still trails in. */
void conn_closed(struct flow_conns *conns, struct flow_conn *conn);
/* For a direction that nothing is known of yet: what comes is kept back. NULL: no memory. */
struct flow_conn *conn_unclassified(struct flow_conns *conns, struct flow_direction *dir);
/* Of TCP, the other direction. NULL: no memory. */
struct flow_direction *conn_opposite(struct flow_conns *conns, struct flow_direction *dir);

/* classify.c */
enum conn_verdict { CONN_NO, CONN_MAYBE, CONN_YES };

/* What a Send shows before anything is decided. */
struct conn_probe {
    enum conn_verdict verdict;
    int msg_type; /* RPCRDMA_RPC_CALL or _REPLY; -1: not known */
    bool has_program;
    uint32_t program;
};
struct conn_probe conn_probe_send(const struct flow_conns *conns, const struct flow_send *send);
bool conn_port_known(const struct flow_conns *conns, uint16_t port);

/* pairing.c. A request awaits its answer; a response, or an XID, shows who answered. `last`:
 * nothing can be paired any more. They return whether it answers. */
void conn_pair_request(struct flow_conns *conns, struct flow_direction *dir, uint32_t seq);
bool conn_pair_response(struct flow_conns *conns, struct flow_direction *dir,
                        const struct rpcrdma_op *op);
bool conn_pair_xid(struct flow_conns *conns, struct flow_direction *dir, uint32_t xid, int msg_type,
                   bool last);
/* A classified connection lacks its peer (or no longer does). */
void conn_pair_lacks(struct flow_conns *conns, struct flow_conn *conn, bool lacks);
/* A CM exchange gave one end's QP only. */
void conn_pair_half_open(struct flow_conns *conns, struct flow_conn *conn, bool open);
/* It was accepted, perhaps long after it was asked for. */
void conn_pair_accepted(struct flow_conns *conns, struct flow_conn *conn);
/* No answer showed the peer: was there one such exchange just before? */
bool conn_pair_with_half_open(struct flow_conns *conns, struct flow_conn *conn);

/* merge.c: the two are one connection. */
bool conn_pair(struct flow_conns *conns, struct flow_direction *a, struct flow_direction *b);

/* admission.c */
/* Nothing says that this is RPC-over-RDMA: nothing but its Sends is looked at any more. */
void conn_give_up(struct flow_conns *conns, struct flow_conn *conn);
void conn_admission_merge(struct flow_conns *conns, struct flow_conn *into, struct flow_conn *from);
/* Drops the events of a direction that is about to go. */
void conn_admission_forget(struct flow_conns *conns, struct flow_conn *conn,
                           const struct flow_direction *dir);

/* held.c: conn->holding is there; false: no memory, which ends the run. And what it keeps, or has
 * ahead of a gap, is not what it was. */
bool conn_make_holding(struct flow_conns *conns, struct flow_conn *conn);
void conn_update_holding(struct flow_conns *conns, struct flow_conn *conn);
void conn_holding_free(struct flow_conns *conns, struct flow_conn *conn);

/* comm_id.c. The connection that `opener` opened under `comm_id`, or NULL. */
struct flow_conn *conn_by_comm_id(const struct flow_conns *conns,
                                  const struct rpcrdma_address *opener,
                                  const struct rpcrdma_address *acceptor, uint32_t comm_id);
/* The connection a CM message after the REQ belongs to: its sender opened it, or its receiver did,
 * or (DREQ) the receiver's QP is known. Sets the end that sent it. */
struct flow_conn *conn_of_cm(struct flow_conns *conns, const struct rpcrdma_op *op, int *sender);

/* setup.c */
void conn_set_up_class(struct flow_conns *conns, struct flow_conn *conn, enum conn_class class);
/* Now, with the packet at hand. */
void conn_established(struct flow_conns *conns, struct flow_conn *conn);
void conn_end_of(struct flow_conns *conns, const struct rpcrdma_op *op, struct flow_conn *conn);

/* setup_tcp.c: flow_setup_obstacle and flow_setup, of iWARP. */
struct flow_conn *conn_tcp_obstacle(struct flow_conns *conns, const struct rpcrdma_op *op);
struct flow_conn *conn_tcp_setup(struct flow_conns *conns, const struct rpcrdma_op *op);

/* syn.c. The SYN of the same ports and sequence number, else a new one in the oldest's place. */
struct conn_syn *conn_syn_remember(struct conn_syns *syns, const struct flow_path *path,
                                   const struct rpcrdma_op *op);
/* Whether TCP's timer sent it once more: not the network, and not a second point of capture. */
bool conn_syn_again(const struct conn_syns *syns, const struct rpcrdma_op *op);
/* NULL: not known. */
struct conn_syn *conn_syn_find(struct conn_syns *syns, const struct flow_path *path);
void conn_syn_forget(struct conn_syns *syns, const struct flow_path *path);

/* properties.c */
void conn_private_data(struct flow_conn *conn, int end, const struct rpcrdma_op *op);

/* hosts.c */
void conn_hosts_add(struct flow_conns *conns, struct flow_conn *conn);

/* lru.c */
void conn_lru_add(struct flow_conns *conns, struct flow_conn *conn);
void conn_lru_remove(struct flow_conns *conns, struct flow_conn *conn);
/* The connection whose last packet is longest ago; NULL: there is none. */
struct flow_conn *conn_lru_longest(struct flow_conns *conns);

#endif
