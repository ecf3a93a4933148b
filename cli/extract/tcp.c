/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole RPC messages as RPC over TCP (record marking, RFC 5531 section 11), each at the time of its
 * Send. A Call with read chunks is whole only later, when they were pulled, and one behind a hole
 * in the capture is reported late: messages wait, so that the file is in order of time, too. Where
 * somebody waits for what comes out that is for a second of the capture's time.
 */
#include "extract/extract.h"

#include <string.h>

#include "common/keyed_hash.h"
#include "extract/tcp_stream.h"

enum {
    NFS_PORT = 2049,
    /* of callers, one for each RDMA connection: Wireshark gives none of these to a
     * dissector, as it does 40000 */
    FIRST_PORT = 57001,
    PORTS = 8535,
};
#define WAIT_NS INT64_C(1000000000)

/* One direction of RPC on a connection. It goes when the connection has ended and nothing of it
 * waits. */
struct stream {
    struct tcp_stream tcp;
    gint64 key;
    uint64_t waiting;
    bool ended;
};

/* A message that waits to be written. */
struct waiting {
    int64_t order_ns; /* its time, but a Reply is never before its Call */
    uint64_t number;  /* by which those of one time keep their order */
    int64_t time_ns;
    struct stream *stream;
    int from;
    size_t n;
    uint8_t data[]; /* with its record mark */
};

/* What it takes, with what GSequence and malloc add. */
static size_t cost(const struct waiting *w)
{
    enum { ADDED = 80 };

    return sizeof(*w) + w->n + ADDED;
}

/* A Call that was taken, and whose Reply may be. */
struct call {
    uint32_t connection, xid;
    uint32_t caller_end;
    int64_t order_ns;
};

struct extract_tcp {
    struct tcp_file file;
    struct extract_tcp_counts counts;
    GHashTable *streams; /* by key: connection << 1 | caller end */
    GHashTable *calls;   /* call -> call */
    GHashTable *hosts;   /* LID -> struct rpcrdma_address, its IP address */
    GSequence *waiting;  /* by order_ns and number */
    size_t bytes, max_bytes;
    int64_t wait_ns; /* a message, at most */
    uint64_t number;
};

static guint call_hash(gconstpointer p)
{
    const struct call *a = p;

    return keyed_hash_numbers(a->xid, (guint64)a->connection << 1 | a->caller_end);
}

static gboolean call_equal(gconstpointer p, gconstpointer q)
{
    const struct call *a = p, *b = q;

    return a->xid == b->xid && a->connection == b->connection && a->caller_end == b->caller_end;
}

