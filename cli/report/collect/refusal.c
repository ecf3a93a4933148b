/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that an end refused for good, by a Nak or by RDMAP's Terminate. */
#include "report/collect/collect.h"

/* RFC 5040 section 4.8: of the segment that it is about there are headers, perhaps. */
static int terminated_request(const struct rpcrdma_op *op)
{
    enum { HEADERS = 2, LENGTH = 0x80, DDP = 0x40, AT = 4, RDMAP = AT + 2 + 1, OPCODE = 0xf };
    enum { WRITE, READ_REQUEST, READ_RESPONSE };
    const uint8_t *p = op->data;

    if (!p || op->caplen <= RDMAP || (p[HEADERS] & (LENGTH | DDP)) != (LENGTH | DDP))
        return REPORT_REQUEST_UNKNOWN;
    switch (p[RDMAP] & OPCODE) {
    case WRITE:
        return RPCRDMA_OP_WRITE;
    case READ_REQUEST:
        return RPCRDMA_OP_READ_REQUEST;
    case READ_RESPONSE:
        return RPCRDMA_OP_READ_RESPONSE;
    default: /* Sends, with Invalidate or not */
        return (p[RDMAP] & OPCODE) <= 6 ? RPCRDMA_OP_SEND : REPORT_REQUEST_UNKNOWN;
    }
}

void report_refusal(struct report_tally *tally, int by, const struct rpcrdma_op *op)
{
    bool terminate = op->kind == RPCRDMA_OP_TERMINATE;
    struct report_refusal *refusal = &report_trouble(tally)->refusal;

    if (refusal->frame != 0)
        return;
    *refusal = (struct report_refusal){.frame = op->frame,
                                       .by = by,
                                       .request = terminate ? terminated_request(op)
                                                            : REPORT_REQUEST_UNKNOWN,
                                       .nak = op->nak,
                                       .terminate = terminate,
                                       .code = op->terminate};
}
