/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_LINE_H
#define RPCRDMA_CLI_OUT_LINE_H

/* Parts of the text view's lines, for other text. */

#include "flow/flow.h"
#include "out/out.h"

/* "NFS V3 READ Call ", "Reply ", and why a Reply is no success. */
void line_put_rpc(struct out *out, const struct rpcrdma_flow_message *m);

/* "(SEQUENCE PUTFH READ) " of a COMPOUND, as far as it was captured; else nothing. */
void line_put_operations(struct out *out, const struct rpcrdma_flow_message *m);

/* "XID 0x9f4a0d12 RDMA_MSG credits 128, write 8192, inline 144" */
void line_put_transport(struct out *out, const struct rpcrdma_flow_message *m);

/* "192.168.77.2 QP 18" */
void line_put_end(struct out *out, enum rpcrdma_carrier carrier,
                  const struct rpcrdma_endpoint *end);

/* Both ends, the client's first: "... -> ..."; " <-> " where it is not known which that is. */
void line_put_ends(struct out *out, const struct rpcrdma_connection *c);

#endif
