/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_COLLECT_ATTEMPTS_H
#define RPCRDMA_CLI_REPORT_COLLECT_ATTEMPTS_H

/* Attempts to connect that servers refused; as many pairs of hosts as connections are kept. */

#include "report/collect/service.h"
#include "report/report.h"

/* Attempts of a client since the server accepted one of it. */
struct report_tries {
    struct report_service service; /* the key, first */
    GList age;                     /* in report_attempts.by_age */
    bool late; /* others had to give way before: it may have made more attempts */
    uint64_t attempts;
    uint32_t first, last; /* connections' numbers */
    int64_t first_ns, last_ns;
    uint64_t first_begun, last_begun,
        last_frame;                /* frames: when these began; the last one's last */
    uint64_t first_frame;          /* that shows the first */
    struct report_connection *own; /* the first, where there was no room to keep it. Owned */
    bool followed;                 /* by another one of these hosts: that one tells */
    uint64_t accepted;             /* frame of the latest that was, of this client */
    bool some_before;              /* of `attempts`: one was accepted behind some of them */
    bool others;                   /* since the first of them the server accepted others: */
    uint32_t other;                /* the latest; 0: not known which */
    uint32_t open;                 /* the same client's, accepted; 0: none */
    uint64_t open_until;           /* its last frame */
    uint64_t opened_frame;         /* since the last TCP was opened for another; 0: it was not */
    int64_t opened_ns;
    /* how the last was refused */
    enum rpcrdma_ended ended;
    enum rpcrdma_carrier carrier;
    uint16_t reject_reason, port;
};

void report_attempts_begin(struct report *r);
void report_attempts_end(struct report *r);
/* It carries messages. */
void report_accepted(struct report *r, const struct rpcrdma_connection *c);
/* It has ended, whatever it was. True: it was refused, and is counted. */
bool report_attempt(struct report *r, const struct rpcrdma_connection *c);
/* It is not kept otherwise: whether it is needed here, and c taken. */
bool report_attempt_takes(struct report *r, struct report_connection *c);
/* Those behind which nothing of their client was accepted, by the last's number; the caller frees
 * the list. */
GList *report_tries(const struct report *r);
/* Attempts of more pairs of hosts than there is room for. */
uint64_t report_attempts_left_out(const struct report *r);

#endif