static gint by_time(gconstpointer p, gconstpointer q, gpointer data)
{
    const struct waiting *a = p, *b = q;

    (void)data;
    if (a->order_ns != b->order_ns)
        return a->order_ns < b->order_ns ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

struct extract_tcp *extract_tcp_new(struct out *out, size_t max_memory, bool awaited)
{
    struct extract_tcp *tcp = g_new0(struct extract_tcp, 1);

    tcp->file.out = out;
    tcp->file.last_ns = INT64_MIN;
    tcp->streams = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    tcp->calls = g_hash_table_new_full(call_hash, call_equal, g_free, NULL);
    tcp->hosts = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    tcp->waiting = g_sequence_new(g_free);
    tcp->max_bytes = max_memory;
    tcp->wait_ns = awaited ? WAIT_NS : INT64_MAX;
    return tcp;
}

void extract_tcp_free(struct extract_tcp *tcp)
{
    if (!tcp)
        return;
    g_sequence_free(tcp->waiting);
    g_hash_table_destroy(tcp->calls);
    g_hash_table_destroy(tcp->hosts);
    g_hash_table_destroy(tcp->streams);
    g_free(tcp->file.frame);
    g_free(tcp);
}

const struct extract_tcp_counts *extract_tcp_counts(const struct extract_tcp *tcp)
{
    return &tcp->counts;
}

static gpointer lid_of(const struct rpcrdma_address *address)
{
    return GUINT_TO_POINTER((guint)address->bytes[0] << 8 | address->bytes[1]);
}

static void learn_host(struct extract_tcp *tcp, const struct rpcrdma_address *lid, bool ipv4,
                       const uint8_t ip[16])
{
    struct rpcrdma_address *address;

    if (lid->family != RPCRDMA_ADDRESS_LID)
        return;
    address = g_new0(struct rpcrdma_address, 1);
    address->family = ipv4 ? RPCRDMA_ADDRESS_IPV4 : RPCRDMA_ADDRESS_IPV6;
    memcpy(address->bytes, ipv4 ? ip + 12 : ip, ipv4 ? 4 : 16);
    g_hash_table_insert(tcp->hosts, lid_of(lid), address);
}

/* RDMA CM's header in the private data of a request (IBTA annex A11): its version, that of IP in
 * the upper half of the second byte, a port, and two addresses of 16 bytes. */
void extract_tcp_setup(struct extract_tcp *tcp, const struct rpcrdma_op *op)
{
    enum { SOURCE = 4, DESTINATION = 20, HEADER = 36 };
    const struct rpcrdma_op_connect *connect = op->connect;
    uint8_t version;

    if (op->kind != RPCRDMA_OP_CONNECT || op->carrier == RPCRDMA_CARRIER_IWARP || !connect ||
        connect->port == 0 || connect->private_caplen < HEADER || connect->private_data[0] != 0)
        return;
    version = connect->private_data[1] >> 4;
    if (version != 4 && version != 6)
        return;
    learn_host(tcp, &op->src, version == 4, connect->private_data + SOURCE);
    learn_host(tcp, &op->dst, version == 4, connect->private_data + DESTINATION);
}

/* A LID's IP address, as a request to connect said last. */
static const struct rpcrdma_address *host(const struct extract_tcp *tcp,
                                          const struct rpcrdma_address *address)
{
    const struct rpcrdma_address *known = NULL;

    if (address->family == RPCRDMA_ADDRESS_LID)
        known = g_hash_table_lookup(tcp->hosts, lid_of(address));
    return known ? known : address;
}

/* The caller connects: over iWARP from its own port, else from one that stands for the connection.
 */
static struct stream *stream_of(struct extract_tcp *tcp, const struct rpcrdma_connection *c,
                                int caller)
{
    gint64 key = (gint64)c->number << 1 | caller;
    struct stream *stream = g_hash_table_lookup(tcp->streams, &key);
    uint16_t port = (uint16_t)(FIRST_PORT + (c->number - 1) % PORTS);

    if (!stream) {
        if (c->carrier == RPCRDMA_CARRIER_IWARP && c->role[caller] == RPCRDMA_ROLE_CLIENT)
            port = c->end[caller].port;
        stream = g_new0(struct stream, 1);
        stream->key = key;
        if (!tcp_stream_init(&stream->tcp, host(tcp, &c->end[caller].address),
                             host(tcp, &c->end[1 - caller].address), port, NFS_PORT))
            stream->tcp.end[0].port = 0; /* no addresses to write */
        g_hash_table_insert(tcp->streams, &stream->key, stream);
    }
    return stream->tcp.end[0].port ? stream : NULL;
}

static void end_if_done(struct extract_tcp *tcp, struct stream *stream)
{
    enum { AT_THE_END = 4096 }; /* so many are closed at the end, wherever the output goes */

    if (!stream->ended || stream->waiting > 0 || g_hash_table_size(tcp->streams) <= AT_THE_END)
        return;
    tcp_stream_close(&tcp->file, &stream->tcp);
    g_hash_table_remove(tcp->streams, &stream->key);
}

void extract_tcp_connection(struct extract_tcp *tcp, const struct rpcrdma_connection *connection)
{
    for (int caller = 0; caller < 2; caller++) {
        gint64 key = (gint64)connection->number << 1 | caller;
        struct stream *stream = g_hash_table_lookup(tcp->streams, &key);

        if (!stream)
            continue;
        stream->ended = true;
        end_if_done(tcp, stream);
    }
}

/* Writes what has waited long enough, or all. */
static void flush(struct extract_tcp *tcp, int64_t now_ns, bool all)
{
    while (!g_sequence_is_empty(tcp->waiting)) {
        GSequenceIter *first = g_sequence_get_begin_iter(tcp->waiting);
        const struct waiting *w = g_sequence_get(first);
        struct stream *stream = w->stream;

        if (!all && now_ns - w->order_ns < tcp->wait_ns && tcp->bytes <= tcp->max_bytes)
            return;
        tcp_stream_data(&tcp->file, &stream->tcp, w->from, w->time_ns, w->data, w->n);
        tcp->counts.written++;
        tcp->bytes -= cost(w);
        g_sequence_remove(first);
        stream->waiting--;
        end_if_done(tcp, stream);
    }
}

static struct waiting *flattened(const struct rpcrdma_rpc_message *m)
{
    uint32_t mark = 0x80000000 | (uint32_t)m->length; /* the last fragment, and the only one */
    struct waiting *w = g_malloc0(sizeof(*w) + 4 + m->length);
    uint8_t *p = w->data;

    for (int shift = 24; shift >= 0; shift -= 8)
        *p++ = (uint8_t)(mark >> shift);
    for (size_t i = 0; i < m->n_iovec; i++) {
        if (m->iovec[i].data) /* else it is padding: zeros */
            memcpy(p, m->iovec[i].data, m->iovec[i].length);
        p += m->iovec[i].length;
    }
    w->n = m->length + 4;
    w->order_ns = w->time_ns = m->time_ns;
    return w;
}

static void add(struct extract_tcp *tcp, struct waiting *w, struct stream *stream, int from)
{
    w->stream = stream;
    stream->waiting++;
    stream->ended = false; /* it goes on after all */
    w->from = from;
    w->number = ++tcp->number;
    tcp->file.wide |= !tcp->file.started && !tcp_file_has_time(w->time_ns);
    tcp->bytes += cost(w);
    g_sequence_insert_sorted(tcp->waiting, w, by_time, NULL);
}

void extract_tcp_message(struct extract_tcp *tcp, const struct rpcrdma_rpc_message *m,
                         const struct view_clock *clock)
{
    bool is_call = m->direction == RPCRDMA_DIRECTION_CALL;
    uint32_t caller = (uint32_t)(is_call ? m->sender_end : 1 - m->sender_end);
    struct call key = {.connection = m->connection->number, .xid = m->xid, .caller_end = caller};
    const struct call *call = g_hash_table_lookup(tcp->calls, &key);
    struct stream *stream = stream_of(tcp, m->connection, (int)caller);
    struct waiting *w;

    if (!tcp->file.started)
        tcp->file.nanoseconds = clock->nanoseconds;
    if (!m->whole || m->length == 0 || m->length > 0x7fffffff) {
        tcp->counts.partial++;
    } else if (!stream) {
        tcp->counts.no_address++;
    } else if (!is_call && !call) {
        tcp->counts.lonely++;
    } else {
        w = flattened(m);
        if (is_call) {
            key.order_ns = w->order_ns;
            g_hash_table_add(tcp->calls, g_memdup2(&key, sizeof(key)));
        } else if (w->order_ns < call->order_ns) { /* the clock was set back */
            w->order_ns = call->order_ns;
        }
        add(tcp, w, stream, is_call ? 0 : 1);
    }
    flush(tcp, clock->now_ns, false);
}

void extract_tcp_transaction(struct extract_tcp *tcp, const struct rpcrdma_transaction *t)
{
    struct call key = {
        .connection = t->connection->number, .xid = t->xid, .caller_end = (uint32_t)t->caller_end};

    g_hash_table_remove(tcp->calls, &key);
}

static void close_stream(gpointer key, gpointer value, gpointer data)
{
    struct extract_tcp *tcp = data;

    (void)key;
    tcp_stream_close(&tcp->file, &((struct stream *)value)->tcp);
}

void extract_tcp_end(struct extract_tcp *tcp)
{
    flush(tcp, 0, true);
    tcp_file_start(&tcp->file);
    g_hash_table_foreach(tcp->streams, close_stream, tcp);
    tcp->counts.mistimed = tcp->file.mistimed;
}
