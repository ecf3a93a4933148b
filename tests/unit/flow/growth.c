/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps through lists, heaps and trees, of inputs that make them long: twice the input takes at
 * most two and a half times the steps, and about as many for each packet as there are to be. */
#include "rig.h"

#include "base/siphash.h"
#include "base/step.h"

#ifdef RPCRDMA_COUNT_STEPS
enum { LEAST = 1000, TIMES = 4, PER_PACKET = 400 };

struct world {
    struct rpcrdma_flow *flow;
    uint64_t frame, messages, transactions;
    int64_t time_ns;
};

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct world *world = context;

    (void)message;
    world->messages++;
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct world *world = context;

    (void)transaction;
    world->transactions++;
}

static void feed(struct world *world, uint32_t client, uint32_t qpn, uint32_t psn, uint32_t xid)
{
    uint8_t call[512];
    struct rpcrdma_op op = {.frame = ++world->frame,
                            .time_ns = world->time_ns,
                            .carrier = RPCRDMA_CARRIER_ROCEV2,
                            .kind = RPCRDMA_OP_SEND,
                            .flags = RPCRDMA_OP_FIRST | RPCRDMA_OP_LAST,
                            .dst_qpn = qpn,
                            .seq = psn & 0xffffff,
                            .data = call};

    op.len = op.caplen = rig_call(call, xid, 100003, 0);
    op.src.family = op.dst.family = RPCRDMA_ADDRESS_IPV4;
    memcpy(op.src.bytes, &client, sizeof(client));
    memcpy(op.dst.bytes, "\12\0\0\1", 4);
    assert_true(rpcrdma_flow_op(world->flow, &op));
}

/* Every Call is on a QP of its own, of which only this direction is seen. */
static void one_way(struct world *world, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        feed(world, 1, 100 + i, 7, i);
        world->time_ns += 1000;
    }
}

/* Likewise, and the clock of the capture goes forth and back. */
static void restless_clock(struct world *world, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        feed(world, 1, 100 + i, 7, i);
        world->time_ns += i % 2 ? -INT64_C(60000000) : INT64_C(60000000);
    }
}

/* Likewise, and it jumps, so that all that waits has waited too long. */
static void leaping_clock(struct world *world, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        feed(world, 1, 100 + i, 7, i);
        world->time_ns += i % 8 == 7 ? -INT64_C(20000000000) : INT64_C(2800000000);
    }
}

/* Of every connection a packet is missing; they take turns. */
static void gaps(struct world *world, uint32_t n)
{
    for (uint32_t i = 0; i < n / 4; i++)
        feed(world, i, 100, 7, i);
    for (uint32_t i = 0; i < 3 * n / 4; i++) {
        feed(world, i % (n / 4), 100, 9 + 2 * (i / (n / 4)), n + i);
        world->time_ns += 1000;
    }
}

/* Calls that nobody answers, of one connection. */
static void calls(struct world *world, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        feed(world, 1, 100, 7 + i, i);
}

static uint64_t cost(void (*input)(struct world *world, uint32_t n), uint32_t n)
{
    struct world world = {.time_ns = INT64_C(1000000000000)};
    struct rpcrdma_flow_config config = {.max_memory = 1 << 30, .credits = true};
    struct rpcrdma_flow_sink sink = {
        .message = on_message, .transaction = on_transaction, .context = &world};
    uint64_t steps;

    /* some key, and with it the same steps in each run: of one in a hundred chains are longer */
    siphash_set_key(
        (struct siphash_key){{UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9)}});
    world.flow = rpcrdma_flow_new(&config, &sink);
    assert_non_null(world.flow);
    rpcrdma_steps = 0;
    input(&world, n);
    assert_true(rpcrdma_flow_end(world.flow));
    steps = rpcrdma_steps;
    rpcrdma_flow_free(world.flow);
    assert_int_equal(world.messages, n);
    assert_int_equal(world.transactions, n);
    return steps;
}
#endif

static void steps_grow_with_the_input(void **state)
{
#ifdef RPCRDMA_COUNT_STEPS
    void (*input)(struct world * world, uint32_t n);

    memcpy(&input, *state, sizeof(input));
    for (uint32_t n = LEAST; n <= LEAST * TIMES; n *= 2) {
        uint64_t once = cost(input, n), twice = cost(input, 2 * n);

        /* where there are few, chains of tables make the difference, and the ring of Calls, which
         * has room for 1,000 */
        assert_true(twice <= once * 5 / 2 + UINT64_C(3) * n);
        assert_true(twice <= UINT64_C(2) * PER_PACKET * n);
    }
#else
    (void)state;
    skip();
#endif
}

#ifdef RPCRDMA_COUNT_STEPS
#define GROWTH(input)                                                                              \
    {                                                                                              \
        .name = #input, .test_func = steps_grow_with_the_input,                                    \
        .initial_state = &(void (*[])(struct world *, uint32_t))                                   \
        {                                                                                          \
            input                                                                                  \
        }                                                                                          \
    }
#else
#define GROWTH(input)                                                                              \
    {                                                                                              \
        .name = #input, .test_func = steps_grow_with_the_input                                     \
    }
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROWTH(one_way), GROWTH(restless_clock), GROWTH(leaping_clock), GROWTH(gaps), GROWTH(calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
