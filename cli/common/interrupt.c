/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/interrupt.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* timeout(1) signals the process, and then its group: both are one wish. */
#define TWICE_NS INT64_C(500000000)

enum { UNTAKEN_MS = 3000 };

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

/* Without end as long as nobody asked us to end. */
static bool wait_for_room(int fd)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLOUT}, {.fd = event, .events = POLLIN}};
    int n;

    do {
        n = poll(fds, 2, -1);
    } while (n < 0 && errno == EINTR);
    if (n < 0 || fds[0].revents)
        return true; /* write says why */
    do {
        n = poll(fds, 1, UNTAKEN_MS);
    } while (n < 0 && errno == EINTR);
    return n != 0;
}

int interrupt_write(int fd, const void *bytes, size_t n, size_t *done, bool patient)
{
    struct stat is;
    bool waits = !patient && event >= 0 && fstat(fd, &is) == 0 && !S_ISREG(is.st_mode);

    for (*done = 0; *done < n;) {
        size_t part = n - *done;
        ssize_t put;

        if (waits && !wait_for_room(fd))
            return INTERRUPT_UNTAKEN;
        if (waits && part > PIPE_BUF)
            part = PIPE_BUF; /* a pipe that has room has room for this */
        put = write(fd, (const char *)bytes + *done, part);
        if (put < 0 && errno != EINTR)
            return errno;
        if (put > 0)
            *done += (size_t)put;
    }
    return 0;
}
