/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to connect went to another Ethernet address than those for the connection before:
 * another host has the server's IP address, or another router is on the way. */
#include "report/causes/connections/restarted.h"

#include <stdio.h>
#include <string.h>

bool report_moved(const struct report_connection *was, const struct report_connection *c)
{
    const struct rpcrdma_life *a = was ? &was->pub.life : NULL, *b = &c->pub.life;

    return a && a->has_mac && b->has_mac && memcmp(a->mac, b->mac, sizeof(a->mac)) != 0 &&
           report_same_hosts(was, c);
}

const char *report_mac_text(const uint8_t mac[6], char text[REPORT_MAC])
{
    snprintf(text, REPORT_MAC, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
             mac[4], mac[5]);
    return text;
}

void report_tell_moved(struct report_cause *cause, const struct report_connection *was,
                       const struct report_connection *c)
{
    size_t at = strlen(cause->text);
    char to[REPORT_MAC], before[REPORT_MAC];

    cause->moved = true;
    snprintf(
        cause->text + at, sizeof(cause->text) - at,
        " Requests for connection %u went to the Ethernet address %s, for connection %u to %s: "
        "another host has the server's IP address, or another router is on the way.",
        (unsigned)c->pub.number, report_mac_text(c->pub.life.mac, to), (unsigned)was->pub.number,
        report_mac_text(was->pub.life.mac, before));
}

void causes_of_moves(struct report *r, const struct report_connection *c, unsigned from)
{
    const struct report_connection *was = report_before(r, c).was;

    if (!report_moved(was, c))
        return;
    for (unsigned i = from; i < r->n_causes; i++)
        if (r->causes[i].of == c && (r->causes[i].id == CAUSE_CONNECTION_FAILED ||
                                     r->causes[i].id == CAUSE_SERVER_RESTARTED)) {
            report_tell_moved(&r->causes[i], was, c);
            return;
        }
}
