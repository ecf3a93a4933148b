/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole RPC messages as RPC over TCP (record marking, RFC 5531 section 11), each at the time of its
 * Send. A Call with read chunks is whole only later, when they were pulled; so that times do not
 * run backwards, what follows it waits in a queue until then.
 */
#include "extract.h"

#include <string.h>

#include "tcp_stream.h"

enum {
    NFS_PORT = 2049,
    FIRST_PORT = 40000, /* of callers; one for each RDMA connection */
    PORTS = 25000,
};
#define DEFAULT_QUEUE ((size_t)64 << 20)

/* A message: found by the first four. */
struct place {
    uint32_t connection, xid;
    uint8_t caller_end, direction;

    bool ready; /* `data` is it; none: left out */
    bool reverse_known;
    int64_t time_ns;
    uint8_t *data; /* with its record mark */
    size_t n;
    struct tcp_stream *stream;
    int from;
};

struct extract_tcp {
    struct tcp_file file;
    struct extract_tcp_counts counts;
    GHashTable *streams;       /* connection << 1 | caller end -> tcp_stream */
    GHashTable *open;          /* place -> place: those of the queue that are not ready */
    GHashTable *calls;         /* the same of Calls that were written and wait for a Reply */
    GQueue queue;              /* of places */
    size_t queued, max_queued; /* bytes */
    uint64_t given_frame;      /* the Send whose message was given before it was told */
    uint32_t given_xid;
};

static guint place_hash(gconstpointer p)
{
    const struct place *a = p;

    return (a->xid * 2654435761u) ^ (a->connection << 2 | (guint)a->caller_end << 1 | a->direction);
}

static gboolean place_equal(gconstpointer p, gconstpointer q)
{
    const struct place *a = p, *b = q;

    return a->xid == b->xid && a->connection == b->connection && a->caller_end == b->caller_end &&
           a->direction == b->direction;
}

static void place_free(gpointer p)
{
    struct place *place = p;

    g_free(place->data);
    g_free(place);
}

struct extract_tcp *extract_tcp_new(struct out *out, uint64_t max_memory)
{
    struct extract_tcp *tcp = g_new0(struct extract_tcp, 1);

    tcp->file.out = out;
    tcp->streams = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    tcp->open = g_hash_table_new(place_hash, place_equal);
    tcp->calls = g_hash_table_new_full(place_hash, place_equal, place_free, NULL);
    tcp->max_queued = max_memory ? (size_t)max_memory : DEFAULT_QUEUE;
    return tcp;
}

void extract_tcp_free(struct extract_tcp *tcp)
{
    if (!tcp)
        return;
    g_queue_clear_full(&tcp->queue, place_free);
    g_hash_table_destroy(tcp->open);
    g_hash_table_destroy(tcp->calls);
    g_hash_table_destroy(tcp->streams);
    g_free(tcp->file.frame);
    g_free(tcp);
}

const struct extract_tcp_counts *extract_tcp_counts(const struct extract_tcp *tcp)
{
    return &tcp->counts;
}

/* The caller connects: over iWARP from its own port, else from one that stands for the connection.
 */
static struct tcp_stream *stream_of(struct extract_tcp *tcp, const struct rpcrdma_connection *c,
                                    int caller)
{
    gint64 key = (gint64)c->number << 1 | caller;
    struct tcp_stream *stream = g_hash_table_lookup(tcp->streams, &key);
    uint16_t port = (uint16_t)(FIRST_PORT + (c->number - 1) % PORTS);

    if (!stream) {
        if (c->carrier == RPCRDMA_CARRIER_IWARP && c->role[caller] == RPCRDMA_ROLE_CLIENT)
            port = c->end[caller].port;
        stream = g_new0(struct tcp_stream, 1);
        if (!tcp_stream_init(stream, &c->end[caller].address, &c->end[1 - caller].address, port,
                             NFS_PORT))
            stream->end[0].port = 0; /* no addresses to write */
        g_hash_table_insert(tcp->streams, g_memdup2(&key, sizeof(key)), stream);
    }
    return stream->end[0].port ? stream : NULL;
}

static void write_place(struct extract_tcp *tcp, struct place *place)
{
    if (place->data) {
        tcp_stream_data(&tcp->file, place->stream, place->from, place->time_ns, place->data,
                        place->n);
        tcp->counts.written++;
    }
    place_free(place);
}

static void flush(struct extract_tcp *tcp)
{
    for (;;) {
        struct place *head = g_queue_peek_head(&tcp->queue);

        if (!head)
            return;
        if (!head->ready) {
            if (tcp->queued <= tcp->max_queued)
                return;
            /* it takes too long: when it comes, it comes late */
            g_hash_table_remove(tcp->open, head);
            head->ready = true;
        }
        g_queue_pop_head(&tcp->queue);
        tcp->queued -= head->n;
        write_place(tcp, head);
    }
}

static void settle(struct extract_tcp *tcp, bool nanoseconds)
{
    if (!tcp->file.started)
        tcp->file.nanoseconds = nanoseconds;
}

