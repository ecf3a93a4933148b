/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_NFS_STATUS_H
#define RPCRDMA_CLI_NFS_STATUS_H

/* Numbers of NFS' statuses. What both versions have has one number in both. */
enum nfs_status {
#define NFS3_STATUS(number, name) name = (number),
#define NFS4_STATUS(number, name) name = (number),
#include "nfs/status.def"
};

#endif
