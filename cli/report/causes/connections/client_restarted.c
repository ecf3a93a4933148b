/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about restarts of the client, or of its adapter. */
#include "report/causes/connections/restarted.h"

#include <stdio.h>

#include "common/times.h"

/* A client that closes a connection sooner after its last Call does not do so because it is idle:
 * Linux waits for 5 minutes. */
#define IDLE_NS (60 * SECOND)

/* Nothing was lost when its client closed it, before connection c took its place. Of the client's
 * packets alone all Calls are without Reply, which says nothing: what it sent again since its last
 * Call does. Over TCP its FIN may answer the server's. */
static bool in_order_until_closed(const struct report_connection *was,
                                  const struct report_connection *c)
{
    if (!report_one_way(was))
        return !c->pub.life.has_down;
    return was->pub.carrier != RPCRDMA_CARRIER_IWARP &&
           was->trouble->resent_packets_ns[report_server_end(&was->pub)] <
               was->pub.life.last_call_ns;
}

const struct report_connection *report_left_by_client(const struct report *r,
                                                      const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;
    const struct report_connection *was = report_numbered(r, life->previous);
    const struct rpcrdma_life *ended = was ? &was->pub.life : NULL;

    if (!was || report_end_told(was) || c->trouble->resent > 0 || !in_order_until_closed(was, c) ||
        !ended->has_xid || !life->has_xid || !rpcrdma_xids_go_on(ended->last_xid, life->first_xid))
        return NULL; /* or of another mount */
    if ((ended->ended != RPCRDMA_ENDED_DISCONNECTED && ended->ended != RPCRDMA_ENDED_CLOSED &&
         ended->ended != RPCRDMA_ENDED_RESET) ||
        ended->ended_by < 0 || was->pub.role[ended->ended_by] != RPCRDMA_ROLE_CLIENT)
        return NULL;
    return was;
}

/* What was answered last there was an error below NFS, such as AUTH_BADCRED: Linux closes the
 * connection for that, and asks again on another one. `rpcs-failed` tells. */
static bool closed_for_an_error(const struct report_connection *c)
{
    const struct report_failed *failed = &c->trouble->failed[REPORT_BELOW_NFS];

    return failed->rpcs > 0 && failed->last_ns >= c->answers.last_ns &&
           time_less(c->pub.life.ended_ns, failed->last_ns) < SECOND;
}

/* Whether the path was in order until then, as a sentence. */
static const char *tell_path(const struct report_connection *was)
{
    const int64_t *resent_ns = was->trouble->resent_packets_ns;
    int server = report_server_end(&was->pub);

    if (report_one_way(was))
        return " What the server did was not captured.";
    if (time_less(resent_ns[1 - server], was->pub.life.last_call_ns) >= SECOND)
        return " What was sent to the client came again and again before that: its link may have "
               "been down.";
    if (time_less(resent_ns[server], was->pub.life.last_call_ns) >= SECOND)
        return " What it sent came again and again before that: the path may have been down.";
    return " Neither the path nor the server was down.";
}

void causes_of_client_restart(struct report *r, const struct report_connection *c)
{
    const struct report_connection *was = report_left_by_client(r, c);
    const struct rpcrdma_life *ended = was ? &was->pub.life : NULL;
    int64_t gap = was ? c->pub.first_time_ns - ended->ended_ns : 0;
    bool half = was && report_one_way(was);
    struct report_cause *cause;
    guint beside;

    if (!was || gap < SECOND || ended->ended_ns - ended->last_call_ns > IDLE_NS ||
        closed_for_an_error(was))
        return;
    cause = report_cause_add(r, CAUSE_CLIENT_RESTARTED, CONFIDENCE_MEDIUM);
    cause->time_ns = gap;
    report_cause_lasted(cause, REPORT_FAILED_RESTARTED, ended->ended_ns, c->pub.first_time_ns);
    cause->frame = ended->ended_frame;
    beside = report_answered_beside(r, c, ended->ended_ns, c->pub.first_time_ns);
    snprintf(cause->text, sizeof(cause->text),
             "The client closed connection %u %.1f s after its last Call, and went on with the "
             "same mount %.1f s later on connection %u: %sit was told "
             "to reconnect.%s",
             (unsigned)was->pub.number,
             report_seconds(MAX(ended->ended_ns - ended->last_call_ns, 0)), report_seconds(gap),
             (unsigned)c->pub.number, beside > 0 ? "" : "its adapter was restarted, or ",
             tell_path(was));
    snprintf(
        cause->against, sizeof(cause->against), "it may have had nothing to ask for meanwhile%s",
        half ? "; or the server, or the path, was down, as one direction only was captured" : "");
}
