/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walker of NFS arguments and results, and what chunks it finds a place for. Input: choices
 * (which program and procedure, Call or Reply, chunks), then the arguments or results. The RPC
 * header is put before them here, so that every input is of the program that it is about.
 */
#include "fuzz.h"
#include "upper/binding.h"
#include "upper/names.h"
#include "upper/private.h"
#include "wire/writer.h"

enum { MAX_CHUNKS = 4, MAX_HEADER = 64 };

/* What may be looked at: COMPOUND and all that has an item which a chunk may carry. */
static const struct {
    uint32_t program, version, procedure;
} procedures[] = {
    {RPCRDMA_PROGRAM_NFS, 4, 1},           {RPCRDMA_PROGRAM_NFS, 4, 1},
    {RPCRDMA_PROGRAM_NFS4_CALLBACK, 1, 1}, {RPCRDMA_PROGRAM_NFS, 3, 6},
    {RPCRDMA_PROGRAM_NFS, 3, 5},           {RPCRDMA_PROGRAM_NFS, 3, 7},
    {RPCRDMA_PROGRAM_NFS, 3, 10},          {RPCRDMA_PROGRAM_NFS, 2, 5},
    {RPCRDMA_PROGRAM_NFS, 2, 6},           {RPCRDMA_PROGRAM_NFS, 2, 8},
    {RPCRDMA_PROGRAM_NFS, 2, 13},          {RPCRDMA_PROGRAM_MOUNT, 3, 1},
};

struct input {
    struct rpcrdma_rpc rpc, call;
    struct rpcrdma_reduction reduction;
    struct rpcrdma_gap gaps[MAX_CHUNKS];
    uint32_t chunks[MAX_CHUNKS], align, header;
    bool reverse, reduced;
};

struct walked {
    uint32_t n;     /* operations */
    uint64_t names; /* a sum over them */
    enum rpcrdma_status status;
    uint32_t error_off;
    bool exact;
};

static struct walked walk(const struct input *in, const uint8_t *data, size_t caplen, size_t len)
{
    struct rpcrdma_insertion places[MAX_CHUNKS] = {0};
    struct rpcrdma_compound it;
    struct rpcrdma_operation operation;
    struct walked w = {0};

    if (!rpcrdma_compound_begin(
            &it, &(struct rpcrdma_rpc_stream){&in->rpc, &in->call, in->reverse, data, caplen, len},
            in->reduced ? &in->reduction : NULL, in->reduced ? places : NULL))
        return w;
    while (rpcrdma_compound_next(&it, &operation)) {
        MUST(operation.index == w.n && operation.off <= len);
        w.names = w.names * 31 + operation.number;
        w.n++;
    }
    MUST(w.n <= len / 4 && w.n <= it.declared);
    w.status = it.xdr.in.status;
    w.error_off = (uint32_t)it.xdr.in.error_off;
    w.exact = rpcrdma_compound_exact(&it);
    MUST(w.status == RPCRDMA_OK || (it.xdr.in.what && w.error_off <= len));
    return w;
}

/* Each chunk at most once, in the stream, in order. */
static void place(const struct input *in, const uint8_t *data, size_t caplen, size_t len)
{
    struct rpcrdma_reduction reduction = in->reduction;
    struct rpcrdma_insertion places[MAX_CHUNKS];
    enum rpcrdma_binding_verdict verdict;
    uint32_t last = 0;

    verdict = rpcrdma_binding_place(
        &(struct rpcrdma_rpc_stream){&in->rpc, &in->call, in->reverse, data, caplen, len},
        &reduction, places);
    MUST(rpcrdma_binding_verdict_text(verdict));
    MUST(verdict != RPCRDMA_BINDING_TRUNCATED || caplen < len);
    for (size_t i = 0; i < reduction.n_chunks; i++) {
        if (!places[i].placed)
            continue;
        MUST(reduction.chunks[i] > 0);
        MUST(places[i].offset >= last && places[i].offset <= caplen);
        last = places[i].offset;
    }
}

