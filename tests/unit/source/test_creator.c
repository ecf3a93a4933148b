/* SPDX-License-Identifier: BSD-2-Clause */

/* The process that creates files does for the other one, which looks at packets, what it was told
 * at its start, and nothing else. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/rights/creator.h"
#include "source/rights/descriptors.h"
#include "test.h"

static char folder[] = "/tmp/rpcrdma-creator-XXXXXX";
static int fd;
static int no_locks; /* what a file system without them says; 0: it has them */

/* In the place of the C library's. */
int flock(int file, int operation)
{
    if (no_locks == 0)
        return (int)syscall(SYS_flock, file, operation);
    errno = no_locks;
    return -1;
}

static bool there(const char *name)
{
    struct stat st;

    return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void make(const char *name)
{
    int file = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

    assert_true(file >= 0);
    close(file);
}

static struct creator begin(const char *const *forms, enum create_how how, size_t removable)
{
    const struct creator_task task = {
        .folder = fd,
        .how = how,
        .mode = 0600,
        .names = {.stem = "x.pcapng", .stem_length = 1, .forms = forms, .suffix = ".pcapng"},
        .removable = removable};
    struct creator creator;
    char error[200];

    assert_true(creator_begin(&creator, &task, false, error, sizeof(error)));
    return creator;
}

static void creates(struct creator *creator, const char *name)
{
    int file = creator_create(creator, name);

    assert_true(file >= 0);
    close(file);
    assert_true(there(name));
}

static void refuses(struct creator *creator, const char *name)
{
    bool was = there(name);

    errno = 0;
    assert_int_equal(creator_create(creator, name), -1);
    assert_int_equal(errno, EPERM);
    errno = 0;
    assert_false(creator_remove(creator, name));
    assert_int_equal(errno, EPERM);
    assert_int_equal(there(name), was);
}

static void test_one(void **state)
{
    static const char *const one[] = {"", NULL};
    static const char *const others[] = {
        "x", "x.pcapng2",   "xx.pcapng", "x_00001_20261120091839.pcapng", ".bashrc", "",
        ".", "../x.pcapng", "other"};
    struct creator creator = begin(one, CREATE_OVER, 0);

    (void)state;
    make("other");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        refuses(&creator, others[i]);
    creates(&creator, "x.pcapng");
    assert_false(creator_remove(&creator, "x.pcapng"));
    assert_true(there("x.pcapng"));
    creator_end(&creator);
    unlinkat(fd, "x.pcapng", 0);
    unlinkat(fd, "other", 0);
}

static void test_ring(void **state)
{
    static const char *const ring[] = {"_#_#", NULL};
    static const char *const others[] = {"x.pcapng",         "x_1_.pcapng",   "x__1.pcapng",
                                         "x_1_2.pcapng~",    "x_1a_2.pcapng", "y_1_2.pcapng",
                                         "x_1_2/../z.pcapng"};
    struct creator creator = begin(ring, CREATE_NEW, 2);

    (void)state;
    make("x_00000_2.pcapng"); /* of another ring */
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        refuses(&creator, others[i]);
    creates(&creator, "x_00001_20261120091839.pcapng");
    creates(&creator, "x_00002_20261120091840.pcapng");
    creates(&creator, "x_00003_20261120091841.pcapng");
    assert_false(creator_remove(&creator, "x_00000_2.pcapng"));
    assert_int_equal(errno, EPERM);
    assert_true(there("x_00000_2.pcapng"));
    assert_false(creator_remove(&creator, "x_00001_20261120091839.pcapng")); /* too long ago */
    assert_true(creator_remove(&creator, "x_00003_20261120091841.pcapng"));
    assert_false(there("x_00003_20261120091841.pcapng"));
    assert_true(creator_remove(&creator, "x_00002_20261120091840.pcapng"));
    assert_false(creator_remove(&creator, "x_00002_20261120091840.pcapng")); /* it is gone */
    creator_end(&creator);
    unlinkat(fd, "x_00000_2.pcapng", 0);
    unlinkat(fd, "x_00001_20261120091839.pcapng", 0);
}

static void test_forms(void **state)
{
    static const char *const forms[] = {"#-#-$-call", "#-#-$-call.chunk#", NULL};
    const struct names names = {.stem = "", .forms = forms, .suffix = ""};

    (void)state;
    assert_true(names_match(&names, "00000001-12-0a1b2c3d-call"));
    assert_true(names_match(&names, "00000001-12-0a1b2c3d-call.chunk10"));
    assert_false(names_match(&names, "00000001-12-0a1b2c3d-call.chunk"));
    assert_false(names_match(&names, "00000001-12-0a1b2c3-call"));
    assert_false(names_match(&names, "00000001-12-0a1b2c3dd-call"));
    assert_false(names_match(&names, "00000001-12-0a1b2c3d-reply"));
    assert_false(names_match(&names, "index.jsonl"));
    assert_false(names_match(&names, ""));
}

/* What a run writes to is another one's only when it is closed, whoever created it. */
static void test_busy(void **state)
{
    static const char *const one[] = {"", NULL}, *const ring[] = {"_#_#", NULL};
    static const char first[] = "x.pcapng", second[] = "x_00001_2.pcapng";
    struct creator creators[] = {begin(one, CREATE_OVER, 0), begin(ring, CREATE_NEW, 1)};
    const char *const names[] = {first, second};
    struct stat st;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        int file = creator_create(&creators[i], names[i]);

        assert_true(file >= 0);
        assert_int_equal(write(file, "packets", 7), 7);
        assert_int_equal(create_at(fd, names[i], CREATE_OVER, 0600), -1);
        assert_int_equal(errno, CREATE_BUSY);
        assert_int_equal(fstat(file, &st), 0);
        assert_int_equal(st.st_size, 7);
        close(file);
    }
    creates(&creators[0], first);
    for (size_t i = 0; i < 2; i++)
        creator_end(&creators[i]);
    unlinkat(fd, first, 0);
    unlinkat(fd, second, 0);
}

