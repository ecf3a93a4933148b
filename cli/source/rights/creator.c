/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/rights/creator.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/rights/descriptors.h"
#include "source/rights/privilege.h"
#include "source/rights/sandbox.h"

enum what { CREATE, REMOVE, REPLACE, PUBLISH };

struct request {
    enum what what;
    char name[NAME_MAX + 1];
};

enum { READY = -1 }; /* an answer before there was a request; else one is an errno */

/* The process that creates. */

static bool answer(int socket, int error, int fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS,
                            .cmsg_len = CMSG_LEN(sizeof(int))}};
    struct iovec word = {.iov_base = &error, .iov_len = sizeof(error)};
    struct msghdr message = {.msg_iov = &word, .msg_iovlen = 1};

    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
        message.msg_control = &control;
        message.msg_controllen = sizeof(control.room);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) > 0;
}

/* Files that it created, the latest first. */
struct created {
    struct created *next;
    char name[];
};

/* Keeps as many as can be removed: of a ring, as many as it has. */
static void note(struct created **all, const char *name, size_t most)
{
    struct created *one = malloc(sizeof(*one) + strlen(name) + 1);
    size_t n = 0;

    if (one) {
        memcpy(one->name, name, strlen(name) + 1);
        one->next = *all;
        *all = one;
    }
    while (*all && n++ < most)
        all = &(*all)->next;
    while (*all) {
        one = *all;
        *all = one->next;
        free(one);
    }
}

static bool forget(struct created **all, const char *name)
{
    struct created *one;

    while (*all && strcmp((*all)->name, name) != 0)
        all = &(*all)->next;
    one = *all;
    if (!one)
        return false;
    *all = one->next;
    free(one);
    return true;
}

