/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static volatile sig_atomic_t seen, forward_to;
static int event = -1;

static void on_signal(int number)
{
    int before = errno;
    uint64_t one = 1;

    if (forward_to > 0 && !seen)
        kill((pid_t)forward_to, SIGTERM);
    seen = number;
    /* it cannot fail but for a counter that is full, and then it is readable */
    if (write(event, &one, sizeof(one)) < 0)
        errno = before;
    errno = before;
}

bool interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};

    if (event < 0)
        event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0)
        return false;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    return sigaction(SIGINT, &action, NULL) == 0 && sigaction(SIGTERM, &action, NULL) == 0;
}

void interrupt_forward(pid_t to)
{
    forward_to = (sig_atomic_t)to;
    if (seen && to > 0)
        kill(to, SIGTERM);
}

bool interrupt_seen(void)
{
    return seen != 0;
}

int interrupt_fd(void)
{
    return event;
}