static void align(const struct input *in, const uint8_t *data, size_t caplen, size_t len)
{
    struct rpcrdma_bulk bulk;

    if (rpcrdma_binding_bulk(
            &(struct rpcrdma_rpc_stream){&in->rpc, &in->call, in->reverse, data, caplen, len},
            in->align, in->header, &bulk) != RPCRDMA_ALIGNED)
        return;
    MUST(bulk.found && bulk.pad > 0 && bulk.pad < in->align);
    MUST(bulk.offset <= len && bulk.pad <= len - bulk.offset);
    MUST(((uint64_t)bulk.offset + bulk.pad + in->header) % in->align == 0);
}

static size_t make(struct fuzz_choices *from, struct input *in, uint8_t header[MAX_HEADER])
{
    uint8_t flags = fuzz_u8(from), chunks = fuzz_u8(from);
    size_t i = fuzz_u8(from) % (sizeof(procedures) / sizeof(procedures[0])), n;
    struct rpcrdma_rpc *call = &in->call, rpc;
    uint8_t body[20] = {0};
    uint32_t position = 0;

    *call = (struct rpcrdma_rpc){.type = RPCRDMA_RPC_CALL,
                                 .rpcvers = RPCRDMA_RPC_VERSION,
                                 .program = procedures[i].program,
                                 .version = procedures[i].version,
                                 .procedure = procedures[i].procedure};
    in->reverse = flags & 2;
    in->reduced = flags & 4;
    if (flags & 16) { /* RPCSEC_GSS with integrity, data */
        call->cred_flavor = RPCRDMA_RPC_GSS;
        rpcrdma_put_be32(body, 1);
        rpcrdma_put_be32(body + 12, RPCRDMA_GSS_INTEGRITY);
        call->cred.data = body;
        call->cred.caplen = call->cred.len = sizeof(body);
    }
    MUST(rpcrdma_rpc_encode(call, header, MAX_HEADER, &n) == RPCRDMA_OK);
    MUST(rpcrdma_rpc_decode(header, n, n, call) == RPCRDMA_OK);
    if (flags & 1) {
        rpc = (struct rpcrdma_rpc){.type = RPCRDMA_RPC_REPLY};
        MUST(rpcrdma_rpc_encode(&rpc, header, MAX_HEADER, &n) == RPCRDMA_OK);
    }
    MUST(rpcrdma_rpc_decode(header, n, n, &in->rpc) == RPCRDMA_OK);
    call->cred.data = NULL; /* the header goes */
    in->reduction.pad_inline = flags & 8;
    in->reduction.n_gaps = chunks % (MAX_CHUNKS + 1);
    in->reduction.n_chunks = (chunks >> 4) % (MAX_CHUNKS + 1);
    for (size_t k = 0; k < in->reduction.n_gaps; k++) {
        position += fuzz_u16(from); /* ascending: the caller's to see to */
        in->gaps[k] = (struct rpcrdma_gap){.position = position, .length = fuzz_u16(from)};
    }
    for (size_t k = 0; k < in->reduction.n_chunks; k++)
        in->chunks[k] = fuzz_u16(from);
    in->reduction.gaps = in->gaps;
    in->reduction.chunks = in->chunks;
    if (flags & 32) {
        in->align = fuzz_u8(from);
        in->header = fuzz_u8(from);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_choices from = {data, size};
    struct input in = {0};
    uint8_t header[MAX_HEADER], *message, *copy;
    struct walked whole, part;
    size_t n = make(&from, &in, header), len = n + from.size;

    message = malloc(len);
    MUST(message);
    memcpy(message, header, n);
    if (from.size)
        memcpy(message + n, from.data, from.size);
    whole = walk(&in, message, len, len);
    MUST(whole.status != RPCRDMA_TRUNCATED);
    place(&in, message, len, len);
    align(&in, message, len, len);
    for (size_t cut = 0; fuzz_cut(&cut, from.size);) {
        copy = fuzz_copy(message, n + cut);
        part = walk(&in, copy, n + cut, len);
        MUST_FOLLOW(&whole, &part);
        MUST(part.n <= whole.n && !(part.exact && !whole.exact));
        place(&in, copy, n + cut, len);
        align(&in, copy, n + cut, len);
        free(copy);
    }
    free(message);
    return 0;
}
