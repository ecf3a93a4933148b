/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_SESSION_H
#define RPCRDMA_FLOW_RPC_SESSION_H

/* What a session allows, and which connections carry it: session.c; its slots, who uses them, and
 * with which number: slot.c. */

#include <stdbool.h>
#include <stdint.h>

struct flow_conn;
struct flow_rpcs;
struct rpc_transaction;
struct rpcrdma_rpc_stream;

enum {
    RPC_SLOTS = 1024,   /* of sessions, remembered */
    RPC_SESSIONS = 256, /* remembered */
    RPC_CARRIERS = 16,  /* connections of one session; Linux has no more */
};

/* A request of a session's slot. */
struct rpc_slot_request {
    uint64_t conn, frame, reply_frame; /* reply_frame: 0, as long as it is outstanding */
    int64_t over_ns;                   /* then; where there is one */
    uint32_t xid;
};

/* A slot of a session's channel (RFC 8881 section 2.10.6), over whichever connections. */
struct rpc_slot {
    uint64_t key;   /* first: see base/ring_table.h */
    uint64_t seen;  /* sequence numbers: bit n is `seqid` - n */
    uint32_t seqid; /* the latest */
    struct rpc_slot_request last, before;
};

/* What a Call seems to break of its slot's rules, until its Reply shows more. */
enum rpc_slot_doubt {
    RPC_SLOT_IN_USE = 1,
    RPC_SLOT_SEQUENCE = 2,
    RPC_SLOT_BEYOND = 4,
    RPC_SLOT_BEGUN = 8, /* the first that was seen of it is not its first */
    RPC_SLOT_BACK = 16, /* a number before the latest, which was seen already */
    RPC_SLOT_APART = 32 /* far from what was seen, and at another address: rpc_session_apart */
};

/* A session's channel (RFC 8881 section 18.36.3), as CREATE_SESSION's Reply says. */
struct rpc_channel {
    uint32_t request_size, reply_size, operations, slots; /* most */
};

struct rpc_session {
    uint64_t key;                  /* rpc_session_key of its name; first, likewise */
    struct rpcrdma_address server; /* that created it; zero: it is not known */
    uint32_t later; /* of the first of its name: others that were created since, by any server */
    struct rpc_channel channel[2]; /* fore, back: by who calls */
    uint32_t slots_known[2];       /* most that the Responder said since: it may allow more */
    bool blind[2];                 /* a Reply could not be read: it may have said more */
    const struct flow_conn *carrier[RPC_CARRIERS]; /* connections that are not closed */
    uint32_t n_carriers;
    bool torn; /* of a connection that carried it something is missing */
};

/* slot.c. A Call came, and it is not known yet what slot it uses; what was read of it since may
 * show (again: nothing happens); its end, when all is known that will be. */
void rpc_slot_expect(struct rpc_transaction *t);
void rpc_slot_call(struct flow_rpcs *rpcs, struct rpc_transaction *t);
/* Its Reply passed, whatever that waits for yet. */
void rpc_slot_answered(const struct rpc_transaction *t);
void rpc_slot_end(struct flow_rpcs *rpcs, struct rpc_transaction *t);
/* And what became of its Reply is known. */
void rpc_slot_free(struct flow_rpcs *rpcs, struct rpc_transaction *t);

/* slot.c. The first slot of the session's fore channel was used. */
bool rpc_slot_used(const struct flow_rpcs *rpcs, uint64_t session);

/* session.c. Stands for a session's name, which the wire chooses, in 64 bits that it does not: two
 * names have one key by chance alone. Never 0. Servers give names each by itself, and again: it is
 * the latest that the connection's server created. */
uint64_t rpc_session_key(const struct flow_rpcs *rpcs, const struct flow_conn *conn,
                         const uint64_t name[2]);
/* It has that key, and another address than this connection's server created it. */
bool rpc_session_abroad(const struct flow_rpcs *rpcs, const struct flow_conn *conn, uint64_t key);
/* The connection's server has a session of its own of that name, which began before the capture:
 * its key; without memory, of none. And that was wrong. */
uint64_t rpc_session_apart(struct flow_rpcs *rpcs, const struct flow_conn *conn,
                           const uint64_t name[2]);
void rpc_session_together(struct flow_rpcs *rpcs, const struct rpc_transaction *t);
/* A Call of a session, once it is whole, against what CREATE_SESSION allowed; a Reply's
 * results, which say what is allowed from now on; a Reply that was put together. */
void rpc_session_call(struct flow_rpcs *rpcs, struct rpc_transaction *t);
void rpc_session_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                       const struct rpcrdma_rpc_stream *reply);
void rpc_session_reply_size(struct flow_rpcs *rpcs, struct rpc_transaction *t);
/* A connection that carried sessions is closed. */
void rpc_session_close(struct flow_rpcs *rpcs, const struct flow_conn *conn);
/* Nothing is missing of the connection, and of each Call so far the slot is known. */
bool rpc_session_followed(const struct flow_conn *conn);
/* The session of the Call began in the capture, and nothing of the connections that carry it is
 * missing so far. */
bool rpc_session_whole(const struct flow_rpcs *rpcs, const struct rpc_transaction *t);
/* It has connections that are not in the capture. */
void rpc_session_elsewhere(struct flow_rpcs *rpcs, const struct rpc_transaction *t);
/* The slot of the Call is beyond those that the Responder has granted so far. */
bool rpc_session_beyond(const struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                        uint32_t *slots);

#endif
