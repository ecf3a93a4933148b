/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/rpc_stage.h"

/*
 * After a reconnect a client sends its outstanding Calls again, with the XIDs they had (RFC 5531
 * section 9). A Call is one of those when it came on a connection that was opened after the first
 * sending, between the same hosts, and that one was not answered; or only when its connection had
 * ended already, and nobody took the Reply any more. Entries are overwritten, never searched for.
 */

static uint64_t load64(const uint8_t *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof(x));
    return x;
}

static uint64_t host(const struct rpcrdma_address *a)
{
    return flow_hash2(load64(a->bytes), load64(a->bytes + 8));
}

static uint64_t again_key(const struct track_rpc *t)
{
    const struct rpcrdma_connection *c = &t->conn->pub;

    return flow_hash2(flow_hash2(host(&c->end[t->pub.caller_end].address),
                                 host(&c->end[1 - t->pub.caller_end].address)),
                      t->pub.xid);
}

static struct track_retransmit *entry(struct track *track, uint64_t key)
{
    return track->again ? &track->again[key & (TRACK_RETRANSMIT - 1)] : NULL;
}

bool track_retransmit_seen(struct track *track, const struct track_rpc *t, uint64_t *frame,
                           uint32_t *connection)
{
    uint64_t key = again_key(t);
    const struct track_retransmit *e = entry(track, key);

    if (!e || e->connection == 0 || e->key != key || e->connection == t->conn->pub.number ||
        e->frame >= t->conn->pub.first_frame)
        return false;
    *frame = e->frame;
    *connection = e->connection;
    return true;
}

void track_retransmit_note(struct track *track, const struct track_rpc *t)
{
    uint64_t key = again_key(t);

    if (!track->again)
        track->again = flow_alloc(&track->flow->memory, TRACK_RETRANSMIT * sizeof(*track->again));
    if (track->again)
        *entry(track, key) = (struct track_retransmit){
            .key = key, .frame = t->pub.call_frame, .connection = t->conn->pub.number};
}

void track_retransmit_answered(struct track *track, const struct track_rpc *t)
{
    uint64_t key = again_key(t);
    struct track_retransmit *e = entry(track, key);

    if (e && e->key == key && e->connection == t->conn->pub.number && !t->conn->pub.closed)
        e->connection = 0;
}
