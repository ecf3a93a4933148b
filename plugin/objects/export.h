/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_EXPORT_H
#define RPCRDMA_PLUGIN_EXPORT_H

/* File, Export Objects, and tshark --export-objects rpcrdma,FOLDER: what was read of files and
 * written to them, by NFS. */

#include <epan/tap.h>

#include "flow/rpc.h"
#include "nfs/arguments.h"
#include "wireshark/compat.h"

/* export.c: with the protocol; the tap that it listens to, of struct message_note. */
int export_register(void);

/* A whole RPC message, or what there is of it. */
struct exported_rpc {
    struct rpcrdma_payload_stream stream; /* zeros where it is blank */
    struct blank *blanks;
    unsigned n_blanks;
    uint64_t calls; /* the stream that its Calls go in */
    uint32_t frame;
    const struct rpcrdma_address *server;
};

/* Bytes of a file. */
struct exported_data {
    const struct exported_rpc *rpc;
    const struct nfs_handle *handle; /* of the file, or of the directory that `name` is in */
    const struct nfs_name *name;
    bool written;
    uint64_t offset;     /* in the file */
    uint32_t at, length; /* in the message */
};

/* export_nfs.c: what they say, Calls before their Replies. */
void export_nfs(const struct exported_rpc *rpc);
void export_nfs_reset(void);
/* "", where nothing names it. */
size_t export_nfs_path(const struct exported_data *data, char path[]);

/* export_file.c: the objects. */
void export_file(const struct exported_data *data);
void export_file_reset(void);
void export_file_to(void *list); /* Wireshark's */

#endif
