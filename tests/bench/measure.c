/* SPDX-License-Identifier: BSD-2-Clause */

/* measure COMMAND ARG...: runs it with its standard output thrown away and prints seconds, seconds
 * of CPU, and the peak of its memory in KiB. A program of its own, because a process begins with
 * the peak of the one that started it, and an interpreter's is larger than what is to be measured.
 */

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void child(char **command)
{
    int null = open("/dev/null", O_WRONLY);

    dup2(null, STDOUT_FILENO);
    execvp(command[0], command);
    _exit(127);
}

int main(int argc, char **argv)
{
    struct rusage usage;
    double start;
    int status;
    pid_t pid;

    if (argc < 2)
        return 2;
    start = now();
    pid = fork();
    if (pid == 0)
        child(argv + 1);
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return 2;
    printf("%.6f %.6f %ld\n", now() - start, seconds(usage.ru_utime) + seconds(usage.ru_stime),
           usage.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
