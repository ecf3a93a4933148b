/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_VIEW_H
#define RPCRDMA_CLI_OUT_VIEW_H

/*
 * How messages, connections and findings are shown. A view never looks at wire bytes: messages are
 * emitted to it field by field (wire/walk.h), everything else comes in structs of flow/.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow/flow.h"
#include "out/address.h"
#include "out/json_writer.h"
#include "out/out.h"
#include "out/packet_notes.h"

enum view_time {
    VIEW_TIME_RELATIVE, /* seconds since the first packet */
    VIEW_TIME_DELTA,    /* since the line before */
    VIEW_TIME_EPOCH,
    VIEW_TIME_LOCAL,
    VIEW_TIME_LOCAL_DATE,
    VIEW_TIME_UTC,
    VIEW_TIME_UTC_DATE,
};

/* What the pipeline knows of the capture as it reads it. */
struct view_clock {
    bool started;     /* a packet was read: */
    int64_t start_ns; /* time of the first one */
    uint64_t frame;   /* number and time of the current one */
    int64_t now_ns;
    bool nanoseconds;           /* the capture's clock is finer than microseconds */
    struct packet_notes *notes; /* NULL: the file says nothing of a packet */
};

struct connection_again;

/* The place of a time in a line that was made without it. */
struct view_placeholder {
    size_t at; /* byte of the line; 0: there is none */
    int64_t time_ns;
};

struct view {
    const struct view_ops *ops;
    struct out *out;
    struct json json;
    const struct view_clock *clock;
    enum view_time time;
    int64_t line_ns; /* time of the line before */
    /* VIEW_TIME_DELTA: which line comes before this one is not known yet. Its time is left out, and
     * goes there, with view_put_kept */
    bool time_open;
    struct view_placeholder placeholder;
    size_t src_width, dst_width;          /* text columns, which only grow */
    const struct connection_again *again; /* of the connection that is reported: connection.h */
    size_t n_again;
    uint64_t again_left_out, findings_left_out; /* how many more of each that connection has */
};

struct view_ops {
    void (*message)(struct view *view, const struct rpcrdma_flow_message *message);
    /* With the findings that belong to none of its messages. */
    void (*connection)(struct view *view, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *findings, size_t n);
    /* One that belongs to no message; connection may be NULL. */
    void (*finding)(struct view *view, const struct rpcrdma_connection *connection,
                    const struct rpcrdma_finding *finding);
};

extern const struct view_ops view_text; /* one line each */
extern const struct view_ops view_tree; /* every field */
extern const struct view_ops view_json; /* one object per line */

struct view view_new(const struct view_ops *ops, struct out *out, const struct view_clock *clock);

#define VIEW_TIME_HELP                                                                             \
    "Time: r relative to the first packet (default), d to the line before, e epoch, "              \
    "a local, ad with date, u UTC, ud with date"

/* "a", "ad", "d", "e", "r", "u", "ud", as tshark's -t. False for anything else. */
bool view_time_parse(const char *name, enum view_time *out);

/* -- shared by the views --------------------------------------------------------------------- */

/* RPC direction as walk.h wants it. */
int view_direction(const struct rpcrdma_flow_message *message);

/* The header of the RPC's Call: program, version and procedure. NULL: not known. */
const struct rpcrdma_rpc *view_call(const struct rpcrdma_flow_message *message);

/* The procedure's name, or NULL. */
const char *view_procedure(const struct rpcrdma_flow_message *message);
/* Of its type; NULL: it has none, or none that its version names. */
const char *view_type(const struct rpcrdma_message *message);

/* "client", "server", "unknown". */
const char *view_role(enum rpcrdma_role role);

/* "RoCEv2", "RoCEv1", "InfiniBand", "iWARP". */
const char *view_carrier(enum rpcrdma_carrier carrier);

/* Which end of a connection is the client, -1 where that is not known. */
int view_client_end(const struct rpcrdma_connection *connection);

/* A point in time by view->time; right-aligned as a column where it is short. */
void view_put_time(struct view *view, int64_t time_ns);

/* A line of n bytes that was made before (with time_open), as the next one of view->out. */
void view_put_kept(struct view *view, const char *line, size_t n,
                   struct view_placeholder placeholder);

/* "SRC -> DST", in columns as wide as the widest address so far. */
void view_put_addresses(struct view *view, const struct rpcrdma_address *src,
                        const struct rpcrdma_address *dst);

/* "2025-11-20 10:00:00.123456789 UTC" */
void view_put_date(struct out *out, int64_t time_ns, bool utc, bool with_date, unsigned digits);

/* What follows in the color of the severity; OUT_PLAIN ends it. */
void view_severity(struct out *out, enum rpcrdma_severity severity);

/* When it was found, with the packet in hand at now_ns; or when the packet passed that it names. */
static inline int64_t finding_time(const struct rpcrdma_finding *finding, int64_t now_ns)
{
    return finding->has_time ? finding->time_ns : now_ns;
}

/* "[warning rpc-error: text (section)]" */
void view_put_finding(struct out *out, const struct rpcrdma_finding *finding);

/* JSON: an address alone; nothing where there is none. */
static RPCRDMA_INLINE void view_json_address(struct json *json, struct json_key key,
                                             const struct rpcrdma_address *address)
{
    if (address->family == RPCRDMA_ADDRESS_NONE)
        return;
    json_key(json, key);
    json_before(json);
    out_char(json->out, '"');
    out_address(json->out, address);
    out_char(json->out, '"');
}

/* JSON: "src" and "dst", the client first where that is known, and then "client" and "server", too;
 * with QP numbers or ports. */
void view_json_ends(struct json *json, const struct rpcrdma_connection *connection);

/* JSON: the list under the key "findings", nothing where n is 0. A finding says its own frame where
 * it is not the object's. */
void view_json_findings(struct json *json, const struct rpcrdma_finding *findings, size_t n,
                        uint64_t object_frame);

#endif
