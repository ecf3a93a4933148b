/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of statuses: NFS' (status.def), MOUNT's (RFC 1813, section 5.1.5) and RPC's (RFC 5531,
 * section 9). */
#include "nfs/arguments.h"
#include "wire/field.h"

static const struct rpcrdma_value_name nfs3[] = {
#define NFS3_STATUS(number, name) {(number), #name},
#define NFS4_STATUS(number, name)
#include "nfs/status.def"
    {0, NULL},
};

static const struct rpcrdma_value_name nfs4[] = {
#define NFS3_STATUS(number, name)
#define NFS4_STATUS(number, name) {(number), #name},
#include "nfs/status.def"
    {0, NULL},
};

static const struct rpcrdma_value_name mount[] = {
    {0, "MNT3_OK"},
    {1, "MNT3ERR_PERM"},
    {2, "MNT3ERR_NOENT"},
    {5, "MNT3ERR_IO"},
    {13, "MNT3ERR_ACCES"},
    {20, "MNT3ERR_NOTDIR"},
    {22, "MNT3ERR_INVAL"},
    {63, "MNT3ERR_NAMETOOLONG"},
    {10004, "MNT3ERR_NOTSUPP"},
    {10006, "MNT3ERR_SERVERFAULT"},
    {0, NULL},
};

const char *nfs_status_name(const struct nfs_arguments *a)
{
    enum rpcrdma_field_id id = RPCRDMA_FIELD_RPC_ACCEPT_STAT;

    switch (a->status_kind) {
    case NFS_STATUS_NONE:
        return NULL;
    case NFS_STATUS_RPC:
        break;
    case NFS_STATUS_DENIED:
        id = a->auth ? RPCRDMA_FIELD_RPC_AUTH_STAT : RPCRDMA_FIELD_RPC_REJECT_STAT;
        break;
    case NFS_STATUS_NFS3:
        return rpcrdma_value_name(nfs3, a->status);
    case NFS_STATUS_NFS4:
        return rpcrdma_value_name(nfs4, a->status);
    case NFS_STATUS_MOUNT:
        return rpcrdma_value_name(mount, a->status);
    }
    return rpcrdma_value_name(rpcrdma_field(id)->names, a->status);
}
