/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the command goes on as the program that may capture: a script here, which exits with 7.
 */
#include "test.h"

#include "capture/program.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[] = "/tmp/rpcrdma-test-XXXXXX";
static uid_t user;

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
    return user;
}

/* 7: it went on there; 0: not. */
static int status_of(const char *program, int argc, const char **argv)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        capture_program_start(program, argc, (char **)argv);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int started(const char *first, const char *second)
{
    const char *argv[] = {"rpcrdma", first, second, NULL};

    return status_of(path, second ? 3 : 2, argv);
}

static void test_arguments(void **state)
{
    (void)state;
    user = 1000;
    assert_int_equal(started("capture", "-D"), 7);
    assert_int_equal(started("decode", "-i"), 7);
    assert_int_equal(started("decode", "-qi"), 7);
    assert_int_equal(started("decode", "--interface=lo"), 7);
    assert_int_equal(started("--capture", "--fifo=x"), 7);
    assert_int_equal(started("--extcap-interfaces", NULL), 7);
    assert_int_equal(started("decode", "capture"), 0);
    assert_int_equal(started("decode", "a-file.pcap"), 0);
    assert_int_equal(started("decode", "--json"), 0);
    assert_int_equal(started("--help", NULL), 0);
}

static void test_root(void **state)
{
    (void)state;
    user = 0; /* has the right already */
    assert_int_equal(started("capture", "-D"), 0);
}

static void test_no_program(void **state)
{
    const char *argv[] = {"rpcrdma", "capture", NULL};

    (void)state;
    user = 1000;
    assert_int_equal(status_of("/nonexistent", 2, argv), 0);
    chmod(path, 0600); /* another group's */
    assert_int_equal(started("capture", NULL), 0);
    chmod(path, 0700);
    assert_int_equal(started("capture", NULL), 7);
    assert_int_equal(status_of("/proc/self/exe", 2, argv), 0); /* is there already */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_no_program),
    };
    int fd = mkstemp(path), failed;

    if (fd < 0 || write(fd, "#!/bin/sh\nexit 7\n", 17) != 17 || fchmod(fd, 0700) != 0 ||
        close(fd) != 0)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
