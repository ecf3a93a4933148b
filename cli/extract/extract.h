/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXTRACT_EXTRACT_H
#define RPCRDMA_CLI_EXTRACT_EXTRACT_H

/* Where whole RPC messages go: files of a folder, RPC over TCP in a capture. */

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "flow/rpc.h"
#include "out/out.h"
#include "out/view.h"

/* dir.c: each message a file, and index.jsonl. */
struct extract_dir;

/* Before privileges are dropped. NULL when the folder cannot be made or holds an index already:
 * said on stderr. */
struct extract_dir *extract_dir_open(const char *path, bool no_sandbox);
void extract_dir_message(struct extract_dir *dir, const struct rpcrdma_rpc_message *message);
/* False when something could not be written: said once, when it happened. */
bool extract_dir_close(struct extract_dir *dir);

/* tcp.c: RPC over TCP, in the order of the messages' Sends. */
struct extract_tcp;

struct extract_tcp_counts {
    uint64_t written;    /* messages */
    uint64_t partial;    /* left out: not whole */
    uint64_t lonely;     /* Replies left out: their Call was not seen, or left out */
    uint64_t no_address; /* left out: for a side no IP address is known */
    uint64_t mistimed;   /* packets: see struct tcp_file; once all was written */
};

/* `out` is borrowed. max_memory: bytes of messages that wait. awaited: none waits
 * for long, though order suffers. */
struct extract_tcp *extract_tcp_new(struct out *out, size_t max_memory, bool awaited);
/* Which sets up a connection: it may have the IP addresses that LIDs stand for. */
void extract_tcp_setup(struct extract_tcp *tcp, const struct rpcrdma_op *op);
void extract_tcp_message(struct extract_tcp *tcp, const struct rpcrdma_rpc_message *message,
                         const struct view_clock *clock);
/* It ends: what waits of it is still written. */
void extract_tcp_connection(struct extract_tcp *tcp, const struct rpcrdma_connection *connection);
/* Nothing more will come of it. */
void extract_tcp_transaction(struct extract_tcp *tcp,
                             const struct rpcrdma_transaction *transaction);
/* Writes what waits and ends every TCP connection. */
void extract_tcp_end(struct extract_tcp *tcp);
const struct extract_tcp_counts *extract_tcp_counts(const struct extract_tcp *tcp);
void extract_tcp_free(struct extract_tcp *tcp);

#endif
