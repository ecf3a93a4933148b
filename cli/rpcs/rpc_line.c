/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpcs/rpc_line.h"

#include <string.h>

#include "common/escape.h"
#include "filter/message_values.h"
#include "out/transaction.h"

static const struct rpcrdma_address *end_of(const struct rpcrdma_transaction *t, bool client)
{
    bool caller = transaction_is_callback(t) != client;

    return caller ? rpc_caller(t) : rpc_responder(t);
}

const struct rpcrdma_address *rpc_client(const struct rpcrdma_transaction *t)
{
    return end_of(t, true);
}

const struct rpcrdma_address *rpc_server(const struct rpcrdma_transaction *t)
{
    return end_of(t, false);
}

size_t rpc_path(const struct rpc *rpc, char buf[NFS_PATH])
{
    if (!rpc->paths || transaction_is_callback(rpc->transaction))
        return 0;
    if (rpc->path) {
        memcpy(buf, rpc->path, rpc->path_length);
        return rpc->path_length;
    }
    return nfs_paths_get(rpc->paths, rpc_server(rpc->transaction), &rpc->nfs->handle,
                         &rpc->nfs->name, buf);
}

static void number(struct filter *f, enum rpcrdma_field_id id, uint64_t value)
{
    filter_number(f, id, value, NULL);
}

static void named(struct filter *f, enum rpcrdma_field_id id, uint64_t value)
{
    filter_number(f, id, value, rpcrdma_value_name(rpcrdma_field(id)->names, value));
}

static void fill_name(struct filter *f, const struct rpcrdma_transaction *t)
{
    char name[1024];

    if (!t->has_program)
        return;
    number(f, RPCRDMA_FIELD_RPCS_PROGRAM, t->program);
    number(f, RPCRDMA_FIELD_RPCS_VERSION, t->version);
    number(f, RPCRDMA_FIELD_RPCS_PROCEDURE, t->procedure);
    if (filter_needs(f, RPCRDMA_FIELD_RPCS_NAME)) {
        rpcrdma_transaction_name(t, name, sizeof(name));
        filter_text(f, RPCRDMA_FIELD_RPCS_NAME, name);
    }
    if (!filter_needs(f, RPCRDMA_FIELD_RPCS_OPERATION))
        return;
    for (uint32_t i = 0; t->compound && i < t->n_operations; i++) {
        const char *operation = rpcrdma_transaction_operation(t, i);

        filter_number(f, RPCRDMA_FIELD_RPCS_OPERATION, t->operations[i], operation);
    }
}

static void fill_file(struct filter *f, const struct rpc *rpc)
{
    const struct nfs_arguments *nfs = rpc->nfs;
    const char *status = nfs_status_name(nfs);
    const char *operation = transaction_status_operation(rpc->transaction, nfs);
    char path[NFS_PATH], shown[4 * NFS_PATH + 1];

    if (operation)
        filter_text(f, RPCRDMA_FIELD_RPCS_STATUS_OPERATION, operation);
    if (status)
        filter_number(f, RPCRDMA_FIELD_RPCS_STATUS, nfs->status, status);
    else if (nfs->status_kind != NFS_STATUS_NONE)
        number(f, RPCRDMA_FIELD_RPCS_STATUS, nfs->status);
    if (nfs->has_offset)
        number(f, RPCRDMA_FIELD_RPCS_FILE_OFFSET, nfs->offset);
    if (nfs->has_count)
        number(f, RPCRDMA_FIELD_RPCS_COUNT, nfs->count);
    if (nfs->has_user)
        number(f, RPCRDMA_FIELD_RPCS_USER, nfs->user);
    if (nfs->handle.length > 0)
        filter_bytes(f, RPCRDMA_FIELD_RPCS_FILEHANDLE, nfs->handle.bytes, nfs->handle.length);
    if (filter_needs(f, RPCRDMA_FIELD_RPCS_PATH)) {
        size_t n = rpc_path(rpc, path);

        escape_invalid(shown, path, n); /* what JSON has, an expression can be given */
        if (n > 0)
            filter_text(f, RPCRDMA_FIELD_RPCS_PATH, shown);
    }
}

