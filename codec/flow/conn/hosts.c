/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

/*
 * The connections between the same two hosts, by age: what one takes the place of is among these.
 * Those that are no RPC-over-RDMA are not listed, however many there are.
 */

uint64_t flow_hosts_key(const struct flow_conns *conns, const struct rpcrdma_connection *pub)
{
    const struct rpcrdma_address *low = &pub->end[0].address, *high = &pub->end[1].address;
    uint64_t words[5];

    if (memcmp(low, high, sizeof(*low)) > 0) { /* either may be the client */
        low = &pub->end[1].address;
        high = &pub->end[0].address;
    }
    words[0] = (uint64_t)pub->carrier << 16 | (uint64_t)low->family << 8 | high->family;
    memcpy(&words[1], low->bytes, sizeof(low->bytes));
    memcpy(&words[3], high->bytes, sizeof(high->bytes));
    return siphash_words(&conns->hosts_key, words, 5);
}

static struct flow_conn *conn_of(struct chain *link)
{
    return link ? CHAIN_OF(link, struct flow_conn, hosts) : NULL;
}

void conn_hosts_add(struct flow_conns *conns, struct flow_conn *conn)
{
    uint64_t key = flow_hosts_key(conns, &conn->pub);
    struct chain *at = chain_newest(&conns->hosts, key), *above = NULL;

    for (int i = 0; at && i < FLOW_LOOK_BACK; i++, at = at->older) {
        if (CHAIN_OF(at, struct flow_conn, hosts)->id <= conn->id)
            break;
        above = at;
    }
    /* without memory none is known to take its place, or to be in its place */
    (void)chain_add(&conns->hosts, &conns->context->memory, key, above, &conn->hosts);
}

struct flow_conn *flow_conn_before(const struct flow_conn *conn)
{
    return conn_of(conn->hosts.older);
}

struct flow_conn *flow_conn_after(const struct flow_conn *conn)
{
    return conn_of(conn->hosts.newer);
}
