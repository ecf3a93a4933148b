/* SPDX-License-Identifier: BSD-2-Clause */

/* A thread that works beside its caller: on another processor, with no signals but its own. */

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/bytes/beside.h"

struct seen {
    sigset_t blocked;
    cpu_set_t processors;
};

static void *look(void *argument)
{
    struct seen *seen = argument;

    pthread_sigmask(SIG_BLOCK, NULL, &seen->blocked);
    sched_getaffinity(0, sizeof(seen->processors), &seen->processors);
    return seen;
}

static int processors(cpu_set_t *set)
{
    assert_int_equal(sched_getaffinity(0, sizeof(*set), set), 0);
    return CPU_COUNT(set);
}

static void test_beside(void **state)
{
    cpu_set_t all;
    int n = processors(&all);

    (void)state;
    for (int own = 0; own <= SIGBUS; own += SIGBUS) {
        struct seen seen;
        pthread_t thread;
        void *result;
        sigset_t blocked;
        bool begun = beside_start(&thread, look, &seen, own);

        pthread_sigmask(SIG_BLOCK, NULL, &blocked);
        assert_false(sigismember(&blocked, SIGINT)); /* the caller's are what they were */
        assert_int_equal(begun, n > 1);
        if (!begun)
            continue;
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, &seen);
        assert_true(sigismember(&seen.blocked, SIGINT));
        assert_int_equal(sigismember(&seen.blocked, SIGBUS), own != SIGBUS);
        assert_int_equal(CPU_COUNT(&seen.processors), n - 1);
        assert_int_equal(processors(&all), n);
    }
}

/* Where there is one processor nothing works beside the caller. */
static void test_alone(void **state)
{
    cpu_set_t before, one;
    struct seen seen;
    pthread_t thread;

    (void)state;
    processors(&before);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_false(beside_start(&thread, look, &seen, 0));
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside),
        cmocka_unit_test(test_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