/* The fields of a Delivery, the Call's or the Reply's. */
#define DELIVERY_FIELDS(OF)                                                                        \
    {                                                                                              \
        RPCRDMA_FIELD_RPCS_##OF##_STATE, RPCRDMA_FIELD_RPCS_##OF##_TRANSMISSIONS,                  \
            RPCRDMA_FIELD_RPCS_##OF##_FIRST_FRAME, RPCRDMA_FIELD_RPCS_##OF##_LAST_FRAME,           \
            RPCRDMA_FIELD_RPCS_##OF##_FIRST_TIME, RPCRDMA_FIELD_RPCS_##OF##_LAST_TIME,             \
            RPCRDMA_FIELD_RPCS_##OF##_FRAME, RPCRDMA_FIELD_RPCS_##OF##_TIME,                       \
            RPCRDMA_FIELD_RPCS_##OF##_ARRIVED_FRAME, RPCRDMA_FIELD_RPCS_##OF##_ARRIVED_TIME,       \
            RPCRDMA_FIELD_RPCS_##OF##_TRANSIT,                                                     \
    }

struct delivery_fields {
    enum rpcrdma_field_id state, transmissions, first_frame, last_frame, first_time, last_time,
        frame, time, arrived_frame, arrived_time, transit;
};

static const struct delivery_fields call_fields = DELIVERY_FIELDS(CALL_DELIVERY);
static const struct delivery_fields reply_fields = DELIVERY_FIELDS(REPLY_DELIVERY);

/* As JSON has it (out/transaction_times.c). */
static void fill_delivery(struct filter *f, const struct delivery_fields *of,
                          const struct rpcrdma_delivery *d)
{
    named(f, of->state, d->state);
    if (d->transmissions > 0) {
        number(f, of->transmissions, d->transmissions);
        number(f, of->first_frame, d->first_frame);
        number(f, of->last_frame, d->last_frame);
        filter_signed(f, of->first_time, d->first_time_ns);
        filter_signed(f, of->last_time, d->last_time_ns);
    }
    if (d->state == RPCRDMA_DELIVERED) {
        number(f, of->frame, d->frame);
        filter_signed(f, of->time, d->time_ns);
    }
    if (d->arrived_frame > 0) {
        number(f, of->arrived_frame, d->arrived_frame);
        filter_signed(f, of->arrived_time, d->arrived_ns);
        filter_signed(f, of->transit, d->transit_ns);
    }
}

/* Likewise. */
static void fill_phases(struct filter *f, const struct rpcrdma_phases *p)
{
    if (p->has_call)
        filter_signed(f, RPCRDMA_FIELD_RPCS_PHASES_CALL, p->call_ns);
    filter_signed(f, RPCRDMA_FIELD_RPCS_PHASES_SERVER, p->server_ns);
    filter_signed(f, RPCRDMA_FIELD_RPCS_PHASES_SERVER_WAITING, p->server_waiting_ns);
    if (p->has_data) {
        filter_signed(f, RPCRDMA_FIELD_RPCS_PHASES_DATA, p->data_ns);
        filter_signed(f, RPCRDMA_FIELD_RPCS_PHASES_DATA_WAITING, p->data_waiting_ns);
        filter_signed(f, RPCRDMA_FIELD_RPCS_PHASES_DATA_PEER, p->data_peer_ns);
        if (p->has_network)
            filter_signed(f, RPCRDMA_FIELD_RPCS_PHASES_DATA_NETWORK, p->data_network_ns);
    }
    if (p->has_reply)
        filter_signed(f, RPCRDMA_FIELD_RPCS_PHASES_REPLY, p->reply_ns);
    if (p->exact) {
        filter_signed(f, RPCRDMA_FIELD_RPCS_PHASES_CLIENT, p->client_ns);
        number(f, RPCRDMA_FIELD_RPCS_PHASES_EXACT, 1);
    }
}

