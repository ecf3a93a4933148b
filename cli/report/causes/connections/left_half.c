/* SPDX-License-Identifier: BSD-2-Clause */
/* Of the client's packets alone: a connection that nothing closed, and another one in its place. */
#include "report/causes/connections/life.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"

/* After a longer pause it may have been idle and closed, and that not have been captured. */
#define IDLE_NS (290 * SECOND)

/* Nothing that was sent to its client was captured. */
static bool client_alone(const struct report_connection *c)
{
    int client = 1 - report_server_end(&c->pub);

    return report_one_way(c) && c->pub.role[client] == RPCRDMA_ROLE_CLIENT &&
           (!c->has_path[client] || c->path[client].packets == 0);
}

/* The first XID on it: of its Calls, or, where these are not known to be its own, of those of the
 * connection that took its place at once. False: it is not known. */
static bool first_xid(const struct report *r, const struct report_connection *c, uint32_t *xid)
{
    const struct report_connection *next = report_numbered(r, c->pub.life.next);
    const struct rpcrdma_life *life = &c->pub.life;

    if (c->pub.messages == 0 && next && !next->pub.life.has_down)
        life = &next->pub.life;
    *xid = life->first_xid;
    return life->has_xid;
}

/* What it sent last it had sent before, for want of an answer. */
static bool sent_again(const struct report_connection *was)
{
    int server = report_server_end(&was->pub);

    return was->path[server].retransmitted > 0 &&
           was->trouble->resent_packets_ns[server] >= was->pub.life.last_call_ns;
}

/* Its end is not in the client's packets, which an answer to the server's DREQ would be; or it is
 * the client's own, for want of answers. Over TCP its FIN may answer the server's. */
static bool was_lost(const struct report_connection *was)
{
    const struct rpcrdma_life *life = &was->pub.life;

    if (life->ended == RPCRDMA_ENDED_NOT)
        return true;
    return life->ended == RPCRDMA_ENDED_DISCONNECTED && life->ended_by >= 0 &&
           was->pub.role[life->ended_by] == RPCRDMA_ROLE_CLIENT && sent_again(was);
}

static void tell(struct report *r, const struct report_connection *was,
                 const struct report_connection *c, uint64_t attempts)
{
    const struct rpcrdma_life *life = &c->pub.life;
    struct report_cause *cause = report_cause_add(r, CAUSE_CONNECTION_FAILED, CONFIDENCE_MEDIUM);
    char asked[80] = "";

    cause->time_ns = life->down_ns;
    cause->frame = c->pub.first_frame;
    report_cause_lasted(cause, REPORT_FAILED_PATH, life->down_since_ns,
                        time_plus(life->down_since_ns, life->down_ns));
    if (attempts > 0)
        snprintf(asked, sizeof(asked), " %" PRIu64 " attempt%s to connect came before.", attempts,
                 plural(attempts));
    snprintf(cause->text, sizeof(cause->text),
             "Connection %u failed: %.1f s passed until connection %u took its place, where the "
             "client's XIDs go on. %s%s What the server sent was not captured: the server, or the "
             "path, may have been down.",
             (unsigned)was->pub.number, report_seconds(life->down_ns), (unsigned)c->pub.number,
             sent_again(was) ? "What the client sent last it sent again, as if nothing answered."
                             : "The client sent nothing more on it, and neither closed it nor "
                               "answered a request to close it.",
             asked);
    snprintf(cause->against, sizeof(cause->against),
             "one direction only was captured: the client may have had nothing to ask for");
}

void causes_of_left_half(struct report *r, const struct report_connection *c)
{
    const struct report_before before = report_before(r, c);
    const struct report_connection *was = before.was;
    const struct rpcrdma_life *life = &c->pub.life;
    uint64_t attempts = before.unseen + (life->requests > 1 ? life->requests - 1 : 0);
    uint32_t xid;

    if (!was || !client_alone(was) || !client_alone(c) || life->requests == 0 || !was_lost(was) ||
        !was->pub.life.has_xid || !first_xid(r, c, &xid) ||
        !rpcrdma_xids_go_on(was->pub.life.last_xid, xid))
        return;
    if (was->pub.last_time_ns > c->pub.first_time_ns || /* it was in use */
        (life->down_ns > IDLE_NS && attempts == 0 && !sent_again(was)))
        return;
    tell(r, was, c, attempts);
}
