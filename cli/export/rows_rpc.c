/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/rows.h"

#include "common/hex.h"
#include "each.h"
#include "flow/rpc.h"
#include "out/address.h"
#include "out/transaction.h"

/* -- messages -------------------------------------------------------------------------------- */

enum list { LIST_CALL, LIST_READ, LIST_WRITE, LIST_REPLY, LISTS };

static const char *const lists[] = {
    [LIST_CALL] = "call", [LIST_READ] = "read", [LIST_WRITE] = "write", [LIST_REPLY] = "reply"};
RPCRDMA_EACH(lists, LISTS);

struct place {
    enum list list;
    uint32_t chunk, segment;
    bool positioned;
    uint32_t position;
};

static void put_segment(struct rows *rows, int64_t message, const struct place *place,
                        const struct rpcrdma_segment *segment)
{
    struct row *row = &rows->row;
    struct identity identity = identity_of((uint64_t)message);
    char offset[18] = "0x";

    identity_add(&identity, place->list);
    identity_add(&identity, (uint64_t)place->chunk << 32 | place->segment);
    for (int i = 0; i < 16; i++)
        offset[2 + i] = hex_digit(segment->offset >> (60 - 4 * i));
    row_begin(row, TABLE_SEGMENTS);
    row_int(row, COLUMN_SEGMENTS_id, identity_end(&identity));
    row_int(row, COLUMN_SEGMENTS_message_id, message);
    row_text(row, COLUMN_SEGMENTS_list, lists[place->list]);
    row_int(row, COLUMN_SEGMENTS_chunk, place->chunk);
    row_int(row, COLUMN_SEGMENTS_segment, place->segment);
    if (place->positioned)
        row_int(row, COLUMN_SEGMENTS_position, place->position);
    row_int(row, COLUMN_SEGMENTS_handle, segment->handle);
    row_text_n(row, COLUMN_SEGMENTS_offset, offset, sizeof(offset));
    row_int(row, COLUMN_SEGMENTS_length, segment->length);
    rows_put(rows);
}

static void put_read_list(struct rows *rows, int64_t message, enum list list,
                          const struct rpcrdma_read_list *reads)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(reads);
    struct place place = {.list = list, .positioned = true};
    struct rpcrdma_read_segment read;
    bool first = true;

    for (; rpcrdma_read_next(&it, &read); place.segment++, first = false) {
        place.chunk += !first && read.position != place.position;
        place.position = read.position;
        put_segment(rows, message, &place, &read.segment);
    }
}

static void put_chunk(struct rows *rows, int64_t message, enum list list, uint32_t index,
                      const struct rpcrdma_chunk *chunk)
{
    struct place place = {.list = list, .chunk = index};

    for (; place.segment < chunk->count; place.segment++) {
        struct rpcrdma_segment segment = rpcrdma_chunk_segment(chunk, place.segment);

        put_segment(rows, message, &place, &segment);
    }
}

static void put_segments(struct rows *rows, int64_t id, const struct rpcrdma_message *m)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->write);
    struct rpcrdma_chunk chunk;

    put_read_list(rows, id, LIST_CALL, &m->call);
    put_read_list(rows, id, LIST_READ, &m->read);
    for (uint32_t i = 0; rpcrdma_write_next(&it, &chunk); i++)
        put_chunk(rows, id, LIST_WRITE, i, &chunk);
    if (m->reply_present)
        put_chunk(rows, id, LIST_REPLY, 0, &m->reply);
}

static void put_message(struct rows *rows, const struct rpcrdma_flow_message *is, int64_t id)
{
    static const char *const directions[] = {
        [RPCRDMA_DIRECTION_CALL] = "call", [RPCRDMA_DIRECTION_REPLY] = "reply"};
    const struct rpcrdma_message *m = is->message;
    const char *type = view_type(m);
    struct row *row = &rows->row;

    row_begin(row, TABLE_MESSAGES);
    row_int(row, COLUMN_MESSAGES_id, id);
    row_int(row, COLUMN_MESSAGES_connection_id, rows_of(rows, is->connection)->id);
    row_int(row, COLUMN_MESSAGES_time_ns, is->time_ns);
    row_int(row, COLUMN_MESSAGES_frame, (int64_t)is->frame);
    row_text(row, COLUMN_MESSAGES_sender, view_role(is->sender));
    row_text(row, COLUMN_MESSAGES_direction, directions[is->direction]);
    if (m->present & RPCRDMA_HAS_XID)
        row_int(row, COLUMN_MESSAGES_xid, m->xid);
    if (m->present & RPCRDMA_HAS_VERSION)
        row_int(row, COLUMN_MESSAGES_version, m->version);
    if (m->present & RPCRDMA_HAS_CREDITS)
        row_int(row, COLUMN_MESSAGES_credits, m->credits);
    if (type)
        row_text(row, COLUMN_MESSAGES_type, type);
    row_int(row, COLUMN_MESSAGES_length, m->len);
    if (m->present & RPCRDMA_HAS_HEADER_LENGTH)
        row_int(row, COLUMN_MESSAGES_header_length, m->header_length);
    if (m->present & RPCRDMA_HAS_READ)
        row_int(row, COLUMN_MESSAGES_read_segments, m->read.count);
    if (m->present & RPCRDMA_HAS_WRITE)
        row_int(row, COLUMN_MESSAGES_write_chunks, m->write.count);
    if (m->present & RPCRDMA_HAS_REPLY)
        row_int(row, COLUMN_MESSAGES_reply_chunk, m->reply_present);
    if (is->has_invalidate)
        row_int(row, COLUMN_MESSAGES_invalidated, is->invalidate);
    rows_put(rows);
}