void extract_tcp_send(struct extract_tcp *tcp, const struct rpcrdma_flow_message *m,
                      bool nanoseconds)
{
    bool call = m->direction == RPCRDMA_DIRECTION_CALL;
    struct place *place;

    settle(tcp, nanoseconds);
    if (m->direction == RPCRDMA_DIRECTION_UNKNOWN || m->sender_end < 0 ||
        (tcp->given_frame == m->frame && tcp->given_xid == m->message->xid))
        return;
    place = g_new0(struct place, 1);
    place->connection = m->connection->number;
    place->xid = m->message->xid;
    place->caller_end = (uint8_t)(call ? m->sender_end : 1 - m->sender_end);
    place->direction = (uint8_t)m->direction;
    if (g_hash_table_contains(tcp->open, place)) { /* a further part, or sent again */
        place_free(place);
        return;
    }
    g_hash_table_add(tcp->open, place);
    g_queue_push_tail(&tcp->queue, place);
}

static uint8_t *flattened(const struct rpcrdma_rpc_message *m)
{
    uint8_t *data = g_malloc(m->length + 4), *p = data + 4;
    uint32_t mark = 0x80000000 | (uint32_t)m->length; /* the last fragment, and the only one */

    for (int i = 0; i < 4; i++)
        data[i] = (uint8_t)(mark >> (24 - 8 * i));
    for (size_t i = 0; i < m->n_pieces; i++) {
        if (m->pieces[i].data)
            memcpy(p, m->pieces[i].data, m->pieces[i].length);
        else
            memset(p, 0, m->pieces[i].length); /* PAD */
        p += m->pieces[i].length;
    }
    return data;
}

/* Whether the message may be written: whole, and a Reply only after its Call. */
static bool wanted(struct extract_tcp *tcp, const struct place *key,
                   const struct rpcrdma_rpc_message *m)
{
    bool call = m->direction == RPCRDMA_DIRECTION_CALL;
    struct place of_call = *key;

    of_call.direction = RPCRDMA_DIRECTION_CALL;
    if (!m->whole || m->length > 0x7fffffff || m->length == 0) {
        tcp->counts.partial++;
        return false;
    }
    if (!call && !g_hash_table_remove(tcp->calls, &of_call)) {
        tcp->counts.lonely++;
        return false;
    }
    if (!stream_of(tcp, m->connection, key->caller_end)) {
        tcp->counts.no_address++;
        return false;
    }
    if (call)
        g_hash_table_add(tcp->calls, g_memdup2(&of_call, sizeof(of_call)));
    return true;
}

void extract_tcp_message(struct extract_tcp *tcp, const struct rpcrdma_rpc_message *m,
                         bool nanoseconds)
{
    bool call = m->direction == RPCRDMA_DIRECTION_CALL;
    struct place key = {.connection = m->connection->number,
                        .xid = m->xid,
                        .caller_end = (uint8_t)(call ? m->sender_end : 1 - m->sender_end),
                        .direction = (uint8_t)m->direction};
    struct place *place = g_hash_table_lookup(tcp->open, &key);

    settle(tcp, nanoseconds);
    if (place) {
        g_hash_table_remove(tcp->open, place);
    } else {
        place = g_memdup2(&key, sizeof(key));
        g_queue_push_tail(&tcp->queue, place);
        tcp->given_frame = m->send_frame;
        tcp->given_xid = m->xid;
    }
    place->ready = true;
    if (wanted(tcp, &key, m)) {
        place->stream = stream_of(tcp, m->connection, key.caller_end);
        place->from = call ? 0 : 1;
        place->time_ns = m->time_ns;
        place->data = flattened(m);
        place->n = m->length + 4;
        tcp->queued += place->n;
    }
    flush(tcp);
}

void extract_tcp_transaction(struct extract_tcp *tcp, const struct rpcrdma_transaction *t)
{
    struct place key = {.connection = t->connection->number,
                        .xid = t->xid,
                        .caller_end = (uint8_t)t->caller_end,
                        .direction = RPCRDMA_DIRECTION_CALL};

    g_hash_table_remove(tcp->calls, &key);
    /* nothing more will come of it */
    for (int direction = RPCRDMA_DIRECTION_CALL; direction <= RPCRDMA_DIRECTION_REPLY;
         direction++) {
        struct place *place;

        key.direction = (uint8_t)direction;
        place = g_hash_table_lookup(tcp->open, &key);
        if (place) {
            g_hash_table_remove(tcp->open, place);
            place->ready = true;
        }
    }
    flush(tcp);
}

static void close_stream(gpointer key, gpointer value, gpointer data)
{
    struct extract_tcp *tcp = data;

    (void)key;
    tcp_stream_close(&tcp->file, value);
}

void extract_tcp_end(struct extract_tcp *tcp)
{
    for (GList *i = tcp->queue.head; i; i = i->next)
        ((struct place *)i->data)->ready = true;
    g_hash_table_remove_all(tcp->open);
    flush(tcp);
    tcp_file_start(&tcp->file);
    g_hash_table_foreach(tcp->streams, close_stream, tcp);
}
