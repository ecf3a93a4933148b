/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_FLOW_CREDIT_ACCOUNT_H
#define RPCRDMA_TESTS_UNIT_FLOW_CREDIT_ACCOUNT_H

/* An account of credits by itself, its clock and its table of Calls in the hands of a test. */

#include "test.h"

#include "flow/credit/account.h"
#include "record_rig.h"

#define MS INT64_C(1000000)
#define S (1000 * MS)

static struct flow_memory memory;
static struct rpcrdma_credit_account account;
static struct record record;
static int64_t now; /* set by a test before an event */
static uint64_t frame, place;
static struct rpcrdma_credit_result result;

/* The table of Calls, as far as an account needs one: by the low bits of the XID, the older one
 * goes. */
enum { SLOTS = 65536 };
static struct {
    uint32_t xid;
    bool outstanding, unmatched;
    struct rpcrdma_credit_call call;
} slots[SLOTS];

static inline int setup(void **state)
{
    struct rpcrdma_credit_sink sink = record_sink(&record);

    (void)state;
    memset(&record, 0, sizeof(record));
    now = S;
    frame = place = 0;
    memory = (struct flow_memory){.limit = SIZE_MAX};
    memset(slots, 0, sizeof(slots));
    rpcrdma_credit_account_init(&account, &memory, &sink);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    rpcrdma_credit_account_free(&account);
    assert_int_equal(memory.used, 0);
    return 0;
}

static inline struct rpcrdma_credit_at at(void)
{
    return (struct rpcrdma_credit_at){now, ++frame};
}

static inline void opened(void)
{
    rpcrdma_credit_account_opened(&account, at());
}

static inline struct rpcrdma_credit_call *find(uint32_t xid)
{
    return slots[xid % SLOTS].xid == xid ? &slots[xid % SLOTS].call : NULL;
}

static inline bool has(uint32_t xid)
{
    return rpcrdma_credit_call_in_flight(find(xid));
}

static inline void renew(uint32_t xid)
{
    struct rpcrdma_credit_call *slot = &slots[xid % SLOTS].call;

    if (find(xid))
        return;
    rpcrdma_credit_account_give_up(&account, slot);
    memset(slot, 0, sizeof(*slot));
    slots[xid % SLOTS].xid = xid;
}

static inline void call(uint32_t xid, uint32_t requested)
{
    struct rpcrdma_credit_call *slot = memory.limit > 0 ? &slots[xid % SLOTS].call : NULL;
    enum rpcrdma_credit_call_use use = RPCRDMA_CREDIT_CALL_NEW;

    if (find(xid) && slots[xid % SLOTS].outstanding)
        use = RPCRDMA_CREDIT_CALL_RETRANSMITTED;
    if (find(xid) && slots[xid % SLOTS].unmatched)
        use = RPCRDMA_CREDIT_CALL_ANSWERED;
    if (slot)
        renew(xid);
    rpcrdma_credit_account_call(&account, at(), slot, use, xid, requested);
    slots[xid % SLOTS].outstanding = use != RPCRDMA_CREDIT_CALL_ANSWERED;
    slots[xid % SLOTS].unmatched = false;
}

static inline void reply(uint32_t xid, uint32_t granted)
{
    slots[xid % SLOTS].unmatched = !find(xid);
    if (memory.limit > 0)
        renew(xid);
    rpcrdma_credit_account_reply(&account, at(), find(xid), granted, ++place);
    slots[xid % SLOTS].outstanding = false;
}

static inline void acked(void)
{
    rpcrdma_credit_account_acked(&account, at(), place);
}

/* The first Call and its Reply. */
static inline void first(uint32_t requested, uint32_t granted)
{
    opened();
    call(1, requested);
    now += MS;
    reply(1, granted);
}

static inline void get(void)
{
    /* no more: what waits for the other end's next message to prove it is taken as proven */
    rpcrdma_credit_account_end(&account, (struct rpcrdma_credit_at){now, frame});
    rpcrdma_credit_account_result(&account, &result);
}

#define NO_FINDINGS() assert_int_equal(record.n_findings, 0)

static inline void gap(bool from_requester, uint64_t packets)
{
    rpcrdma_credit_account_gap(&account, from_requester, packets);
}

#endif
