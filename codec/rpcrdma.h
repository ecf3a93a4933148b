/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_RPCRDMA_H
#define RPCRDMA_RPCRDMA_H

/*
 * librpcrdma: analysis of RPC-over-RDMA from captured packets. All of it; export.h has the
 * conventions, analyzer/analyzer.h is where to begin, docs/library.md explains.
 */

#include "analyzer/analyzer.h"
#include "export.h"
#include "finding.h"
#include "flow/credit.h"
#include "flow/delivery.h"
#include "flow/flow.h"
#include "flow/life.h"
#include "flow/rpc.h"
#include "net/net.h"
#include "net/packet/payload.h"
#include "op.h"
#include "upper/compound.h"
#include "upper/names.h"
#include "upper/stream.h"
#include "upper/xdr_grammar.h"
#include "version.h"
#include "wire/chunk.h"
#include "wire/cursor.h"
#include "wire/dialect.h"
#include "wire/field.h"
#include "wire/hot.h"
#include "wire/message.h"
#include "wire/private_data.h"
#include "wire/property.h"
#include "wire/rpc.h"
#include "wire/status.h"
#include "wire/walk.h"
#include "wire/xchar.h"

#endif
