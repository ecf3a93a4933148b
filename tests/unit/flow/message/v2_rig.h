/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_V2_RIG_H
#define RPCRDMA_TESTS_UNIT_FLOW_V2_RIG_H

/* Messages of version 2 on a connection between a and b, of any dialect. */

#include "pair.h"

#include "wire/message.h"
#include "wire/property.h"

static inline void begin(const struct rpcrdma_flow_config *config)
{
    pair_begin(config);
    rig_connect(&rig, &a, &b, 20049);
}

static inline uint32_t type_of(const struct rpcrdma_dialect *d, enum rpcrdma_kind kind)
{
    for (size_t i = 0; i < d->n_types; i++)
        if (d->types[i].kind == kind)
            return d->types[i].value;
    fail();
    return 0;
}

static inline void send(bool from_a, const struct rpcrdma_message *m)
{
    uint8_t buf[16384];
    size_t n;

    assert_int_equal(rpcrdma_message_encode(m, buf, sizeof(buf), &n), RPCRDMA_OK);
    rig_send(&rig, from_a ? &a : &b, from_a ? &b : &a, buf, (uint32_t)n);
}

static inline struct rpcrdma_message message(enum rpcrdma_dialect_id id, enum rpcrdma_kind kind,
                                             uint32_t xid)
{
    const struct rpcrdma_dialect *d = rpcrdma_dialect(id);

    return (struct rpcrdma_message){
        .dialect = d, .xid = xid, .version = d->version, .credits = 10, .type = type_of(d, kind)};
}

/* The RPC messages without version 1's header. */
static uint8_t rpc[16384];

static inline struct rpcrdma_span call_payload(uint32_t xid, uint32_t more)
{
    uint8_t whole[16384];
    uint32_t n = rig_call(whole, xid, 100003, more) - 28;

    memcpy(rpc, whole + 28, n);
    return (struct rpcrdma_span){.data = rpc, .caplen = n, .len = n};
}

static inline struct rpcrdma_span reply_payload(uint32_t xid, uint32_t more)
{
    uint8_t whole[16384];
    uint32_t n = rig_reply(whole, xid, more) - 28;

    memcpy(rpc, whole + 28, n);
    return (struct rpcrdma_span){.data = rpc, .caplen = n, .len = n};
}

/* A Call and its Reply, as each family writes them. */
static inline void talk(enum rpcrdma_dialect_id id, uint32_t xid)
{
    const struct rpcrdma_dialect *d = rpcrdma_dialect(id);
    bool htype = d->family == RPCRDMA_FAMILY_HTYPE;
    struct rpcrdma_message m =
        message(id, htype ? RPCRDMA_KIND_CALL_INLINE : RPCRDMA_KIND_MSG, xid);

    m.payload = call_payload(xid, 0);
    send(true, &m);
    m = message(id, htype ? RPCRDMA_KIND_REPLY_INLINE : RPCRDMA_KIND_MSG, xid);
    m.flags = d->flag_response;
    m.direction = 1;
    m.payload = reply_payload(xid, 0);
    send(false, &m);
}

static inline struct rpcrdma_property number(uint32_t id, uint32_t value)
{
    static uint8_t bytes[16][4];
    static unsigned at;
    uint8_t *p = bytes[at++ % 16];

    rig_word(p, value);
    return (struct rpcrdma_property){.id = id, .data = {.data = p, .caplen = 4, .len = 4}};
}

static inline struct rpcrdma_propset set(const struct rpcrdma_property *p, uint32_t n)
{
    return (struct rpcrdma_propset){.properties = p, .count = n, .declared = n};
}

#endif