void rows_message(void *context, const struct rpcrdma_flow_message *is)
{
    struct rows *rows = context;

    if (rows_want(rows, TABLE_MESSAGES) || rows_want(rows, TABLE_SEGMENTS)) {
        struct identity identity = identity_of((uint64_t)rows_of(rows, is->connection)->path);
        int64_t id;

        identity_add(&identity,
                     is->sender_end < 0 ? 2 : is->sender_end != identity_first_end(is->connection));
        identity_add(&identity, (uint64_t)is->message->xid << 32 | is->message->type);
        identity_add(&identity, (uint64_t)is->time_ns);
        identity_add(&identity, is->part);
        id = identity_end(&identity);
        if (rows_want(rows, TABLE_MESSAGES))
            put_message(rows, is, id);
        if (rows_want(rows, TABLE_SEGMENTS))
            put_segments(rows, id, is->message);
    }
    rows_findings(rows,
                  &(struct rows_subject){.about = ROWS_ABOUT_MESSAGE,
                                         .connection = is->connection,
                                         .time_ns = is->time_ns,
                                         .frame = is->frame},
                  is->findings, is->n_findings);
}

/* -- RPCs ------------------------------------------------------------------------------------ */

static void put_operations(struct rows *rows, const struct rpcrdma_transaction *t, int64_t id)
{
    struct row *row = &rows->row;

    for (uint32_t i = 0; t->compound && i < t->n_operations; i++) {
        struct identity identity = identity_of((uint64_t)id);

        identity_add(&identity, i);
        row_begin(row, TABLE_OPERATIONS);
        row_int(row, COLUMN_OPERATIONS_id, identity_end(&identity));
        row_int(row, COLUMN_OPERATIONS_rpc_id, id);
        row_int(row, COLUMN_OPERATIONS_position, i);
        row_int(row, COLUMN_OPERATIONS_operation, t->operations[i]);
        row_text(row, COLUMN_OPERATIONS_name, rpcrdma_transaction_operation(t, i));
        rows_put(rows);
    }
}

static void put_times(struct row *row, const struct rpcrdma_transaction *t)
{
    if (t->call_frame)
        row_int(row, COLUMN_RPCS_call_time_ns, t->call_time_ns);
    if (t->reply_frame)
        row_int(row, COLUMN_RPCS_reply_time_ns, t->reply_time_ns);
    if (t->has_latency)
        row_int(row, COLUMN_RPCS_latency_ns, t->latency_ns);
    if (!t->has_phases)
        return;
    if (t->phases.has_call)
        row_int(row, COLUMN_RPCS_call_ns, t->phases.call_ns);
    row_int(row, COLUMN_RPCS_server_ns, t->phases.server_ns);
    row_int(row, COLUMN_RPCS_server_waiting_ns, t->phases.server_waiting_ns);
    if (t->phases.has_data) {
        row_int(row, COLUMN_RPCS_data_ns, t->phases.data_ns);
        row_int(row, COLUMN_RPCS_data_waiting_ns, t->phases.data_waiting_ns);
    }
    if (t->phases.has_reply)
        row_int(row, COLUMN_RPCS_reply_ns, t->phases.reply_ns);
    row_int(row, COLUMN_RPCS_stalled_ns, t->stalled_ns);
    if (t->stalled_by != RPCRDMA_STALL_NONE)
        row_text(row, COLUMN_RPCS_stalled_by, transaction_stall_name(t->stalled_by));
}

static void put_slots(struct row *row, const struct rpcrdma_transaction *t)
{
    if (!t->has_slot)
        return;
    row_int(row, COLUMN_RPCS_slot, t->slot);
    if (t->slots_in_use > 0)
        row_int(row, COLUMN_RPCS_slots_in_use, t->slots_in_use);
    if (t->slots > 0)
        row_int(row, COLUMN_RPCS_slots, t->slots);
    if (t->slots_full_ns > 0)
        row_int(row, COLUMN_RPCS_slots_full_ns, t->slots_full_ns);
}

struct rpc_texts {
    char client[ADDRESS_SIZE], server[ADDRESS_SIZE], name[TRANSACTION_NAME];
    char handle[2 * NFS_HANDLE], path[NFS_PATH];
};

