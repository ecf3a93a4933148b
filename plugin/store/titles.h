/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_TITLES_H
#define RPCRDMA_PLUGIN_TITLES_H

/* What transactions are called; each title is kept once. */

#include "flow/rpc.h"

struct title {
    const char *text;      /* "NFS V4 SEQUENCE+PUTFH+READ" */
    const char *program;   /* "NFS V4", "NFS4_CALLBACK V1 (reverse)"; NULL: not known */
    const char *operation; /* "READ": of a COMPOUND the main one */
    uint32_t program_number, version, operation_number;
};

void titles_file(void);     /* a file is opened */
void titles_file_end(void); /* and closed */
const struct title *title_of(const struct rpcrdma_transaction *from);

#endif
