/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bytes/beside.h"

#include <sched.h>
#include <signal.h>

/* Those that the program may use, without its own; false: there are none, or nobody knows. */
static bool other_processors(cpu_set_t *set)
{
    int here = sched_getcpu();

    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*set), set) != 0)
        return false;
    CPU_CLR((size_t)here, set);
    return CPU_COUNT(set) > 0;
}

static bool start_on(const cpu_set_t *set, pthread_t *thread, void *(*run)(void *argument),
                     void *argument)
{
    pthread_attr_t attributes;
    bool good;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    good = pthread_attr_setaffinity_np(&attributes, sizeof(*set), set) == 0 &&
           pthread_create(thread, &attributes, run, argument) == 0;
    pthread_attr_destroy(&attributes);
    return good;
}

bool beside_possible(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) > 1;
}

bool beside_start(pthread_t *thread, void *(*run)(void *argument), void *argument, int own)
{
    sigset_t all, before;
    cpu_set_t others;
    bool good;

    if (!beside_possible())
        return false;
    sigfillset(&all);
    if (own != 0)
        sigdelset(&all, own);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    good = (other_processors(&others) && start_on(&others, thread, run, argument)) ||
           pthread_create(thread, NULL, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return good;
}

void beside_stop(pthread_t thread, pthread_mutex_t *mutex, pthread_cond_t *wake, bool *stop)
{
    pthread_mutex_lock(mutex);
    *stop = true;
    pthread_cond_signal(wake);
    pthread_mutex_unlock(mutex);
    pthread_join(thread, NULL);
}
