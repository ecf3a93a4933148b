/* SPDX-License-Identifier: BSD-2-Clause */
#include "decode/message_summary.h"

#include <stdio.h>
#include <string.h>

#include <glib.h>

#include "common/keyed_hash.h"
#include "out/json_writer.h"
#include "out/view.h"

struct row {
    uint32_t connection;
    const char *direction; /* "call", "reply", "unknown" */
    char type[32], name[48];
    uint64_t messages, invalidated;
    uint64_t bytes;                  /* inline: behind the transport headers */
    uint64_t chunked;                /* messages with a chunk */
    uint64_t read, write, reply;     /* segments of each list */
    uint64_t chunk_bytes;            /* that these have room for */
    uint64_t most_segments, largest; /* of one message; the largest inline */
    int64_t time_ns;                 /* of the first */
    struct rpcrdma_address src, dst; /* likewise */
};

struct message_summary {
    GHashTable *table;
    GPtrArray *rows;
    struct row *others;
};

static guint row_hash(gconstpointer p)
{
    const struct row *r = p;

    return keyed_hash_string(r->type) + keyed_hash_string(r->name) +
           keyed_hash_numbers(r->connection, (unsigned char)r->direction[0]);
}

static gboolean row_equal(gconstpointer a, gconstpointer b)
{
    const struct row *x = a, *y = b;

    return x->connection == y->connection && strcmp(x->type, y->type) == 0 &&
           strcmp(x->name, y->name) == 0 && strcmp(x->direction, y->direction) == 0;
}

struct message_summary *message_summary_new(void)
{
    struct message_summary *s = g_new0(struct message_summary, 1);

    s->table = g_hash_table_new(row_hash, row_equal);
    s->rows = g_ptr_array_new_with_free_func(g_free);
    return s;
}

void message_summary_free(struct message_summary *s)
{
    if (!s)
        return;
    g_hash_table_destroy(s->table);
    g_ptr_array_free(s->rows, TRUE);
    g_free(s);
}

static void describe(struct row *row, const struct rpcrdma_flow_message *m)
{
    const struct rpcrdma_message *message = m->message;
    const char *type = view_type(message), *name = view_procedure(m);

    row->connection = m->connection->number;
    row->direction = m->direction == RPCRDMA_DIRECTION_CALL    ? "call"
                     : m->direction == RPCRDMA_DIRECTION_REPLY ? "reply"
                                                               : "unknown";
    if (type)
        g_strlcpy(row->type, type, sizeof(row->type));
    else
        snprintf(row->type, sizeof(row->type), "type %u", (unsigned)message->type);
    if (name)
        g_strlcpy(row->name, name, sizeof(row->name));
}

static struct row *row_of(struct message_summary *s, const struct rpcrdma_flow_message *m)
{
    struct row key = {0}, *row;

    describe(&key, m);
    row = g_hash_table_lookup(s->table, &key);
    if (row)
        return row;
    if (s->rows->len >= MESSAGE_SUMMARY_MOST) {
        if (s->others)
            return s->others;
        key = (struct row){.direction = "unknown", .type = "(others)"};
    }
    row = g_memdup2(&key, sizeof(key));
    row->time_ns = m->time_ns;
    row->src = m->src.address;
    row->dst = m->dst.address;
    g_ptr_array_add(s->rows, row);
    if (s->rows->len > MESSAGE_SUMMARY_MOST)
        s->others = row;
    else
        g_hash_table_add(s->table, row);
    return row;
}

