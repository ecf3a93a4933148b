/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The line of a transaction:
 *
 *     12   0.003401 192.168.77.2 -> 192.168.77.1 #1 NFS V3 READ XID 0x9f4a0d12 0.512 ms, Call 148,
 *     Reply 8340, write 8192, RDMA 0.301 ms
 */
#include "out/transaction.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "upper/names.h"

enum { PROGRAM_TEXT = 64 };

/* "NFS V4 ", "program 200 V1 " */
static void program_of(const struct rpcrdma_transaction *t, char text[static PROGRAM_TEXT])
{
    const char *name = rpcrdma_program_name(t->program, t->version, transaction_is_callback(t));

    if (name)
        snprintf(text, PROGRAM_TEXT, "%s V%" PRIu32 " ", name, t->version);
    else
        snprintf(text, PROGRAM_TEXT, "program %" PRIu32 " V%" PRIu32 " ", t->program, t->version);
}

/* What the RPC is, and its XID. On a terminal that is narrow they make room for the outcome behind
 * them: the XID goes first, then the program and the first operations of a COMPOUND, which most
 * have. `left`: columns. */
static void put_title(struct out *out, const struct rpcrdma_transaction *t, size_t left)
{
    enum { XID = sizeof("XID 0x01234567 ") - 1, OUTCOME = sizeof("12345.678 ms") - 1, LEAST = 8 };
    char program[PROGRAM_TEXT] = "", name[TRANSACTION_NAME] = "";
    const char *const backwards = transaction_is_callback(t) ? "(reverse) " : "";
    size_t n, room;
    bool xid;

    if (t->has_program) {
        program_of(t, program);
        rpcrdma_transaction_name(t, name, sizeof(name) - 1);
        strcat(name, " ");
    }
    n = strlen(program) + strlen(name) + strlen(backwards) + OUTCOME;
    xid = n + XID <= left || !t->has_program;
    if (n <= left || !t->has_program) {
        out_text(out, program);
        out_text(out, name);
    } else {
        room =
            left > OUTCOME + strlen(backwards) + LEAST ? left - OUTCOME - strlen(backwards) : LEAST;
        if (strlen(name) > room) {
            out_literal(out, "\xe2\x80\xa6");
            out_text(out, name + strlen(name) - (room - 1));
        } else {
            out_text(out, name);
        }
    }
    out_text(out, backwards);
    if (!xid)
        return;
    out_literal(out, "XID ");
    out_hex(out, t->xid, 8);
    out_char(out, ' ');
}

void put_milliseconds(struct out *out, int64_t ns)
{
    uint64_t us = ((ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns) + 500) / 1000; /* as "%.3f" has it */

    if (ns < 0)
        out_char(out, '-');
    out_u64(out, us / 1000);
    out_fraction(out, (uint32_t)(us % 1000), 3);
}

static void put_bytes(struct out *out, const char *what, uint64_t n)
{
    if (n == 0)
        return;
    out_literal(out, ", ");
    out_text(out, what);
    out_char(out, ' ');
    out_u64(out, n);
}

static void put_outcome(struct out *out, const struct rpcrdma_transaction *t)
{
    if (t->has_latency) {
        put_milliseconds(out, t->latency_ns);
        out_literal(out, " ms");
    }
    out_style(out, OUT_ERROR);
    if (t->error)
        out_text(out, t->has_latency ? " RDMA error" : "RDMA error");
    else if (t->call_frame == 0)
        out_literal(out, "no Call");
    else if (t->reply_frame == 0)
        out_literal(out, "no Reply");
    else if (t->reply.state == RPCRDMA_NOT_DELIVERED)
        out_literal(out, "Reply not delivered");
    else if (!t->has_latency)
        out_literal(out, "latency not known");
    out_style(out, OUT_PLAIN);
    put_bytes(out, "Call", t->call_length);
    put_bytes(out, "Reply", t->reply_length);
    put_bytes(out, "read", t->read_chunk_length);
    put_bytes(out, "write", t->write_chunk_length);
    put_bytes(out, "reply chunk", t->reply_chunk_length);
    if (t->has_rdma) {
        out_literal(out, ", RDMA ");
        put_milliseconds(out, t->rdma_ns);
        out_literal(out, " ms");
    }
    transaction_put_times(out, t);
    if (t->retransmitted) {
        out_style(out, OUT_WARNING);
        out_literal(out, ", retransmitted");
        out_style(out, OUT_PLAIN);
    }
}

/* What the outcome says already is not said twice. */
static bool said(const struct rpcrdma_finding *finding)
{
    return finding->rule == RPCRDMA_RULE_RPC_UNANSWERED ||
           finding->rule == RPCRDMA_RULE_RPC_NO_CALL;
}

const char *transaction_status_operation(const struct rpcrdma_transaction *t,
                                         const struct nfs_arguments *nfs)
{
    for (uint32_t i = 0; nfs->has_operation && i < t->n_operations; i++)
        if (t->operations[i] == nfs->operation)
            return rpcrdma_transaction_operation(t, i);
    return NULL;
}

