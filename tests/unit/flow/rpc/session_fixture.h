/* SPDX-License-Identifier: BSD-2-Clause */
/* NFSv4.1: a session is created, and its slots are used. What is said is in `part`, what answers it
 * in `whole`, as long as it is not sent. */
#include "rpc_fixture.h"

enum { COMPOUND = 1, OP_CREATE_SESSION = 43, OP_SEQUENCE = 53, NAME = 16 };

static uint32_t xid;

static inline void put_name(struct rpc_bytes *b, const uint8_t *name)
{
    memcpy(b->data + b->n, name, NAME);
    b->n += NAME;
}

static inline void talk(void)
{
    struct rpc_header h;

    rig.transactions = 0;
    rig.transaction[0].n_rules = 0;
    rpc_header_init(&h, xid, MSG);
    rpc_send(&rig, true, &h, part.data, part.n);
    rpc_header_init(&h, xid, MSG);
    rpc_send(&rig, false, &h, whole.data, whole.n);
}

/* A COMPOUND of one operation, and the beginning of its result. */
static inline void begin(uint32_t operation, uint32_t status)
{
    rpc_call_header(&part, ++xid, NFS, 4, COMPOUND);
    rpc_put(&part, 0);
    rpc_put(&part, 1);
    rpc_put(&part, 1);
    rpc_put(&part, operation);
    rpc_reply_header(&whole, xid);
    rpc_put(&whole, 0);
    rpc_put(&whole, 0);
    rpc_put(&whole, 1);
    rpc_put(&whole, operation);
    rpc_put(&whole, status);
}

/* highest: that the client uses; granted: how many the server would have it use. */
static inline void put_slot(const uint8_t *name, uint32_t seqid, uint32_t slot, uint32_t highest,
                            uint32_t granted, uint32_t status)
{
    begin(OP_SEQUENCE, status);
    put_name(&part, name);
    rpc_put(&part, seqid);
    rpc_put(&part, slot);
    rpc_put(&part, highest);
    rpc_put(&part, 0);
    put_name(&whole, name);
    rpc_put(&whole, seqid);
    rpc_put(&whole, slot);
    rpc_put(&whole, granted - 1); /* highest slot, target highest slot */
    rpc_put(&whole, granted - 1);
    rpc_put(&whole, 0);
}

static inline void put_sequence(const uint8_t *name, uint32_t seqid, uint32_t slot, uint32_t status)
{
    put_slot(name, seqid, slot, slot, slot + 1, status);
}

static inline void put_channel(struct rpc_bytes *b, uint32_t request_size, uint32_t slots)
{
    rpc_put(b, 0);
    rpc_put(b, request_size);
    rpc_put(b, 1 << 20);
    rpc_put(b, 1 << 20);
    rpc_put(b, 8);
    rpc_put(b, slots);
    rpc_put(b, 0);
}

/* request_size: the largest request that it allows; asked, granted: slots. */
static inline void create_session(const uint8_t *name, uint32_t request_size, uint32_t asked,
                                  uint32_t granted)
{
    begin(OP_CREATE_SESSION, 0);
    rpc_fill(&part, 16, 0); /* client ID, sequence, flags */
    for (int channel = 0; channel < 2; channel++)
        put_channel(&part, 1 << 20, asked);
    rpc_fill(&part, 24, 0); /* what calls back */
    put_name(&whole, name);
    rpc_put(&whole, 1);
    rpc_put(&whole, 0);
    for (int channel = 0; channel < 2; channel++)
        put_channel(&whole, request_size, granted);
    talk();
}
