/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_CAUSES_CONNECTIONS_RESTARTED_H
#define RPCRDMA_CLI_REPORT_CAUSES_CONNECTIONS_RESTARTED_H

/* What the rules of failed connections ask of restarts: restarted.c, and where another is named. */

#include "report/causes/causes.h"

/* What its server did from the Calls' first sending on another connection to the next one on this.
 */
struct report_restart {
    bool refused;
    /* or another host refused this one, as its requests and those for `known` show; NULL: none did
     */
    const struct report_connection *moved, *known;
    uint64_t stale, frame;      /* such answers, and the first one's */
    int64_t since_ns, until_ns; /* when it was down, at most */
};

struct report_restart report_restart(const struct report *r, const struct report_connection *c);

/* Adds the cause; NULL: others went on, and it was not restarted. The client was `away_ns` without
 * a connection; `more`: what else is known. */
struct report_cause *report_server_restarted(struct report *r, const struct report_restart *restart,
                                             int64_t away_ns, const char *more);

/* The connection failed for a restart, as the server refused others meanwhile, or its answers show
 * to a client that was not away for as long as a lease lasts: adds the cause, and there is no other
 * one. silence: who stopped answering on it. */
bool report_restart_shown(struct report *r, const struct report_connection *c,
                          const struct report_restart *restart, const char *silence);

/* The attempts to connect between a connection and the last one before it that was set up. */
struct report_before {
    const struct report_connection *was; /* that one; NULL: there is none, or it is not kept */
    /* or another host refused this one, the first of such: requests went there, and neither for
     * `was` nor for the connection itself. NULL: none did */
    const struct report_connection *elsewhere;
    uint64_t refused, unseen; /* unseen: what the server answered was not captured */
};
struct report_before report_before(const struct report *r, const struct report_connection *c);

/* Attempts were refused before this connection, or the server closed the one before it: adds the
 * cause. It costs the time since that was there. */
bool report_server_was_down(struct report *r, const struct report_connection *c);

/* What a server without its former state answers on this connection, which took the place of one
 * that it had closed as idle. */
void causes_of_lost_state(struct report *r, const struct report_connection *c);

/* moved.c: requests for this connection of the same hosts went to another Ethernet address
 * than those for the one before. */
bool report_moved(const struct report_connection *was, const struct report_connection *c);
void report_tell_moved(struct report_cause *cause, const struct report_connection *was,
                       const struct report_connection *c);
/* moved.c: six bytes as a text. */
enum { REPORT_MAC = 18 };
const char *report_mac_text(const uint8_t mac[6], char text[REPORT_MAC]);
/* Likewise, and one of the causes of connection c, from that index on, is that it failed, or that
 * its server was restarted: says so there. */
void causes_of_moves(struct report *r, const struct report_connection *c, unsigned from);

/* restarted.c: the server ended it, by a DREQ or a FIN. */
bool report_closed_by_server(const struct rpcrdma_connection *c);

/* client_restarted.c: the one that the client closed while it worked on it, and went on with this
 * one for the same mount; NULL: it did not. */
const struct report_connection *report_left_by_client(const struct report *r,
                                                      const struct report_connection *c);
void causes_of_client_restart(struct report *r, const struct report_connection *c);

/* forgot.c: connection c is a request that shows that its client forgot another one. */
void causes_of_forgotten(struct report *r, const struct report_connection *c);

#endif
