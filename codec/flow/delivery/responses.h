/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_DELIVERY_RESPONSES_H
#define RPCRDMA_FLOW_DELIVERY_RESPONSES_H

/* What only Read responses leave, Acks of what had not passed, and who asks which frame was the
 * first. */

#include "flow/delivery/delivery.h"

struct rare;

/* Which frame carried a packet first. */
struct original {
    uint64_t at, frame;
};
struct originals {
    struct original *ring; /* by position */
    uint32_t size;         /* a power of two, or 0 */
};

/* Responses [first, end) were missing as a later one passed. */
struct response_gap {
    uint64_t first, end;
};

/* Acks of what had not passed yet: see early.c. */
struct early_ack {
    uint64_t frame; /* of several responses that follow each other the first, and its time */
    int64_t time_ns;
    uint32_t psn, last; /* of the latest of them */
    bool response;
};
enum { EARLY_ACKS = 32 };
struct early {
    uint64_t frame; /* of the latest Ack or response, */
    int64_t time_ns;
    struct early_ack at[EARLY_ACKS]; /* a ring of those that are not over: packets that they
                                      * acknowledge are to come */
    uint32_t first, count;
    uint32_t psn; /* which acknowledges this */
};

/* What only Read responses leave, and who asks which frame was the first, and code points that
 * change. */
struct extra {
    struct originals originals[2];    /* of requests and of responses. Owned */
    uint64_t skipped, skipped_end;    /* the latest gap in responses, whatever stands there */
    int64_t skipped_ns, responded_ns; /* when that showed; and when the latest response passed */
    struct early *early;              /* Acks of what had not passed; NULL: none did. Owned */
    uint64_t dscps; /* a bit per code point of packets, but for flow_delivery.dscp */
};

/* originals.c */
void originals_free(struct flow_memory *memory, struct flow_delivery *d);

/* response_gaps.c: notes one; whether this response was in one, and has not come since; it came. */
void response_gap_add(struct flow_memory *memory, struct flow_delivery *d, uint64_t first,
                      uint64_t end, int64_t time_ns);
bool response_gap_has(const struct flow_delivery *d, uint64_t at);
void response_gap_fill(struct flow_delivery *d, uint64_t at);
void response_gap_free(struct flow_memory *memory, struct rare *rare);

/* early.c: an Ack, of what has not passed yet; what the latest of these acknowledges; and a packet
 * that passes behind its Ack. */
void early_ack(struct flow_memory *memory, struct flow_delivery *d, const struct rpcrdma_op *op);
bool early_acked(const struct flow_delivery *d, uint32_t *psn);
void early_passed(struct flow_memory *memory, struct flow_delivery *d, const struct rpcrdma_op *op,
                  uint64_t at);
void early_free(struct flow_memory *memory, struct flow_delivery *d);

#endif
