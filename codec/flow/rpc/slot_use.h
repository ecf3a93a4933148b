/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_SLOT_USE_H
#define RPCRDMA_FLOW_RPC_SLOT_USE_H

/*
 * How many slots of a session's fore channel are in use, of how many that the server grants (RFC
 * 8881 section 2.10.6.1), and for how long all of them are: a client that has more to send waits.
 * A slot is in use from when its Call passes until the Reply was delivered, or the Call is given
 * up.
 */

#include <stdbool.h>
#include <stdint.h>

struct flow_rpcs;
struct rpc_transaction;

enum {
    RPC_SLOT_USES = 256,   /* sessions, remembered */
    RPC_SLOTS_MOST = 1024, /* of one, counted; Linux has no more */
};

/* Of a session. */
struct rpc_slot_use {
    uint64_t key;            /* first: see base/ring_table.h; as of struct rpc_session */
    uint32_t granted, asked; /* 0: not known */
    uint32_t in_use;
    struct rpc_transaction *full_by; /* took the last one; NULL: not all are in use */
    int64_t since_ns;                /* then */
    uint64_t taken[RPC_SLOTS_MOST / 64];
};

/* CREATE_SESSION was answered: so many the client asked for, and so many are granted. */
void rpc_slot_use_created(struct flow_rpcs *rpcs, uint64_t session, uint32_t asked,
                          uint32_t granted);
/* SEQUENCE was answered: so many the server would have used. */
void rpc_slot_use_granted(struct flow_rpcs *rpcs, uint64_t session, uint32_t granted);
/* A Call takes its slot, so that the request before it is over. over_ns: when its Reply passed; 0:
 * it was not captured, and how long all slots were in use is not known, if they were. */
void rpc_slot_use_begin(struct flow_rpcs *rpcs, struct rpc_transaction *t, int64_t over_ns);
/* Nothing more is taken for the Call. latest: no other has taken its slot since. */
void rpc_slot_use_end(struct flow_rpcs *rpcs, struct rpc_transaction *t, bool latest);

#endif