/* How long it took, what of that it waited, and what proves it. */
static void fill_times(struct filter *f, const struct rpcrdma_transaction *t)
{
    if (t->has_latency)
        filter_signed(f, RPCRDMA_FIELD_RPCS_LATENCY, t->latency_ns);
    if (t->has_response)
        filter_signed(f, RPCRDMA_FIELD_RPCS_RESPONSE, t->response_ns);
    if (t->has_rdma) {
        filter_signed(f, RPCRDMA_FIELD_RPCS_RDMA, t->rdma_ns);
        number(f, FILTER_RDMA_FIRST_FRAME, t->rdma_first_frame);
        number(f, FILTER_RDMA_LAST_FRAME, t->rdma_last_frame);
    }
    if (t->transmissions > 0)
        number(f, RPCRDMA_FIELD_RPCS_TRANSMISSIONS, t->transmissions);
    if (t->call_frame)
        fill_delivery(f, &call_fields, &t->call);
    if (t->reply_frame)
        fill_delivery(f, &reply_fields, &t->reply);
    if (!t->has_phases)
        return;
    fill_phases(f, &t->phases);
    filter_signed(f, RPCRDMA_FIELD_RPCS_STALLED, t->stalled_ns);
    if (t->stalled_ns > 0) {
        named(f, RPCRDMA_FIELD_RPCS_STALLED_BY, t->stalled_by);
        number(f, RPCRDMA_FIELD_RPCS_STALLED_FROM, t->stalled_from_frame);
        number(f, RPCRDMA_FIELD_RPCS_STALLED_TO, t->stalled_to_frame);
    }
}

static void fill_slots(struct filter *f, const struct rpcrdma_transaction *t)
{
    if (!t->has_slot)
        return;
    number(f, RPCRDMA_FIELD_RPCS_SLOT, t->slot);
    if (t->slots_in_use > 0)
        number(f, RPCRDMA_FIELD_RPCS_SLOTS_IN_USE, t->slots_in_use);
    if (t->slots > 0)
        number(f, RPCRDMA_FIELD_RPCS_SLOTS, t->slots);
    if (t->slots_full_ns > 0)
        filter_signed(f, RPCRDMA_FIELD_RPCS_SLOTS_FULL, t->slots_full_ns);
}

bool rpc_matches(struct filter *f, const struct rpc *rpc)
{
    const struct rpcrdma_transaction *t = rpc->transaction;

    if (!f)
        return true;
    filter_begin(f);
    filter_signed(f, RPCRDMA_FIELD_RPCS_TIME, rpc_time(t));
    number(f, RPCRDMA_FIELD_RPCS_CONNECTION, t->connection->number);
    if (t->direction_known) {
        named(f, RPCRDMA_FIELD_RPCS_DIRECTION, t->reverse);
        filter_address(f, RPCRDMA_FIELD_RPCS_CLIENT, rpc_client(t));
        filter_address(f, RPCRDMA_FIELD_RPCS_SERVER, rpc_server(t));
    }
    filter_address(f, RPCRDMA_FIELD_RPCS_SRC, rpc_caller(t));
    filter_address(f, RPCRDMA_FIELD_RPCS_DST, rpc_responder(t));
    number(f, RPCRDMA_FIELD_RPCS_XID, t->xid);
    fill_name(f, t);
    if (t->call_frame) {
        number(f, RPCRDMA_FIELD_RPCS_CALL_FRAME, t->call_frame);
        filter_signed(f, RPCRDMA_FIELD_RPCS_CALL_TIME, t->call_time_ns);
    }
    if (t->reply_frame) {
        number(f, RPCRDMA_FIELD_RPCS_REPLY_FRAME, t->reply_frame);
        filter_signed(f, RPCRDMA_FIELD_RPCS_REPLY_TIME, t->reply_time_ns);
    }
    fill_times(f, t);
    if (t->call_length)
        number(f, RPCRDMA_FIELD_RPCS_CALL_LENGTH, t->call_length);
    if (t->reply_length)
        number(f, RPCRDMA_FIELD_RPCS_REPLY_LENGTH, t->reply_length);
    if (t->offers_known)
        number(f, RPCRDMA_FIELD_RPCS_SEGMENTS, t->segments);
    if (t->reads_known)
        number(f, RPCRDMA_FIELD_RPCS_READ_CHUNK_LENGTH, t->read_chunk_length);
    if (t->returns_known) {
        number(f, RPCRDMA_FIELD_RPCS_WRITE_CHUNK_LENGTH, t->write_chunk_length);
        number(f, RPCRDMA_FIELD_RPCS_REPLY_CHUNK_LENGTH, t->reply_chunk_length);
    }
    number(f, RPCRDMA_FIELD_RPCS_COMPLETE, t->complete);
    number(f, RPCRDMA_FIELD_RPCS_RETRANSMITTED, t->retransmitted);
    if (t->has_credits)
        number(f, RPCRDMA_FIELD_RPCS_CREDITS_GRANTED, t->credits_granted);
    fill_slots(f, t);
    fill_file(f, rpc);
    filter_findings(f, t->findings, t->n_findings);
    return filter_match(f);
}
