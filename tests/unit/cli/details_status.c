/* SPDX-License-Identifier: BSD-2-Clause */
/* Where only the status is asked for, most Replies are passed over: what is said of each is what
 * reading it says. */
#include "test.h"

#include "rpcs/details.h"
#include "upper/names.h"

enum { BODY = 24, LEN = 32, GSS = 6 };

static uint8_t data[LEN];
static struct rpcrdma_rpc call, reply;
static struct details *details;

static void agrees(size_t caplen)
{
    struct nfs_arguments nfs = {0};
    uint64_t tag = 0;
    struct rpcrdma_transaction transaction = {0};
    const struct rpcrdma_payload_stream stream = {.direction = RPCRDMA_DIRECTION_REPLY,
                                                  .rpc = &reply,
                                                  .call = &call,
                                                  .data = data,
                                                  .caplen = caplen,
                                                  .len = LEN,
                                                  .tag = &tag};

    details_stream(details, &stream);
    nfs_reply(&stream, &nfs, NULL);
    transaction.tag = tag;
    assert_int_equal(nfs_failed(details_of(details, &transaction).nfs), nfs_failed(&nfs));
    assert_int_equal(tag != 0, nfs.status_kind != NFS_STATUS_NONE);
}

/* By what the headers have, and how they end. */
static void headers(void)
{
    static const uint32_t bits[] = {RPCRDMA_RPC_HAS_PROGRAM, RPCRDMA_RPC_HAS_CRED,
                                    RPCRDMA_RPC_HAS_GSS},
                          answers[] = {RPCRDMA_RPC_HAS_ACCEPT, RPCRDMA_RPC_HAS_BODY};

    for (unsigned i = 0; i < 8 * 4 * 2 * 2 * 2; i++) {
        call.present = reply.present = 0;
        for (unsigned b = 0; b < 3; b++)
            call.present |= i >> b & 1 ? bits[b] : 0;
        for (unsigned b = 0; b < 2; b++)
            reply.present |= i >> (3 + b) & 1 ? answers[b] : 0;
        call.cred_flavor = i >> 5 & 1 ? GSS : 1;
        reply.reply_stat = i >> 6 & 1;
        reply.accept_stat = i >> 7 & 1;
        for (size_t caplen = BODY - 1; caplen <= BODY + 5; caplen++)
            agrees(caplen);
    }
}

static void test_agrees(void **state)
{
    static const uint32_t programs[] = {RPCRDMA_PROGRAM_NFS, RPCRDMA_PROGRAM_NFSACL,
                                        RPCRDMA_PROGRAM_MOUNT};

    (void)state;
    details = details_new(1 << 16);
    details_status_only(details);
    reply.body_off = BODY;
    for (unsigned i = 0; i < 3 * 3 * 3 * 2; i++) {
        call.program = programs[i % 3];
        call.version = 2 + i / 3 % 3;
        call.procedure = i / 9 % 3;
        data[BODY + 3] = i / 27 ? 70 : 0;
        headers();
    }
    details_free(details);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
