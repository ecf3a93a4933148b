/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_RPCS_GROUPS_H
#define RPCRDMA_CLI_RPCS_GROUPS_H

/*
 * RPCs summed up: per operation, client, server, connection, file or user, and per interval of
 * time. Bounded: groups beyond the bound are one, "(others)", and distributions get rough.
 */

#include <glib.h>

#include "out/address.h"
#include "out/json_writer.h"
#include "rpcs/latency.h"
#include "rpcs/rpc_line.h"

enum groups_by {
    GROUPS_ALL, /* one group */
    GROUPS_OPERATION,
    GROUPS_CLIENT,
    GROUPS_SERVER,
    GROUPS_CONNECTION,
    GROUPS_FILE,
    GROUPS_USER,
    GROUPS_SERIES, /* server, client and operation, a line each: of `metrics` */
};

enum groups_sort { GROUPS_BY_TIME, GROUPS_BY_LATENCY, GROUPS_BY_BYTES, GROUPS_BY_CALLS };

enum { GROUPS_MOST = 4096 };

struct group {
    char *name; /* "NFS V3 READ", "192.168.77.11", "/data/file" */
    void *key;  /* what tells it from others: its name, but of a file */
    size_t key_length;
    char *apart;      /* what tells a file from others with its name; NULL: nothing is needed */
    int64_t interval; /* number, from 0 */
    bool begun;
    bool reverse;                                          /* all are from server to client */
    bool call_known, reply_known, read_known, write_known; /* its bytes: of an RPC at least */
    bool unnamed;        /* some may be of another operation: their Call was cut, or not captured */
    int64_t time_ns;     /* of the first */
    uint32_t connection; /* that all are of; 0: several */
    struct rpcrdma_address src, dst; /* client and server; family NONE: several */
    uint64_t calls;                  /* sendings; a transaction is one of them */
    uint64_t retransmitted, unanswered, no_call, incomplete;
    uint64_t rdma_errors, errors; /* answered by RDMA_ERROR; these, and what failed by its status */
    uint64_t status_unknown;      /* answered, and whether it failed is not known */
    uint64_t call_bytes, reply_bytes;
    uint64_t read_bytes, write_bytes; /* of data, in chunks: towards the server, the client */
    uint64_t lengths_unknown;         /* RPCs of which one of them is not known */
    uint64_t sizes_unknown;           /* of these, with Call and Reply: the size of one */
    struct latency latency;
    uint64_t n_phases; /* RPCs whose phases are known: their sums */
    struct rpcrdma_phases phases;
    int64_t stalled_ns;
};

/* GROUPS_FILE: what a file is known by. With a name: `handle` is the directory's. */
struct groups_file {
    struct rpcrdma_address server;
    struct nfs_handle handle;
    struct nfs_name name;
};

enum { GROUPS_FILE_KEY = sizeof(struct groups_file) };

/* Puts it into the key; returns the key's length. */
size_t groups_file_key(const struct groups_file *file, char key[GROUPS_FILE_KEY]);
/* The file that an RPC is about: as its Call says it, and where its handle is known, by that. */
void groups_file_of(const struct rpc *rpc, struct groups_file *said, struct groups_file *found);
/* How it is shown: its path, else its handle. */
void groups_file_name(const struct rpc *rpc, const struct groups_file *found,
                      char name[NFS_PATH + 1]);
/* What was put into a key. False: it is no file's. */
bool groups_file_from_key(const struct group *group, struct groups_file *file);
/* The handle in a key. False: it has none. */
bool groups_file_handle(const struct group *group, const uint8_t **handle, size_t *length);

/* What an RPC adds to a group, under the names that these sums have there. */
struct groups_share {
    const struct rpc *rpc;
    const struct rpcrdma_address *client, *server;
    const struct rpcrdma_phases *phases; /* NULL: they are not known, or not summed up */
    int64_t time_ns;
    uint32_t connection;
    bool reverse, cut; /* cut: its name may lack something */
    bool call_known, reply_known, read_known, write_known;
    bool calls, retransmitted, unanswered, no_call, incomplete, rdma_errors, errors;
    bool status_unknown, lengths_unknown, sizes_unknown; /* counts of one */
    uint64_t call_bytes, reply_bytes, read_bytes, write_bytes;
};

/* A group, and what its RPCs are known by without their name made. */
struct groups_recent {
    struct group *group;         /* NULL: none */
    uint64_t program, procedure; /* with its version; with its direction */
    struct rpcrdma_address address;
};