/* "NFS3ERR_NOENT", of a COMPOUND "NFS4ERR_NOENT (LOOKUP)" */
static void put_status(struct out *out, const struct rpcrdma_transaction *t,
                       const struct nfs_arguments *nfs)
{
    const char *name = nfs_status_name(nfs);

    if (!nfs_failed(nfs))
        return;
    out_literal(out, ", ");
    out_style(out, OUT_ERROR);
    out_name_or_number(out, name, "status", nfs->status);
    out_style(out, OUT_PLAIN);
    name = transaction_status_operation(t, nfs);
    if (name) {
        out_literal(out, " (");
        out_text(out, name);
        out_char(out, ')');
    }
}

static void put_file(struct out *out, const struct transaction_file *file)
{
    const struct nfs_arguments *nfs = file->nfs;

    if (nfs->has_count) {
        out_literal(out, ", ");
        out_u64(out, nfs->count);
        out_text(out, nfs->has_offset ? " bytes at " : " bytes");
    } else if (nfs->has_offset) {
        out_literal(out, ", at ");
    }
    if (nfs->has_offset)
        out_u64(out, nfs->offset);
    if (file->path_length > 0) {
        out_literal(out, ", ");
        out_foreign(out, file->path);
    }
}

/* Columns left of a line that began there; what was written since is ASCII. Not known where it was
 * flushed since. */
static size_t left_of(const struct view *view, size_t begin)
{
    enum { TIME = 14 }; /* it is put there later */
    const struct out *out = view->out;
    size_t used;

    if (out->width == 0 || out->fold || out->n < begin)
        return SIZE_MAX;
    used = out->n - begin + (view->time_open && view->placeholder.at > 0 ? TIME : 0);
    return out->width > used ? out->width - used : 0;
}

/* Where the line is about the RPC, and not about its findings, one of each rule is enough: an RPC
 * with many gaps has one for each. `check` is asked for findings: each has its name there. */
static void put_findings(struct out *out, const struct rpcrdma_transaction *t, bool brief)
{
    for (size_t i = 0, more; i < t->n_findings; i += 1 + more) {
        const struct rpcrdma_finding *finding = &t->findings[i];

        for (more = 0; brief && i + 1 + more < t->n_findings &&
                       t->findings[i + 1 + more].rule == finding->rule;)
            more++;
        if (brief && said(finding))
            continue;
        out_char(out, ' ');
        view_put_finding(out, finding);
        if (more == 0)
            continue;
        out_literal(out, " [");
        out_u64(out, more);
        out_literal(out, " more ");
        out_text(out, rpcrdma_rule(finding->rule)->name);
        out_char(out, ']');
    }
}

void transaction_text(struct view *view, const struct rpcrdma_transaction *t)
{
    transaction_file_text(view, t, NULL);
}

void transaction_file_text(struct view *view, const struct rpcrdma_transaction *t,
                           const struct transaction_file *file)
{
    const struct rpcrdma_connection *c = t->connection;
    struct out *out = view->out;
    const size_t begin = out->n;

    out_u64_padded(out, t->call_frame ? t->call_frame : t->reply_frame, 6);
    out_char(out, ' ');
    view_put_time(view, t->call_frame ? t->call_time_ns : t->reply_time_ns);
    out_char(out, ' ');
    view_put_addresses(view, &c->end[t->caller_end].address, &c->end[1 - t->caller_end].address);
    out_literal(out, " #");
    out_u64(out, c->number);
    out_char(out, ' ');
    put_title(out, t, left_of(view, begin));
    put_outcome(out, t);
    if (file) {
        put_status(out, t, file->nfs);
        put_file(out, file);
    }
    put_findings(out, t, file != NULL);
    out_line(out);
}

static void json_name(struct json *json, const struct rpcrdma_transaction *t)
{
    char name[TRANSACTION_NAME];

    if (!t->has_program)
        return;
    json_key(json, KEY(program)), json_u64(json, t->program);
    json_key(json, KEY(version)), json_u64(json, t->version);
    json_key(json, KEY(procedure)), json_u64(json, t->procedure);
    rpcrdma_transaction_name(t, name, sizeof(name));
    json_key(json, KEY(name)), json_plain(json, name);
    if (!t->compound || (t->n_operations == 0 && t->operations_cut))
        return;
    json_key(json, KEY(operations));
    json_open(json, '[');
    for (uint32_t i = 0; i < t->n_operations; i++) {
        const char *operation = rpcrdma_transaction_operation(t, i);

        if (operation)
            json_plain(json, operation);
        else
            json_u64(json, t->operations[i]);
    }
    json_close(json, ']');
}

