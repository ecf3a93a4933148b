/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* timeout(1) signals the process, and then its group: both are one wish. */
#define TWICE_NS INT64_C(500000000)

static volatile sig_atomic_t seen;
static volatile int64_t first_ns; /* when the first signal came; 0: none did */
static int event = -1;

void interrupt_raise(void)
{
    uint64_t one = 1;
    int before = errno;

    /* it cannot fail but for a counter that is full, and then it is readable */
    if (write(event, &one, sizeof(one)) < 0)
        errno = before;
}

bool interrupt_first(int number)
{
    struct timespec now = {0};
    int before = errno;
    int64_t ns;

    clock_gettime(CLOCK_MONOTONIC, &now);
    errno = before;
    ns = (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    if (first_ns == 0) {
        first_ns = ns;
        return true;
    }
    if (ns - first_ns > TWICE_NS) {
        signal(number, SIG_DFL);
        raise(number); /* once the handler has returned */
    }
    return false;
}

static void on_signal(int number)
{
    if (!interrupt_first(number))
        return;
    seen = number;
    interrupt_raise();
}

bool interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, hangup;

    if (event < 0)
        event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0)
        return false;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaddset(&action.sa_mask, SIGHUP);
    /* where nohup said so, losing the terminal is no reason to end */
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    return sigaction(SIGINT, &action, NULL) == 0 && sigaction(SIGTERM, &action, NULL) == 0;
}

bool interrupt_seen(void)
{
    return seen != 0;
}

bool interrupt_look(void)
{
    struct pollfd fd = {.fd = event, .events = POLLIN};

    if (poll(&fd, 1, 0) > 0)
        seen = 1;
    return seen != 0;
}

int interrupt_fd(void)
{
    return event;
}