/* How it went: an RDMA error has no status, and failed all the same. */
static void put_status(struct row *row, const struct rpc *rpc)
{
    const struct nfs_arguments *nfs = rpc->nfs;

    if (nfs->status_kind != NFS_STATUS_NONE) {
        row_int(row, COLUMN_RPCS_status, nfs->status);
        row_text(row, COLUMN_RPCS_status_name, nfs_status_name(nfs));
    }
    if (nfs->status_kind != NFS_STATUS_NONE || rpc->transaction->error)
        row_int(row, COLUMN_RPCS_failed, rpc->transaction->error || nfs_failed(nfs));
}

static void put_file(struct row *row, const struct rpc *rpc, struct rpc_texts *texts)
{
    const struct nfs_arguments *nfs = rpc->nfs;
    char *end = texts->handle;
    size_t n;

    if (nfs->has_user)
        row_int(row, COLUMN_RPCS_user, nfs->user);
    if (nfs->has_offset)
        row_int(row, COLUMN_RPCS_file_offset, (int64_t)nfs->offset);
    if (nfs->has_count)
        row_int(row, COLUMN_RPCS_count, nfs->count);
    for (size_t i = 0; i < nfs->handle.length; i++)
        end = hex_byte(end, nfs->handle.bytes[i]);
    if (nfs->handle.length > 0)
        row_text_n(row, COLUMN_RPCS_filehandle, texts->handle, (size_t)(end - texts->handle));
    n = rpc_path(rpc, texts->path);
    if (n > 0)
        row_text_n(row, COLUMN_RPCS_path, texts->path, n);
}

static void put_rpc(struct rows *rows, const struct rpc *rpc, int64_t id)
{
    const struct rpcrdma_transaction *t = rpc->transaction;
    struct row *row = &rows->row;
    struct rpc_texts texts;

    row_begin(row, TABLE_RPCS);
    row_int(row, COLUMN_RPCS_id, id);
    row_int(row, COLUMN_RPCS_connection_id, rows_of(rows, t->connection)->id);
    row_int(row, COLUMN_RPCS_xid, t->xid);
    if (t->direction_known) {
        rows_address(rows, COLUMN_RPCS_client, rpc_client(t), texts.client);
        rows_address(rows, COLUMN_RPCS_server, rpc_server(t), texts.server);
        row_int(row, COLUMN_RPCS_reverse, t->reverse);
    }
    if (t->has_program) {
        row_int(row, COLUMN_RPCS_program, t->program);
        row_int(row, COLUMN_RPCS_version, t->version);
        row_int(row, COLUMN_RPCS_procedure, t->procedure);
        rpcrdma_transaction_name(t, texts.name, sizeof(texts.name));
        row_text(row, COLUMN_RPCS_name, texts.name);
    }
    put_times(row, t);
    if (t->transmissions)
        row_int(row, COLUMN_RPCS_transmissions, t->transmissions);
    row_int(row, COLUMN_RPCS_retransmitted, t->retransmitted);
    row_int(row, COLUMN_RPCS_answered, t->reply_frame != 0);
    row_int(row, COLUMN_RPCS_complete, t->complete);
    if (t->call_length)
        row_int(row, COLUMN_RPCS_call_length, (int64_t)t->call_length);
    if (t->reply_length)
        row_int(row, COLUMN_RPCS_reply_length, (int64_t)t->reply_length);
    if (t->offers_known)
        row_int(row, COLUMN_RPCS_segments, t->segments);
    if (t->reads_known)
        row_int(row, COLUMN_RPCS_read_chunk_length, (int64_t)t->read_chunk_length);
    if (t->returns_known) {
        row_int(row, COLUMN_RPCS_write_chunk_length, (int64_t)t->write_chunk_length);
        row_int(row, COLUMN_RPCS_reply_chunk_length, (int64_t)t->reply_chunk_length);
    }
    if (t->has_credits)
        row_int(row, COLUMN_RPCS_credits_granted, t->credits_granted);
    put_slots(row, t);
    put_status(row, rpc);
    put_file(row, rpc, &texts);
    if (t->call_frame)
        row_int(row, COLUMN_RPCS_call_frame, (int64_t)t->call_frame);
    if (t->reply_frame)
        row_int(row, COLUMN_RPCS_reply_frame, (int64_t)t->reply_frame);
    rows_put(rows);
}

void rows_transaction(void *context, const struct rpcrdma_transaction *t)
{
    struct rows *rows = context;
    struct rpc rpc = details_of(rows->details, t);
    struct identity identity = identity_of((uint64_t)rows_of(rows, t->connection)->path);
    int64_t id;

    identity_add(&identity, (uint64_t)t->xid << 1 | (t->call_frame != 0));
    identity_add(&identity, (uint64_t)rpc_time(t));
    id = identity_end(&identity);
    if (rows_want(rows, TABLE_RPCS))
        put_rpc(rows, &rpc, id);
    if (rows_want(rows, TABLE_OPERATIONS))
        put_operations(rows, t, id);
    rows_findings(rows,
                  &(struct rows_subject){.about = ROWS_ABOUT_RPC,
                                         .connection = t->connection,
                                         .rpc_id = id,
                                         .time_ns = rpc_time(t),
                                         .frame = rpc_frame(t)},
                  t->findings, t->n_findings);
    details_done(rows->details, t);
}