void message_summary_add(struct message_summary *s, const struct rpcrdma_flow_message *m)
{
    const struct rpcrdma_message *message = m->message;
    struct row *row = row_of(s, m);
    struct rpcrdma_write_iter it;
    struct rpcrdma_chunk chunk;
    uint64_t read = 0, write = 0, reply = 0, length = 0;

    if (message->present & RPCRDMA_HAS_READ) {
        struct rpcrdma_read_totals sum = rpcrdma_read_sum(&message->read);

        read += sum.segments;
        length += sum.bytes;
    }
    if (message->present & RPCRDMA_HAS_CALL) {
        struct rpcrdma_read_totals sum = rpcrdma_read_sum(&message->call);

        read += sum.segments;
        length += sum.bytes;
    }
    if (message->present & RPCRDMA_HAS_WRITE)
        for (it = rpcrdma_write_begin(&message->write); rpcrdma_write_next(&it, &chunk);) {
            write += chunk.count;
            length += rpcrdma_chunk_length(&chunk);
        }
    if (message->present & RPCRDMA_HAS_REPLY && message->reply_present) {
        reply = message->reply.count;
        length += rpcrdma_chunk_length(&message->reply);
    }
    row->messages++;
    row->invalidated += m->has_invalidate;
    row->chunked += read + write + reply > 0;
    row->read += read;
    row->write += write;
    row->reply += reply;
    row->chunk_bytes += length;
    if (read + write + reply > row->most_segments)
        row->most_segments = read + write + reply;
    if (!(message->present & RPCRDMA_HAS_HEADER_LENGTH))
        return;
    row->bytes += message->payload.len;
    if (message->payload.len > row->largest)
        row->largest = message->payload.len;
}

static gint in_order(gconstpointer a, gconstpointer b)
{
    const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;

    if (x->connection != y->connection)
        return x->connection < y->connection ? -1 : 1;
    if (x->messages != y->messages)
        return x->messages < y->messages ? 1 : -1;
    return strcmp(x->name, y->name) ? strcmp(x->name, y->name) : strcmp(x->direction, y->direction);
}

void message_summary_text(struct message_summary *s, struct out *out)
{
    char text[256];

    g_ptr_array_sort(s->rows, in_order);
    snprintf(text, sizeof(text), "%4s %-16s %-7s %-14s %8s %9s %7s %8s %6s %6s %6s %10s %8s", "no",
             "type", "rpc", "procedure", "messages", "inline", "largest", "chunked", "read",
             "write", "reply", "chunk", "invalid");
    out_text(out, text);
    out_line(out);
    for (guint i = 0; i < s->rows->len; i++) {
        const struct row *r = g_ptr_array_index(s->rows, i);

        snprintf(text, sizeof(text),
                 "%4u %-16s %-7s %-14s %8llu %9llu %7llu %8llu %6llu %6llu %6llu %10llu %8llu",
                 (unsigned)r->connection, r->type, r->direction, r->name[0] ? r->name : "-",
                 (unsigned long long)r->messages, (unsigned long long)r->bytes,
                 (unsigned long long)r->largest, (unsigned long long)r->chunked,
                 (unsigned long long)r->read, (unsigned long long)r->write,
                 (unsigned long long)r->reply, (unsigned long long)r->chunk_bytes,
                 (unsigned long long)r->invalidated);
        out_text(out, text);
        out_line(out);
    }
}

void message_summary_json(struct message_summary *s, struct out *out)
{
    struct json writer = {.out = out}, *json = &writer;

    g_ptr_array_sort(s->rows, in_order);
    for (guint i = 0; i < s->rows->len; i++) {
        const struct row *r = g_ptr_array_index(s->rows, i);

        json_open(json, '{');
        if (r->connection > 0) { /* it is one */
            json_number(json, KEY(connection), r->connection);
            view_json_address(json, KEY(src), &r->src);
            view_json_address(json, KEY(dst), &r->dst);
        }
        json_key(json, KEY(time_ns)), json_i64(json, r->time_ns);
        json_key(json, KEY(type)), json_plain(json, r->type);
        json_key(json, KEY(direction)), json_plain(json, r->direction);
        if (r->name[0])
            json_key(json, KEY(name)), json_plain(json, r->name);
        json_number(json, KEY(messages), r->messages);
        json_number(json, KEY(inline_length), r->bytes);
        json_number(json, KEY(largest_inline), r->largest);
        json_number(json, KEY(with_chunks), r->chunked);
        json_number(json, KEY(read_segments), r->read);
        json_number(json, KEY(write_segments), r->write);
        json_number(json, KEY(reply_segments), r->reply);
        json_number(json, KEY(most_segments), r->most_segments);
        json_number(json, KEY(chunk_length), r->chunk_bytes);
        json_number(json, KEY(invalidated), r->invalidated);
        json_close(json, '}');
        json_end(json);
    }
}