static void json_slots(struct json *json, const struct rpcrdma_transaction *t)
{
    if (!t->has_slot)
        return;
    json_key(json, KEY(slot)), json_u64(json, t->slot);
    if (t->slots_in_use > 0)
        json_key(json, KEY(slots_in_use)), json_u64(json, t->slots_in_use);
    if (t->slots > 0)
        json_key(json, KEY(slots)), json_u64(json, t->slots);
    if (t->slots_full_ns > 0)
        json_key(json, KEY(slots_full_ns)), json_i64(json, t->slots_full_ns);
}

static void json_file(struct json *json, const struct rpcrdma_transaction *t,
                      const struct transaction_file *file)
{
    const struct nfs_arguments *nfs = file->nfs;
    const char *name = nfs_status_name(nfs);

    if (name)
        json_key(json, KEY(status)), json_plain(json, name);
    else if (nfs->status_kind != NFS_STATUS_NONE)
        json_key(json, KEY(status)), json_u64(json, nfs->status);
    name = transaction_status_operation(t, nfs);
    if (name)
        json_key(json, KEY(status_operation)), json_plain(json, name);
    if (nfs->handle.length > 0) {
        json_key(json, KEY(filehandle));
        json_hex_bytes(json, nfs->handle.bytes, nfs->handle.length);
    }
    if (file->path_length > 0) {
        json_key(json, KEY(path));
        json_string(json, file->path, file->path_length);
    }
    if (nfs->has_offset)
        json_key(json, KEY(file_offset)), json_u64(json, nfs->offset);
    if (nfs->has_count)
        json_key(json, KEY(count)), json_u64(json, nfs->count);
    if (nfs->has_user)
        json_key(json, KEY(user)), json_u64(json, nfs->user);
}

void transaction_json(struct view *view, const struct rpcrdma_transaction *t)
{
    transaction_file_json(view, t, NULL);
}

void transaction_file_json(struct view *view, const struct rpcrdma_transaction *t,
                           const struct transaction_file *file)
{
    const struct rpcrdma_address *caller = &t->connection->end[t->caller_end].address;
    const struct rpcrdma_address *responder = &t->connection->end[1 - t->caller_end].address;
    struct json *json = &view->json;

    json_open(json, '{');
    json_key(json, KEY(time_ns)),
        json_i64(json, t->call_frame ? t->call_time_ns : t->reply_time_ns);
    json_key(json, KEY(connection)), json_u64(json, t->connection->number);
    view_json_address(json, KEY(src), caller);
    view_json_address(json, KEY(dst), responder);
    if (t->direction_known) {
        view_json_address(json, KEY(client), t->reverse ? responder : caller);
        view_json_address(json, KEY(server), t->reverse ? caller : responder);
        json_key(json, KEY(direction));
        json_plain(json, t->reverse ? "reverse" : "forward");
    }
    json_key(json, KEY(xid)), json_hex(json, t->xid, 8);
    json_name(json, t);
    if (t->call_frame) {
        json_key(json, KEY(call_frame)), json_u64(json, t->call_frame);
        json_key(json, KEY(call_time_ns)), json_i64(json, t->call_time_ns);
    }
    if (t->reply_frame) {
        json_key(json, KEY(reply_frame)), json_u64(json, t->reply_frame);
        json_key(json, KEY(reply_time_ns)), json_i64(json, t->reply_time_ns);
    }
    if (file)
        json_file(json, t, file);
    if (t->has_latency)
        json_key(json, KEY(latency_ns)), json_i64(json, t->latency_ns);
    if (t->has_response)
        json_key(json, KEY(response_ns)), json_i64(json, t->response_ns);
    if (t->has_rdma)
        json_key(json, KEY(rdma_ns)), json_i64(json, t->rdma_ns);
    if (t->has_rdma) {
        json_key(json, KEY(rdma_first_frame)), json_u64(json, t->rdma_first_frame);
        json_key(json, KEY(rdma_last_frame)), json_u64(json, t->rdma_last_frame);
    }
    transaction_json_times(json, t);
    if (t->call_length)
        json_key(json, KEY(call_length)), json_u64(json, t->call_length);
    if (t->reply_length)
        json_key(json, KEY(reply_length)), json_u64(json, t->reply_length);
    if (t->reads_known)
        json_key(json, KEY(read_chunk_length)), json_u64(json, t->read_chunk_length);
    if (t->returns_known) {
        json_key(json, KEY(write_chunk_length)), json_u64(json, t->write_chunk_length);
        json_key(json, KEY(reply_chunk_length)), json_u64(json, t->reply_chunk_length);
    }
    if (t->offers_known)
        json_key(json, KEY(segments)), json_u64(json, t->segments);
    json_key(json, KEY(complete)), json_bool(json, t->complete);
    json_key(json, KEY(retransmitted)), json_bool(json, t->retransmitted);
    if (t->has_credits)
        json_key(json, KEY(credits_granted)), json_u64(json, t->credits_granted);
    json_slots(json, t);
    view_json_findings(json, t->findings, t->n_findings,
                       t->call_frame ? t->call_frame : t->reply_frame);
    json_close(json, '}');
    json_end(json);
}