/* errno says how it went. */
static void publish(const struct creator_task *task, char *name, struct created **created)
{
    size_t n = strlen(name), part = strlen(CREATOR_PART);
    char whole[NAME_MAX + 1] = "";
    struct stat st;

    if (n <= part || strcmp(name + n - part, CREATOR_PART) != 0) {
        errno = EPERM;
        return;
    }
    memcpy(whole, name, n - part);
    if (fstatat(task->folder, whole, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return;
    }
    if (renameat(task->folder, name, task->folder, whole) != 0)
        return;
    if (forget(created, name))
        note(created, whole, task->removable);
    errno = 0;
}

/* What takes the place of another file is locked while we run: by that a second run, which would
 * take it away again, knows of us. */
struct replacing {
    int next, held; /* the file that will, and the one that did; -1: none */
};

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* errno says how it went. */
static void replace(const struct creator_task *task, const char *name, struct replacing *replacing)
{
    struct stat st, held = {0};

    if (!task->replaces) {
        errno = EPERM;
        return;
    }
    if (fstatat(task->folder, task->replaces, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        bool ours = replacing->held >= 0 && fstat(replacing->held, &held) == 0 &&
                    held.st_ino == st.st_ino && held.st_dev == st.st_dev;

        if (!S_ISREG(st.st_mode)) { /* a device, a link: not ours to take away */
            errno = CREATE_IRREGULAR;
            return;
        }
        if (!ours && create_is_busy(task->folder, task->replaces)) {
            errno = CREATE_BUSY;
            return;
        }
    }
    if (renameat(task->folder, name, task->folder, task->replaces) != 0)
        return;
    shut(&replacing->held);
    *replacing = (struct replacing){.next = -1, .held = replacing->next};
    errno = 0;
}

static bool serve(int socket, const struct creator_task *task, struct created **created,
                  struct replacing *replacing)
{
    struct request request;
    ssize_t n;
    int fd = -1;
    bool good;

    do {
        n = read(socket, &request, sizeof(request));
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(request))
        return false;
    request.name[NAME_MAX] = '\0';
    if (request.what == CREATE || request.what == REMOVE)
        shut(&replacing->next);
    errno = 0;
    if (strchr(request.name, '/') || !names_match(&task->names, request.name))
        errno = EPERM;
    else if (request.what == CREATE)
        fd = create_at(task->folder, request.name, task->how, task->mode);
    else if (request.what == REPLACE)
        replace(task, request.name, replacing);
    else if (request.what == PUBLISH)
        publish(task, request.name, created);
    else if (!forget(created, request.name))
        errno = EPERM;
    else
        unlinkat(task->folder, request.name, 0);
    if (fd >= 0)
        note(created, request.name, task->removable);
    good = answer(socket, fd >= 0 ? 0 : errno, fd);
    if (task->replaces)
        replacing->next = fd >= 0 ? fd : replacing->next;
    else
        shut(&fd);
    return good;
}

_Noreturn static void create(int socket, const struct creator_task *task, bool no_sandbox)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
    int folder = task->folder, keep[] = {socket, folder};
    struct created *created = NULL;
    struct replacing replacing = {.next = -1, .held = -1};
    char error[200];

    descriptors_close_but(keep, sizeof(keep) / sizeof(keep[0]));
    /* it ends when the other process does, which may have something to create until then */
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
    if (!privilege_drop_to_folder(folder, error, sizeof(error))) {
        answer(socket, errno, -1);
        _exit(1);
    }
    if (!no_sandbox)
        sandbox_enter(&(struct sandbox){.creates = true, .folder = folder});
    answer(socket, READY, -1);
    while (serve(socket, task, &created, &replacing))
        continue;
    _exit(0);
}

/* The other one. */

/* False with errno. */
static bool hear(struct creator *creator, int *word, int *fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = word, .iov_len = sizeof(*word)};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t n;

    *fd = -1;
    do {
        n = recvmsg(creator->socket, &message, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n == 0) /* it was killed */
        errno = EOWNERDEAD;
    if (n != (ssize_t)sizeof(*word))
        return false;
    if (message.msg_controllen >= CMSG_LEN(sizeof(int)) && control.header.cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(&control.header), sizeof(*fd));
    return true;
}

bool creator_begin(struct creator *creator, const struct creator_task *task, bool no_sandbox,
                   char *error, size_t size)
{
    int sockets[2], word, fd;

    *creator = (struct creator){.socket = -1, .child = -1};
    signal(SIGPIPE, SIG_IGN); /* it may be killed */
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        snprintf(error, size, "%s", strerror(errno));
        return false;
    }
    creator->child = fork();
    if (creator->child == 0) {
        close(sockets[0]);
        create(sockets[1], task, no_sandbox);
    }
    close(sockets[1]);
    creator->socket = sockets[0];
    if (creator->child > 0 && hear(creator, &word, &fd) && word == READY)
        return true;
    snprintf(error, size, "no process to create files with: %s", strerror(errno));
    creator_end(creator);
    return false;
}

/* False with errno. */
static bool ask(struct creator *creator, enum what what, const char *name, int *fd)
{
    struct request request = {.what = what};
    int error;

    if (strlen(name) > NAME_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(request.name, name, strlen(name));
    /* SIGPIPE is ignored. A process that captures may write, but has no call that sends */
    if (creator->socket < 0 || write(creator->socket, &request, sizeof(request)) < 0) {
        errno = EOWNERDEAD;
        return false;
    }
    if (!hear(creator, &error, fd))
        return false;
    errno = error;
    return error == 0;
}

int creator_create(struct creator *creator, const char *name)
{
    int fd = -1;

    while (!ask(creator, CREATE, name, &fd))
        if (!create_waits(errno))
            return -1;
    return fd;
}

bool creator_remove(struct creator *creator, const char *name)
{
    int fd;

    return ask(creator, REMOVE, name, &fd);
}

bool creator_replace(struct creator *creator, const char *name)
{
    int fd;

    return ask(creator, REPLACE, name, &fd);
}

bool creator_publish(struct creator *creator, const char *name)
{
    int fd;

    return ask(creator, PUBLISH, name, &fd);
}

void creator_end(struct creator *creator)
{
    if (creator->socket >= 0)
        close(creator->socket);
    while (creator->child > 0 && waitpid(creator->child, NULL, 0) < 0 && errno == EINTR)
        continue;
    *creator = (struct creator){.socket = -1, .child = -1};
}