struct groups {
    enum groups_by by;
    int64_t interval_ns; /* 0: none */
    size_t most;         /* groups; GROUPS_MOST unless set */
    bool client_subnet;  /* GROUPS_SERIES: the client as its subnet, ... */
    const char *network; /* ... and the network of the next RPC's connection: see groups_ends */
    GHashTable *table;
    GPtrArray *groups; /* of struct group, as they came; sorted by groups_sort */
    struct group *others;
    uint64_t left_out; /* RPCs that went to others */
    uint64_t rough;    /* RPCs whose latencies are counted next to where they belong */
    size_t bytes, max_bytes;
    int64_t start_ns; /* of the intervals */
    bool started;
    bool unnamed;                 /* a group is */
    struct group key;             /* of lookups */
    struct groups_recent *recent; /* by what they are known by; a power of two */
    size_t n_recent;
    size_t octave; /* of the latency expected last */
};

/* "operation", "client", ... False for anything else. */
bool groups_by_parse(const char *name, enum groups_by *by);
struct json_key groups_by_key(enum groups_by by);

enum { GROUPS_ENDS = 112, GROUPS_TITLE = 120 }; /* bytes; a longer operation is cut */

/* Server, a line feed, and the client or its subnet: /24, of IPv6 /64; and what tells their network
 * from others, "" for nothing. NUL-terminated; returns the length. */
size_t groups_ends(const struct rpcrdma_address *server, const struct rpcrdma_address *client,
                   bool subnet, const char *network, char text[GROUPS_ENDS]);

struct groups *groups_new(enum groups_by by, int64_t interval_ns, size_t max_bytes);
void groups_free(struct groups *groups);
/* An RPC of the client comes: its group is brought into the processor's cache, in steps with other
 * work between, as each needs what the one before asked for. By the Call: where the group is; by
 * the Reply: the group; by what is known then, before groups_add: where its latency is counted. */
void groups_expect_soon(const struct groups *groups, const struct rpcrdma_address *client);
void groups_expect(const struct groups *groups, const struct rpcrdma_address *client);
void groups_expect_latency(struct groups *groups, const struct rpcrdma_address *client, int64_t ns);
struct group *groups_add(struct groups *groups, const struct rpc *rpc);
/* The same of an RPC that goes to groups of several kinds: its share is made once. */
void groups_share_of(const struct rpc *rpc, struct groups_share *share);
struct group *groups_add_share(struct groups *groups, const struct groups_share *share);
/* Its group, without adding it; "(others)" beyond the bounds. */
struct group *groups_find(struct groups *groups, const struct groups_share *share);
/* Files that were counted twice, as their handles were learned later, become one: at the end. */
void groups_settle(struct groups *groups, struct nfs_paths *paths);
/* Adds the RPCs of another group. */
void group_merge(struct group *into, const struct group *from);
/* Of the times that go into latency_ns. has_call, has_reply: of one of them it is known. */
void groups_add_phases(struct rpcrdma_phases *sum, const struct rpcrdma_phases *one);
/* Of two captures, side by side; NULL: that one has none. */
struct groups_pair {
    struct group *of[2];
};

/* All groups of both, each once: of struct groups_pair. Files of one name are told apart, or are
 * added up where nothing tells which of them are the same. */
GArray *groups_pairs(struct groups *first, struct groups *second);
/* Sets what tells apart the files among these that have one name. */
void groups_tell_apart(const GPtrArray *groups);
/* What the bounds left out, on standard error. */
void groups_complain(const struct groups *groups);
void groups_sort(struct groups *groups, enum groups_sort sort);

struct groups_shown {
    int64_t span_ns;  /* what rates are per; 0: none */
    int64_t start_ns; /* of the capture: what intervals' times are relative to */
    size_t top;       /* 0: all */
    bool histogram;
};

/* Whether none has failed is not known. */
static inline bool group_errors_unknown(const struct group *group)
{
    return group->errors == 0 && group->status_unknown > 0;
}

/* How many bytes its Calls and Replies have is known: of some, at least. */
static inline bool group_bytes_known(const struct group *group)
{
    return group->call_known && group->reply_known;
}

/* It is one thing, and the capture has its name: not "?", nor "(others)". */
bool group_is_named(const struct groups *groups, const struct group *group);

/* Its name as people read it: of a client or server the host's, if a capture has one. */
const char *group_title(const struct groups *groups, const struct group *group,
                        char text[ADDRESS_SIZE]);

/* The title, and what tells it from others, which is shown whole on a terminal: the beginning of
 * the title is left out for it. */
void group_put_name(const struct group *group, const char *title, struct out *out);

void groups_text(const struct groups *groups, const struct groups_shown *shown, struct out *out);
void groups_json(const struct groups *groups, const struct groups_shown *shown, struct out *out);
/* The keys of one group without its braces; for other objects. */
void group_json(struct json *json, const struct group *group, int64_t span_ns);
/* Its latency_ns object. */
void latency_json(struct json *json, struct json_key key, const struct latency *latency);

#endif
