/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_RULE_VERSION_H
#define RPCRDMA_RULE_VERSION_H

#include "finding.h"

/*
 * The rule that `id` is where what it was found of is of this version of RPC-over-RDMA: version 2
 * has its rules in a text of its own, and some of them otherwise. flow/context asks for every
 * finding. A rule of one version only, and any where the version is not known, is what it is.
 */
enum rpcrdma_rule_id rule_of_version(enum rpcrdma_rule_id id, uint32_t version);

#endif
