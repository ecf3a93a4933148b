/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keep.h"
#include "taps.h"

/* Transactions, as flow/ tells them -> the store. */

static wmem_map_t *titles; /* each kept once */

void keep_transactions_file(void)
{
    titles = wmem_map_new(wmem_file_scope(), wmem_str_hash, g_str_equal);
}

static const char *title_of(const struct rpcrdma_transaction *from)
{
    char text[1024];
    const char *title;

    rpcrdma_transaction_title(from, text, sizeof(text));
    title = wmem_map_lookup(titles, text);
    if (!title) {
        title = wmem_strdup(wmem_file_scope(), text);
        wmem_map_insert(titles, title, (void *)(uintptr_t)title);
    }
    return title;
}

static struct transacted *add(uint32_t frame, const struct transacted *t)
{
    struct transacted **end;

    if (frame == 0)
        return NULL;
    end = &store_get(frame)->transacted;
    while (*end)
        end = &(*end)->next;
    *end = store_new(sizeof(*t));
    **end = *t;
    return *end;
}

void keep_transaction(void *context, const struct rpcrdma_transaction *from)
{
    struct transacted t = {.connection = from->connection->number,
                           .xid = from->xid,
                           .call_frame = (uint32_t)from->call_frame,
                           .reply_frame = (uint32_t)from->reply_frame,
                           .title = title_of(from),
                           .has_latency = from->has_latency,
                           .has_rdma = from->has_rdma,
                           .complete = from->complete,
                           .retransmitted = from->retransmitted,
                           .error = from->error,
                           .left_alone = settings.leave_version1 && from->connection->version == 1,
                           .latency_ns = from->latency_ns,
                           .rdma_ns = from->rdma_ns,
                           .call_length = from->call_length,
                           .reply_length = from->reply_length,
                           .read_chunk_length = from->read_chunk_length,
                           .write_chunk_length = from->write_chunk_length,
                           .reply_chunk_length = from->reply_chunk_length};
    const struct transacted *call = add(t.call_frame, &t), *reply = add(t.reply_frame, &t);

    (void)context;
    if ((reply || call) && !t.left_alone)
        tap_transaction(reply ? reply : call);
}