static void test_no_locks(void **state)
{
    static const char *const one[] = {"", NULL};
    static const int errors[] = {ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL, EIO};

    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        struct creator creator;

        no_locks = errors[i];
        creator = begin(one, CREATE_OVER, 0);
        creates(&creator, "x.pcapng");
        creates(&creator, "x.pcapng"); /* over it */
        creator_end(&creator);
        unlinkat(fd, "x.pcapng", 0);
    }
    no_locks = 0;
}

/* Whether a descriptor is open, in a child. */
static int open_in(int argc, char **argv, int which)
{
    descriptors_close_unnamed(argc, argv);
    return fcntl(which, F_GETFD) >= 0;
}

static bool stays_open(const char *argument, int which)
{
    char name[] = "rpcrdma", text[100];
    char *argv[] = {name, text, NULL};
    int status;
    pid_t pid;

    snprintf(text, sizeof(text), "%s", argument);
    pid = fork();
    if (pid == 0)
        _exit(open_in(2, argv, which));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) != 0;
}

static void test_descriptors(void **state)
{
    char argument[100];
    int one = dup(fd);

    (void)state;
    assert_true(one > STDERR_FILENO);
    assert_false(stays_open("decode", one));
    assert_true(stays_open("decode", STDIN_FILENO));
    snprintf(argument, sizeof(argument), "/dev/fd/%d", one);
    assert_true(stays_open(argument, one));
    assert_false(stays_open(argument, fd));
    snprintf(argument, sizeof(argument), "--plot=/proc/self/fd/%d", one);
    assert_true(stays_open(argument, one));
    snprintf(argument, sizeof(argument), "/dev/fd/%d0", one);
    assert_false(stays_open(argument, one));
    close(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),      cmocka_unit_test(test_ring),
        cmocka_unit_test(test_forms),    cmocka_unit_test(test_busy),
        cmocka_unit_test(test_no_locks), cmocka_unit_test(test_descriptors)};
    int failed;

    if (!mkdtemp(folder) || (fd = open(folder, O_RDONLY | O_DIRECTORY)) < 0)
        return 1;
    if (geteuid() == 0 && chmod(folder, 0755) != 0)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
