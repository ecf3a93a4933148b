/* SPDX-License-Identifier: BSD-2-Clause */

/* Which connection was silent longest, against looking at all of them. */

#include "test.h"

#include "flow/conn/conn_state.h"

enum { CONNS = 200, STEPS = 20000 };

struct model {
    struct flow_context context;
    struct flow_conns conns;
    struct flow_conn *conn[CONNS]; /* NULL: not there */
    uint32_t random;
};

static uint32_t pick(struct model *model, uint32_t below)
{
    model->random = model->random * 1664525 + 1013904223;
    return (model->random >> 8) % below;
}

static struct flow_conn *search(const struct model *model)
{
    struct flow_conn *found = NULL;

    for (int i = 0; i < CONNS; i++)
        if (model->conn[i] && (!found || model->conn[i]->pub.last_frame < found->pub.last_frame))
            found = model->conn[i];
    return found;
}

static void toggle(struct model *model, uint32_t i)
{
    struct flow_conn *conn = model->conn[i];

    if (conn) {
        conn_lru_remove(&model->conns, conn);
        free(conn);
        model->conn[i] = NULL;
        return;
    }
    conn = calloc(1, sizeof(*conn));
    assert_non_null(conn);
    conn->pub.last_frame = model->context.frame;
    model->conn[i] = conn;
    conn_lru_add(&model->conns, conn);
}

static void test_idle(void **state)
{
    struct model *model = calloc(1, sizeof(*model));

    (void)state;
    assert_non_null(model);
    model->random = 7;
    model->conns.context = &model->context;
    assert_null(conn_lru_longest(&model->conns));
    for (int step = 0; step < STEPS; step++) {
        uint32_t i = pick(model, CONNS), what = pick(model, 8);

        model->context
            .frame++; /* every frame is one packet's: no two connections have the same last */
        if (what == 0)
            toggle(model, i);
        else if (what < 7 && model->conn[i])
            flow_conn_touch(&model->conns, model->conn[i]);
        else
            assert_ptr_equal(conn_lru_longest(&model->conns), search(model));
    }
    for (uint32_t i = 0; i < CONNS; i++)
        if (model->conn[i])
            toggle(model, i);
    assert_null(conn_lru_longest(&model->conns));
    free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_idle)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
