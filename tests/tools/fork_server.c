/* SPDX-License-Identifier: BSD-2-Clause */
/* Preloaded to tshark by fork_server.py: once its dissectors are registered, which is most of the time of a start, it
 * waits for questions, and a copy of it (fork) answers each. A question is its length and strings that end in NUL: files
 * for standard output and error, then the arguments; the answer is the status that waitpid gave. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char nothing[] = "-p"; /* has no effect where a file is read, as often as it is there */
static char **arguments;
static int n_arguments;
static char question[1 << 18];

__attribute__((constructor)) static void keep(int argc, char **argv)
{
    arguments = argv;
    n_arguments = argc;
    unsetenv("LD_PRELOAD"); /* it is for this program only */
}

static int take(void *to, size_t n)
{
    for (size_t got = 0; got < n;) {
        ssize_t some = read(STDIN_FILENO, (char *)to + got, n - got);
        if (some <= 0)
            return 0;
        got += (size_t)some;
    }
    return 1;
}

static char *next(char **at)
{
    char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

static void redirect(const char *path, int flags, int to)
{
    int file = open(path, flags);
    if (file < 0 || dup2(file, to) < 0)
        _exit(126);
    close(file);
}

/* In the copy: the arguments, which are read after this, and the files. */
static void become(char *at, const char *end)
{
    redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    redirect(next(&at), O_WRONLY, STDOUT_FILENO);
    redirect(next(&at), O_WRONLY, STDERR_FILENO);
    for (int i = 1; i < n_arguments; i++)
        arguments[i] = at < end ? next(&at) : nothing;
    if (at < end)
        _exit(126);
}

/* Returns in copies only. */
static void answer(void)
{
    int32_t status = 0; /* and first: ready */
    while (write(STDOUT_FILENO, &status, sizeof(status)) == (ssize_t)sizeof(status)) {
        uint32_t length;
        if (!take(&length, sizeof(length)) || length > sizeof(question) || !take(question, length))
            break;
        pid_t copy = fork();
        if (copy == 0) {
            become(question, question + length);
            return;
        }
        int how = 0;
        if (copy < 0 || waitpid(copy, &how, 0) != copy)
            break;
        status = how;
    }
    _exit(0);
}

/* Wireshark's; its arguments differ from release to release. */
long epan_init(long a, long b, long c, long d, long e, long f);

long epan_init(long a, long b, long c, long d, long e, long f)
{
    long (*real)(long, long, long, long, long, long);
    void *found = dlsym(RTLD_NEXT, "epan_init");
    memcpy(&real, &found, sizeof(real));
    long result = real(a, b, c, d, e, f);
    answer();
    return result;
}

/* To free all that was registered, piece by piece, a copy would first have to copy it. */
void epan_cleanup(void);

void epan_cleanup(void)
{
}
