/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/pager.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager;
static int to_pager;

static void wait_for(pid_t child)
{
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* ^C goes to both. The pager stays, with what it has; we end when it does, for the terminal is its
 * own until then. */
static void on_signal(int number)
{
    close(to_pager);
    wait_for(pager);
    signal(number, SIG_DFL);
    raise(number);
}

/* NULL: there is none. */
static char **words(void)
{
    const char *name = getenv("PAGER");
    char **argv = NULL, *program, *copy;

    if (!name)
        name = "less";
    if (*name == '\0' || strcmp(name, "cat") == 0)
        return NULL;
    if (strpbrk(name, "|&;<>()$`\"'*?[#~=%\\")) { /* for a shell */
        argv = g_new0(char *, 4);
        argv[0] = g_strdup("/bin/sh");
        argv[1] = g_strdup("-c");
        argv[2] = g_strdup(name);
        return argv;
    }
    copy = g_strstrip(g_strdup(name));
    argv = g_strsplit_set(copy, " \t", -1);
    g_free(copy);
    program = argv[0] ? g_find_program_in_path(argv[0]) : NULL;
    if (!program) {
        g_strfreev(argv);
        return NULL;
    }
    g_free(argv[0]);
    argv[0] = program;
    return argv;
}

/* In the new process: nothing but calls that are allowed between fork and exec. */
_Noreturn static void become(char **argv, char **environment, int from)
{
    if (from != STDIN_FILENO) {
        if (dup2(from, STDIN_FILENO) < 0)
            _exit(127);
        close(from);
    }
    execve(argv[0], argv, environment);
    _exit(127);
}

bool pager_begin(int fd)
{
    char **argv = words(), **environment;
    int ends[2];
    bool begun = false;

    if (!argv)
        return false;
    environment = g_get_environ();
    environment = g_environ_setenv(environment, "LESS", "FRX", FALSE);
    environment = g_environ_setenv(environment, "LV", "-c", FALSE);
    if (geteuid() == 0) /* what it shows came over a network: no commands, no files */
        environment = g_environ_setenv(environment, "LESSSECURE", "1", TRUE);
    if (pipe(ends) == 0) {
        pager = fork();
        if (pager == 0) {
            close(ends[1]);
            become(argv, environment, ends[0]);
        }
        close(ends[0]);
        begun = pager > 0 && dup2(ends[1], fd) >= 0;
        close(ends[1]);
        if (pager > 0 && !begun)
            wait_for(pager); /* it has nothing to show, and ends */
    }
    g_strfreev(argv);
    g_strfreev(environment);
    if (!begun) {
        pager = 0;
        return false;
    }
    to_pager = fd;
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGHUP, on_signal);
    signal(SIGPIPE, SIG_IGN); /* its reader may leave before the end */
    return true;
}

void pager_end(int fd)
{
    if (pager <= 0)
        return;
    close(fd);
    wait_for(pager);
    pager = 0;
}
