/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose memory a handle is, and for how long: from the Call that offers it to its Reply. */
#include "rpc_nfs.h"

static void error_reply(uint32_t xid)
{
    struct rpc_bytes reply;
    struct rpc_header h;

    rpc_reply_header(&reply, xid);
    rpc_put(&reply, 70); /* NFS3ERR_STALE */
    rpc_put(&reply, 0);
    rpc_put(&reply, 0);
    rpc_header_init(&h, xid, MSG);
    rpc_send(&rig, false, &h, reply.data, reply.n);
}

/* A Responder that refuses a Call need not pull its Read chunk: the Requester has its memory back
 * with the Reply, although that waits for data that may have been captured late. */
static void memory_is_given_back_with_the_reply(void **state)
{
    (void)state;
    nudge(1); /* both ends are seen from the beginning */
    write_call(2, HANDLE, ADDRESS);
    error_reply(2);
    write_call(3, HANDLE, ADDRESS);
    rpcrdma_flow_end(rig.rig.flow);
    assert_int_equal(rig_count(&rig.rig, RPCRDMA_RULE_HANDLE_SHARED), 0);
    assert_false(rpc_has_rule(rpc_transaction(&rig, 3)->rules, rpc_transaction(&rig, 3)->n_rules,
                              RPCRDMA_RULE_HANDLE_SHARED));
}

static void memory_of_two_outstanding_calls_is_shared(void **state)
{
    (void)state;
    nudge(1); /* both ends are seen from the beginning */
    write_call(2, HANDLE, ADDRESS);
    write_call(3, HANDLE, ADDRESS);
    error_reply(2);
    rpcrdma_flow_end(rig.rig.flow);
    assert_true(rpc_has_rule(rpc_transaction(&rig, 3)->rules, rpc_transaction(&rig, 3)->n_rules,
                             RPCRDMA_RULE_HANDLE_SHARED));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(memory_is_given_back_with_the_reply),
        TEST(memory_of_two_outstanding_calls_is_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
