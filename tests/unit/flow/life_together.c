/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of one mount (nconnect) that are lost together: which takes the place of which. */
#include "rpc_rig.h"

enum { N = 4, APART = 0x1f3b5d77 };
#define SECOND INT64_C(1000000000)

static struct rpc_rig rig;
static struct rpcrdma_connection told[3 * N + 1];
static uint32_t storms;

static void on_connection(void *context, const struct rpcrdma_connection *c)
{
    (void)context;
    assert_true(c->number <= 3 * N);
    told[c->number] = *c;
}

static void on_finding(void *context, const struct rpcrdma_connection *c,
                       const struct rpcrdma_finding *finding)
{
    (void)context;
    (void)c;
    storms += finding->rule == RPCRDMA_RULE_RECONNECT_STORM;
}

struct ends {
    struct rig_end a, b;
};

static struct ends connect_one(uint32_t number)
{
    struct ends ends = {{1, 100 + number, 77}, {2, 500 + number, 4000}};

    rig_connect(&rig.rig, &ends.a, &ends.b, 20049);
    return ends;
}

/* The server ends all, in turn, and the client opens as many; which it uses first differs. Calls
 * that were outstanding come again, or the XIDs go on. */
static void together(void **state)
{
    static const struct rpcrdma_flow_config follow = {.delivery = true};

    (void)state;
    for (int outstanding = 0; outstanding < 2; outstanding++) {
        for (uint32_t shift = 0; shift < N; shift++) {
            struct ends ends[N];

            rpc_rig_begin_late(&rig, &follow, false);
            rig.rig.flow->context.sink.connection = on_connection;
            rig.rig.flow->context.sink.finding = on_finding;
            memset(told, 0, sizeof(told));
            storms = 0;
            for (uint32_t i = 0; i < N; i++)
                ends[i] = connect_one(i);
            for (uint32_t i = 0; i < N; i++)
                for (uint32_t n = 1; n <= 3; n++) {
                    rig_send_call(&rig.rig, &ends[i].a, &ends[i].b, i * APART + n);
                    if (n < 3 || !outstanding)
                        rig_send_reply(&rig.rig, &ends[i].b, &ends[i].a, i * APART + n);
                }
            for (uint32_t i = 0; i < N; i++)
                rig_disconnect(&rig.rig, &ends[i].b, &ends[i].a);
            rig.rig.time_ns += 2 * SECOND;
            for (uint32_t i = 0; i < N; i++)
                ends[i] = connect_one(N + i);
            for (uint32_t i = 0; i < N; i++)
                rig_send_call(&rig.rig, &ends[i].a, &ends[i].b,
                              (i + shift) % N * APART + (outstanding ? 3 : 4));
            rpcrdma_flow_end(rig.rig.flow);
            rpc_rig_free(&rig);
            for (uint32_t i = 0; i < N; i++) {
                const struct rpcrdma_connection *c = &told[N + 1 + i];

                assert_int_equal(c->life.previous, (i + shift) % N + 1);
                assert_true(c->life.has_down);
                assert_true(c->life.down_ns >= 2 * SECOND && c->life.down_ns < 3 * SECOND);
            }
            assert_int_equal(storms, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
