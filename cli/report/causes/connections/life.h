/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_CAUSES_CONNECTIONS_LIFE_H
#define RPCRDMA_CLI_REPORT_CAUSES_CONNECTIONS_LIFE_H

/* What the rules of connections that failed share: life.c, held.c, left.c, lost.c. */

#include "common/times.h"
#include "report/causes/connections/restarted.h"

/* held.c: the Calls that were sent again on this connection had reached the server's host:
 * adds the cause, and there is no other one. */
bool causes_of_held_calls(struct report *r, const struct report_connection *c);
/* Why the server may have had the Calls that were sent again, and not have answered them. NULL:
 * nothing says so. */
const char *report_maybe_held(const struct report *r, const struct report_connection *c);

/* life.c: TCP. The next connection, c, was set up at once, and what had been sent on this one just
 * before got no answer, not even a RST. */
bool report_forgotten(const struct report_connection *from, const struct report_connection *c);
/* A sentence that says so. */
extern const char report_forgotten_text[];

/* held.c: the server waited for what an RPC without a Reply moves to it, which was sent
 * again and again, for most of that time: that was lost. */
bool report_waited_for_data(const struct report_connection *c);

/* set_up.c: the server did not get to know for long that it was set up. */
void causes_of_late_set_up(struct report *r, const struct report_connection *c);
/* set_up.c: it was set up in the end, after more than one request, and no other rule tells
 * of it. */
void causes_of_slow_set_up(struct report *r, const struct report_connection *c);

/* overtaken.c: its last Call was answered on another connection, and came only then. */
void causes_of_overtaken(struct report *r, const struct report_connection *c);

/* claimed.c: what was told of this address, in that network, concerns this end of the connection,
 * and no host of another network. */
bool report_is_end(const struct rpcrdma_address *told, const struct rpcrdma_network *network,
                   const struct report_connection *c, int end);

/* claimed.c: another Ethernet address than before had that of one of its ends, from just before
 * since_ns on or later, as ARP or IPv6's neighbor discovery said. NULL: not so. */
const struct rpcrdma_net_claimed *report_claimed(const struct report *r,
                                                 const struct report_connection *c,
                                                 int64_t since_ns, int64_t until_ns);
void report_tell_claimed(const struct report *r, struct report_cause *cause);

/* left.c: it takes the place of another one, and no Call was seen on both. */
void causes_of_left(struct report *r, const struct report_connection *c);

/* stopped.c: likewise, as the client was restarted in the middle of its data: adds the cause, and
 * there is no other one. */
bool causes_of_stopped_client(struct report *r, const struct report_connection *was,
                              const struct report_connection *c);

/* left_half.c: likewise, of the client's packets alone. */
void causes_of_left_half(struct report *r, const struct report_connection *c);

/* lost.c: nothing took its place: an end stopped answering, or attempts to connect got no
 * answer at all. */
void causes_of_lost(struct report *r, const struct report_connection *c);

/* failure_told.c: which end did not answer at the end of this connection, and since when, as a
 * sentence; "": neither is known not to have. c: may be NULL. beside: so many others were answered
 * meanwhile */
enum { REPORT_SILENCE_ROOM = 320 };
/* path.c: an end answered nothing more at the end of it as all came out of order, and it asked for
 * it anew; -1: none. */
int report_out_of_order(const struct report_connection *c);
void report_tell_silence(const struct report *r, const struct report_connection *c, guint beside,
                         char *text, size_t size);

/* Attempts to connect that were not answered: those before a connection, back to the last one
 * that was set up. */
struct report_tried {
    const struct report_connection *first;  /* of them; NULL: there was none */
    const struct report_connection *before; /* the connection before them; NULL: it is not kept */
    uint64_t n;
    bool heard; /* false: the server answered, and the client asked again */
    /* another host refused others of them, the first of which this is; NULL: none did */
    const struct report_connection *elsewhere;
};
/* Nothing answered it, as `connection_unanswered`; or its REQ passed once, and nothing answered for
 * longer than a client waits until it asks again (Linux: 4 s): the next ones came nowhere. */
bool report_attempt_unanswered(const struct report *r, const struct report_connection *c);
/* Likewise, or it was refused. */
bool report_attempt_in_vain(const struct report *r, const struct report_connection *c);
struct report_tried report_look_attempts(const struct report *r,
                                         const struct report_connection *last);
/* They, and what became of them; `first`: the number of the first. */
void report_tell_attempts(const struct report_tried *attempts, uint32_t first, char *text,
                          size_t size);

#endif
