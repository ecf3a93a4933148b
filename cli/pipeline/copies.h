/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_PIPELINE_COPIES_H
#define RPCRDMA_CLI_PIPELINE_COPIES_H

/* Whether a capture has nearly every packet twice, always equally far apart: it is two that were
 * merged, of hosts whose clocks differ by that. Looked for in the first packets, and from the
 * moment on at which much is sent again. */

#include <stdbool.h>
#include <stdint.h>

#include "source/source.h"

struct pipeline_copies;

struct pipeline_copies *pipeline_copies_new(void);
void pipeline_copies_free(struct pipeline_copies *copies);
/* Each packet of the capture, while it wants any. False: it wants none any more. */
bool pipeline_copies_look(struct pipeline_copies *copies, const struct source_packet *one);
/* Something was sent again. True: from now on it wants packets. */
bool pipeline_copies_again(struct pipeline_copies *copies);

/* How far apart, ns; 0: it is no such capture, or too little shows it. */
int64_t pipeline_copies_judge(struct pipeline_copies *copies);

#endif
