/* SPDX-License-Identifier: BSD-2-Clause */

/* What a process in the sandbox can no longer do, tried in a child. test_sandbox [FILE]: a file
 * that is there; this program is. */

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/rights/sandbox.h"
#include "test.h"

static char *self;
static char folder[] = "/tmp/rpcrdma-sandbox-XXXXXX";

static bool landlock(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 1;
}

/* Runs `look` in a child in the sandbox; its exit status names the first thing that was wrong. */
static void inside(const struct sandbox *sandbox, int (*look)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (!sandbox_enter(sandbox))
            _exit(100);
        _exit(look());
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool opens(const char *path, int flags)
{
    int fd = open(path, flags, 0600);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void *nothing(void *argument)
{
    return argument;
}

/* Files are read ahead by a thread. */
static bool has_threads(void)
{
    pthread_t thread;
    void *result;

    return pthread_create(&thread, NULL, nothing, self) == 0 &&
           pthread_join(thread, &result) == 0 && result == self;
}

static int look_reading(void)
{
    char path[sizeof(folder) + 8];

    snprintf(path, sizeof(path), "%s/new", folder);
    if (!opens(self, O_RDONLY))
        return 1;
    if (opens(self, O_RDWR) || opens(path, O_WRONLY | O_CREAT) || opens("/dev/null", O_WRONLY))
        return 2;
    if (landlock() && (opens("/etc/passwd", O_RDONLY) || opens("/", O_RDONLY | O_DIRECTORY)))
        return 3;
#ifdef HAVE_SECCOMP
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_DGRAM, 0) >= 0)
        return 4;
    if (syscall(SYS_kill, getppid(), 0) == 0 || errno != EPERM)
        return 6;
    if (fork() >= 0)
        return 5;
#endif
    if (!has_threads())
        return 8;
    if (execl(self, self, (char *)NULL) == 0 || (errno != EACCES && errno != EPERM))
        return 7;
    return 0;
}

static int look_creating(void)
{
    char path[sizeof(folder) + 8];

    snprintf(path, sizeof(path), "%s/new", folder);
    if (!opens(path, O_WRONLY | O_CREAT | O_TRUNC))
        return 1;
    if (landlock() && opens("/tmp/rpcrdma-sandbox-elsewhere", O_WRONLY | O_CREAT))
        return 2;
    if (landlock() && (opens("/etc/passwd", O_RDONLY) || opens(path, O_RDONLY)))
        return 3;
    if (unlink(path) != 0)
        return 4;
    if (landlock() && (mkdir(path, 0700) == 0 || symlink("/", path) == 0))
        return 5;
#ifdef HAVE_SECCOMP
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
        return 6;
#endif
    return 0;
}

static int look_nothing(void)
{
    char path[sizeof(folder) + 8];

    snprintf(path, sizeof(path), "%s/new", folder);
    if (opens(path, O_WRONLY | O_CREAT))
        return 1;
    if (landlock() && opens(self, O_RDONLY))
        return 2;
#ifdef HAVE_SECCOMP
    if (socket(AF_PACKET, SOCK_RAW, 0) >= 0 || sendto(0, "", 1, 0, NULL, 0) >= 0 || errno != EPERM)
        return 3;
    if (prctl(PR_SET_NAME, "x") == 0)
        return 4;
#endif
    return 0;
}

static void test_reading(void **state)
{
    (void)state;
    inside(&(struct sandbox){.reads = &self, .n_reads = 1}, look_reading);
}

static void test_creating(void **state)
{
    int fd = open(folder, O_PATH | O_DIRECTORY);

    (void)state;
    assert_true(fd >= 0);
    inside(&(struct sandbox){.creates = true, .folder = fd}, look_creating);
    close(fd);
}

/* Who captures, and who opened everything before. */
static void test_nothing(void **state)
{
    (void)state;
    inside(&(struct sandbox){.captures = true}, look_nothing);
    inside(&(struct sandbox){0}, look_nothing);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_creating),
        cmocka_unit_test(test_nothing),
    };
    int failed;

    self = argv[argc > 1 ? 1 : 0];
    if (!mkdtemp(folder))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
