/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA_MSGP (RFC 5666 section 4.2): what was put in to align the bulk is found, and nothing else is
 * taken for it. Each message is built whole; the alignment is put in where the bulk begins. */
#include "rpc_bytes.h"

#include "upper/binding.h"

enum { NFS = 100003, ALIGN = 512, HEADER = 36, COUNT = 300 };

static struct bytes b;

/* Puts the bytes in that make offset `at` of the message a multiple of ALIGN. */
static uint32_t align(size_t at)
{
    uint32_t pad = (uint32_t)(ALIGN - (HEADER + at) % ALIGN) % ALIGN;

    assert_true(b.n + pad <= sizeof(b.data));
    memmove(b.data + at + pad, b.data + at, b.n - at);
    memset(b.data + at, 0, pad);
    b.n += pad;
    return pad;
}

static enum rpcrdma_alignment ask(const struct rpcrdma_rpc *call, size_t len, uint32_t to,
                                  struct rpcrdma_bulk *out)
{
    uint8_t *copy = heap_copy(b.data, len);
    enum rpcrdma_alignment answer;
    struct rpcrdma_rpc rpc;

    rpcrdma_rpc_decode(copy, len, len, &rpc);
    answer = rpcrdma_binding_bulk(
        &(struct rpcrdma_rpc_stream){
            .rpc = &rpc, .call = call ? call : &rpc, .data = copy, .caplen = len, .len = len},
        to, HEADER, out);
    free(copy);
    return answer;
}

/* The message in b, of which the bulk begins at `at`: without alignment, with it, and with a byte
 * too much. */
static void expect(const struct rpcrdma_rpc *call, size_t at)
{
    struct rpcrdma_bulk out;
    uint32_t pad;

    assert_int_equal(ask(call, b.n, ALIGN, &out), RPCRDMA_ALIGNED_NOT);
    pad = align(at);
    assert_true(pad > 0);
    assert_int_equal(ask(call, b.n, 0, &out), RPCRDMA_ALIGNED_NOT);
    assert_int_equal(ask(call, b.n, ALIGN, &out), RPCRDMA_ALIGNED);
    assert_int_equal(out.offset, at);
    assert_int_equal(out.pad, pad);
    put(&b, 0);
    assert_int_equal(ask(call, b.n, ALIGN, &out), RPCRDMA_ALIGNED_UNKNOWN);
}

/* RFC 1094 sections 2.2.9 and 2.2.14; RFC 1813 sections 3.3.7 and 3.3.10. */
static void calls(void **state)
{
    size_t at;

    (void)state;
    call_header(&b, NFS, 2, 8); /* WRITE: handle, three words, data */
    put_raw(&b, 32);
    put_words(&b, 3, 1);
    at = b.n + 4;
    put_opaque(&b, COUNT);
    expect(NULL, at);

    call_header(&b, NFS, 3, 7); /* WRITE: handle, offset, count, how, data */
    put_opaque(&b, 32);
    put_words(&b, 4, 1);
    at = b.n + 4;
    put_opaque(&b, COUNT + 1);
    expect(NULL, at);

    call_header(&b, NFS, 3, 10); /* SYMLINK: handle, name, attributes, path */
    put_opaque(&b, 32);
    put_opaque(&b, 5);
    put_words(&b, 6, 0);
    at = b.n + 4;
    put_opaque(&b, COUNT);
    expect(NULL, at);
}

static void replies(void **state)
{
    struct rpcrdma_rpc call = call_of(NFS, 3, 6);
    size_t at;

    (void)state;
    reply_header(&b); /* READ: status, attributes, count, end, data */
    put_words(&b, 2, 0);
    put(&b, COUNT);
    put(&b, 1);
    at = b.n + 4;
    put_opaque(&b, COUNT);
    expect(&call, at);

    call = call_of(NFS, 2, 5); /* READLINK: status, path */
    reply_header(&b);
    put(&b, 0);
    at = b.n + 4;
    put_opaque(&b, COUNT);
    expect(&call, at);
}

/* NFSv4 (RFC 7530 sections 16.36 and 16.23): the bulk is an operation's. */
static void compounds(void **state)
{
    struct rpcrdma_rpc call = call_of(NFS, 4, 1);
    size_t at;

    (void)state;
    call_header(&b, NFS, 4, 1);
    put_opaque(&b, 0); /* tag */
    put(&b, 0);        /* minor version */
    put(&b, 3);
    put(&b, 22); /* PUTFH */
    put_opaque(&b, 28);
    put(&b, 38); /* WRITE: stateid, offset, stable, data */
    put_words(&b, 4, 7);
    put_words(&b, 3, 0);
    at = b.n + 4;
    put_opaque(&b, COUNT);
    put(&b, 9); /* GETATTR: what follows the bulk */
    put(&b, 1);
    put(&b, 0x10);
    expect(NULL, at);

    reply_header(&b);
    put(&b, 0);
    put_opaque(&b, 0);
    put(&b, 2);
    put_words(&b, 1, 22);
    put(&b, 0);
    put(&b, 25); /* READ: status, end, data */
    put_words(&b, 2, 0);
    at = b.n + 4;
    put_opaque(&b, COUNT);
    expect(&call, at);
}

/* Without the Call's program, or of a program nobody knows, it cannot be told. A procedure without
 * bulk has nothing to align, whatever follows it. */
static void unknown(void **state)
{
    struct rpcrdma_rpc nothing = {.type = RPCRDMA_RPC_CALL};
    struct rpcrdma_bulk out;

    (void)state;
    call_header(&b, 400000, 1, 1);
    put_opaque(&b, COUNT);
    assert_int_equal(ask(NULL, b.n, ALIGN, &out), RPCRDMA_ALIGNED_UNKNOWN);
    reply_header(&b);
    put_opaque(&b, COUNT);
    assert_int_equal(ask(&nothing, b.n, ALIGN, &out), RPCRDMA_ALIGNED_UNKNOWN);

    call_header(&b, NFS, 3, 1); /* GETATTR */
    put_opaque(&b, 32);
    put_words(&b, 50, 0);
    assert_int_equal(ask(NULL, b.n, ALIGN, &out), RPCRDMA_ALIGNED_NOT);
    call_header(&b, NFS, 4, 1); /* a COMPOUND that cannot be read */
    put_opaque(&b, 0);
    put(&b, 0);
    put(&b, 1);
    put(&b, 9999);
    put_words(&b, 50, 0);
    assert_int_equal(ask(NULL, b.n, ALIGN, &out), RPCRDMA_ALIGNED_UNKNOWN);
    call_header(&b, NFS, 3, 7); /* cut in the RPC header, and in the arguments */
    put_opaque(&b, 32);
    assert_int_equal(ask(NULL, b.n, ALIGN, &out), RPCRDMA_ALIGNED_UNKNOWN);
    assert_int_equal(ask(NULL, 28, ALIGN, &out), RPCRDMA_ALIGNED_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls),
        cmocka_unit_test(replies),
        cmocka_unit_test(compounds),
        cmocka_unit_test(unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
