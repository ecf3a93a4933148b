/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about a client that stops in the middle of the data that its server
 * asked for, and comes back with another mount: it was restarted. Over TCP, where a host that has
 * data goes on to send it, and an Ack tells what arrived. */
#include "report/causes/connections/life.h"

#include <stdio.h>

#include "common/times.h"

/* Nothing is on its way there, nor lacking in the capture. */
static bool all_acknowledged(const struct report_connection *was)
{
    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_silence *silence = &was->pub.life.silence[end];

        if (!was->has_path[end] || was->path[end].uncaptured > 0 || silence->transmissions > 0 ||
            silence->once_ns != 0)
            return false;
    }
    return true;
}

static bool stopped(const struct report_connection *was, const struct report_connection *c)
{
    const struct rpcrdma_life *before = &was->pub.life, *life = &c->pub.life;

    return was->pub.carrier == RPCRDMA_CARRIER_IWARP && before->ended == RPCRDMA_ENDED_NOT &&
           was->trouble->owed > 0 && all_acknowledged(was) &&
           was->pub.last_time_ns <= c->pub.first_time_ns && life->established_frame != 0;
}

/* The Calls of a mount that is still there would be sent again, and its XIDs go on. */
static bool is_new_mount(const struct report_connection *was, const struct report_connection *c)
{
    const struct rpcrdma_life *before = &was->pub.life, *life = &c->pub.life;

    return c->trouble->resent == 0 && c->session != REPORT_SESSION_KEPT && before->has_xid &&
           life->has_xid && !rpcrdma_xids_go_on(before->last_xid, life->first_xid);
}

bool causes_of_stopped_client(struct report *r, const struct report_connection *was,
                              const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;
    int64_t until_ns = time_plus(life->down_since_ns, life->down_ns);
    char others[REPORT_BESIDE_ROOM] = "";
    struct report_cause *cause;

    if (!stopped(was, c) || !is_new_mount(was, c) || c->trouble->stale > 0 ||
        report_look_beside(r, c, was, life->down_since_ns, until_ns, others).same > 0)
        return false;
    cause = report_cause_add(r, CAUSE_CLIENT_RESTARTED, CONFIDENCE_MEDIUM);
    cause->time_ns = life->down_ns;
    cause->frame = was->pub.last_frame;
    report_cause_lasted(cause, REPORT_FAILED_RESTARTED, life->down_since_ns, until_ns);
    snprintf(cause->text, sizeof(cause->text),
             "The client was restarted, most likely: it stopped in the middle of the data that the "
             "server had asked for on connection %u, although all that it had sent was "
             "acknowledged. After %.1f s of silence it opened connection %u for another mount.%s",
             (unsigned)was->pub.number, report_seconds(life->down_ns), (unsigned)c->pub.number,
             others);
    snprintf(cause->against, sizeof(cause->against),
             "the path may have been down, and the client have given its first mount up");
    return true;
}
